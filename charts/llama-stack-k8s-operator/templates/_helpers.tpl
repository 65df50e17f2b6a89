{{- /* The operator's image: by digest, otherwise by tag, otherwise the release of this chart. */ -}}
{{- define "llama-stack-k8s-operator.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default (printf "v%s" .Chart.AppVersion) }}
{{- end -}}
{{- end -}}
