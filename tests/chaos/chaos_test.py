#!/usr/bin/env python3
"""Everything is killed at random while objects change; afterwards every sink equals an independent list.

    chaos_test.py [--rounds 6] [--seed N]

A round: objects are created, changed and deleted while one or more of these happen at random moments: the operator is killed with -9,
the API server is killed and restarted, etcd is compacted (old resourceVersions answer 410), PostgreSQL is killed in the middle of what
it does, the Git server goes away or refuses pushes. Then everything is up again, and table and repository must come to equal what
`kubectl get` says: nothing missing, nothing twice, nothing left over. The seed is printed; with the same seed the same happens.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import operator_test as op  # noqa: E402

NS = "chaos"
LIMIT = 120


class Chaos:
    def __init__(self, seed, folder):
        self.random = random.Random(seed)
        self.folder = folder
        self.names = [f"m{i:03}" for i in range(60)]
        self.alive = {}
        self.counter = 0
        self.operator = None
        self.kills = 0
        self.done = []

    # What happens to the objects.
    def change(self):
        documents = []
        for name in self.random.sample(self.names, 8):
            if name in self.alive and self.random.random() < 0.3:
                op.kubectl("delete", "configmap", name, "-n", NS, "--wait=false", check=False)
            else:
                self.counter += 1
                self.alive[name] = f"v{self.counter}"
                documents.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NS},
                                  "data": {"v": self.alive[name]}})
        op.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}), check=False)

    # What happens to everything else.
    def kill_operator(self):
        self.kills += 1
        self.operator.kill()
        self.operator.log.close()
        self.start_operator()

    def kill_operator_often(self):
        """At moments of its start, of its first comparison, of its first changes."""
        for _ in range(5):
            self.kill_operator()
            time.sleep(self.random.uniform(0.02, 1.2))

    def start_operator(self):
        self.operator = op.Operator(self.folder)

    def restart_apiserver(self):
        op.server("kube.sh", "restart-apiserver")

    def compact(self):
        op.server("kube.sh", "compact")
        op.server("kube.sh", "restart-apiserver")

    def kill_database(self):
        op.server("postgres.sh", "kill")
        time.sleep(self.random.uniform(0, 2))
        op.server("postgres.sh", "start")

    def refuse_pushes(self):
        hook = pathlib.Path(op.GIT["GIT_ROOT"]) / "chaos.git/hooks/pre-receive"
        hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)
        time.sleep(self.random.uniform(0.5, 3))
        hook.unlink()

    def round(self, number):
        actions = [self.kill_operator, self.kill_operator, self.kill_operator_often, self.restart_apiserver, self.compact, self.kill_database,
                   self.refuse_pushes]
        chosen = [self.random.choice(actions) for _ in range(self.random.randint(1, 3))]
        stop = threading.Event()

        def keep_changing():
            while not stop.is_set():
                self.change()

        changer = threading.Thread(target=keep_changing)
        changer.start()
        for action in chosen:
            time.sleep(self.random.uniform(0.05, 1.5))
            self.done.append(action.__name__)
            action()
        stop.set()
        changer.join()
        self.change()
        self.compare(number, chosen)

    def truth(self):
        items = json.loads(op.kubectl("get", "configmaps", "-n", NS, "-o", "json"))["items"]
        return {i["metadata"]["uid"]: (i["metadata"]["name"], i.get("data", {}).get("v", "")) for i in items}

    def table(self):
        lines = op.sql(f"select source_uid, payload->>'name', coalesce(payload->'attributes'->>'v', '') from chaos where inventory_namespace = '{NS}'")
        if lines is None:
            return None
        rows = [line.split("\t") for line in lines]
        return {r[0]: (r[1], r[2]) for r in rows} if len({r[0] for r in rows}) == len(rows) else {"twice": lines}

    def repository(self):
        repo = pathlib.Path(op.GIT["GIT_ROOT"]) / "chaos.git"
        out = subprocess.run(["git", "-C", str(repo), "ls-tree", "-r", "--name-only", "main"], capture_output=True, text=True, check=False).stdout
        return sorted(pathlib.PurePath(p).stem for p in out.splitlines() if p.endswith(".yaml"))

    def compare(self, number, chosen):
        what = "+".join(a.__name__ for a in chosen)
        truth = self.truth()
        began = time.monotonic()
        op.until(f"round {number} ({what}): the table equals the list", lambda: self.table() == truth, LIMIT)
        names = sorted(n for n, _ in truth.values())
        op.until(f"round {number} ({what}): the repository equals the list", lambda: self.repository() == names, LIMIT)
        print(f"chaos: round {number}: {what}: {len(truth)} objects, equal after {time.monotonic() - began:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 30)
    print(f"chaos: seed {seed}, {options.rounds} rounds", flush=True)
    op.setUpModule()
    try:
        with tempfile.TemporaryDirectory(prefix="kollect-chaos-") as folder:
            op.server("git.sh", "repo", "chaos")
            op.apply(op.team(NS, cluster="c", table="chaos", repo="chaos"))
            chaos = Chaos(seed, folder)
            chaos.start_operator()
            try:
                for number in range(options.rounds):
                    chaos.round(number)
            except BaseException:
                print(f"chaos: failed; --seed {seed} repeats it\n{chaos.operator.text()[-8000:]}", file=sys.stderr)
                raise
            finally:
                chaos.operator.kill()
                chaos.operator.log.close()
    finally:
        op.tearDownModule()
    print(f"chaos: seed {seed}: {len(chaos.done)} disturbances, the operator killed {chaos.kills} times, every sink equals the truth")


if __name__ == "__main__":
    main()
