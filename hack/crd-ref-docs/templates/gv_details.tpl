{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "gvDetails" -}}
<a id="{{ .Version }}"></a>

## {{ .GroupVersionString }}
{{ range .SortedTypes }}{{ template "type" . }}{{ end }}
{{- end -}}
