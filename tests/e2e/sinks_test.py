#!/usr/bin/env python3
"""Sinks of many kinds at once: one operator on a real kube-apiserver keeps the same inventory in every backend, and `kollect collect` puts that
of another cluster beside it. A reader for each backend makes rows of what it holds, which must be those that the cluster has."""
import concurrent.futures
import json
import tempfile
import urllib.request

import harness
import operator_test as op
import sink_backends
from manifests import document, inventory, namespace, profile, target
from sink_backends import INVENTORY, NS, WRONG, difference, wait_for_all

OPERATOR, COLLECTED = "pier-7", "pier-8"
FOLDER = tempfile.TemporaryDirectory(prefix="kollect-e2e-sinks-")  # pylint: disable=consider-using-with
BACKENDS = sink_backends.all_backends(FOLDER.name)
KINDS = {"snapshot": "kollectsnapshotsink", "database": "kollectdatabasesink", "event": "kollecteventsink"}

ODD_TEXTS = ["no", "0x1F", "12:30:45", "~", "", " blank", "two\nlines\n", "tab\there", "Größe 😀 \u2028 <&>", "\"quoted\" \\ 'it''s'", "=", "#x", "1e3", "9007199254740993"]
ODD_NAMES = ["harbor:crane:reader", "harbor-crane-reader", "con", "aux.x", "ends.", "Größe", "q*<>|\"name", "a name with blanks", ".git"]

PROFILES = (profile(NS, "maps", "ConfigMap", {"name": "v", "path": "$.data.v", "optional": True}, {"name": "data", "path": "$.data", "type": "object"},
                    {"name": "big", "path": "cel:9007199254740993", "type": "int"}, {"name": "part", "path": "cel:0.1", "type": "number"})
            + profile(NS, "roles", "ClusterRole", {"name": "labels", "path": "$.metadata.labels", "type": "object"}, group="rbac.authorization.k8s.io")
            + target(NS, "maps", "maps", includedNamespaces=["quay-a", "quay-b"]) + target(NS, "roles", "roles", labelSelector={"matchLabels": {"odd": "yes"}}))


def in_parallel(do, things):
    with concurrent.futures.ThreadPoolExecutor(len(things)) as pool:
        return list(pool.map(do, things))


def setUpModule():
    def start(what):
        if what == "kube":
            op.KUBE.update(op.exports(op.server("kube.sh", "start")))
            op.install_crds()
        else:
            what.start()
    in_parallel(start, ["kube", *BACKENDS])


def tearDownModule():
    in_parallel(lambda what: what.stop() if what != "kube" else op.server("kube.sh", "stop"), ["kube", *BACKENDS])
    FOLDER.cleanup()


def sinks_of(backend):
    """(family, name) of each."""
    return [(backend.family, name) for name in backend.sinks(OPERATOR)]




def every_sink():
    return [(backend, family, name) for backend in BACKENDS for family, name in sinks_of(backend)]


def documents(cluster, **options):
    return "".join(backend.documents(cluster, **options) for backend in BACKENDS)


def inventory_of_all():
    refs = {}
    for _, family, name in every_sink():
        refs.setdefault(family + "SinkRefs", []).append({"name": name})
    return inventory(NS, INVENTORY, exportMinInterval="1s", **refs)


def maps(ns, **values):
    return "".join(document("ConfigMap", ns, name, api="v1", data=data) for name, data in values.items())


def role(name, value):
    return document("ClusterRole", None, name, api="rbac.authorization.k8s.io/v1", labels={"odd": "yes", "value": value}, rules=[])


def row_of(item):
    """What an object of the cluster is as a row."""
    meta = item["metadata"]
    row = {"targetNamespace": NS, "namespace": meta.get("namespace", ""), "name": meta["name"], "version": "v1", "kind": item["kind"], "uid": meta["uid"]}
    if item["kind"] == "ClusterRole":
        return {**row, "targetName": "roles", "group": "rbac.authorization.k8s.io", "attributes": {"labels": meta["labels"]}}
    data = item.get("data")
    return {**row, "targetName": "maps", "attributes": {"data": data, "big": 9007199254740993, "part": 0.1, **({"v": data["v"]} if data else {})}}


