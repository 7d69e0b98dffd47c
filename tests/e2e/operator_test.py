#!/usr/bin/env python3
"""The operator on a real kube-apiserver with PostgreSQL and Git over https: manifests are applied, backends are read."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import harness
from manifests import document, inventory, namespace, postgres_sink, secret
from sandbox import Sandbox

SERVERS = harness.ROOT / "scripts/servers"
NAME = f"op-{os.getpid()}"
KUBE, PG, GIT = {}, {}, {}
ENVIRONMENT = {}  # what operators find in theirs beside the usual
LIMIT = 60  # seconds that anything may take before the test gives up


def server(script, command, *args, **env):
    return subprocess.run([str(SERVERS / script), command, NAME, *args], check=True, capture_output=True, text=True,
                          env={**os.environ, "OWNER_PID": str(os.getpid()), **env}).stdout


def exports(text):
    found = {}
    for line in re.findall(r"^export (.*)$", text, re.M):
        found.update(re.findall(r"(\w+)=(\"[^\"]*\"|\S+)", line))
    return found


def setUpModule():
    KUBE.update(exports(server("kube.sh", "start")))
    PG.update(exports(server("postgres.sh", "start")))
    GIT.update(exports(server("git.sh", "start")))
    install_crds()


def tearDownModule():
    for script in ("kube.sh", "postgres.sh", "git.sh"):
        server(script, "stop")


def kubectl(*args, stdin=None, check=True):
    env = {**os.environ, "KUBECONFIG": KUBE["KUBECONFIG"], "PATH": KUBE["PATH"].strip('"').replace("$PATH", os.environ["PATH"])}
    process = subprocess.run(["kubectl", *args], env=env, input=stdin, capture_output=True, text=True, check=False)
    if check and process.returncode != 0:
        raise AssertionError(f"kubectl {args}: {process.stderr}")
    return process.stdout


def install_crds():
    crds = subprocess.run([harness.KOLLECT, "crds"], check=True, capture_output=True, text=True).stdout
    kubectl("apply", "--server-side", "-f", "-", stdin=crds)
    wait_for_kinds(crds.count("kind: CustomResourceDefinition\n"), "--all", "crd")


def wait_for_kinds(count, *which):
    """So many definitions are established. kubectl takes a status that is not written yet for an error: it is asked again."""
    until("the kinds", lambda: kubectl("wait", "--for=condition=Established", *which, "--timeout=60s", check=False).count("condition met") == count)


def apply(text):
    kubectl("apply", "-f", "-", stdin=text)


def sql(query):
    env = {**os.environ, **{k: v for k, v in PG.items() if k.startswith("PG")}}
    out = subprocess.run([PG["PG_BIN"] + "/psql", "-qAtX", "-F", "\t", "-c", query], env=env, capture_output=True, text=True, check=False)
    return out.stdout.strip().splitlines() if out.returncode == 0 else None


def until(what, condition, limit=LIMIT):
    """Asks again until the answer is true; the answer."""
    end = time.monotonic() + limit
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit} s: {what}; last answer {answer!r}")
        time.sleep(0.02)


class Operator:
    def __init__(self, folder, *flags, before_start=None, program=harness.KOLLECT):
        self.log = open(pathlib.Path(folder) / f"operator-{time.monotonic_ns()}.log", "w+", encoding="utf-8")
        env = harness.environment(KOLLECT_GIT_MIRROR_DIR=str(pathlib.Path(folder) / "mirrors"), **ENVIRONMENT)
        self.process = harness.ends_with_us(subprocess.Popen(
            [program, "operator", "--kubeconfig", KUBE["KUBECONFIG"], "--allow-loopback-sinks", "--log-level", "debug",
             "--health-probe-bind-address", "0", *flags], stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, env=env,
            preexec_fn=before_start))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60)
        self.log.flush()
        return code

    def kill(self):
        self.process.kill()
        self.process.wait()

    def text(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text(encoding="utf-8")


def dsn():
    return f"postgresql://{PG['PGUSER']}:{PG['PGPASSWORD']}@127.0.0.1:{PG['PGPORT']}/{PG['PGDATABASE']}"


def team(ns, cluster="", table="rows", repo="team"):
    """Profile, target, sinks and inventory of a namespace."""
    ca = pathlib.Path(GIT["GIT_CA"]).read_text(encoding="utf-8")
    return f"""\
