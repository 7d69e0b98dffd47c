"""The read API of an operator, a SQLite file and a PostgreSQL database over the same rows, for tests of it."""
import http.client
import json
import pathlib
import subprocess
import urllib.parse
import zlib

import yaml

import harness
import manifests as m
import operator_test as op
from open_api import Described
from sandbox import Sandbox

DOCUMENT = yaml.safe_load((harness.ROOT / "openapi/v1alpha1/inventory.yaml").read_text(encoding="utf-8"))
ROWS = 250


def manifests(dsn=""):
    attributes = [{"name": "replicas", "path": "$.spec.replicas", "type": "int"}, {"name": "labels", "path": "$.metadata.labels", "optional": True},
                  {"name": "version", "path": "$.metadata.labels['app.kubernetes.io/version']", "optional": True},
                  {"name": "none", "path": "$.spec.nothing", "optional": True}]
    sinks = ["file"] + (["pg"] if dsn else [])
    return (m.namespace("ops") + m.namespace("pay") + m.profile("ops", "apps", "Deployment", *attributes, group="apps")
            + m.profile("pay", "maps", "ConfigMap", {"name": "v", "path": "$.data.v", "optional": True})
            + m.target("ops", "apps", "apps") + m.target("pay", "maps", "maps", includedNamespaces=["pay"])
            + m.config_map("pay", "odd", v="a \"quoted\", <b>&\n\u2028 zoë 日本 \U0001f6a2") + m.config_map("pay", "plain", v="1")
            + m.sqlite_sink("ops", "rows.db") + (m.postgres_sink("ops", dsn, "read_rows", options={"history": "true"}) if dsn else "")
            + m.sqlite_sink("pay", "rows.db") + (m.postgres_sink("pay", dsn, "read_rows", options={"history": "true"}) if dsn else "")
            + m.inventory("ops", databaseSinkRefs=sinks) + m.inventory("pay", databaseSinkRefs=sinks)
            + m.document("KollectClusterTarget", None, "wide", {"profileRef": {"namespace": "ops", "name": "apps"}})
            + m.document("KollectClusterInventory", None, "rollup", {"sinkNamespace": "ops", "databaseSinkRefs": sinks}))


class Api:
    """A server that answers the read API."""

    def __init__(self, port, token=""):
        self.port, self.token = port, token
        self.described = Described(DOCUMENT)

    def raw(self, method, target, **headers):
        """(status, headers in lower case, body); `target` is sent as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, "/", skip_accept_encoding=True)
            # As the client would not send it.
            connection._buffer[0] = f"{method} ".encode() + (target if isinstance(target, bytes) else target.encode()) + b" HTTP/1.1"
            if self.token:
                headers.setdefault("Authorization", f"Bearer {self.token}")
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def ask(self, path, parameters=(), **headers):
        """(status, headers, value) of a GET that keeps what the document says."""
        query = urllib.parse.urlencode(list(parameters.items()) if isinstance(parameters, dict) else list(parameters))
        status, got, body = self.raw("GET", path + ("?" + query if query else ""), **headers)
        if got.get("content-encoding") == "gzip":
            body = zlib.decompress(body, 31)
        value = body
        if got.get("content-type", "").startswith("application/json"):
            value = json.loads(body)
        self.described.check(path, status, got.get("content-type"), value)
        return status, got, value

    def get(self, path, status=200, **parameters):
        got, _, value = self.ask("/v1alpha1/" + path, [(name.replace("__", "."), str(one)) for name, one in parameters.items()])
        assert got == status, f"{path} {parameters}: {got} {value}"
        return value

    def stream(self, path, **headers):
        return Stream(self, path, headers)


class Stream:
    """Server-sent events as they come."""

    def __init__(self, api, path, headers):
        self.connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60)
        if api.token:
            headers.setdefault("Authorization", f"Bearer {api.token}")
        self.connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def next(self):
        """{"event", "id", "data"} of the next frame, comments left out; None at the end."""
        frame = {}
        while True:
            line = self.answer.readline()
            if not line:
                return None
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                continue
            if not line and frame:
                return frame
            if line:
                name, _, value = line.partition(": ")
                frame[name] = json.loads(value) if name == "data" else value

    def close(self):
        self.answer.close()
        self.connection.close()


class Serve:
    """kollect serve; ends with stop()."""

    def __init__(self, folder, *flags):
        self.port = harness.free_port()
        self.log = open(pathlib.Path(folder) / f"serve-{self.port}.log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([harness.KOLLECT, "serve", "--listen", f"127.0.0.1:{self.port}", *flags], stdout=self.log, stderr=self.log,
                                        stdin=subprocess.DEVNULL, env=harness.environment())
        op.until("kollect serve listens", self.ready)

    def ready(self):
        self.log.flush()
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(self.log.read())
        try:
            return Api(self.port).raw("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        self.log.close()


def operator(folder, *flags, mode="disabled"):
    """(the process, its port) of an operator that serves the read API."""
    port = harness.free_port()
    process = op.Operator(folder, "--allow-local-sinks", "--sqlite-dir", str(folder), "--inventory-http-enabled", "--inventory-http-port", str(port),
                          "--inventory-auth-mode", mode, *flags)
    return process, port


class Ground:
    """A sandbox, an operator on it, which may serve the read API, and what it writes to."""

    def __init__(self, folder, dsn="", serves=False):
        self.folder = folder
        self.sandbox = Sandbox(folder, manifests(dsn), "--generate", f"Deployment={ROWS}")
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        if serves:
            self.operator, self.port = operator(folder)
        else:
            self.operator = op.Operator(folder, "--allow-local-sinks", "--sqlite-dir", str(folder))
        try:
            op.until("all is exported", self.exported)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.operator.text()[-5000:]}") from error

    def exported(self):
        ours = "/apis/kollect.dev/v1alpha1/"
        said = [self.sandbox.call("GET", ours + path).get("status", {}) for path in (
            "namespaces/ops/kollectinventories/all", "namespaces/pay/kollectinventories/all", "kollectclusterinventories/rollup")]
        return [one.get("itemCount") for one in said] == [ROWS, 2, ROWS] and all(
            entry.get("lastExportTime") for one in said for entry in one.get("sinkExports", [{}]))

    def stop(self):
        self.operator.stop()
        self.sandbox.stop()
