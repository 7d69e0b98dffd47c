"""Every kind of backend that sinks write to: a real server each (or its emulator), the sinks of a cluster in it, and a reader that makes
the rows out of what it holds. A reader gives {uid: row} of one cluster, or None while it cannot be read."""
import base64
import contextlib
import datetime
import email.utils
import gzip
import hashlib
import hmac
import json
import pathlib
import sqlite3
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

import events_test as nats
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


def fetch(url, body=None, method=None, headers=None, trust=None):
    """The answer's body; None when nothing is there or nobody answers."""
    context = nats.ssl.create_default_context(cafile=trust) if trust else None
    request = urllib.request.Request(url, data=body, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=op.LIMIT, context=context) as answer:
            return answer.read()
    except (urllib.error.URLError, OSError):
        return None


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


class S3(Backend):
    """Compressed JSON and Parquet in a bucket."""
    script, type, family, trust, preview = "s3.sh", "s3", "snapshot", "S3_CA", "objectPath"

    def settings(self):
        return {"TLS": "1"}

    def prepare(self):
        self.tables = {}

    def sinks(self, _):
        place = {"endpoint": f"{self.env['S3_ENDPOINT']}/{self.env['S3_BUCKET']}/lake", "pathTemplate": PATH}
        credentials = {"accessKeyID": self.env["AWS_ACCESS_KEY_ID"], "secretAccessKey": self.env["AWS_SECRET_ACCESS_KEY"]}
        return {"s3": ({**place, "serialization": {"format": "json", "compression": "gzip"}}, credentials),
                "s3-parquet": ({**place, "serialization": {"format": "parquet"}}, credentials)}

    def wrong(self, credentials):
        return {**credentials, "secretAccessKey": WRONG}

    def get(self, key):
        user = f"{self.env['AWS_ACCESS_KEY_ID']}:{self.env['AWS_SECRET_ACCESS_KEY']}"
        asked = subprocess.run(["curl", "-sf", "--cacert", self.env["S3_CA"], "--user", user, "--aws-sigv4", "aws:amz:us-east-1:s3",
                                "-H", "x-amz-content-sha256: " + hashlib.sha256(b"").hexdigest(),
                                f"{self.env['S3_ENDPOINT']}/{self.env['S3_BUCKET']}/lake/{key}"], capture_output=True, check=False)
        return asked.stdout if asked.returncode == 0 else None

    def rows(self, cluster):
        packed = self.get(PLACE % cluster + ".json.gz")
        return None if packed is None else rows_by_uid(json.loads(gzip.decompress(packed))["items"])

    def table(self, cluster):
        bytes_of = self.get(PLACE % cluster + ".parquet")
        if bytes_of is None:
            return None
        if self.tables.get(cluster, (b"",))[0] != bytes_of:  # starting the reader takes its time
            (self.folder / "read.parquet").write_bytes(bytes_of)
            self.tables[cluster] = bytes_of, rows_by_uid(parquet_rows(self.folder / "read.parquet", cluster))
        return self.tables[cluster][1]

    def readers(self):
        return {"s3": self.rows, "s3-parquet": self.table}


def parquet_rows(path, cluster):
    read = subprocess.run([str(harness.ROOT / "scripts/parquet_readers.sh"), "tests/support/read_parquet.py", "rows", str(path)], cwd=harness.ROOT,
                          check=True, capture_output=True, text=True).stdout
    for columns in json.loads(read)["arrow"]:
        row = {"targetNamespace": columns["target_namespace"], "targetName": columns["target_name"], "namespace": columns["namespace"],
               "name": columns["name"], "version": columns["api_version"], "kind": columns["kind"], "uid": columns["uid"],
               "attributes": json.loads(columns["attributes"])}
        if columns["group"] is not None:
            row["group"] = columns["group"]
        assert (columns["cluster"], columns["inventory_namespace"], columns["inventory_name"]) == (cluster, NS, INVENTORY), columns
        yield row


class Gcs(Backend):
    script, type, family, checks, preview = "gcs.sh", "gcs", "snapshot", False, "objectPath"

    def prepare(self):
        op.ENVIRONMENT["STORAGE_EMULATOR_HOST"] = self.env["STORAGE_EMULATOR_HOST"]

    def spec(self, _):
        return {"endpoint": f"gs://{self.env['GCS_BUCKET']}/lake", "pathTemplate": PATH}

    def rows(self, cluster):
        key = urllib.parse.quote(f"lake/{PLACE % cluster}.json", safe="")
        whole = fetch(f"{self.env['STORAGE_EMULATOR_HOST']}/storage/v1/b/{self.env['GCS_BUCKET']}/o/{key}?alt=media")
        return None if whole is None else rows_by_uid(json.loads(whole)["items"])


