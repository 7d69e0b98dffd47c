"""Backends that sinks write to: a real server each, the sinks of a cluster in it, and a reader that makes
the rows out of what it holds. A reader gives {uid: row} of one cluster, or None while it cannot be read."""
import base64
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import time

import yaml

import gitlab
import harness
import operator_test as op
from manifests import document, secret

NS, INVENTORY = "fleet", "all"
WRONG = "wrong-password-77"
PATH = "inventory/{cluster}/{namespace}/{name}{extension}"
PLACE = f"inventory/%s/{NS}/{INVENTORY}"


def text_of(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


def rows_by_uid(rows):
    rows = list(rows)
    found = {row["uid"]: row for row in rows}
    return found if len(found) == len(rows) else {"a row twice": rows}


class Backend:
    """`script` starts the server; it exports what a sink must know. `credentials`: keys of the Secret; wrong ones are noticed when
    `checks` is set."""
    script, checks, trust = None, True, None
    type = family = preview = ""

    def __init__(self, folder, name):
        self.folder, self.name = pathlib.Path(folder), name
        self.env = {}

    def start(self):
        self.env = op.exports(op.server(self.script, "start", **self.settings()))
        self.prepare()

    def settings(self):
        return {}

    def prepare(self):
        pass

    def stop(self):
        op.server(self.script, "stop")

    def kill(self):
        op.server(self.script, "kill")

    def restart(self):
        op.server(self.script, "start", **self.settings())

    def sinks(self, cluster):
        """{name: (spec, Secret)}"""
        return {self.name: (self.spec(cluster), self.credentials())}

    def documents(self, cluster, wrong=False):
        """Manifests of its sinks."""
        text = ""
        for name, (spec, credentials) in self.sinks(cluster).items():
            kind = {"snapshot": "KollectSnapshotSink", "database": "KollectDatabaseSink", "event": "KollectEventSink"}[self.family]
            if credentials:
                text += secret(NS, name, **(self.wrong(credentials) if wrong else credentials))
                if self.type not in ("postgres", "mongodb"):
                    spec["secretRef"] = {"name": name}
            if self.trust:
                text += secret(NS, name + "-ca", **{"ca.crt": text_of(self.env[self.trust])})
                spec["tls"] = {"caSecretRef": {"name": name + "-ca"}}
            text += document(kind, NS, name, {"type": self.type, "cluster": cluster, **spec})
        return text

    def credentials(self):
        return {}

    def wrong(self, credentials):
        return {key: base64.b64encode(WRONG.encode()).decode() if key == "accountKey" else
                value.replace("secret", WRONG) if "://" in value else value if key == "username" else WRONG for key, value in credentials.items()}

    def readers(self):
        """{name of a sink: its reader}"""
        return {self.name: self.rows}


class Git(Backend):
    """A file for each row, over https."""
    script, type, family, trust, preview = "git.sh", "git", "snapshot", "GIT_CA", "git"

    def prepare(self):
        op.server(self.script, "repo", "fleet")
        self.repository = pathlib.Path(self.env["GIT_ROOT"]) / "fleet.git"

    def spec(self, _):
        return {"endpoint": self.env["GIT_HTTPS_URL"] + "/fleet.git", "layout": {"mode": "perResource", "content": "item"}, "git": {"branch": "main"}}

    def credentials(self):
        return {"username": self.env["GIT_USER"], "password": self.env["GIT_PASS"] + "\n"}

    def kill(self):
        op.server(self.script, "stop", KEEP="1")

    def rows(self, cluster):
        """Those of the tip; every path must be one that all file systems take."""
        archive = subprocess.run(["git", "--git-dir", str(self.repository), "ls-tree", "-rz", "main"], capture_output=True, check=False)
        if archive.returncode != 0:
            return None
        found = []
        for entry in archive.stdout.decode().split("\0"):
            if not entry or f"\t{cluster}/" not in entry:
                continue
            blob, path = entry.split()[2], entry.split("\t")[1]
            if set(path) & set(':\\<>|?*"') or any(len(part.encode()) > 255 or part.strip(". ") != part for part in path.split("/")):
                return {"a path that not every file system takes": path}
            found.append(yaml.safe_load(harness.git(self.repository, "cat-file", "blob", blob)))
        return rows_by_uid(found)


class GitLab(Backend):
    """A document by merge request."""
    type, family, preview = "gitlab", "snapshot", "git"

    def start(self):
        self.server = gitlab.GitLab(self.folder)
        self.kill, self.restart, self.stop = self.server.kill, self.server.start, self.server.stop

    def spec(self, cluster):
        return {"endpoint": self.server.endpoint, "serialization": {"format": "json"},
                "gitlab": {"mergeRequest": {"mode": "merge_request", "targetBranch": "main", "branchPrefix": "kollect/" + cluster}}}

    def credentials(self):
        return {"token": gitlab.TOKEN}

    def rows(self, cluster):
        """Of the one request that is open."""
        branch = f"kollect/{cluster}/{NS}/{INVENTORY}"
        opened = [one for one in self.server.requests if one["state"] == "opened" and one["source_branch"] == branch]
        if not opened:
            return {}  # nothing differs from the target, which has nothing
        if len(opened) > 1:
            return {"several requests": opened}
        with contextlib.suppress(subprocess.CalledProcessError):
            return rows_by_uid(json.loads(self.server.git("show", f"{branch}:inventory/{NS}/{INVENTORY}.json"))["items"])
        return None


class Sqlite(Backend):
    """A file; there is no server."""
    type, family, checks, file = "sqlite", "database", False, "fleet.db"

    def start(self):
        pass

    stop = kill = restart = start

    def spec(self, _):
        return {"sqlite": {"path": self.file}}

    def rows(self, cluster):
        path = self.folder / self.file
        if not path.exists():
            return None
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)) as session:
            columns = [column[1] for column in session.execute("PRAGMA table_info(inventory)")]
            if not columns:
                return None
            found = session.execute("SELECT payload FROM inventory WHERE cluster = ? AND inventory_namespace = ? AND inventory_name = ?",
                                    (cluster, NS, INVENTORY)).fetchall()
        return rows_by_uid(json.loads(one) for one, in found)


