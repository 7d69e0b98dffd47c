#!/usr/bin/env python3
"""charts/kollect: Kubernetes takes what it renders, its roles are what `kollect rbac` tells, and the operator works with no other rights."""
import json
import os
import re
import ssl
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import yaml

import flux_cluster
import harness
import operator_test as op
import promtool

CHART = harness.ROOT / "charts/kollect"
DEPLOY = harness.ROOT / "deploy/operator"
CRDS = CHART / "crds/kollect.dev.yaml"
NS = "kollect-system"
OFF = ["--set", "webhooks.enabled=false"]
SELF_SIGNED = ["--set", "webhooks.selfSigned.enabled=true"]
TENANT = ["--values", str(CHART / "values-minimal-rbac.yaml")]
MONITORED = ["--set", "metrics.serviceMonitor.enabled=true,metrics.prometheusRule.enabled=true,dashboards.enabled=true"]
READ = ["--set", "featureGates.inventoryHttp.enabled=true"]
LOGIN = ["--set", "oauth2Proxy.enabled=true,oauth2Proxy.issuerUrl=https://login.example,oauth2Proxy.clientSecret=a,oauth2Proxy.cookieSecret=b"]
# Kinds of others, as far as a dry run needs them.
OTHERS = (("cert-manager.io", "v1", "Issuer", "issuers"), ("cert-manager.io", "v1", "Certificate", "certificates"),
          ("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"), ("monitoring.coreos.com", "v1", "PrometheusRule", "prometheusrules"))


def setUpModule():
    op.KUBE.update(op.exports(op.server("kube.sh", "start")))
    op.PG.update(op.exports(op.server("postgres.sh", "start")))
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}} for ns in (NS, "team-a", "team-b")]
    namespaces.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody", "namespace": NS}})
    crds = CRDS.read_text(encoding="utf-8") + "\n---\n" + yaml.safe_dump_all([definition(*one) for one in OTHERS])
    op.kubectl("apply", "--server-side", "-f", "-", stdin=crds + "\n---\n" + yaml.safe_dump_all(namespaces))
    op.wait_for_kinds(crds.count("kind: CustomResourceDefinition\n"), "--all", "crd")


def tearDownModule():
    op.server("postgres.sh", "stop")
    op.server("kube.sh", "stop")


def definition(group, version, kind, plural):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": schema}]}}


def template(*flags):
    made = flux_cluster.helm("template", "kollect", str(CHART), "--namespace", NS, *flags)
    if made.returncode != 0:
        raise AssertionError(made.stderr)
    return made.stdout


def container(text):
    [deployment] = [one for one in yaml.safe_load_all(text) if one and one["kind"] == "Deployment"]
    return deployment["spec"]["template"]["spec"]["containers"][0]


def rights(text):
    """All that the roles of a stream of manifests allow, a tuple each."""
    found = set()
    for one in yaml.safe_load_all(text):
        if not one or one["kind"] not in ("Role", "ClusterRole"):
            continue
        ns = one["metadata"].get("namespace", "")
        for rule in one["rules"]:
            found |= {(ns, "", url, "", verb) for url in rule.get("nonResourceURLs", []) for verb in rule["verbs"]}
            found |= {(ns, group, resource, name, verb) for group in rule.get("apiGroups", []) for resource in rule.get("resources", [])
                      for name in rule.get("resourceNames", [""]) for verb in rule["verbs"]}
    return found


