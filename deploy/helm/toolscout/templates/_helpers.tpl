{{- define "toolscout.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "toolscout.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 54 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "toolscout.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 54 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 54 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "toolscout.selector" -}}
app.kubernetes.io/name: {{ include "toolscout.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "toolscout.labels" -}}
{{ include "toolscout.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "toolscout.metadata" -}}
name: {{ include "toolscout.fullname" . }}
labels: {{- include "toolscout.labels" . | nindent 2 }}
{{- end -}}

{{- define "toolscout.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository $tag -}}
{{- end -}}
{{- end -}}

{{- define "toolscout.serviceAccount" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "toolscout.fullname" . -}}
{{- end -}}
{{- end -}}

{{- define "toolscout.claim" -}}
{{- .Values.persistence.existingClaim | default (printf "%s-data" (include "toolscout.fullname" .)) -}}
{{- end -}}

{{- define "toolscout.keySecret" -}}
{{- if .Values.apiKeys.existingSecret -}}
{{- .Values.apiKeys.existingSecret -}}
{{- else if .Values.apiKeys.value -}}
{{- include "toolscout.fullname" . }}-api-keys
{{- end -}}
{{- end -}}

{{- /* Seconds from SIGTERM to the end, and a little. */ -}}
{{- define "toolscout.grace" -}}
{{- $drain := .Values.settings.drain_s | default 5 | float64 -}}
{{- $shutdown := .Values.settings.shutdown_s | default 10 | float64 -}}
{{- addf $drain $shutdown 5.0 | ceil | int -}}
{{- end -}}

{{- /* A switch as the service reads it: true or "on". */ -}}
{{- define "toolscout.on" -}}
{{- if has (toString .) (list "true" "on") -}}on{{- end -}}
{{- end -}}

{{- /* MiB of a quantity of memory, such as 1Gi or 1000M. */ -}}
{{- define "toolscout.mib" -}}
{{- $units := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 -}}
{{- $text := include "toolscout.plain" . -}}
{{- $unit := get $units (regexFind "[A-Za-z]*$" $text) | default 1e15 -}}
{{- divf (mulf (regexFind "^[0-9.]+" $text) $unit) 1048576.0 | floor | int64 -}}
{{- end -}}