class Azure(Backend):
    script, type, family, trust, preview = "azure.sh", "azureblob", "snapshot", "AZURE_CA", "objectPath"

    def settings(self):
        return {"TLS": "1"}

    def spec(self, _):
        return {"endpoint": self.env["AZURE_ENDPOINT"] + "/inventory/lake", "pathTemplate": PATH, "options": {"createBucket": "true"}}

    def credentials(self):
        return {"accountKey": self.env["AZURE_STORAGE_KEY"]}

    def rows(self, cluster):
        """Signed with the account's key (learn.microsoft.com, Authorize with Shared Key)."""
        place = f"/test/inventory/lake/{PLACE % cluster}.json"
        date = email.utils.format_datetime(datetime.datetime.now(datetime.timezone.utc), usegmt=True)
        signed = "GET" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:2021-12-02\n/test{place}"
        signature = hmac.new(base64.b64decode(self.env["AZURE_STORAGE_KEY"]), signed.encode(), hashlib.sha256).digest()
        whole = fetch(self.env["AZURE_ENDPOINT"].removesuffix("/test") + place, trust=self.env["AZURE_CA"], headers={
            "x-ms-date": date, "x-ms-version": "2021-12-02", "Authorization": "SharedKey test:" + base64.b64encode(signature).decode()})
        return None if whole is None else rows_by_uid(json.loads(whole)["items"])


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


MONGO_READER = """
import json, sys, pymongo
client = pymongo.MongoClient("127.0.0.1", int(sys.argv[1]), tls=True, tlsCAFile=sys.argv[2], username="test", password="secret", directConnection=True,
                             serverSelectionTimeoutMS=3000)
for line in sys.stdin:
    try:
        found = client.crm.fleet.find({"cluster": line.strip(), "inventory_namespace": "%s", "inventory_name": "%s"})
        print(json.dumps([one["payload"] for one in found]), flush=True)
    except pymongo.errors.PyMongoError as error:
        print("null", flush=True)
""" % (NS, INVENTORY)