class Rendered(unittest.TestCase):
    maxDiff = None

    def test_definitions_are_those_of_the_program(self):
        self.assertEqual(CRDS.read_text(encoding="utf-8"), harness.run("crds").stdout, "make manifests")

    def test_every_choice_is_taken_by_kubernetes(self):
        self.assertEqual((lint := flux_cluster.helm("lint", "--strict", str(CHART))).returncode, 0, lint.stdout)
        more = "networkPolicy.enabled=true,podDisruptionBudget.enabled=true,rbac.helperRoles.create=true,collector.readAll=true,priorityClassName=p," \
               "nodeSelector.a=b,imagePullSecrets[0].name=s,podAnnotations.a=b,podLabels.a=b,resourcesProfile=large,export.maxBytes=1000000,pprof.enabled=true," \
               "scrubKeys[0]=a,sensitiveKinds[0]=g/K,defaultExcludedNamespaces[0]=x,controller.targetCountResync=30s,extraEnv[0].name=A,extraEnv[0].value=b"
        flags_of_the_program = set(re.findall(r"--[a-z0-9-]+", harness.run("operator", "--help").stdout))
        texts = []
        for flags in ([], OFF, SELF_SIGNED, TENANT, [*OFF, "--set", "leaderElection.enabled=false"], ["--set", more],
                      ["--set", "watchNamespaces={team-a,team-b},replicaCount=3", *OFF], [*MONITORED, "--set", "shards=12,replicaCount=3", *OFF],
                      ["--set", "webhooks.certManager.create=false,webhooks.caBundle=Y2E="], [*OFF, "--set", "serviceAccount.create=false"],
                      [*MONITORED, "--set", "networkPolicy.enabled=true,metrics.readerRole.extraSubjects[0].kind=Group,metrics.readerRole.extraSubjects[0].name=g,"
                       "metrics.prometheusRule.additionalRules[0].alert=A,metrics.prometheusRule.additionalRules[0].expr=up,metrics.serviceMonitor.labels.a=b"],
                      [*MONITORED, *OFF, "--set", "metrics.secure=false,leaderElection.enabled=false"], [*MONITORED, "--set", "metrics.certSecret=c"],
                      [*OFF, "--set", "metrics.enabled=false"], [*OFF, *READ, "--set", "networkPolicy.enabled=true,featureGates.inventoryHttp.audiences={a,b}"],
                      [*OFF, *READ, "--set", "metrics.enabled=false,featureGates.inventoryHttp.corsOrigins={https://a.example},featureGates.inventoryHttp.optIn=true,"
                       "featureGates.inventoryHttp.ui=true,featureGates.inventoryHttp.certSecret=c"], [*OFF, *READ, *LOGIN], [*TENANT, *READ], [*TENANT, *MONITORED, "--set", "rbac.authDelegator.create=true"],
                      ["--set", "rbac.create=false"]):
            texts.append(template(*flags))
            self.assertEqual({argument.partition("=")[0] for argument in container(texts[-1])["args"]} - flags_of_the_program, set(), flags)
        op.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin="\n---\n".join(texts))

    def test_what_could_not_work_is_refused(self):
        for values, named in (("replicaCount=2,leaderElection.enabled=false", "replicaCount"), ("shards=4,leaderElection.enabled=false", "leaderElection.enabled"),
                              ("shards=2,replicaCount=3", "replicaCount 3 with shards 2"), ("shards=65", "shards"), ("shards=-1", "shards"),
                              ("tenantMode=true", "webhooks.enabled=false"),
                              ("webhooks.certManager.create=false", "caBundle"), ("mode=hub", "mode"), ("watchNamespaces={A}", "watchNamespaces"),
                              ("log.level=loud", "level"), ("controller.targetCountResync=often", "targetCountResync"),
                              ("terminationGracePeriodSeconds=10", "terminationGracePeriodSeconds"),
                              ("featureGates.inventoryHttp.authMode=none", "authMode"), ("oauth2Proxy.enabled=true", "featureGates.inventoryHttp.enabled"),
                              ("featureGates.inventoryHttp.enabled=true,oauth2Proxy.enabled=true", "issuerUrl"),
                              ("featureGates.inventoryHttp.enabled=true,shards=4", "kollect serve"),
                              ("metrics.bindAddress=8443", "bindAddress"), ("metrics.serviceMonitor.enabled=true,metrics.enabled=false", "metrics.enabled"),
                              ("collector.rules[0].apiGroups={apps},collector.rules[0].resources={deployments},collector.rules[0].verbs={update}", "verbs")):
            with self.subTest(values):
                made = flux_cluster.helm("template", "kollect", str(CHART), "--set", values)
                self.assertNotEqual(made.returncode, 0)
                self.assertIn(named, made.stderr)

    def test_values_that_nobody_knows_are_told(self):
        for flags, told in ((["--set", "typo=1,profiles.enabled=true"], ["typo, profiles"]), ([], [])):
            made = flux_cluster.helm("install", "kollect", str(CHART), "--dry-run=client", "--skip-crds", "--kubeconfig", op.KUBE["KUBECONFIG"], *OFF, *flags)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual([set(names.split(", ")) for names in re.findall(r"change nothing: (.*)", made.stdout)], [set(names.split(", ")) for names in told])

    def test_roles_are_what_the_program_says_it_needs(self):
        metrics = ["--metrics"]
        for flags, asked in ((OFF, metrics), (TENANT, ["--tenant-mode", "--watch-namespaces", "team-a"]),
                             ([*OFF, "--set", "watchNamespaces={team-a,team-b}"], [*metrics, "--watch-namespaces", "team-a,team-b"]),
                             ([*OFF, *READ], [*metrics, "--read-api"]), ([*OFF, *READ, "--set", "metrics.enabled=false"], ["--read-api"]),
                             ([*OFF, *READ, "--set", "metrics.enabled=false,featureGates.inventoryHttp.authMode=disabled"], []),
                             ([*OFF, "--set", "metrics.secure=false"], []), ([*OFF, "--set", "metrics.enabled=false"], []),
                             ([*OFF, "--set", "shards=2,replicaCount=2"], [*metrics, "--shards", "2"]),
                             (["--set", "tenantMode=true,shards=12", *OFF], ["--tenant-mode", "--shards", "12"]),
                             (["--set", "tenantMode=true,rbac.allSecrets=false", *OFF], ["--tenant-mode"]),
                             (["--set", "rbac.allSecrets=false", *SELF_SIGNED], [*metrics, "--webhook-self-signed"])):
            with self.subTest(" ".join(flags)):
                secrets = [] if "allSecrets" in str(flags) else ["--all-secrets"]
                told = harness.run("rbac", *asked, *secrets)
                self.assertEqual(told.returncode, 0, told.stderr)
                readers = {("", "", "/metrics", "", "get")}  # who may scrape is no need of the operator
                self.assertEqual(rights(template(*flags)) - readers, rights(told.stdout))

    def test_webhooks_are_those_of_the_manifests(self):
        ours, theirs = template(*SELF_SIGNED), (DEPLOY / "webhooks.yaml").read_text(encoding="utf-8")
        self.assertEqual(rights(ours) - rights(template(*OFF)), rights(theirs))
        key = "ValidatingWebhookConfiguration", "kollect-validating-webhook-configuration"
        self.assertEqual(flux_cluster.objects(ours)[key]["webhooks"], flux_cluster.objects(theirs)[key]["webhooks"])

    def test_reading_everything_leaves_out_secrets(self):
        for flags in (OFF, TENANT):
            added = rights(template(*flags, "--set", "collector.readAll=true")) - rights(template(*flags))
            self.assertIn("pods", {one[2] for one in added})
            self.assertNotIn("secrets", {one[2] for one in added})
            self.assertNotIn("", {one[1] for one in added if one[2] == "*"})
            self.assertEqual({one[4] for one in added}, {"list", "watch"})

    def test_manifests_of_kustomize_are_those_of_the_chart(self):
        script = harness.ROOT / "scripts/generate/operator_manifests.sh"
        path = op.KUBE["PATH"].strip('"').replace("$PATH", os.environ["PATH"])
        made = subprocess.run([script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True).stdout
        self.assertEqual((DEPLOY / "operator.yaml").read_text(encoding="utf-8"), made, "make manifests")
        text = flux_cluster.render(DEPLOY)
        op.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text)
        self.assertEqual({(one["kind"], one["metadata"]["name"]) for one in yaml.safe_load_all(made) if one},
                         flux_cluster.objects(text).keys() - {("Namespace", NS)})

    def test_ports_are_those_of_the_addresses(self):
        for flags, port in (([], 8443), (["--set", "metrics.bindAddress=127.0.0.1:9090"], 9090), (["--set", "metrics.enabled=false"], None)):
            text = template(*OFF, "--set", "networkPolicy.enabled=true", *flags)
            found = flux_cluster.objects(text)
            named = {one["name"]: one["containerPort"] for one in container(text)["ports"]}
            self.assertEqual(named.get("metrics"), port)
            name = "kollect-controller-manager"
            self.assertEqual({one["name"]: one["port"] for one in found["Service", name]["spec"]["ports"]}, named)
            self.assertEqual({one["targetPort"] for one in found["Service", name]["spec"]["ports"]}, set(named))
            self.assertEqual({one["port"] for one in found["NetworkPolicy", name]["spec"]["ingress"][0]["ports"]}, set(named))

    def test_the_read_api_has_a_service_of_its_own(self):
        name = "kollect-inventory"
        self.assertNotIn(("Service", name), flux_cluster.objects(template(*OFF)))
        found = flux_cluster.objects(template(*OFF, *READ, "--set", "networkPolicy.enabled=true"))
        self.assertEqual(found["Service", name]["spec"]["ports"], [{"name": "inventory-http", "port": 8082, "targetPort": "inventory-http"}])
        self.assertIn({"protocol": "TCP", "port": "inventory-http"}, found["NetworkPolicy", "kollect-controller-manager"]["spec"]["ingress"][0]["ports"])
        # Behind a login it is reached through that alone.
        found = flux_cluster.objects(template(*OFF, *READ, *LOGIN))
        self.assertEqual(found["Service", name]["spec"]["ports"][0]["port"], 4180)
        manager, proxy = found["Deployment", "kollect-controller-manager"]["spec"]["template"]["spec"]["containers"]
        self.assertIn("--inventory-bind-address=127.0.0.1", manager["args"])
        self.assertNotIn("inventory-http", [port["name"] for port in manager["ports"]])
        self.assertIn("--upstream=http://127.0.0.1:8082/", proxy["args"])
        self.assertIn("--pass-authorization-header", proxy["args"])

    def test_a_scrape_asks_as_the_operator_answers(self):
        key = "ServiceMonitor", "kollect-controller-manager"
        for flags, wanted in (([], {"scheme": "https", "insecureSkipVerify": True}), (["--set", "metrics.secure=false"], {"scheme": "http"}),
                              (["--set", "metrics.certSecret=c"], {"scheme": "https", "serverName": f"kollect-controller-manager.{NS}.svc",
                                                                  "ca": {"secret": {"name": "c", "key": "ca.crt"}}})):
            text = template(*OFF, *MONITORED, *flags)
            monitor = flux_cluster.objects(text)[key]
            [endpoint] = monitor["spec"]["endpoints"]
            self.assertEqual({"scheme": endpoint["scheme"], **endpoint.get("tlsConfig", {})}, wanted)
            self.assertEqual("bearerTokenFile" in endpoint, wanted["scheme"] == "https")
            self.assertEqual("--metrics-cert-path=/certificates/metrics" in container(text)["args"], "ca" in wanted)
            service = flux_cluster.objects(text)["Service", "kollect-controller-manager"]
            self.assertIn(endpoint["port"], [port["name"] for port in service["spec"]["ports"]])
            self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())

    def test_alerts_fire_and_do_not(self):
        spec = flux_cluster.objects(template(*OFF, *MONITORED))["PrometheusRule", "kollect"]["spec"]
        alerts = [rule["alert"] for rule in spec["groups"][0]["rules"]]
        cases = (harness.ROOT / "tests/cases/metrics/alerts.yaml").read_text(encoding="utf-8")
        for told in promtool.rules(yaml.safe_dump(spec), tempfile.mkdtemp(dir=harness.HOME.name), cases):
            self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        # No alert is left out: each has a case in which it fires and one in which it does not.
        told = [(case["alertname"], bool(case["exp_alerts"])) for test in yaml.safe_load(cases)["tests"] for case in test["alert_rule_test"]]
        self.assertEqual(set(told), {(alert, fires) for alert in alerts for fires in (True, False)})
        self.assertEqual({rule["labels"]["severity"] for rule in spec["groups"][0]["rules"]}, {"warning"})
        shared = flux_cluster.objects(template(*OFF, *MONITORED, "--set", "shards=12"))["PrometheusRule", "kollect"]["spec"]
        cases = (harness.ROOT / "tests/cases/metrics/alerts_shards.yaml").read_text(encoding="utf-8")
        for told in promtool.rules(yaml.safe_dump(shared), tempfile.mkdtemp(dir=harness.HOME.name), cases):
            self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        self.assertEqual([rule["alert"] for rule in shared["groups"][0]["rules"]], alerts)
        alone = flux_cluster.objects(template(*OFF, *MONITORED, "--set", "leaderElection.enabled=false"))["PrometheusRule", "kollect"]["spec"]
        self.assertEqual(set(alerts) - {rule["alert"] for rule in alone["groups"][0]["rules"]}, {"KollectNoLeader"})

    def test_alerts_and_the_dashboard_ask_for_what_there_is(self):
        found = flux_cluster.objects(template(*OFF, *MONITORED))
        dashboard = json.loads(found["ConfigMap", "kollect-dashboard"]["data"]["kollect.json"])
        self.assertEqual(found["ConfigMap", "kollect-dashboard"]["metadata"]["labels"]["grafana_dashboard"], "1")
        asked = [rule["expr"] for rule in found["PrometheusRule", "kollect"]["spec"]["groups"][0]["rules"]]
        asked += [one["expr"] for panel in dashboard["panels"] for one in panel["targets"]]
        self.assertEqual(set().union(*map(promtool.used_names, asked)) - promtool.documented(), set())
        for one in asked:
            self.assertNotEqual(promtool.used_names(one), set(), one)

    def test_the_golden_page_is_taken_by_prometheus(self):
        page = promtool.GOLDEN.read_text(encoding="utf-8")
        self.assertEqual(promtool.complaints(page), {one for one in promtool.KEPT if one.split(" ")[0] in promtool.families(page)})
        self.assertEqual(set(promtool.families(page)) - promtool.documented(), set())

    def test_notes_say_who_can_scrape(self):
        for flags, told in (([], "gets 403"), (["--set", "metrics.readerRole.extraSubjects[0].kind=Group"], None), (["--set", "metrics.enabled=false"], None),
                            (["--set", "tenantMode=true"], "Nobody can read them")):
            made = flux_cluster.helm("install", "kollect", str(CHART), "--dry-run=client", "--skip-crds", "--kubeconfig", op.KUBE["KUBECONFIG"], *OFF, *flags)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual([one for one in ("gets 403", "Nobody can read them") if one in made.stdout], [told] if told else [])

    def test_the_pod_keeps_to_the_restricted_profile(self):
        op.kubectl("label", "--overwrite", "namespace", NS, "pod-security.kubernetes.io/enforce=restricted")
        [deployment] = [one for one in yaml.safe_load_all(template()) if one and one["kind"] == "Deployment"]
        pod = {**deployment["spec"]["template"], "apiVersion": "v1", "kind": "Pod"}
        pod["metadata"].update(name="manager", namespace=NS)
        op.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))

    def test_nothing_of_the_pod_can_be_written_but_tmp(self):
        [deployment] = [one for one in yaml.safe_load_all(template()) if one and one["kind"] == "Deployment"]
        pod = deployment["spec"]["template"]["spec"]
        secured = {**pod["securityContext"], **pod["containers"][0]["securityContext"]}
        self.assertEqual(secured, {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}, "readOnlyRootFilesystem": True,
                                   "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}})
        self.assertEqual([m["mountPath"] for m in pod["containers"][0]["volumeMounts"] if not m.get("readOnly")], ["/tmp"])


class Installed(op.Scenario):
    """The command of the pod with the token of its account; roles of the chart are all it has."""

    def install(self, *flags, home=NS, here=()):
        """What the chart renders stands in the cluster, in the namespace `home`, and its operator runs; `here`: what is
        elsewhere on this machine."""
        text = template(*flags, "--namespace", home)
        op.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text)
        self.addCleanup(op.kubectl, "delete", "--ignore-not-found", "-f", "-", stdin=text)
        token = op.kubectl("create", "token", "kollect-controller-manager", "-n", home, "--duration", "1h").strip()
        kubeconfig = self.folder / f"{home}.kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": op.KUBE["KUBE_SERVER"], "certificate-authority": op.KUBE["KUBE_CA"]}}],
            "users": [{"name": "u", "user": {"token": token}}]}), encoding="utf-8")
        found = container(text)
        self.assertEqual(found["command"], ["kollect", "operator"])
        # Behind those of the pod: this machine's own database, and no ports in the way of others. Other tests have no webhooks.
        hooks = [] if "--validating-webhooks-enabled=false" in found["args"] else ["--validating-webhooks-enabled", "--webhook-bind-address", "127.0.0.1:0"]
        self.token = token
        return self.operator(*found["args"], *hooks, "--kubeconfig", str(kubeconfig), "--health-probe-bind-address", "0", "--log-level", "debug",
                             "--metrics-bind-address", "127.0.0.1:0", *here)

    def scrape(self, operator, token):
        """Status and page."""
        [port] = re.findall(r'"msg":"metrics are served","port":"(\d+)"', op.until("metrics", lambda: "metrics are served" in operator.text() and operator.text()))
        request = urllib.request.Request(f"https://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {token}"} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=30, context=ssl._create_unverified_context()) as answer:  # nobody can verify it
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, ""

    def can_be_scraped(self, operator):
        """By the account of the chart and no other; and Prometheus takes the page, whose series are all in the catalogue."""
        self.assertEqual(self.scrape(operator, None)[0], 401)
        self.assertEqual(self.scrape(operator, op.kubectl("create", "token", "nobody", "-n", NS).strip())[0], 403)
        status, page = self.scrape(operator, self.token)
        self.assertEqual(status, 200)
        self.assertEqual(promtool.complaints(page), promtool.KEPT)
        found = promtool.families(page)
        kept = {one.split(" ")[0] for one in promtool.KEPT}
        self.assertEqual(promtool.complaints("".join(line for name, lines in found.items() if name not in kept for line in lines)), set())
        self.assertEqual(set(found) - promtool.documented(), set())
        # What the catalogue has beside comes only with an event of its kind.
        golden = set(promtool.families(promtool.GOLDEN.read_text(encoding="utf-8")))
        others = {"kollect_custom_resource_labeled_series", "kollect_custom_resource_labeled_series_capped_total",
                  "kollect_shards", "kollect_shards_held", "kollect_shards_replicas",
                  # Of the read API, which is off here.
                  "kollect_inventory_http_requests_total", "kollect_inventory_http_streams", "kollect_inventory_http_streams_dropped_total"}
        self.assertEqual(promtool.documented() - set(found) - golden, others)

    def values(self, text, *flags):
        """Values that let a chart's operator read what manifests select."""
        made = harness.run("rbac", "-", "--output", "values", *flags, stdin=text)
        self.assertEqual(made.returncode, 0, made.stderr)
        return ["--values", str(harness.write(self.folder / "collector.yaml", made.stdout)), "--set", "rbac.allSecrets=false"]

    def team(self, ns):
        return f"""\
apiVersion: v1
kind: Secret
metadata: {{name: pg, namespace: {ns}}}
stringData: {{dsn: "{op.dsn()}"}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {{name: maps, namespace: {ns}}}
spec:
  targetGVK: {{version: v1, kind: ConfigMap}}
  attributes:
    - {{name: v, path: "$.data.v", optional: true}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {{name: maps, namespace: {ns}}}
spec: {{profileRef: maps, includedNamespaces: [{ns}]}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {{name: pg, namespace: {ns}}}
spec:
  type: postgres
  postgres: {{databaseRef: {{name: pg}}, table: chart_rows}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectInventory
metadata: {{name: all, namespace: {ns}}}
spec: {{databaseSinkRefs: [pg]}}
"""

    def works(self, ns, operator, scrape):
        """From an object to the table and back again, to the end of the inventory."""
        op.apply(self.team(ns))
        self.maps(ns, a="1")
        op.until("rows", lambda: self.rows(ns, "chart_rows") == {"a": "1"})
        self.maps(ns, a="2")
        op.until("the change", lambda: self.rows(ns, "chart_rows") == {"a": "2"})
        op.until("a good inventory", lambda: self.conditions("kollectinventory", ns, "all").get("Ready") == "True/Exported")
        op.until("a good target", lambda: self.conditions("kollecttarget", ns, "maps").get("Ready") == "True/Collecting")
        scrape(operator)
        op.until("an event", lambda: "ExportSucceeded" in op.kubectl("get", "events", "-n", ns, "-o", "jsonpath={.items[*].reason}"))
        op.kubectl("delete", "kollectinventory", "all", "-n", ns, "--timeout=60s")
        self.assertEqual(self.rows(ns, "chart_rows"), {})
        self.assertNotIn("forbidden", operator.text())
        self.doctor_finds_what_is_missing()
        op.kubectl("delete", "--ignore-not-found", "--timeout=60s", "-f", "-", stdin=self.team(ns))
        self.assertEqual(operator.stop(), 0)

    def doctor_finds_what_is_missing(self):
        def found():
            lines = harness.run("doctor", "--json", "--kubeconfig", op.KUBE["KUBECONFIG"]).stdout.splitlines()
            return {(one["level"], one["about"], one["text"]) for one in map(json.loads, lines)}
        operator = f"operator {NS}/kollect-controller-manager"
        self.assertIn(("fine", operator, "may do all that it needs to"), found())
        self.assertIn(("fine", f"lease {NS}/3274ac8a.kollect.dev"), {one[:2] for one in found()})
        account = f"system:serviceaccount:{NS}:kollect-controller-manager"
        [binding] = [one["metadata"] for one in json.loads(op.kubectl("get", "rolebindings", "-A", "-o", "json"))["items"]
                     if one["metadata"]["name"] == "kollect-collector"]
        op.kubectl("delete", "rolebinding", binding["name"], "-n", binding["namespace"])
        missing = found()
        self.assertIn(("wrong", f"KollectTarget {binding['namespace']}/maps",
                       f"{account} may not list, watch configmaps in namespace {binding['namespace']}"), missing)
        self.assertIn(("wrong", operator, f"{account} may not get secrets pg in namespace {binding['namespace']}"), missing)

    def test_an_operator_of_the_cluster(self):
        self.works("team-b", self.install(*OFF, *self.values(self.team("team-b"))), self.can_be_scraped)

    def test_kinds_without_a_namespace(self):
        kinds = """\
---
apiVersion: kollect.dev/v1alpha1
kind: KollectClusterTarget
metadata: {name: maps}
spec:
  profileRef: {namespace: team-b, name: maps}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectClusterInventory
metadata: {name: all}
spec: {sinkNamespace: team-b, databaseSinkRefs: [pg], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a}}}
"""
        text = self.team("team-b") + kinds
        operator = self.install(*OFF, *self.values(text), "--set", "shards=2,replicaCount=2")
        op.apply(text)
        self.maps("team-a", c="1")
        op.until("rows", lambda: "c" in (self.rows("cluster", "chart_rows") or {}))
        op.until("a good inventory", lambda: self.conditions("kollectclusterinventory", "default", "all").get("Ready") == "True/Exported")
        lines = harness.run("doctor", "--json", "--kubeconfig", op.KUBE["KUBECONFIG"]).stdout.splitlines()
        self.assertIn(("fine", f"leases {NS}/3274ac8a.kollect.dev-shard-*", "2 parts, replicas that work on them: 1"),
                      {(one["level"], one["about"], one["text"]) for one in map(json.loads, lines)})
        op.kubectl("delete", "--timeout=60s", "-f", "-", stdin=kinds)
        self.assertEqual(self.rows("cluster", "chart_rows"), {})
        op.kubectl("delete", "--timeout=60s", "-f", "-", stdin=self.team("team-b"))
        self.assertEqual(operator.stop(), 0)
        self.assertNotIn("forbidden", operator.text())

    def test_the_operator_looks_after_its_certificate(self):
        operator = self.install(*SELF_SIGNED, "--set", "webhooks.failurePolicy=Ignore")
        configuration = "kollect-validating-webhook-configuration"

        def authorities():
            found = json.loads(op.kubectl("get", "validatingwebhookconfiguration", configuration, "-o", "json"))["webhooks"]
            return [one["clientConfig"].get("caBundle", "") for one in found]
        op.until("a certificate that the API server trusts", lambda: len(set(authorities())) == 1 and authorities()[0] != "")
        op.kubectl("get", "secret", "webhook-server-cert", "-n", NS)
        self.assertEqual(len(authorities()), 11)
        self.assertEqual(operator.stop(), 0)
        self.assertNotIn("forbidden", operator.text())
        op.kubectl("delete", "secret", "webhook-server-cert", "-n", NS)

    def test_the_certificate_of_cert_manager_is_served(self):
        mounted = ["--webhook-cert-path", op.KUBE["KUBE_STATE"], "--webhook-cert-name", "server.crt", "--webhook-cert-key", "server.key"]
        operator = self.install(here=mounted)
        text = op.until("webhooks", lambda: "webhooks are served" in operator.text() and operator.text())
        [port] = re.findall(r'"msg":"webhooks are served","port":"(\d+)"', text)
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "operation": "CREATE", "kind": {"group": "kollect.dev", "version": "v1alpha1", "kind": "KollectProfile"},
            "object": {"apiVersion": "kollect.dev/v1alpha1", "kind": "KollectProfile", "metadata": {"name": "x", "namespace": NS},
                       "spec": {"targetGVK": {"version": "v1", "kind": "Secret"}, "attributes": [{"name": "a", "path": "$.data.a"}]}}}}
        [path] = [one["clientConfig"]["service"]["path"] for one in
                  json.loads(op.kubectl("get", "validatingwebhookconfiguration", "kollect-validating-webhook-configuration", "-o", "json"))["webhooks"]
                  if one["name"] == "vkollectprofile.kb.io"]
        request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", json.dumps(review).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30, context=ssl.create_default_context(cafile=op.KUBE["KUBE_CA"])) as answer:
            told = json.load(answer)["response"]
        self.assertEqual((told["uid"], told["allowed"]), ("u", False))
        self.assertEqual(operator.stop(), 0)

    def test_an_operator_of_a_team_has_no_right_beyond_its_namespace(self):
        flags = [*TENANT, *self.values(self.team("team-a"), "--tenant-mode", "--watch-namespaces", "team-a")]
        self.assertEqual(re.findall(r"^kind: Cluster\w+", template(*flags), re.M), [])
        # Whether a scraper may read the metrics it has no right to ask.
        self.works("team-a", self.install(*flags), lambda operator: self.assertEqual(self.scrape(operator, self.token)[0], 503))

    def test_teams_with_operators_of_their_own_do_not_see_each_other(self):
        teams = ("team-a", "team-b")
        for ns in teams:
            op.kubectl("delete", "configmap", "--all", "-n", ns)  # of other tests
        for ns, other in (teams, teams[::-1]):
            # Each would like to have the other's objects too.
            text = self.team(ns).replace(f"includedNamespaces: [{ns}]", f"includedNamespaces: [{ns}, {other}]")
            values = self.values(self.team(ns), "--tenant-mode", "--watch-namespaces", ns)
            self.install(*TENANT, *values, "--set", f"watchNamespaces={{{ns}}}", home=ns)
            op.apply(text)
            self.maps(ns, **{f"of-{ns}": "1"})
        for ns in teams:
            op.until(f"rows of {ns}", lambda ns=ns: self.rows(ns, "chart_rows") == {f"of-{ns}": "1"})
            op.until(f"{ns} is ready", lambda ns=ns: self.conditions("kollectinventory", ns, "all").get("Ready") == "True/Exported")
        # What changes at one is not noticed by the other.
        self.maps("team-a", more="2")
        op.until("the change", lambda: self.rows("team-a", "chart_rows") == {"of-team-a": "1", "more": "2"})
        self.assertEqual(self.rows("team-b", "chart_rows"), {"of-team-b": "1"})
        self.assertEqual(op.sql("SELECT count(*) FROM chart_rows WHERE resource_namespace <> inventory_namespace"), ["0"])
        for ns, other in (teams, teams[::-1]):
            account = f"system:serviceaccount:{ns}:kollect-controller-manager"
            for what in ("configmaps", "secrets", "kollecttargets.kollect.dev", "kollectinventories.kollect.dev"):
                for verb in ("get", "list"):
                    asked = ("auth", "can-i", verb, what, "-n", other, "--as", account)
                    self.assertEqual(op.kubectl(*asked, check=False).strip(), "no", asked)
        for ns in teams:
            op.kubectl("delete", "kollectinventory", "all", "-n", ns, "--timeout=60s")
            self.assertEqual(self.rows(ns, "chart_rows"), {})
            op.kubectl("delete", "--ignore-not-found", "--timeout=60s", "-f", "-", stdin=self.team(ns))
        for operator in self.operators:
            self.assertEqual(operator.stop(), 0)
            self.assertNotIn("forbidden", operator.text())


if __name__ == "__main__":
    harness.main()
