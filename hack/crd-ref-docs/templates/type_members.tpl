{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "type_members" -}}
{{- if eq .Name "metadata" -}}
The metadata that every Kubernetes object has.
{{- else -}}
{{ markdownRenderFieldDoc .Doc }}
{{- end -}}
{{- end -}}
