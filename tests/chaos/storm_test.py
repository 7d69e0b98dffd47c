#!/usr/bin/env python3
"""The API server misbehaves at random while objects change; afterwards every sink equals the truth.

    storm_test.py [--rounds 4] [--seed N] [--objects 2000]

The API server is `kollect sandbox` with rules of what goes wrong: watches cut or silent, 410 in lists and watches, 429, errors, events
that come twice or late, lists without an end mark, restarts; the operator is killed with -9 now and then. In a round such things happen
for some seconds under 500 changes a second. Then all is well again, and the table in PostgreSQL, the file of SQLite and the Git repository
must come to equal the list: nothing missing, nothing twice, nothing left over. The seed is printed; with the same seed the same happens.
"""
import argparse
import http.client
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import manifests as m  # noqa: E402
import operator_test as op  # noqa: E402
from sandbox import Sandbox  # noqa: E402

LIMIT = 120
NS = "storm"

RULES = {
    "cut": {"do": "cut", "verbs": ["watch"], "afterEvents": 3},
    "cut-lists": {"do": "cut", "verbs": ["list"], "afterBytes": 5000, "probability": 0.5},
    "silent": {"do": "stall", "verbs": ["watch"], "afterEvents": 5, "probability": 0.7},
    "gone": {"do": "gone", "verbs": ["watch"], "afterEvents": 2},
    "gone-lists": {"do": "gone", "verbs": ["list"], "probability": 0.5},
    "429": {"do": "error", "code": 429, "retryAfter": 1, "probability": 0.6},
    "500": {"do": "error", "code": 500, "probability": 0.6},
    "503": {"do": "error", "code": 503, "verbs": ["list", "watch"], "probability": 0.8},
    "403": {"do": "error", "code": 403, "resources": ["deployments.apps"], "probability": 0.8},
    "twice": {"do": "duplicate", "verbs": ["watch"], "probability": 0.4},
    "late": {"do": "late", "verbs": ["watch"], "probability": 0.4, "by": 5},
    "no-bookmarks": {"do": "no-bookmarks", "verbs": ["watch"]},
    "no-list-end": {"do": "no-list-end", "verbs": ["watch"]},
}
SILENCE = 3  # seconds until the operator gives a silent watch up


def manifests(folder):
    return (m.namespace(NS)
            + m.profile(NS, "apps", "Deployment", {"name": "version", "path": "$.metadata.labels['app.kubernetes.io/version']"}, group="apps")
            + m.target(NS, "apps", "apps")
            + m.postgres_sink(NS, op.dsn(), "storm") + m.sqlite_sink(NS, "storm.db") + m.git_sink(NS, f"file://{folder}/storm.git")
            + m.inventory(NS, "storm", databaseSinkRefs=["pg", "file"], snapshotSinkRefs=["git"]))


class Storm:
    def __init__(self, seed, folder, sandbox):
        self.random = random.Random(seed)
        self.folder, self.sandbox = folder, sandbox
        self.seed = seed
        self.done = []
        self.operator = None

    def start_operator(self):
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)
        self.operator = op.Operator(self.folder, "--allow-local-sinks", "--sqlite-dir", str(self.folder), "--watch-silence", f"{SILENCE}s")

    def kill_operator(self):
        self.operator.kill()
        self.operator.log.close()
        self.start_operator()

    def round(self, number):
        chosen = self.random.sample(sorted(RULES), self.random.randint(1, 3))
        rules = [dict(RULES[name], id=name) for name in chosen]
        rules.append({"id": "also-cut", "do": "cut", "verbs": ["watch"], "afterEvents": 40, "probability": 0.5})
        down = self.random.choice((0, 0, 1500))
        kill = self.random.random() < 0.4
        ending = threading.Event()
        changer = threading.Thread(target=self.keep_changing, args=(ending,))
        changer.start()
        try:
            self.sandbox.call("PUT", "/sandbox/faults", {"seed": self.random.randrange(1 << 30), "rules": rules})
            # Rules are for requests to come: every watch is made to begin anew.
            self.sandbox.call("POST", f"/sandbox/restart?downMs={down}")
            time.sleep(self.random.uniform(1, 4) + down / 1000)
            if kill:
                self.kill_operator()
            time.sleep(self.random.uniform(0.2, 2) + (SILENCE + 1 if "silent" in chosen else 0))
            told = self.end_faults()
        finally:
            ending.set()
            changer.join()
        self.done += chosen + ["restart"] * (down > 0) + ["kill"] * kill
        self.compare(number, "+".join(chosen + ["restart"] * (down > 0) + ["kill"] * kill), told)

    def end_faults(self):
        told = self.sandbox.call("GET", "/sandbox/faults")
        self.sandbox.call("DELETE", "/sandbox/faults")
        return told

    def keep_changing(self, ending):
        while not ending.wait(0.02):
            try:
                self.sandbox.call("POST", "/sandbox/change?count=10")
            except (OSError, http.client.HTTPException):
                pass  # it is being restarted

    def truth(self):
        return self.sandbox.deployments()

    def table(self):
        lines = op.sql("select source_uid, payload->>'name', payload->'attributes'->>'version' from storm")
        return harness.by_uid(lines and [line.split("\t") for line in lines])

    def file(self):
        return harness.by_uid(harness.sqlite_rows(self.folder / "storm.db", "select uid, name, attributes->>'version' from inventory_rows"))

    def repository(self):
        out = subprocess.run(["git", "-C", str(self.folder / "storm.git"), "grep", "-h", "-E", "^(  version|name|uid): ", "main", "--", "*.yaml"],
                             capture_output=True, text=True, check=False).stdout
        rows = re.findall(r"^  version: \"?([^\"\n]*)\"?\nname: (\S+)\nuid: (\S+)$", out, re.M)
        return harness.by_uid([(uid, name, version) for version, name, uid in rows])

    def compare(self, number, what, told):
        struck = ", ".join(f"{rule['id']} {rule['strikes']}" for rule in told["rules"]) or "?"
        truth = self.truth()
        began = time.monotonic()
        for name, sink in (("table", self.table), ("file", self.file), ("repository", self.repository)):
            op.until(f"round {number} ({what}): the {name} equals the list", lambda sink=sink: sink() == truth, LIMIT)
        print(f"storm: round {number}: {what}: {len(truth)} objects, equal after {time.monotonic() - began:.1f} s (struck: {struck})", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--objects", type=int, default=2000)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"storm: seed {seed}, {options.rounds} rounds", flush=True)
    op.PG.update(op.exports(op.server("postgres.sh", "start")))
    try:
        with tempfile.TemporaryDirectory(prefix="kollect-storm-") as name:
            run(seed, options, pathlib.Path(name))
    finally:
        op.server("postgres.sh", "stop")


def run(seed, options, folder):
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder / "storm.git")], check=True)
    sandbox = Sandbox(folder, manifests(folder), "--generate", f"Deployment={options.objects}", "--history", "20000", "--seed", str(seed % 1000 + 1))
    storm = Storm(seed, folder, sandbox)
    try:
        storm.start_operator()
        storm.compare("start", "nothing", {"rules": []})
        for number in range(options.rounds):
            storm.round(number)
        if storm.operator.stop() != 0:
            raise AssertionError("the operator ended with an error")
        storm.operator.log.close()
    except BaseException:
        print(f"storm: failed; --seed {seed} repeats it\n{storm.operator.text()[-8000:]}", file=sys.stderr)
        storm.operator.kill()
        raise
    finally:
        sandbox.stop()
    print(f"storm: seed {seed}: {len(storm.done)} disturbances, every sink equals the truth")


if __name__ == "__main__":
    main()
