{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* Both versions have types of the same names: the version is part of every anchor and local link. */ -}}
{{- define "type" -}}
{{- if markdownShouldRenderType . -}}
{{- $version := base .Package -}}
{{- $anchor := printf "](#%s-" $version }}
<a id="{{ $version }}-{{ lower .Name }}"></a>

### {{ .Name }}

{{ .Doc }}
{{ range .Validation }}{{ if hasPrefix "XValidation" . | not }}
- {{ . }}
{{ end }}{{ end }}
{{- $users := list -}}
{{- range .SortedReferences }}{{ if markdownShouldRenderType . }}{{ $users = append $users (markdownRenderTypeLink . | replace "](#" $anchor) }}{{ end }}{{ end }}
{{- if $users }}
Used by: {{ join ", " $users }}.
{{ end }}
{{- if .Members }}
| Field | Type | Description | Default | Rules |
| --- | --- | --- | --- | --- |
{{ if .GVK -}}
| `apiVersion` | string | `{{ .GVK.Group }}/{{ .GVK.Version }}` | | |
| `kind` | string | `{{ .GVK.Kind }}` | | |
{{ end -}}
{{ range .Members -}}
| `{{ .Name }}` | {{ markdownRenderType .Type | replace "[any](#any)" "any" | replace "](#" $anchor }} | {{ template "type_members" . }} | {{ with .Default }}`{{ markdownRenderDefault . }}`{{ end }} | {{ template "rules" .Validation }} |
{{ end -}}
{{ end -}}
{{ if .EnumValues }}
| Value | Meaning |
| --- | --- |
{{ range .EnumValues -}}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc | trimSuffix "<br />" }} |
{{ end -}}
{{ end -}}
{{- end -}}
{{- end -}}

{{- /* "Optional" is the rule, so only "required" is worth a word. */ -}}
{{- define "rules" -}}
{{- $rules := list -}}
{{- range . -}}
{{- if hasPrefix "Required" . }}{{ $rules = append $rules "required" }}
{{- else if hasPrefix "XValidation" . }}{{ else if hasPrefix "Optional" . }}
{{- else }}{{ $rules = append $rules (markdownRenderFieldDoc .) }}{{ end -}}
{{- end -}}
{{ join "<br />" $rules }}
{{- end -}}
