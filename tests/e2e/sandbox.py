"""`kollect sandbox` as the API server of a test."""
import http.client
import json
import subprocess
import urllib.parse

import harness


def crds(without=()):
    """The definitions of our kinds, but for those."""
    text = subprocess.run([harness.KOLLECT, "crds"], check=True, capture_output=True, text=True).stdout
    return "\n---\n".join(one for one in text.split("\n---\n") if not any(f"    kind: {kind}\n" in one for kind in without))


class Sandbox:
    """Serves the kinds of kollect and `manifests` (text of YAML documents); ends with stop(). `without`: kinds of ours that it does not
    serve."""

    def __init__(self, folder, manifests="", *flags, bookmarks="1s", without=()):
        config = folder / "sandbox"
        config.mkdir()
        (config / "0-crds.yaml").write_text(crds(without), encoding="utf-8")
        (config / "1-manifests.yaml").write_text(manifests, encoding="utf-8")
        self.kubeconfig = folder / "kubeconfig"
        self.process = harness.ends_with_us(subprocess.Popen(
            [harness.KOLLECT, "sandbox", "--load", str(config), "--kubeconfig-out", str(self.kubeconfig), "--bookmark-interval", bookmarks,
             "--log-level", "warn", *(["--no-crds"] if without else []), *flags], stdout=subprocess.PIPE, text=True))
        self.url = self.process.stdout.readline().strip()

    def ask(self, method, path, body=None, content="application/json"):
        """(status, answer)"""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=60)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": content})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def call(self, method, path, body=None, content="application/json"):
        status, answer = self.ask(method, path, body, content)
        if status not in (200, 201):
            raise AssertionError(f"{method} {path}: {status} {json.dumps(answer)[:400]}")
        return answer

    def patch(self, path, **members):
        return self.call("PATCH", path, members, "application/merge-patch+json")

    def deployments(self, path="/apis/apps/v1/deployments"):
        """{uid: (name, version)}, the version by its label."""
        items = self.call("GET", path)["items"]
        return {i["metadata"]["uid"]: (i["metadata"]["name"], i["metadata"]["labels"]["app.kubernetes.io/version"]) for i in items}

    def unknown_conditions(self):
        """Conditions of our objects, as (kind, type, status, reason), that tests/cases/conditions/reasons.tsv does not have."""
        lines = (harness.ROOT / "tests/cases/conditions/reasons.tsv").read_text(encoding="utf-8").splitlines()
        known = {tuple(line.split("\t")[:4]) for line in lines}
        seen = set()
        try:
            kinds = [r for r in self.ask("GET", "/apis/kollect.dev/v1alpha1")[1].get("resources", []) if "/" not in r["name"]]
            for kind in kinds:
                for item in self.ask("GET", "/apis/kollect.dev/v1alpha1/" + kind["name"])[1].get("items", []):
                    status = item.get("status", {})
                    lists = [("", status)] + [("sinkExports.", entry) for entry in status.get("sinkExports", [])]
                    seen |= {(kind["kind"], at + c["type"], c["status"], c["reason"]) for at, of in lists for c in of.get("conditions", [])}
        except (OSError, http.client.HTTPException, ValueError):
            pass  # the test has it misbehave
        return sorted(seen - known)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
