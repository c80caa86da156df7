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

{{- /* What cannot work is said when the chart is rendered. */ -}}
{{- define "toolscout.check" -}}
{{- if and (eq .Values.mode "deployment") (not (include "toolscout.keySecret" .)) (ne (toString .Values.settings.insecure) "true") -}}
{{- fail "without a key anybody in the cluster could call: set apiKeys.existingSecret (or apiKeys.value), or settings.insecure: true to mean it" -}}
{{- end -}}
{{- range $setting, $extra := dict "mcp" "mcp" "tracing" "otel" "encoder" "encoder" -}}
{{- if and (has (toString (get $.Values.settings $setting)) (list "true" "on")) (not (has $extra $.Values.image.extras)) -}}
{{- fail (printf "settings.%s needs an image with the extra %s: build it with --build-arg EXTRAS=server,redis,%s and name it in image.extras" $setting $extra $extra) -}}
{{- end -}}
{{- end -}}
{{- range $setting := list "synonyms" "domains" "model" -}}
{{- $path := get $.Values.settings $setting -}}
{{- if hasPrefix "/" $path -}}
{{- $found := false -}}
{{- range $.Values.extraVolumeMounts -}}
{{- if hasPrefix .mountPath $path -}}{{- $found = true -}}{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- fail (printf "settings.%s: nothing is mounted at %s: mount it by extraVolumes and extraVolumeMounts" $setting $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if hasPrefix "sqlite" .Values.store.url -}}
{{- fail "store.url: a pod's file system is read-only and its own: use redis:// or postgres://, or memory for a trial" -}}
{{- end -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- if and (hasSuffix "Gi" $limit) .Values.settings.cache_bytes -}}
{{- if gt (mulf (float64 .Values.settings.cache_bytes) 2.5) (mulf (trimSuffix "Gi" $limit | float64) 1073741824.0) -}}
{{- fail (printf "settings.cache_bytes: two and a half times this does not fit into resources.limits.memory (%s)" $limit) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.tls.clientCA (not .Values.tls.existingSecret) -}}
{{- fail "tls.clientCA needs tls.existingSecret" -}}
{{- end -}}
{{- if and .Values.tls.clientCA .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tlsConfig) -}}
{{- fail "tls.clientCA: give Prometheus a certificate by serviceMonitor.tlsConfig" -}}
{{- end -}}
{{- if and (eq .Values.mode "deployment") .Values.networkPolicy.enabled (or .Values.store.existingSecret (hasPrefix "redis" .Values.store.url) (hasPrefix "postgres" .Values.store.url)) (not .Values.networkPolicy.egress) -}}
{{- fail "networkPolicy.egress is empty, so the store could not be reached: allow it there" -}}
{{- end -}}
{{- if and (eq .Values.mode "deployment") .Values.ingress.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.from) -}}
{{- fail "networkPolicy.from is empty, so the ingress controller could not call from its namespace: name it there" -}}
{{- end -}}
{{- end -}}
