{{- /* What cannot work is refused when the chart is rendered. */ -}}
{{- define "toolscout.check" -}}
{{- $serves := eq .Values.mode "deployment" -}}
{{- if and $serves (not (include "toolscout.keySecret" .)) (not (include "toolscout.on" .Values.settings.insecure)) -}}
{{- fail "without a key anybody in the cluster could call: set apiKeys.existingSecret (or apiKeys.value), or settings.insecure: true to mean it" -}}
{{- end -}}
{{- include "toolscout.checkImage" . -}}
{{- include "toolscout.checkStore" . -}}
{{- include "toolscout.checkScale" . -}}
{{- if and .Values.tls.clientCA (not .Values.tls.existingSecret) -}}
{{- fail "tls.clientCA needs tls.existingSecret" -}}
{{- end -}}
{{- if $serves -}}{{- include "toolscout.checkNetwork" . -}}{{- end -}}
{{- end -}}

{{- define "toolscout.checkImage" -}}
{{- range $setting, $extra := dict "encoder" "encoder" "mcp" "mcp" "tracing" "otel" -}}
{{- if and (include "toolscout.on" (get $.Values.settings $setting)) (not (has $extra $.Values.image.extras)) -}}
{{- fail (printf "settings.%s needs an image with the extra %s: build it with --build-arg EXTRAS=server,redis,%s and name it in image.extras" $setting $extra $extra) -}}
{{- end -}}
{{- end -}}
{{- range $scheme, $extra := dict "redis" "redis" "postgres" "postgres" -}}
{{- if and (hasPrefix $scheme $.Values.store.url) (not (has $extra $.Values.image.extras)) -}}
{{- fail (printf "store.url needs an image with the extra %s: build it with --build-arg EXTRAS=server,%s and name it in image.extras" $extra $extra) -}}
{{- end -}}
{{- end -}}
{{- range $setting := list "synonyms" "domains" "overlay" "model" -}}
{{- $path := get $.Values.settings $setting -}}
{{- if and (hasPrefix "/" $path) (not (include "toolscout.mounted" (list $ $path false))) -}}
{{- fail (printf "settings.%s: nothing is mounted at %s: mount it by extraVolumes and extraVolumeMounts" $setting $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Whether a mount of the values holds a path; with true, one that can be written to. */ -}}
{{- define "toolscout.mounted" -}}
{{- $path := index . 1 -}}
{{- $written := index . 2 -}}
{{- range (index . 0).Values.extraVolumeMounts -}}
{{- if and (hasPrefix (printf "%s/" (trimSuffix "/" .mountPath)) $path) (not (and $written .readOnly)) -}}yes{{- end -}}
{{- end -}}
{{- end -}}

{{- define "toolscout.checkStore" -}}
{{- $kept := and .Values.persistence.enabled (hasPrefix "sqlite:/data/" .Values.store.url) -}}
{{- if and .Values.persistence.enabled (ne .Values.mode "deployment") -}}
{{- fail "persistence.enabled: a sidecar's volumes are those of its pod: use extraVolumes and extraVolumeMounts" -}}
{{- end -}}
{{- if and .Values.persistence.enabled (not $kept) -}}
{{- fail "persistence.enabled: nothing would be kept there: set store.url: sqlite:/data/state.db" -}}
{{- end -}}
{{- if hasPrefix "sqlite:" .Values.store.url -}}
{{- if not (or $kept (include "toolscout.mounted" (list . (trimPrefix "sqlite:" .Values.store.url) true))) -}}
{{- fail "store.url: a pod's own file system is read-only: set persistence.enabled and store.url: sqlite:/data/state.db, or use redis:// or postgres://" -}}
{{- end -}}
{{- if and (eq .Values.mode "deployment") (or .Values.autoscaling.enabled (gt (int .Values.replicas) 1)) -}}
{{- fail "store.url: a SQLite file serves one pod: set replicas: 1 without autoscaling, or use redis:// or postgres://" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "toolscout.checkScale" -}}
{{- /* The formula of docs/operations.md, "Sizing". */ -}}
{{- $cache := divf (.Values.settings.cache_bytes | default 268435456 | float64) 1048576.0 -}}
{{- $idle := ternary 420.0 170.0 (eq (include "toolscout.on" .Values.settings.encoder) "on") -}}
{{- $need := addf $idle (mulf 2.5 $cache) | ceil | int64 -}}
{{- with dig "limits" "memory" "" .Values.resources -}}
{{- if lt (include "toolscout.mib" . | int64) $need -}}
{{- fail (printf "resources.limits.memory: %v is less than the %d MiB of %v MiB and two and a half times settings.cache_bytes: the pod would be killed" . $need $idle) -}}
{{- end -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail "autoscaling.minReplicas is more than autoscaling.maxReplicas" -}}
{{- end -}}
{{- if and .enabled (not (dig "requests" "cpu" "" $.Values.resources)) -}}
{{- fail "autoscaling.cpuUtilization is a share of resources.requests.cpu, which is not set" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "toolscout.checkNetwork" -}}
{{- $outside := list -}}
{{- if .Values.ingress.enabled -}}{{- $outside = append $outside "the ingress controller" -}}{{- end -}}
{{- if .Values.httpRoute.enabled -}}{{- $outside = append $outside "the Gateway" -}}{{- end -}}
{{- if ne .Values.service.type "ClusterIP" -}}{{- $outside = append $outside (printf "a caller by %s" .Values.service.type) -}}{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.parentRefs is empty: name the Gateway there" -}}
{{- end -}}
{{- if and .Values.ingress.enabled .Values.tls.clientCA (not (hasKey .Values.ingress.annotations "nginx.ingress.kubernetes.io/proxy-ssl-secret")) -}}
{{- fail "tls.clientCA: give ingress-nginx a certificate by the annotation nginx.ingress.kubernetes.io/proxy-ssl-secret in ingress.annotations" -}}
{{- end -}}
{{- if and .Values.tls.clientCA .Values.serviceMonitor.enabled (not .Values.serviceMonitor.tlsConfig) -}}
{{- fail "tls.clientCA: give Prometheus a certificate by serviceMonitor.tlsConfig" -}}
{{- end -}}
{{- with .Values.networkPolicy -}}
{{- $store := or $.Values.store.existingSecret (hasPrefix "redis" $.Values.store.url) (hasPrefix "postgres" $.Values.store.url) -}}
{{- if and .enabled $store (not .egress) -}}
{{- fail "networkPolicy.egress is empty, so the store could not be reached: allow it there" -}}
{{- end -}}
{{- if and .enabled $outside (not .from) -}}
{{- fail (printf "networkPolicy.from is empty, so %s could not call: name it there" (join " and " $outside)) -}}
{{- end -}}
{{- if and .enabled $.Values.serviceMonitor.enabled (not .monitoring) (not .from) -}}
{{- fail "networkPolicy.monitoring is empty, so Prometheus could not scrape: name it there" -}}
{{- end -}}
{{- end -}}
{{- end -}}
