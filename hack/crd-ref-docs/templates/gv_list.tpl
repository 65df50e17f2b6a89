{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "gvList" -}}
<!-- Generated from api/ by "make generate". Do not edit. -->

# API overview

Every field of the `LlamaStackDistribution` resource, by version. A default is what the API server fills in.

{{ range . -}}
- [{{ .GroupVersionString }}](#{{ .Version }})
{{ end }}
{{- range . }}
{{ template "gvDetails" . }}
{{- end }}
{{- end -}}
