{{- define "kollect.name" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{/* With what objects are called beside it: 63 characters are enough for no more. */}}
{{- define "kollect.base" -}}{{ include "kollect.name" . | trunc 40 | trimSuffix "-" }}{{- end -}}

{{- define "kollect.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "kollect.selector" . }}
{{- end -}}

{{- define "kollect.selector" -}}
app.kubernetes.io/name: kollect
app.kubernetes.io/instance: {{ .Release.Name }}
control-plane: controller-manager
{{- end -}}

{{- define "kollect.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (printf "%s-controller-manager" (include "kollect.base" .)) .Values.serviceAccount.name -}}
{{- else -}}{{- default "default" .Values.serviceAccount.name -}}{{- end -}}
{{- end -}}

{{/* Port of the metrics; empty: none are served. */}}
{{- define "kollect.metricsPort" -}}
{{- if .Values.metrics.enabled -}}{{ regexFind "[0-9]+$" .Values.metrics.bindAddress }}{{- end -}}
{{- end -}}

{{/* Port at which the read API is reached; empty: it is off. */}}
{{- define "kollect.readPort" -}}
{{- with .Values.featureGates.inventoryHttp -}}
{{- if .enabled -}}{{ ternary $.Values.oauth2Proxy.port .port $.Values.oauth2Proxy.enabled }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* The read API asks who its callers are, and the metrics do not already (monitoring.yaml). */}}
{{- define "kollect.asksWhoReads" -}}
{{- $read := .Values.featureGates.inventoryHttp -}}
{{- if and $read.enabled (eq $read.authMode "kubernetes") (not (and .Values.metrics.enabled .Values.metrics.secure)) -}}yes{{- end -}}
{{- end -}}

{{/* Name of the lease: releases beside each other have their own. */}}
{{- define "kollect.lease" -}}
{{- $base := include "kollect.base" . -}}
{{- default (ternary "3274ac8a.kollect.dev" (printf "%s.kollect.dev" $base) (eq $base "kollect")) .Values.leaderElection.id -}}
{{- end -}}

{{/* Namespaces in which objects of kollect.dev are read, by commas; empty: all. */}}
{{- define "kollect.places" -}}
{{- if .Values.watchNamespaces -}}{{ join "," .Values.watchNamespaces }}
{{- else if .Values.tenantMode -}}{{ .Release.Namespace }}{{- end -}}
{{- end -}}

{{/* A role of the operator and its binding: root, kind, name, namespace ("" of a ClusterRole), rules as text. */}}
{{- define "kollect.role" -}}
{{- $root := index . 0 }}{{ $kind := index . 1 }}{{ $name := index . 2 }}{{ $ns := index . 3 }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with $ns }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "kollect.labels" $root | nindent 4 }}
rules:
  {{- index . 4 | trim | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $name }}
  {{- with $ns }}
  namespace: {{ . }}
  {{- end }}
  labels: {{- include "kollect.labels" $root | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: {{ $kind }}, name: {{ $name }}}
subjects: [{kind: ServiceAccount, name: {{ include "kollect.account" $root }}, namespace: {{ $root.Release.Namespace }}}]
{{- end -}}

{{/* What is needed where objects of kollect.dev are read. */}}
{{- define "kollect.placeRules" -}}
- apiGroups: [kollect.dev]
  resources: [kollectprofiles, kollectscopes]
  verbs: [get, list, watch]
- apiGroups: [kollect.dev]
  resources: [kollecttargets, kollectinventories, kollectsnapshotsinks, kollectdatabasesinks, kollecteventsinks, kollectconnectiontests]
  verbs: [get, list, watch, patch]
- apiGroups: [kollect.dev]
  resources: [kollectconnectiontests]
  verbs: [delete]
- apiGroups: [kollect.dev]
  resources: [kollecttargets/status, kollectinventories/status, kollectsnapshotsinks/status, kollectdatabasesinks/status, kollecteventsinks/status, kollectconnectiontests/status]
  verbs: [patch]
- apiGroups: [kollect.dev]
  resources: [kollecttargets/finalizers, kollectinventories/finalizers, kollectsnapshotsinks/finalizers, kollectdatabasesinks/finalizers, kollecteventsinks/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
{{- if .Values.rbac.allSecrets }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- end -}}

{{/* What kinds without a namespace need. */}}
{{- define "kollect.clusterRules" -}}
- apiGroups: [kollect.dev]
  resources: [kollectclusterscopes]
  verbs: [get, list, watch]
- apiGroups: [kollect.dev]
  resources: [kollectclustertargets, kollectclusterinventories]
  verbs: [get, list, watch, patch]
- apiGroups: [kollect.dev]
  resources: [kollectclustertargets/status, kollectclusterinventories/status]
  verbs: [patch]
- apiGroups: [kollect.dev]
  resources: [kollectclustertargets/finalizers, kollectclusterinventories/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list, watch]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [get, list, watch]
- apiGroups: [authorization.k8s.io]
  resources: [selfsubjectaccessreviews]
  verbs: [create]
{{- end -}}

{{/* Roles cannot leave anything out, so the kinds of the core group stand here one by one, without Secrets. */}}
{{- define "kollect.readAllRules" -}}
- apiGroups: [""]
  resources: [configmaps, endpoints, events, limitranges, namespaces, nodes, persistentvolumeclaims, persistentvolumes, pods, podtemplates, replicationcontrollers, resourcequotas, serviceaccounts, services]
  verbs: [list, watch]
- apiGroups:
    {{- range concat (list "admissionregistration.k8s.io" "apiextensions.k8s.io" "apiregistration.k8s.io" "apps" "autoscaling" "batch" "certificates.k8s.io" "coordination.k8s.io" "discovery.k8s.io" "flowcontrol.apiserver.k8s.io" "gateway.networking.k8s.io" "kollect.dev" "networking.k8s.io" "node.k8s.io" "policy" "rbac.authorization.k8s.io" "resource.k8s.io" "scheduling.k8s.io" "storage.k8s.io") .Values.collector.readAllGroups | uniq }}
    - {{ . }}
    {{- end }}
  resources: ["*"]
  verbs: [list, watch]
{{- end -}}