class Postgres(Backend):
    script, type, family, trust, preview = "postgres.sh", "postgres", "database", "PG_CA", "postgres"

    def prepare(self):
        op.PG.update(self.env)

    def spec(self, _):
        return {"postgres": {"databaseRef": {"name": self.name}, "table": "fleet_rows"}}

    def credentials(self):
        return {"dsn": op.dsn() + "\n"}

    def rows(self, cluster):
        # Not as text: a payload may have what Python takes for the end of a line.
        found = op.sql("SELECT encode(convert_to(coalesce(jsonb_agg(payload), '[]')::text, 'UTF8'), 'base64') FROM fleet_rows "
                       f"WHERE cluster = '{cluster}' AND inventory_namespace = '{NS}' AND inventory_name = '{INVENTORY}'")
        return None if found is None else rows_by_uid(json.loads(base64.b64decode("".join(found))))


def all_backends(folder):
    kinds = {"git": Git, "gitlab": GitLab, "sqlite": Sqlite, "postgres": Postgres}
    return [kind(folder, name) for name, kind in kinds.items()]


def wait_for_all(backends, cluster, truth, limit=op.LIMIT):
    """Until every reader has exactly the truth; names those that have not, with the first difference."""
    readers = {name: reader for backend in backends for name, reader in backend.readers().items()}
    end = time.monotonic() + limit
    while readers:
        answers = {name: reader(cluster) for name, reader in readers.items()}
        readers = {name: reader for name, reader in readers.items() if answers[name] != truth}
        if time.monotonic() > end and readers:
            raise AssertionError(f"not within {limit} s: " + "; ".join(f"{name} {difference(answers[name], truth)}" for name in readers))
        time.sleep(0.05)


def difference(found, truth):
    if found is None:
        return "cannot be read"
    missing, more = truth.keys() - found.keys(), found.keys() - truth.keys()
    other = [f"{found[uid]} in place of {truth[uid]}" for uid in truth.keys() & found.keys() if found[uid] != truth[uid]]
    return f"lacks {[truth[uid]['name'] for uid in missing]}, has beside {[found[uid] for uid in more]}, has {other[:1]}"
