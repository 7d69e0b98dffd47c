{{/* Arguments of the operator. Lists go by commas; what is empty is left to the program. */}}
{{- define "kollect.args" -}}
{{- $name := include "kollect.base" . -}}
{{- $controller := .Values.controller -}}
{{- $atOnce := $controller.maxConcurrentReconciles -}}
{{- if eq .Values.resourcesProfile "large" -}}
{{- $atOnce = mergeOverwrite (deepCopy $atOnce) .Values.largeCluster.controller.maxConcurrentReconciles -}}
{{- end -}}
- --health-probe-bind-address=:8081
- --log-format={{ .Values.log.format }}
- --log-level={{ .Values.log.level }}
{{- if .Values.tenantMode }}
- --tenant-mode
{{- end }}
{{- with include "kollect.places" . }}
- --watch-namespaces={{ . }}
{{- end }}
{{- range $flag, $list := dict "default-included-namespaces" .Values.defaultIncludedNamespaces "default-excluded-namespaces" .Values.defaultExcludedNamespaces "scrub-keys" .Values.scrubKeys "sensitive-kinds" .Values.sensitiveKinds }}
{{- with $list }}
- {{ printf "--%s=%s" $flag (join "," .) | quote }}
{{- end }}
{{- end }}
{{- if .Values.allowPrivateSinks }}
- --allow-private-sinks
{{- end }}
- --max-concurrent-reconciles-target={{ $atOnce.target }}
- --max-concurrent-reconciles-inventory={{ $atOnce.inventory }}
- --max-concurrent-reconciles-cluster-target={{ $atOnce.clusterTarget }}
- --max-concurrent-reconciles-cluster-inventory={{ $atOnce.clusterInventory }}
- --max-concurrent-exports={{ .Values.export.maxConcurrent }}
{{- with .Values.export.maxBytes }}
- --max-export-bytes={{ int64 . }}
{{- end }}
{{- $dispatch := $controller -}}
{{- if eq .Values.resourcesProfile "large" }}{{ $dispatch = .Values.largeCluster.controller }}{{ end }}
- --collect-dispatch-workers={{ $dispatch.collectDispatchWorkers }}
- --collect-dispatch-queue-size={{ int64 $dispatch.collectDispatchQueueSize }}
{{- with $controller.informerResyncPeriod }}
- --informer-resync-period={{ . }}
{{- end }}
{{- with $controller.reconcileRateLimit }}
- --reconcile-rate-limit={{ . }}
{{- end }}
{{- with $controller.targetCountResync }}
- --target-count-resync={{ . }}
{{- end }}
{{- with .Values.metrics }}
{{- if .enabled }}
- {{ printf "--metrics-bind-address=%s" .bindAddress | quote }}
- --metrics-secure={{ .secure }}
{{- if and .secure .certSecret }}
- --metrics-cert-path=/certificates/metrics
{{- end }}
- --collect-metrics-sample-interval={{ $controller.collectMetricsSampleInterval }}
{{- end }}
{{- end }}
{{- with .Values.featureGates.inventoryHttp }}
{{- if .enabled }}
- --inventory-http-enabled
- --inventory-http-port={{ .port }}
- --inventory-auth-mode={{ .authMode }}
- --inventory-max-streams={{ .maxStreams }}
{{- range $flag, $list := dict "auth-audiences" .audiences "http-cors-origins" .corsOrigins }}
{{- with $list }}
- {{ printf "--inventory-%s=%s" $flag (join "," .) | quote }}
{{- end }}
{{- end }}
{{- if .optIn }}
- --inventory-http-opt-in
{{- end }}
{{- if .ui }}
- --inventory-ui
{{- end }}
{{- if $.Values.oauth2Proxy.enabled }}
- --inventory-bind-address=127.0.0.1
{{- else if .certSecret }}
- --inventory-tls-cert-path=/certificates/inventory
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.leaderElection }}
{{- if .enabled }}
{{ with $.Values.shards }}- --shards={{ . }}{{ else }}- --leader-elect{{ end }}
- --leader-elect-namespace={{ $.Release.Namespace }}
{{- range $flag, $value := dict "id" (include "kollect.lease" $) "lease-duration" .leaseDuration "renew-deadline" .renewDeadline "retry-period" .retryPeriod }}
{{- with $value }}
- --leader-elect-{{ $flag }}={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if not .Values.webhooks.enabled }}
- --validating-webhooks-enabled=false
{{- else if .Values.webhooks.selfSigned.enabled }}
- --webhook-self-signed
- --webhook-service={{ .Release.Namespace }}/{{ $name }}-webhook-service
- --webhook-secret={{ .Values.webhooks.certManager.secretName }}
- --webhook-configuration={{ $name }}-validating-webhook-configuration
{{- else }}
- --webhook-cert-path=/certificates/webhooks
{{- end }}
{{- if .Values.pprof.enabled }}
- --enable-pprof
- {{ printf "--pprof-bind-address=%s" .Values.pprof.bindAddress | quote }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