class Mongo(Backend):
    script, type, family, trust, preview = "mongo.sh", "mongodb", "database", "MONGO_CA", "mongodb"

    def prepare(self):
        self.reader = subprocess.Popen([self.env["MONGO_PYTHON"], "-c", MONGO_READER, self.env["MONGO_PORT"], self.env["MONGO_CA"]], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def stop(self):
        self.reader.stdin.close()
        self.reader.wait()
        self.reader.stdout.close()
        super().stop()

    def spec(self, _):
        return {"mongodb": {"databaseRef": {"name": self.name}, "database": "crm", "collection": "fleet"}}

    def credentials(self):
        return {"uri": f"mongodb://test:secret@127.0.0.1:{self.env['MONGO_PORT']}/?authSource=admin&tls=true&directConnection=true\n"}

    def rows(self, cluster):
        self.reader.stdin.write(cluster + "\n")
        self.reader.stdin.flush()
        found = json.loads(self.reader.stdout.readline())
        return None if found is None else rows_by_uid(found)


class Bigquery(Backend):
    script, type, family, checks = "bigquery.sh", "bigquery", "database", False

    def call(self, path, body):
        answer = fetch(f"{self.env['BIGQUERY_EMULATOR_HOST']}/bigquery/v2/projects/test/{path}", json.dumps(body).encode(),
                       headers={"Content-Type": "application/json"})
        return None if answer is None else json.loads(answer)

    def prepare(self):
        op.ENVIRONMENT["BIGQUERY_EMULATOR_HOST"] = self.env["BIGQUERY_EMULATOR_HOST"]
        self.call("datasets", {"datasetReference": {"projectId": "test", "datasetId": "fleet"}, "location": "EU"})

    def spec(self, _):
        return {"bigquery": {"project": "test", "dataset": "fleet", "table": "resources"}}

    def rows(self, cluster):
        found = self.call("queries", {"useLegacySql": False, "maxResults": 100000, "query": (
            f"SELECT payload FROM `test.fleet.resources` WHERE cluster = '{cluster}' AND inventory_namespace = '{NS}' "
            f"AND inventory_name = '{INVENTORY}'")})
        if found is None or "errors" in found or "error" in found:
            return None
        return rows_by_uid(json.loads(row["f"][0]["v"]) for row in found.get("rows", []))


class Bus(Backend):
    """Change events and documents of one broker, as consumers follow them."""
    family = "event"

    def __init__(self, folder, name):
        super().__init__(folder, name)
        self.consumers, self.documents_of = {}, {}

    def take(self, event):
        if "payload" in event:
            self.documents_of[event["cluster"]] = rows_by_uid(event["payload"]["items"])
        else:
            assert (event["namespace"], event["inventory"]) == (NS, INVENTORY), event
            self.consumers.setdefault(event["cluster"], nats.Consumer()).follow(event)

    def changes(self, cluster):
        self.read()
        consumer = self.consumers.get(cluster)
        return None if consumer is None or consumer.seen is not None else rows_by_uid(consumer.rows.values())

    def whole(self, cluster):
        self.read()
        return self.documents_of.get(cluster)

    def readers(self):
        return {self.name: self.changes, self.name + "-docs": self.whole}


class Kafka(Bus):
    script, type, trust, preview = "kafka.sh", "kafka", "KAFKA_CA", "kafka"

    def prepare(self):
        """One consumer from the beginning on; what it prints is read as it grows."""
        self.printed = open(self.folder / "kafka.printed", "w+b")  # pylint: disable=consider-using-with
        settings = self.folder / "consumer.properties"
        settings.write_text("metadata.max.age.ms=500\nreconnect.backoff.max.ms=200\nallow.auto.create.topics=false\n", encoding="utf-8")
        self.consumer = subprocess.Popen(
            [str(op.SERVERS / self.script), "java", op.NAME, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server",
             self.env["KAFKA_PLAIN"], "--include", "fleet-.*", "--from-beginning", "--command-config", str(settings)], stdout=self.printed,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.place = 0

    def stop(self):
        self.consumer.kill()
        self.consumer.wait()
        self.printed.close()
        super().stop()

    def sinks(self, _):
        place = {"brokers": [self.env["KAFKA_SASL_TLS"]]}
        return {self.name: ({"kafka": {**place, "topic": "fleet-changes"}, "options": {"events": "changes"}},
                            {"username": "test", "password": "secret\n"}),
                self.name + "-docs": ({"kafka": {**place, "topic": "fleet-documents"}, "options": {"sasl.mechanism": "OAUTHBEARER"}},
                                      {"token": self.env["KAFKA_TOKEN"]})}

    def read(self):
        with open(self.printed.name, "rb") as printed:
            printed.seek(self.place)
            for line in printed:
                if not line.endswith(b"\n"):
                    break
                self.place += len(line)
                if line != b"null\n":
                    self.take(json.loads(line))


class Nats(Bus):
    script, type, trust, preview = "nats.sh", "nats", "NATS_CA", ""

    def settings(self):
        return {"TLS": "1"}

    def prepare(self):
        nats.NATS.update(self.env)
        self.seen = {}

    def sinks(self, _):
        return {self.name: ({"nats": {"url": self.env["NATS_URL"], "subject": "changes.{cluster}.{namespace}.{name}", "stream": "changes"},
                             "options": {"events": "changes"}}, self.login()),
                self.name + "-docs": ({"nats": {"url": self.env["NATS_URL"], "subject": "documents.{cluster}.{name}", "stream": "documents"}},
                                      self.login())}

    def login(self):
        return {"username": self.env["NATS_USER"], "password": self.env["NATS_PASSWORD"] + "\n"}

    def read(self):
        for name in ("changes", "documents"):
            with contextlib.suppress(OSError), contextlib.closing(nats.Stream(name)) as stream:
                stream.next = self.seen.get(name, 1)
                for subject, headers, event in stream.news():
                    self.seen[name] = stream.next
                    assert headers["Kollect-Cluster"] == event["cluster"] == subject.split(".")[1], (subject, headers)
                    self.take(event)


def all_backends(folder):
    kinds = {"git": Git, "gitlab": GitLab, "s3": S3, "gcs": Gcs, "azure": Azure, "sqlite": Sqlite, "postgres": Postgres, "mongo": Mongo,
             "bigquery": Bigquery, "kafka": Kafka, "nats": Nats}
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
