#!/usr/bin/env python3
"""Writes the example cluster that the demo and the documentation use, as `kubectl get -o yaml` would print it.

    make_example_dump.py FOLDER

One List per file. The same bytes every time: no clock, no randomness but a seeded generator. Nothing in it is real; what
looks like a secret says that it is none.
"""
import base64
import gzip
import hashlib
import json
import pathlib
import random
import sys

import yaml

SEED = random.Random(20260401)
DAY = 86400
EPOCH = 1767225600  # 2026-01-01T00:00:00Z

TEAMS = {
    "shop": ["storefront", "cart", "catalog", "checkout", "search", "recommendations", "reviews", "mailer"],
    "payments": ["gateway", "ledger", "fraud-check", "invoices", "settlements"],
    "logistics": ["routing", "warehouse", "tracking", "labels"],
}
STAGES = ["prod", "staging"]
PLATFORM = ["kube-system", "cert-manager", "ingress-nginx", "flux-system", "monitoring", "logging", "databases", "ci"]
REGISTRY = "registry.harbor.example"


def stamp(day, second=0):
    """RFC 3339 text of a moment `day` days after the epoch above."""
    total = EPOCH + day * DAY + second
    days, rest = divmod(total, DAY)
    year, month = 1970, 1
    while True:
        length = 366 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 365
        if days < length:
            break
        days -= length
        year += 1
    for month, length in enumerate([31, 28 + (year % 4 == 0), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], 1):
        if days < length:
            break
        days -= length
    return f"{year:04}-{month:02}-{days + 1:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}Z"


def uid_of(*parts):
    h = hashlib.sha256("/".join(parts).encode()).hexdigest()
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}"


def b64(text):
    return base64.b64encode(text.encode()).decode()


class Cluster:
    """Objects by file name, in the order in which they were made."""

    def __init__(self):
        self.files = {}
        self.version = 100000

    def add(self, file, api_version, kind, name, namespace=None, labels=None, annotations=None, **body):
        self.version += SEED.randrange(3, 900)
        metadata = {
            "name": name,
            "uid": uid_of(api_version, kind, namespace or "", name),
            "resourceVersion": str(self.version),
            "creationTimestamp": stamp(SEED.randrange(0, 80), SEED.randrange(DAY)),
        }
        if namespace:
            metadata["namespace"] = namespace
        if labels:
            metadata["labels"] = labels
        if annotations:
            metadata["annotations"] = annotations
        item = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
        self.files.setdefault(file, []).append(item)
        return item

    def write(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.yaml"):
            old.unlink()
        for file, items in sorted(self.files.items()):
            document = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}
            text = yaml.dump(document, Dumper=PlainDumper, sort_keys=True, width=1000, allow_unicode=True)
            (folder / f"{file}.yaml").write_text(text, encoding="utf-8")
        return sum(len(items) for items in self.files.values())


class PlainDumper(yaml.SafeDumper):
    """No aliases, and literal blocks for text of several lines, as kubectl prints them."""

    def ignore_aliases(self, data):
        return True


PlainDumper.add_representer(
    str, lambda d, s: d.represent_scalar("tag:yaml.org,2002:str", s, style="|" if "\n" in s else None))


def standard_labels(app, part_of, version):
    return {"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": part_of, "app.kubernetes.io/version": version,
            "app.kubernetes.io/managed-by": "Helm"}


def pod_template(app, image, service_account, ports, env, sidecars=()):
    container = {
        "name": app, "image": image, "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": p, "name": n, "protocol": "TCP"} for n, p in ports],
        "env": env,
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": ports[0][0]}, "periodSeconds": 10},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    }
    return {
        "metadata": {"labels": {"app.kubernetes.io/name": app}},
        "spec": {
            "containers": [container, *sidecars], "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {"runAsNonRoot": True},
            "serviceAccountName": service_account, "terminationGracePeriodSeconds": 30,
        },
    }


def condition(kind, status, reason, message, day):
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": stamp(day)}


def deployment_status(replicas, ready):
    return {
        "observedGeneration": SEED.randrange(1, 30), "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": ready, "availableReplicas": ready,
        "conditions": [
            condition("Available", "True" if ready == replicas else "False",
                      "MinimumReplicasAvailable" if ready == replicas else "MinimumReplicasUnavailable",
                      "Deployment has minimum availability." if ready == replicas
                      else "Deployment does not have minimum availability.", 85),
        ],
    }