apiVersion: v1
kind: Namespace
metadata: {{name: {ns}}}
{secret(ns, "pg", dsn=dsn(), url=dsn(), connectionString=dsn())}
{secret(ns, "git", username=GIT["GIT_USER"], password=GIT["GIT_PASS"])}
{secret(ns, "ca", **{"ca.crt": ca})}
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
spec:
  profileRef: maps
  includedNamespaces: [{ns}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {{name: pg, namespace: {ns}}}
spec:
  type: postgres
  cluster: "{cluster}"
  postgres: {{databaseRef: {{name: pg}}, table: {table}}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectSnapshotSink
metadata: {{name: git, namespace: {ns}}}
spec:
  type: git
  cluster: "{cluster}"
  endpoint: {GIT["GIT_HTTPS_URL"]}/{repo}.git
  secretRef: {{name: git}}
  tls: {{caSecretRef: {{name: ca}}}}
  layout: {{mode: perResource, content: item}}
  git: {{branch: main}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectInventory
metadata: {{name: all, namespace: {ns}}}
spec:
  databaseSinkRefs: [pg]
  snapshotSinkRefs: [git]
"""


class Scenario(harness.Case):
    def setUp(self):
        super().setUp()
        self.operators = []

    def tearDown(self):
        if isinstance(sandbox := getattr(self, "sandbox", None), Sandbox) and sandbox.process.poll() is None:
            self.assertEqual(sandbox.unknown_conditions(), [], "conditions that the table of reasons does not have")
        for operator in self.operators:
            if operator.process.poll() is None:
                operator.kill()
        if self._outcome.result.failures or self._outcome.result.errors:
            for operator in self.operators:
                print(operator.text()[-6000:])
        for operator in self.operators:
            operator.log.close()
        super().tearDown()

    def operator(self, *flags, **options):
        self.operators.append(Operator(self.folder, *flags, **options))
        return self.operators[-1]

    def repo(self, name):
        server("git.sh", "repo", name)
        return pathlib.Path(GIT["GIT_ROOT"]) / f"{name}.git"

    def maps(self, ns, **values):
        apply("".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {ns}}}\ndata: {{v: {json.dumps(v)}}}\n"
                      for name, v in values.items()))

    def rows(self, ns, table="rows", cluster=None):
        where = f"inventory_namespace = '{ns}'" + ("" if cluster is None else f" and cluster = '{cluster}'")
        found = sql(f"select payload->>'name', payload->'attributes'->>'v' from {table} where {where} and payload->>'name' <> 'kube-root-ca.crt'")
        return None if found is None else dict(line.split("\t") for line in found if "\t" in line)

    def files(self, repo):
        out = subprocess.run(["git", "-C", str(repo), "ls-tree", "-r", "--name-only", "main"], capture_output=True, text=True, check=False).stdout
        return [line for line in out.splitlines() if "manifest" not in line]

    def status(self, kind, ns, name):
        text = kubectl("get", kind, name, "-n", ns, "-o", "json", check=False)
        return json.loads(text).get("status", {}) if text else {}

    def conditions(self, kind, ns, name):
        return {c["type"]: f"{c['status']}/{c['reason']}" for c in self.status(kind, ns, name).get("conditions", [])}


class TeamOperator(Scenario):
    def test_a_team_collects_into_two_sinks(self):
        repo = self.repo("team")
        apply(team("shop"))
        self.maps("shop", a="1", b="2")
        self.operator()
        until("rows in the table", lambda: self.rows("shop") == {"a": "1", "b": "2"})
        until("files in the repository", lambda: any("/a.yaml" in f for f in self.files(repo)))
        until("a good inventory", lambda: self.conditions("kollectinventory", "shop", "all").get("Ready") == "True/Exported")
        until("both sinks told of", lambda: sum("lastChecksum" in e for e in self.status("kollectinventory", "shop", "all").get("sinkExports", [])) == 2)
        until("a good target", lambda: self.conditions("kollecttarget", "shop", "maps").get("Ready") == "True/Collecting")
        status = self.status("kollectinventory", "shop", "all")
        self.assertEqual(sorted(e["name"] for e in status["sinkExports"]), ["database/pg", "snapshot/git"])
        self.assertTrue(all(e["lastChecksum"].startswith("set:") for e in status["sinkExports"]))
        # A change, a new object, and one that goes.
        self.maps("shop", a="changed", c="3")
        kubectl("delete", "configmap", "b", "-n", "shop")
        until("the changes in the table", lambda: self.rows("shop") == {"a": "changed", "c": "3"})
        until("the changes in the repository",
              lambda: "changed" in subprocess.run(["git", "-C", str(repo), "grep", "-h", "v:", "main"], capture_output=True, text=True, check=False).stdout
              and not any("/b.yaml" in f for f in self.files(repo)))
        # Deleted while nobody looks.
        self.assertEqual(self.operators[-1].stop(), 0)
        kubectl("delete", "configmap", "c", "-n", "shop")
        self.maps("shop", d="4")
        self.operator()
        until("what happened meanwhile", lambda: self.rows("shop") == {"a": "changed", "d": "4"})
        # Suspended targets have no rows.
        kubectl("patch", "kollecttarget", "maps", "-n", "shop", "--type=merge", "-p", '{"spec":{"suspend":true}}')
        until("no rows", lambda: self.rows("shop") == {})
        until("Suspended", lambda: self.conditions("kollecttarget", "shop", "maps").get("Degraded") == "True/Suspended")
        kubectl("patch", "kollecttarget", "maps", "-n", "shop", "--type=merge", "-p", '{"spec":{"suspend":false}}')
        until("rows again", lambda: self.rows("shop") == {"a": "changed", "d": "4"})
        # The inventory goes, and takes what it wrote with it.
        kubectl("delete", "kollectinventory", "all", "-n", "shop", "--timeout=60s")
        self.assertEqual(self.rows("shop"), {})
        self.assertFalse(any("/a.yaml" in f for f in self.files(repo)))
        kubectl("delete", "kollecttarget", "maps", "-n", "shop", "--timeout=60s")

    def test_b_one_broken_sink_does_not_stop_the_other(self):
        apply(team("half", repo="nowhere"))
        self.maps("half", a="1")
        self.operator()
        until("rows", lambda: self.rows("half") == {"a": "1"})
        until("PartiallySynced", lambda: self.conditions("kollectinventory", "half", "all").get("Ready") == "True/PartiallySynced")
        kubectl("delete", "kollectdatabasesink", "pg", "-n", "half")
        kubectl("delete", "kollectsnapshotsink", "git", "-n", "half")
        until("SinkNotFound", lambda: self.conditions("kollectinventory", "half", "all").get("Degraded") == "True/SinkNotFound")
        kubectl("delete", "kollectinventory", "all", "-n", "half", "--timeout=60s")
        kubectl("delete", "kollecttarget", "maps", "-n", "half", "--timeout=60s")

    def test_c_a_target_that_comes_right_recovers_without_a_touch(self):
        text = team("late", table="late_rows", repo="late")
        self.repo("late")
        without_profile = "---".join(part for part in text.split("---") if "kind: KollectProfile" not in part)
        apply(without_profile)
        self.maps("late", a="1")
        self.operator()
        until("ProfileNotFound", lambda: self.conditions("kollecttarget", "late", "maps").get("Degraded") == "True/ProfileNotFound")
        apply(text)
        until("rows", lambda: self.rows("late", "late_rows") == {"a": "1"})
        until("Ready", lambda: "Degraded" not in self.conditions("kollecttarget", "late", "maps"))

    def test_d_killed_at_random_the_table_ends_right(self):
        apply(team("crash", table="crash_rows", repo="crash"))
        self.repo("crash")
        truth = {}
        for round_number in range(6):
            for i in range(10):
                truth[f"m{i}"] = f"{round_number}-{i}"
            operator = self.operator()
            self.maps("crash", **truth)
            if round_number % 2:
                kubectl("delete", "configmap", f"m{round_number}", "-n", "crash")
                del truth[f"m{round_number}"]
            operator.kill()
        self.operator()
        until("the truth", lambda: self.rows("crash", "crash_rows") == truth)


class Restarts(Scenario):
    def test_no_row_vanishes_on_the_way(self):
        apply(team("calm", table="calm_rows").replace("  snapshotSinkRefs: [git]\n", ""))
        truth = {f"m{i}": str(i) for i in range(100)}
        self.maps("calm", **truth)
        self.operator()
        until("rows", lambda: self.rows("calm", "calm_rows") == truth)
        for _ in range(12):
            self.operators[-1].kill()
            operator = self.operator()
            least = 100

            def exported():
                nonlocal least
                least = min(least, len(self.rows("calm", "calm_rows")))
                return '"why":"first"' in operator.text()

            until("the first pass", exported)
            exported()
            self.assertEqual(least, 100)


class Embedded(Scenario):
    def test_a_file_of_sqlite_is_kept_in_step_and_remembers(self):
        apply(team("embedded").replace("databaseSinkRefs: [pg]", "databaseSinkRefs: [file]").replace("  snapshotSinkRefs: [git]\n", "") + """\
---
apiVersion: kollect.dev/v1alpha1
kind: KollectDatabaseSink
metadata: {name: file, namespace: embedded}
spec:
  type: sqlite
  cluster: here
  sqlite: {path: inventory.db}
""")
        self.maps("embedded", a="1", b="2")
        self.operator("--sqlite-dir", str(self.folder))

        def query(text):
            process = harness.run("query", self.folder / "inventory.db", text, "--format", "csv")
            return process.stdout.split()[1:] if process.returncode == 0 else None

        rows = "SELECT name || '=' || (attributes->>'v') AS row FROM inventory_rows WHERE name IN ('a', 'b') ORDER BY 1"
        until("rows", lambda: query(rows) == ["a=1", "b=2"])
        self.maps("embedded", a="changed")
        kubectl("delete", "configmap", "b", "-n", "embedded")
        until("the change", lambda: query(rows) == ["a=changed"])
        self.assertEqual(query("SELECT change || '=' || name AS row FROM inventory_changes WHERE name IN ('a', 'b') AND change <> 'appeared' "
                               "ORDER BY 1"), ["changed=a", "went=b"])


class Rollup(Scenario):
    def manifests(self, repo):
        """Two namespaces, a cluster target over them and a cluster inventory; profile and sinks are in a third."""
        text = "".join(f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {ns}, labels: {{rollup: 'yes'}}}}\n" for ns in ("north", "south"))
        home = team("platform", cluster="c-1", table="rollup_rows", repo=repo).split("---\n")
        text += "---\n" + "---\n".join(part for part in home if "kind: KollectTarget" not in part and "kind: KollectInventory" not in part)
        return text + """\
---
apiVersion: kollect.dev/v1alpha1
kind: KollectClusterTarget
metadata: {name: maps, labels: {rollup: maps}}
spec:
  profileRef: {namespace: platform, name: maps}
  namespaceSelector: {matchLabels: {rollup: "yes"}}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectClusterInventory
metadata: {name: all}
spec:
  targetSelector: {matchLabels: {rollup: maps}}
  sinkNamespace: platform
  databaseSinkRefs: [{name: pg}]
  snapshotSinkRefs: [{name: git}]
"""

    def cluster_status(self):
        text = kubectl("get", "kcinv", "all", "-o", "json", check=False)
        return json.loads(text).get("status", {}) if text else {}

    def ready(self):
        return next((f"{c['status']}/{c['reason']}" for c in self.cluster_status().get("conditions", []) if c["type"] in ("Ready", "Degraded")), None)

    def test_namespaces_are_rolled_up_into_two_sinks(self):
        repo = self.repo("rollup")
        apply(self.manifests("rollup"))
        self.maps("north", a="1", b="2")
        self.maps("south", c="3")
        self.operator()
        until("rows in the table", lambda: self.rows("cluster", "rollup_rows", "c-1") == {"a": "1", "b": "2", "c": "3"})
        until("files in the repository", lambda: {f.rsplit("/", 1)[-1] for f in self.files(repo)} == {"a.yaml", "b.yaml", "c.yaml"})
        until("it is ready", lambda: self.ready() == "True/Exported")
        until("both sinks told of", lambda: sum("lastChecksum" in e for e in self.cluster_status().get("sinkExports", [])) == 2)
        status = self.cluster_status()
        self.assertEqual([(s["namespace"], s["itemCount"], s["targetCount"]) for s in status["namespaceShards"]], [("north", 2, 1), ("south", 1, 1)])
        self.assertEqual((status["targetCount"], status["itemCount"], status["namespaceShardCount"]), (1, 3, 2))
        self.maps("north", a="changed")
        kubectl("delete", "configmap", "c", "-n", "south")
        until("the changes in the table", lambda: self.rows("cluster", "rollup_rows") == {"a": "changed", "b": "2"})
        until("the changes in the repository", lambda: {f.rsplit("/", 1)[-1] for f in self.files(repo)} == {"a.yaml", "b.yaml"})
        # A namespace falls out while nobody looks.
        self.assertEqual(self.operators[-1].stop(), 0)
        kubectl("label", "namespace", "north", "rollup-")
        self.maps("south", d="4")
        self.operator()
        until("what happened meanwhile", lambda: self.rows("cluster", "rollup_rows") == {"d": "4"})
        # A target that is not ready holds everything, and what was exported stays.
        kubectl("patch", "kctgt", "maps", "--type=merge", "-p", '{"spec":{"suspend":true}}')
        until("TargetDegraded", lambda: self.ready() == "True/TargetDegraded")
        kubectl("label", "namespace", "north", "rollup=yes")
        self.assertEqual(self.rows("cluster", "rollup_rows"), {"d": "4"})
        kubectl("patch", "kctgt", "maps", "--type=merge", "-p", '{"spec":{"suspend":false}}')
        everything = {"a": "changed", "b": "2", "d": "4"}
        until("rows again", lambda: self.rows("cluster", "rollup_rows") == everything)
        # A sink that is gone hangs nobody up; the other one is emptied.
        kubectl("delete", "kollectsnapshotsink", "git", "-n", "platform")
        kubectl("delete", "kcinv", "all", "--timeout=60s")
        self.assertEqual(self.rows("cluster", "rollup_rows"), {})
        kubectl("delete", "kctgt", "maps", "--timeout=60s")


class Examples(Scenario):
    """examples/inventory as they are, with a table: nobody made a dump of this cluster."""
    CERTIFICATES = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {kind: Certificate, listKind: CertificateList, plural: certificates, singular: certificate}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""

    def example(self, name):
        ns = "kollect-system"
        objects = "---\n".join(p.read_text(encoding="utf-8") for p in sorted((harness.EXAMPLES / "inventory" / name).glob("*.yaml")))
        apply(namespace(ns) + "---\n" + objects + postgres_sink(ns, dsn(), "example_rows") + inventory(ns, databaseSinkRefs=["pg"]))

    def nothing_stays(self):
        kubectl("delete", "kollectinventory", "all", "-n", "kollect-system", "--timeout=60s")
        kubectl("delete", "kollecttarget", "--all", "-n", "kollect-system", "--timeout=60s")

    def attributes(self, target):
        """Of each object, by namespace and name."""
        found = sql("SELECT resource_namespace || '/' || (payload->>'name'), payload->'attributes' FROM example_rows "
                    f"WHERE target_name = '{target}'")
        return {key: json.loads(value) for key, value in (line.split("\t") for line in found or [])}

    def test_certificates_of_cert_manager(self):
        self.example("certificates")
        self.operator()
        # cert-manager comes when the target has long been waiting for it.
        until("it is told", lambda: self.conditions("kollecttarget", "kollect-system", "certificates").get("Degraded") == "True/InformerRegistrationFailed")
        apply(self.CERTIFICATES)
        wait_for_kinds(1, "crd/certificates.cert-manager.io")
        apply(namespace("shop-tls") + document("Certificate", "shop-tls", "web", {"dnsNames": ["shop.example", "www.shop.example"], "issuerRef": {"name": "ca"}},
                                               api="cert-manager.io/v1"))
        row = {"dnsNames": ["shop.example", "www.shop.example"], "issuer": "ca"}
        until("its row", lambda: self.attributes("certificates") == {"shop-tls/web": row})
        status = {"notAfter": "2030-05-11T00:00:00Z", "conditions": [{"type": "Issuing", "status": "False"}, {"type": "Ready", "status": "True"}]}
        kubectl("patch", "certificate", "web", "-n", "shop-tls", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
        row |= {"expires": "2030-05-11T00:00:00Z", "ready": "True"}
        until("what its status says", lambda: self.attributes("certificates") == {"shop-tls/web": row})
        kubectl("delete", "crd", "certificates.cert-manager.io", "--timeout=60s")
        until("gone with its kind", lambda: self.attributes("certificates") == {})
        self.nothing_stays()

    def test_releases_of_helm(self):
        chart = self.folder / "chart"
        apply(namespace("shop-helm"))

        def helm(*args, version="1.0.0"):
            harness.write(chart / "Chart.yaml", f"apiVersion: v2\nname: storefront\nversion: {version}\nappVersion: v-{version}\n")
            harness.write(chart / "templates/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: storefront}\n")
            env = {"PATH": KUBE["PATH"].strip('"').replace("$PATH", os.environ["PATH"]), "HOME": harness.HOME.name, "KUBECONFIG": KUBE["KUBECONFIG"]}
            subprocess.run(["helm", *args, "-n", "shop-helm"], env=env, check=True, capture_output=True)

        def releases():
            found = self.attributes("helm-releases")
            return {key: tuple(one[name] for name in ("release", "chart", "chartVersion", "appVersion", "revision", "status")) for key, one in found.items()}

        helm("install", "web", str(chart))
        self.example("helm-releases")
        self.operator()
        secret_name = "shop-helm/sh.helm.release.v1.web"
        until("its row", lambda: releases() == {f"{secret_name}.v1": ("web", "storefront", "1.0.0", "v-1.0.0", 1, "deployed")})
        helm("upgrade", "web", str(chart), version="2.0.0")
        until("the new revision alone", lambda: releases() == {f"{secret_name}.v2": ("web", "storefront", "2.0.0", "v-2.0.0", 2, "deployed")})
        helm("uninstall", "web")
        until("no release", lambda: releases() == {})
        self.nothing_stays()


class Fleet(Scenario):
    def test_two_operators_share_a_table_and_a_repository(self):
        """Two namespaces stand for two clusters: each has its own cluster name on the same table and repository."""
        repo = self.repo("fleet")
        apply(team("eu", cluster="eu-1", table="fleet_rows", repo="fleet"))
        apply(team("us", cluster="us-1", table="fleet_rows", repo="fleet"))
        self.maps("eu", a="eu")
        self.maps("us", a="us")
        self.operator("--watch-namespaces", "eu")
        self.operator("--watch-namespaces", "us")
        until("rows of both", lambda: self.rows("eu", "fleet_rows", "eu-1") == {"a": "eu"} and self.rows("us", "fleet_rows", "us-1") == {"a": "us"})
        until("files of both", lambda: any("eu" in f for f in self.files(repo)) and any("us" in f for f in self.files(repo)))
        kubectl("delete", "configmap", "a", "-n", "eu")
        until("eu is empty", lambda: self.rows("eu", "fleet_rows") == {})
        self.assertEqual(self.rows("us", "fleet_rows"), {"a": "us"})


if __name__ == "__main__":
    harness.main()
