{{- /*
The container alone. A deployment's answers the network; a sidecar's answers its own pod on the
loopback address, where no key is needed and the kubelet cannot ask: its probes run inside.
Takes the chart's context; from another chart: include "toolscout.container" .Subcharts.toolscout
*/ -}}
{{- define "toolscout.container" -}}
{{- $sidecar := eq .Values.mode "sidecar" -}}
{{- $settings := omit .Values.settings "host" "port" -}}
name: toolscout
image: {{ include "toolscout.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- if not $sidecar }}
ports:
  - {name: http, containerPort: {{ .Values.service.port }}, protocol: TCP}
{{- end }}
env:
  - {name: TOOLSCOUT_HOST, value: {{ ternary "127.0.0.1" "0.0.0.0" $sidecar | quote }}}
  - {name: TOOLSCOUT_PORT, value: {{ .Values.service.port | quote }}}
  {{- if include "toolscout.keySecret" . }}
  - {name: TOOLSCOUT_API_KEYS_FILE, value: /etc/toolscout/keys/api-keys}
  {{- end }}
  {{- if .Values.store.existingSecret }}
  - {name: TOOLSCOUT_STORE_FILE, value: /etc/toolscout/store/url}
  {{- else if .Values.store.url }}
  - {name: TOOLSCOUT_STORE, value: {{ .Values.store.url | quote }}}
  {{- end }}
  {{- if .Values.tls.existingSecret }}
  - {name: TOOLSCOUT_TLS_CERT, value: /etc/toolscout/tls/tls.crt}
  - {name: TOOLSCOUT_TLS_KEY, value: /etc/toolscout/tls/tls.key}
  {{- if .Values.tls.clientCA }}
  - {name: TOOLSCOUT_TLS_CLIENT_CA, value: /etc/toolscout/tls/ca.crt}
  {{- end }}
  {{- end }}
  {{- range $name, $value := $settings }}
  - {name: {{ printf "TOOLSCOUT_%s" (upper $name) }}, value: {{ include "toolscout.plain" $value | quote }}}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
startupProbe:
  {{- include "toolscout.probe" (list . "/readyz") | nindent 2 }}
  periodSeconds: 1
  timeoutSeconds: 3
  failureThreshold: 60
readinessProbe:
  {{- include "toolscout.probe" (list . "/readyz") | nindent 2 }}
  periodSeconds: {{ ternary 10 2 $sidecar }}
  timeoutSeconds: 3
  failureThreshold: 1
livenessProbe:
  {{- include "toolscout.probe" (list . "/healthz") | nindent 2 }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
resources: {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}
volumeMounts:
  - {name: toolscout-tmp, mountPath: /tmp}
  {{- if include "toolscout.keySecret" . }}
  - {name: toolscout-keys, mountPath: /etc/toolscout/keys, readOnly: true}
  {{- end }}
  {{- if .Values.store.existingSecret }}
  - {name: toolscout-store, mountPath: /etc/toolscout/store, readOnly: true}
  {{- end }}
  {{- if .Values.tls.existingSecret }}
  - {name: toolscout-tls, mountPath: /etc/toolscout/tls, readOnly: true}
  {{- end }}
  {{- if .Values.persistence.enabled }}
  - {name: toolscout-data, mountPath: /data}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* A pod's volumes for the container. Whole directories: a single file would not follow its Secret. */ -}}
{{- define "toolscout.volumes" -}}
- name: toolscout-tmp
  emptyDir: {sizeLimit: 64Mi}
{{- with include "toolscout.keySecret" . }}
- name: toolscout-keys
  secret:
    secretName: {{ . }}
    defaultMode: {{ include "toolscout.mode" $ }}
    items: [{key: {{ $.Values.apiKeys.key }}, path: api-keys}]
{{- end }}
{{- with .Values.store.existingSecret }}
- name: toolscout-store
  secret:
    secretName: {{ . }}
    defaultMode: {{ include "toolscout.mode" $ }}
    items: [{key: {{ $.Values.store.key }}, path: url}]
{{- end }}
{{- with .Values.tls.existingSecret }}
- name: toolscout-tls
  secret: {secretName: {{ . }}, defaultMode: {{ include "toolscout.mode" $ }}}
{{- end }}
{{- if .Values.persistence.enabled }}
- name: toolscout-data
  persistentVolumeClaim: {claimName: {{ include "toolscout.claim" . }}}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* The kubelet asks over HTTP; by TCP where it would need a certificate; inside a sidecar a process does. */ -}}
{{- define "toolscout.probe" -}}
{{- $root := index . 0 -}}
{{- $path := index . 1 -}}
{{- if and (eq $root.Values.mode "sidecar") $root.Values.tls.clientCA -}}
exec:
  command: [python, -c, {{ printf "import socket; socket.create_connection(('127.0.0.1', %v), 2)" $root.Values.service.port | quote }}]
{{- else if eq $root.Values.mode "sidecar" -}}
{{- $scheme := ternary "https" "http" (not (empty $root.Values.tls.existingSecret)) -}}
exec:
  command: [python, -c, {{ printf "import ssl, urllib.request as u; u.urlopen('%s://127.0.0.1:%v%s', timeout=2, context=ssl._create_unverified_context())" $scheme $root.Values.service.port $path | quote }}]
{{- else if $root.Values.tls.clientCA -}}
tcpSocket: {port: http}
{{- else -}}
httpGet: {path: {{ $path }}, port: http, scheme: {{ ternary "HTTPS" "HTTP" (not (empty $root.Values.tls.existingSecret)) }}}
{{- end -}}
{{- end -}}

{{- /* A pod of somebody else's may give no group to its volumes. */ -}}
{{- define "toolscout.mode" -}}
{{- ternary "0444" "0440" (eq .Values.mode "sidecar") -}}
{{- end -}}

{{- /* A number as it was written: Helm reads 268435456 as 2.68435456e+08. */ -}}
{{- define "toolscout.plain" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{- int64 . -}}{{- else -}}{{- toString . -}}{{- end -}}
{{- end -}}
