{{- define "fleet.name" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "fleet.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "fleet.selector" . }}
{{- end -}}

{{- define "fleet.selector" -}}
app.kubernetes.io/name: kollect-fleet
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* An environment variable from a Secret: name, secret, key. */}}
{{- define "fleet.secretEnv" -}}
- name: {{ index . 0 }}
  valueFrom: {secretKeyRef: {name: {{ index . 1 | quote }}, key: {{ index . 2 | quote }}}}
{{- end -}}

{{/* A probe: path, period, root. A port that wants a certificate of the client can only be looked at. */}}
{{- define "fleet.probe" -}}
{{- $tls := (index . 2).Values.api.tls -}}
{{- if and $tls.clientCaSecret (eq $tls.clientAuth "required") -}}
{tcpSocket: {port: http}, periodSeconds: {{ index . 1 }}, timeoutSeconds: 5
{{- else -}}
{httpGet: {path: {{ index . 0 }}, port: http, scheme: {{ if $tls.secret }}HTTPS{{ else }}HTTP{{ end }}}, periodSeconds: {{ index . 1 }}, timeoutSeconds: 5
{{- end -}}
{{- end -}}