def make_namespaces(c):
    for name in PLATFORM:
        c.add("namespaces", "v1", "Namespace", name,
              labels={"kubernetes.io/metadata.name": name, "team": "platform", "stage": "prod"},
              spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})
    for team in TEAMS:
        for stage in STAGES:
            name = f"{team}-{stage}"
            c.add("namespaces", "v1", "Namespace", name,
                  labels={"kubernetes.io/metadata.name": name, "team": team, "stage": stage},
                  annotations={"harbor.example/cost-centre": f"cc-{1000 + len(team)}"},
                  spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})


def make_app(c, team, stage, app):
    ns = f"{team}-{stage}"
    minor = SEED.randrange(0, 9)
    version = f"{SEED.randrange(1, 4)}.{minor}.{SEED.randrange(0, 20)}" + ("-rc1" if stage == "staging" else "")
    image = f"{REGISTRY}/{team}/{app}:{version}"
    labels = standard_labels(app, team, version)
    replicas = SEED.randrange(2, 6) if stage == "prod" else 1
    ready = replicas - 1 if (stage, app) == ("prod", "recommendations") else replicas
    env = [
        {"name": "LOG_LEVEL", "value": "info" if stage == "prod" else "debug"},
        {"name": "CONFIG_FILE", "valueFrom": {"configMapKeyRef": {"name": f"{app}-config", "key": "config.yaml"}}},
    ]
    if app in ("checkout", "gateway", "ledger", "mailer"):
        env.append({"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": f"{app}-credentials", "key": "api-key"}}})
    sidecars = []
    if app in ("storefront", "gateway"):
        sidecars.append({"name": "proxy", "image": f"{REGISTRY}/platform/envoy-proxy:1.31.2",
                         "ports": [{"containerPort": 9901, "name": "admin", "protocol": "TCP"}]})
    c.add(ns, "apps/v1", "Deployment", app, ns, labels,
          {"deployment.kubernetes.io/revision": str(SEED.randrange(1, 40)),
           "meta.helm.sh/release-name": app, "meta.helm.sh/release-namespace": ns},
          spec={"replicas": replicas, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
                "selector": {"matchLabels": {"app.kubernetes.io/name": app}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
                "template": pod_template(app, image, app, [("http", 8080), ("metrics", 9102)], env, sidecars)},
          status=deployment_status(replicas, ready))
    c.add(ns, "v1", "Service", app, ns, labels,
          spec={"type": "ClusterIP", "clusterIP": f"10.96.{SEED.randrange(1, 250)}.{SEED.randrange(1, 250)}",
                "selector": {"app.kubernetes.io/name": app},
                "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "http"}]},
          status={"loadBalancer": {}})
    c.add(ns, "v1", "ServiceAccount", app, ns, labels)
    config = f"server:\n  port: 8080\nfeatures:\n  beta: {str(stage == 'staging').lower()}\nupstreams:\n" + "".join(
        f"  - http://{other}.{ns}.svc\n" for other in TEAMS[team][:3] if other != app)
    c.add(ns, "v1", "ConfigMap", f"{app}-config", ns, labels, data={"config.yaml": config, "replicas.hint": str(replicas)})
    if len(env) > 2:
        c.add(ns, "v1", "Secret", f"{app}-credentials", ns, labels, type="Opaque",
              data={"api-key": b64(f"example-key-of-{app}-not-a-secret"), "user": b64(app)})
    make_helm_release(c, ns, app, app, version, image, SEED.randrange(1, 3))


def make_helm_release(c, ns, name, chart, version, image, revisions):
    """Helm's own storage: a Secret per revision; the payload is base64 of gzip of JSON, inside the Secret's base64."""
    for revision in range(1, revisions + 1):
        last = revision == revisions
        deployed = stamp(20 + 15 * revision, SEED.randrange(DAY))
        release = {
            "name": name, "namespace": ns, "version": revision,
            "info": {"first_deployed": stamp(20), "last_deployed": deployed, "deleted": "",
                     "description": "Upgrade complete" if revision > 1 else "Install complete",
                     "status": "deployed" if last else "superseded"},
            "chart": {"metadata": {"apiVersion": "v2", "name": chart, "version": f"0.{revision + 3}.0",
                                   "appVersion": version, "type": "application",
                                   "description": f"Chart of {chart}"},
                      "values": {"replicaCount": 1, "image": {"pullPolicy": "IfNotPresent"}},
                      "templates": [{"name": "templates/deployment.yaml", "data": b64("kind: Deployment\n")}]},
            "config": {"image": {"repository": image.rsplit(":", 1)[0], "tag": version}},
            "manifest": f"---\n# Source: {chart}/templates/deployment.yaml\napiVersion: apps/v1\nkind: Deployment\n",
            "hooks": [],
        }
        packed = gzip.compress(json.dumps(release, sort_keys=True).encode(), 9, mtime=0)
        c.add("helm-releases", "v1", "Secret", f"sh.helm.release.v1.{name}.v{revision}", ns,
              {"name": name, "owner": "helm", "status": release["info"]["status"], "version": str(revision),
               "modifiedAt": str(EPOCH + (20 + 15 * revision) * DAY)},
              type="helm.sh/release.v1", data={"release": b64(base64.b64encode(packed).decode())})


def make_team(c, team, stage):
    ns = f"{team}-{stage}"
    for app in TEAMS[team]:
        make_app(c, team, stage, app)
    front = TEAMS[team][0]
    host = f"{team}.harbor.example" if stage == "prod" else f"{team}.staging.harbor.example"
    c.add(ns, "networking.k8s.io/v1", "Ingress", front, ns, {"app.kubernetes.io/name": front},
          {"cert-manager.io/cluster-issuer": "letsencrypt"},
          spec={"ingressClassName": "nginx", "tls": [{"hosts": [host, f"www.{host}"], "secretName": f"{front}-tls"}],
                "rules": [{"host": h, "http": {"paths": [
                    {"path": "/", "pathType": "Prefix",
                     "backend": {"service": {"name": front, "port": {"name": "http"}}}}]}} for h in (host, f"www.{host}")]},
          status={"loadBalancer": {"ingress": [{"ip": "203.0.113.10"}]}})
    api = TEAMS[team][1]
    c.add(ns, "networking.k8s.io/v1", "Ingress", f"{api}-api", ns, {"app.kubernetes.io/name": api},
          spec={"ingressClassName": "nginx",
                "rules": [{"host": f"api.{host}", "http": {"paths": [
                    {"path": f"/{api}", "pathType": "Prefix",
                     "backend": {"service": {"name": api, "port": {"name": "http"}}}}]}}]},
          status={"loadBalancer": {"ingress": [{"ip": "203.0.113.10"}]}})
    make_certificate(c, ns, front, [host, f"www.{host}"], ready=(team, stage) != ("logistics", "staging"))
    make_rbac(c, ns, team)
    c.add(ns, "batch/v1", "CronJob", "nightly-report", ns, {"app.kubernetes.io/part-of": team},
          spec={"schedule": "30 2 * * *", "timeZone": "Etc/UTC", "concurrencyPolicy": "Forbid", "suspend": stage == "staging",
                "jobTemplate": {"spec": {"template": pod_template(
                    "report", f"{REGISTRY}/platform/report:1.4.{len(team)}", "default", [("http", 8080)], [])}}},
          status={"lastScheduleTime": stamp(89, 9000), "lastSuccessfulTime": stamp(89, 9060)})
    c.add(ns, "autoscaling/v2", "HorizontalPodAutoscaler", front, ns,
          spec={"minReplicas": 2, "maxReplicas": 10,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": front},
                "metrics": [{"type": "Resource", "resource": {
                    "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]},
          status={"currentReplicas": 3, "desiredReplicas": 3})
    c.add(ns, "networking.k8s.io/v1", "NetworkPolicy", "default-deny", ns,
          spec={"podSelector": {}, "policyTypes": ["Ingress"]})


def make_rbac(c, ns, team):
    c.add(ns, "rbac.authorization.k8s.io/v1", "Role", "deployer", ns,
          rules=[{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "patch"]},
                 {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "update"]}])
    c.add(ns, "rbac.authorization.k8s.io/v1", "RoleBinding", "deployer", ns,
          roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deployer"},
          subjects=[{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": f"team-{team}"},
                    {"kind": "ServiceAccount", "name": "ci-runner", "namespace": "ci"}])


def make_certificate(c, ns, name, hosts, ready=True):
    c.add("certificates", "cert-manager.io/v1", "Certificate", f"{name}-tls", ns,
          spec={"dnsNames": hosts, "secretName": f"{name}-tls", "duration": "2160h0m0s", "renewBefore": "360h0m0s",
                "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "letsencrypt"},
                "privateKey": {"algorithm": "ECDSA", "size": 256}},
          status={"notBefore": stamp(40), "notAfter": stamp(130), "renewalTime": stamp(115), "revision": 2,
                  "conditions": [condition("Ready", "True" if ready else "False", "Ready" if ready else "DoesNotExist",
                                           "Certificate is up to date and has not expired" if ready
                                           else "Issuing certificate as Secret does not exist", 41)]})
    if ready:
        c.add("certificates", "v1", "Secret", f"{name}-tls", ns, None, {"cert-manager.io/certificate-name": f"{name}-tls"},
              type="kubernetes.io/tls",
              data={"tls.crt": b64("example certificate, not a real one\n"), "tls.key": b64("example key, not a secret\n")})


def make_platform(c):
    for name, ns, day in (("ingress-nginx-controller", "ingress-nginx", 3), ("cert-manager", "cert-manager", 2),
                          ("cert-manager-webhook", "cert-manager", 2), ("cert-manager-cainjector", "cert-manager", 2),
                          ("source-controller", "flux-system", 1), ("helm-controller", "flux-system", 1),
                          ("kustomize-controller", "flux-system", 1), ("notification-controller", "flux-system", 1),
                          ("coredns", "kube-system", 0), ("metrics-server", "kube-system", 0),
                          ("grafana", "monitoring", 9), ("prometheus-operator", "monitoring", 9),
                          ("kube-state-metrics", "monitoring", 9), ("loki-gateway", "logging", 12),
                          ("runner-manager", "ci", 20), ("registry-cache", "ci", 20)):
        version = f"{1 + day % 3}.{day + 5}.{len(name) % 7}"
        c.add("platform", "apps/v1", "Deployment", name, ns, standard_labels(name, "platform", version),
              {"deployment.kubernetes.io/revision": "3"},
              spec={"replicas": 2, "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
                    "template": pod_template(name, f"{REGISTRY}/platform/{name}:v{version}", name,
                                             [("http", 8080)], [{"name": "LOG_LEVEL", "value": "info"}])},
              status=deployment_status(2, 2))
        c.add("platform", "v1", "ServiceAccount", name, ns, standard_labels(name, "platform", version))
    for name, ns in (("node-exporter", "monitoring"), ("promtail", "logging"), ("kube-proxy", "kube-system"),
                     ("cni-agent", "kube-system"), ("csi-node", "kube-system")):
        c.add("platform", "apps/v1", "DaemonSet", name, ns, standard_labels(name, "platform", "1.8.2"),
              spec={"selector": {"matchLabels": {"app.kubernetes.io/name": name}},
                    "template": pod_template(name, f"{REGISTRY}/platform/{name}:1.8.2", name, [("metrics", 9100)], [])},
              status={"desiredNumberScheduled": 4, "currentNumberScheduled": 4, "numberReady": 4, "numberMisscheduled": 0})
    for name, ns, size in (("postgres-shop", "databases", "50Gi"), ("postgres-payments", "databases", "80Gi"),
                           ("redis-cart", "databases", "5Gi"), ("kafka", "databases", "200Gi"),
                           ("prometheus", "monitoring", "100Gi"), ("loki", "logging", "150Gi")):
        c.add("platform", "apps/v1", "StatefulSet", name, ns, standard_labels(name, "platform", "2.4.1"),
              spec={"replicas": 3, "serviceName": name, "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
                    "template": pod_template(name, f"{REGISTRY}/platform/{name.split('-')[0]}:2.4.1", "default",
                                             [("client", 5432)], []),
                    "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}}]},
              status={"replicas": 3, "readyReplicas": 3, "currentReplicas": 3})
        for index in range(3):
            c.add("platform", "v1", "PersistentVolumeClaim", f"data-{name}-{index}", ns,
                  spec={"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                        "resources": {"requests": {"storage": size}}, "volumeName": f"pvc-{uid_of(name, str(index))[:8]}"},
                  status={"phase": "Bound", "capacity": {"storage": size}})
    for index in range(4):
        c.add("nodes", "v1", "Node", f"worker-{index + 1}",
              labels={"kubernetes.io/hostname": f"worker-{index + 1}", "topology.kubernetes.io/zone": f"zone-{'abc'[index % 3]}",
                      "node.kubernetes.io/instance-type": "m.large"},
              spec={"podCIDR": f"10.244.{index}.0/24"},
              status={"capacity": {"cpu": "8", "memory": "32781236Ki", "pods": "110"},
                      "nodeInfo": {"kubeletVersion": "v1.35.2", "osImage": "Debian GNU/Linux 12 (bookworm)",
                                   "architecture": "amd64", "containerRuntimeVersion": "containerd://2.1.4"},
                      "conditions": [condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", 1)]})


def make_crd(c, group, version, kind, plural, scope="Namespaced"):
    c.add("crds", "apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}",
          spec={"group": group, "scope": scope, "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural,
                                                          "singular": kind.lower()},
                "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}},
                              "schema": {"openAPIV3Schema": {
                                  "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
          status={"acceptedNames": {"kind": kind, "plural": plural}, "storedVersions": [version],
                  "conditions": [condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted", 1)]})


def make_custom_resources(c):
    make_crd(c, "cert-manager.io", "v1", "Certificate", "certificates")
    make_crd(c, "cert-manager.io", "v1", "ClusterIssuer", "clusterissuers", "Cluster")
    make_crd(c, "helm.toolkit.fluxcd.io", "v2", "HelmRelease", "helmreleases")
    make_crd(c, "source.toolkit.fluxcd.io", "v1", "GitRepository", "gitrepositories")
    for name, server in (("letsencrypt", "https://acme.harbor.example/directory"),
                         ("letsencrypt-staging", "https://acme-staging.harbor.example/directory")):
        c.add("certificates", "cert-manager.io/v1", "ClusterIssuer", name,
              spec={"acme": {"email": "platform@harbor.example", "server": server,
                             "privateKeySecretRef": {"name": f"{name}-account"}}},
              status={"conditions": [condition("Ready", "True", "ACMEAccountRegistered", "The ACME account was registered", 3)]})
    for name in ("grafana", "prometheus", "registry"):
        make_certificate(c, {"registry": "ci"}.get(name, "monitoring"), name, [f"{name}.harbor.example"])
    c.add("flux", "source.toolkit.fluxcd.io/v1", "GitRepository", "platform", "flux-system",
          spec={"interval": "5m0s", "ref": {"branch": "main"}, "url": "ssh://git@git.harbor.example/platform/fleet.git",
                "secretRef": {"name": "flux-git"}},
          status={"artifact": {"revision": "main@sha1:5f0c1d9e7b3a4c2d8e6f0a1b2c3d4e5f60718293", "lastUpdateTime": stamp(88)},
                  "conditions": [condition("Ready", "True", "Succeeded", "stored artifact for revision 'main'", 88)]})
    for chart, ns, version, ready in (
            ("ingress-nginx", "ingress-nginx", "4.12.1", True), ("cert-manager", "cert-manager", "v1.17.1", True),
            ("kube-prometheus-stack", "monitoring", "69.3.2", True), ("loki", "logging", "6.27.0", True),
            ("metrics-server", "kube-system", "3.12.2", True), ("postgresql", "databases", "16.4.9", True),
            ("redis", "databases", "20.9.0", True), ("kafka", "databases", "31.4.1", False)):
        c.add("flux", "helm.toolkit.fluxcd.io/v2", "HelmRelease", chart, ns,
              spec={"interval": "30m0s", "releaseName": chart,
                    "chart": {"spec": {"chart": chart, "version": version,
                                       "sourceRef": {"kind": "HelmRepository", "name": "mirror", "namespace": "flux-system"}}},
                    "values": {"replicaCount": 2}},
              status={"lastAttemptedRevision": version, "observedGeneration": 4,
                      "history": [{"chartName": chart, "chartVersion": version, "name": chart, "namespace": ns,
                                   "status": "deployed" if ready else "failed", "version": 4,
                                   "lastDeployed": stamp(70)}],
                      "conditions": [condition("Ready", str(ready), "UpgradeSucceeded" if ready else "UpgradeFailed",
                                               f"Helm upgrade of {chart} {'succeeded' if ready else 'failed: timed out'}", 70)]})
        make_helm_release(c, ns, chart, chart, version.lstrip("v"), f"{REGISTRY}/charts/{chart}:{version}", 1)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_example_dump.py FOLDER")
    c = Cluster()
    make_namespaces(c)
    for team in TEAMS:
        for stage in STAGES:
            make_team(c, team, stage)
    make_platform(c)
    make_custom_resources(c)
    total = c.write(pathlib.Path(sys.argv[1]))
    kinds = {item["kind"] for items in c.files.values() for item in items}
    print(f"{total} objects of {len(kinds)} kinds in {len(c.files)} files")


if __name__ == "__main__":
    main()