def objects():
    """Those that the targets mean, as the API server has them."""
    listed = [json.loads(op.kubectl("get", *what, "-o", "json"))["items"] for what in (
        ("configmaps", "-n", "quay-a"), ("configmaps", "-n", "quay-b"), ("clusterroles", "-l", "odd=yes"))]
    return [item for items in listed for item in items]


def rows_of(items):
    return {item["metadata"]["uid"]: row_of(item) for item in items}


class AllSinks(op.Scenario):
    def settled(self, what):
        truth = rows_of(objects())
        try:
            wait_for_all(BACKENDS, OPERATOR, truth)
        except AssertionError as wrong:
            raise AssertionError(f"{what}: {wrong}") from None
        return truth

    def found(self, cluster):
        """{name of a sink: its rows}; None for none, whether there is nothing or an empty set."""
        return {name: reader(cluster) or None for backend in BACKENDS for name, reader in backend.readers().items()}

    def begin(self):
        self.port = harness.free_port()
        return self.operator("--sqlite-dir", FOLDER.name, "--metrics-bind-address", f"127.0.0.1:{self.port}", "--metrics-secure=false")

    def metrics(self):
        """{line without its value: value}"""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=op.LIMIT) as page:
            lines = page.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line and not line.startswith("#")}

    def sink_exports(self):
        """{family/name: the reason and message of its condition Synced}"""
        entries = self.status("kollectinventory", NS, INVENTORY).get("sinkExports", [])
        return {entry["name"]: next(((c["reason"], c["message"]) for c in entry.get("conditions", []) if c["type"] == "Synced"), ("", "")) for entry in entries}

    def all_sinks(self):
        """{name: object} of all kinds of sinks."""
        return {item["metadata"]["name"]: item for kind in KINDS.values() for item in json.loads(op.kubectl("get", kind, "-n", NS, "-o", "json"))["items"]}

    def told(self):
        """{name of a sink: its conditions}"""
        return {name: {c["type"]: f"{c['status']}/{c['reason']}" for c in item.get("status", {}).get("conditions", [])} for name, item in self.all_sinks().items()}

    def every(self, what, wanted, asked, names=None):
        names = names or [name for _, _, name in every_sink()]

        def missing():
            found = asked()
            return {name: found.get(name) for name in names if not wanted(found.get(name))}
        try:
            op.until(what, lambda: not missing())
        except AssertionError:
            raise AssertionError(f"{what}: not so for {missing()}") from None

    def test_all_hold_what_the_cluster_has(self):
        op.apply("".join(map(namespace, (NS, "quay-a", "quay-b"))) + PROFILES)
        op.apply(maps("quay-a", **{f"map-{i}": {"v": text, "a.b": "dot", "Z": "z", f"k{i}": text} for i, text in enumerate(ODD_TEXTS)})
                 + maps("quay-b", **{f"map-{i}": {"v": str(i)} for i in range(20)}) + maps("quay-b", bare={}))
        op.apply("".join(role(name, "first") for name in ODD_NAMES))
        op.apply(documents(OPERATOR) + inventory_of_all() + "".join(
            document("KollectConnectionTest", NS, name, {"sinkRef": {f"{family}SinkRef": name}}) for _, family, name in every_sink()))
        operator = self.begin()
        self.settled("the first rows")
        self.probes_status_and_previews()
        self.changes()
        self.servers_die()
        self.secrets_turn()
        operator.kill()
        op.kubectl("delete", "configmap", "-n", "quay-b", *(f"map-{i}" for i in range(5, 10)))
        op.kubectl("delete", "clusterrole", "Größe", "con")
        op.apply(maps("quay-a", **{"while-down": {"v": "new"}, "map-1": {"v": "changed while down"}}))
        operator = self.begin()
        self.settled("what happened while the operator was down")
        self.another_cluster()
        op.kubectl("delete", "kollectinventory", INVENTORY, "-n", NS, "--timeout=60s")
        wait_for_all(BACKENDS, OPERATOR, {})
        wait_for_all(BACKENDS, COLLECTED, self.collected)
        log = operator.text()
        self.assertEqual(operator.stop(), 0)
        for name in ("secret", WRONG, sink_backends.gitlab.TOKEN):
            self.assertNotIn(f":{name}@", log)

    def probes_status_and_previews(self):
        self.every("a probe that passed", lambda told: told == {"ConnectionVerified": "True/ConnectionOK"}, self.told)
        self.every("a test that passed", lambda told: told == {"ConnectionVerified": "True/ConnectionOK", "Ready": "True/ProbeSucceeded"}, lambda: {
            item["metadata"]["name"]: {c["type"]: f"{c['status']}/{c['reason']}" for c in item.get("status", {}).get("conditions", [])}
            for item in json.loads(op.kubectl("get", "kollectconnectiontest", "-n", NS, "-o", "json"))["items"]})
        self.every("exported", lambda told: told and told[0] in ("Exported", "Debounced"), lambda: {
            name.partition("/")[2]: told for name, told in self.sink_exports().items()})
        for kind in KINDS.values():
            op.kubectl("annotate", kind, "--all", "-n", NS, "kollect.dev/preview=true")
        self.every("a preview", lambda item: item and "preview" in item.get("status", {}), self.all_sinks)
        for backend, _, name in every_sink():
            shown = self.all_sinks()[name]["status"]["preview"]
            self.assertEqual((shown["inputSampleSource"], shown["provisioningMode"]), ("synthetic", "ensure"), name)
            if backend.preview:
                self.assertIn(backend.preview, shown, name)
        for kind in KINDS.values():
            op.kubectl("annotate", kind, "--all", "-n", NS, "kollect.dev/preview-")
        self.every("no preview", lambda item: item and "preview" not in item["status"], self.all_sinks)
        metrics = self.metrics()
        for backend in BACKENDS:
            self.assertGreaterEqual(metrics[f'kollect_sink_connection_test_total{{result="success",type="{backend.type}"}}'], 1)
            self.assertGreaterEqual(metrics[f'kollect_export_duration_seconds_count{{sink_type="{backend.type}"}}'], 1)

    def changes(self):
        op.apply(maps("quay-a", **{"map-0": {"v": "changed"}, "map-3": {"v": ODD_TEXTS[8], "new.key": "1"}}) + role("harbor:crane:reader", "second"))
        op.kubectl("delete", "configmap", "-n", "quay-b", "map-0", "map-1", "map-2")
        op.kubectl("delete", "clusterrole", "aux.x")
        self.settled("changes and deletes")
        # Renamed, and made again under the same name.
        op.kubectl("delete", "configmap", "-n", "quay-b", "map-3", "map-4")
        op.apply(maps("quay-b", **{"map-3-renamed": {"v": "3"}, "map-4": {"v": "made again"}}))
        self.settled("a rename, and an object made again")

    def servers_die(self):
        """All at once, in the middle of changes; they come back when every breaker has opened."""
        served = [backend for backend in BACKENDS if backend.type != "sqlite"]
        names = [name for backend in served for _, name in sinks_of(backend)]
        before = self.metrics()
        op.apply(maps("quay-b", **{f"dying-{i}": {"v": str(i)} for i in range(5)}))
        in_parallel(lambda backend: backend.kill(), served)
        op.apply(maps("quay-b", **{f"dying-{i}": {"v": str(i)} for i in range(5, 10)}))
        op.kubectl("delete", "configmap", "-n", "quay-b", "dying-3", "dying-7")
        self.every("told as failed", lambda told: told and told[0] == "ExportFailed",
                   lambda: {name.partition("/")[2]: told for name, told in self.sink_exports().items()}, names)
        self.every("breakers that have opened", lambda state: state == 2, lambda: {
            name: self.metrics().get(f'kollect_sink_breaker_state{{name="{name}",namespace="{NS}",sink_type="{backend.type}"}}')
            for backend, _, name in every_sink()}, names)
        told = self.sink_exports()
        for name, (_, message) in told.items():
            for word in ("secret", sink_backends.gitlab.TOKEN, "accountKey="):
                self.assertNotIn(word, message, name)
        errors = sum(value - before.get(line, 0) for line, value in self.metrics().items() if line.startswith("kollect_sink_errors_total"))
        self.assertGreaterEqual(errors, 5 * len(names))
        self.assertIn(told["database/sqlite"][0], ("Exported", "Debounced"))
        in_parallel(lambda backend: backend.restart(), served)
        self.settled("after the servers came back")
        self.every("closed breakers", lambda state: state == 0, lambda: {
            name: self.metrics().get(f'kollect_sink_breaker_state{{name="{name}",namespace="{NS}",sink_type="{backend.type}"}}')
            for backend, _, name in every_sink()}, names)

    def secrets_turn(self):
        checking = [backend for backend in BACKENDS if backend.checks]
        names = [name for backend in checking for _, name in sinks_of(backend)]
        op.apply("".join(backend.documents(OPERATOR, wrong=True) for backend in checking))
        self.every("told as refused", lambda told: told and told.get("ConnectionVerified") == "False/ConnectionTestFailed", self.told, names)
        op.apply(maps("quay-a", **{"refused": {"v": "1"}}))
        sinks = self.all_sinks()
        for name in names:
            message = next(c["message"] for c in sinks[name]["status"]["conditions"] if c["type"] == "ConnectionVerified")
            self.assertNotIn(WRONG, json.dumps(sinks[name]), name)
            self.assertRegex(message, rf"Secret {NS}/{name}\b", name)
        op.apply("".join(backend.documents(OPERATOR) for backend in checking))
        self.settled("after the Secrets were put right")
        self.every("a probe that passed", lambda told: told and told.get("ConnectionVerified", "").startswith("True/") and "Degraded" not in told, self.told)

    def another_cluster(self):
        """Collected from a dump: the same inventory, and mostly the same uids."""
        config, dump = self.folder / "config", self.folder / "dump"
        harness.write(config / "all.yaml", PROFILES + documents(COLLECTED) + inventory_of_all())
        items = [item for item in objects() if item["metadata"]["name"] not in ("map-5", "dying-1")]
        for i, item in enumerate(items):
            if item["kind"] == "ConfigMap" and i % 3 == 0:
                item["data"] = {"v": "of pier-8"}
        mine = rows_of(objects())
        self.collected = {}
        # A look alone, the first, one without a change, one with less.
        for count, flags in ((len(items), ["--dry-run"]), (len(items), []), (len(items), []), (len(items) - 4, [])):
            items = items[:count]
            harness.write(dump / "list.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
            done = self.collect("collect", "--config", config, "--manifests", dump, "--summary", "json", *flags)
            [context] = json.loads(done.stderr.strip().splitlines()[-1])["contexts"]
            self.assertEqual({sink["sink"]: sink["error"] for sink in context["sinks"]}, {f"{family}/{name}": None for _, family, name in every_sink()})
            if flags:
                self.assertEqual(set(self.found(COLLECTED).values()), {None}, "a dry run writes nothing")
                continue
            self.collected = rows_of(items)
            wait_for_all(BACKENDS, COLLECTED, self.collected)
            wait_for_all(BACKENDS, OPERATOR, mine)
        probed = self.collect("probe", "-f", config)
        self.assertEqual(probed.stdout.count("ok      "), len(every_sink()), probed.stdout)
        # Wrong credentials: those sinks fail, each names its Secret, and what is there stays.
        harness.write(config / "all.yaml", PROFILES + documents(COLLECTED, wrong=True) + inventory_of_all())
        refused = self.collect("collect", "--config", config, "--manifests", dump, "--summary", "json", code=1)
        [context] = json.loads(refused.stderr.strip().splitlines()[-1])["contexts"]
        errors = {sink["sink"].partition("/")[2]: sink["error"] for sink in context["sinks"]}
        for backend, _, name in every_sink():
            self.assertRegex(str(errors[name]), rf"Secret {NS}/{name}\b" if backend.checks else "None", name)
        self.assertNotIn(WRONG, refused.stderr)
        wait_for_all(BACKENDS, COLLECTED, self.collected)

    def collect(self, *args, code=0):
        env = harness.environment(KOLLECT_GIT_MIRROR_DIR=str(self.folder / "mirrors-8"), **op.ENVIRONMENT)
        done = op.subprocess.run([harness.KOLLECT, *map(str, args), "--allow-loopback-sinks"], cwd=FOLDER.name, env=env, capture_output=True, text=True,
                                 stdin=op.subprocess.DEVNULL, timeout=op.LIMIT, check=False)
        return self.ends(done, code)


if __name__ == "__main__":
    harness.main()
