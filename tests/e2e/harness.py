"""What the runs of the program from outside share. KOLLECT names the program (set by ctest)."""
import atexit
import hashlib
import json
import os
import pathlib
import random
import socket
import sqlite3
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KOLLECT = os.environ.get("KOLLECT", str(ROOT / "build/release/kollect"))
FAST = os.environ.get("KOLLECT_FAST", str(ROOT / "build/release/tests/support/kollect_fast"))  # on a clock 60 times as fast
EXAMPLES = ROOT / "examples"
HOME = tempfile.TemporaryDirectory(prefix="kollect-e2e-home-")  # the program's cache folder goes there


def environment(**extra):
    """A small environment without the developer's own Kubernetes and Git settings."""
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": HOME.name, "LANG": "C.UTF-8",
           "GIT_CONFIG_NOSYSTEM": "1", "KOLLECT_VALIDATING_WEBHOOKS_ENABLED": "false"}
    env.update(extra)
    return env


def start(*args, **options):
    options = {"env": environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    return subprocess.Popen([KOLLECT, *map(str, args)], **options)


def run(*args, stdin=None, env=None, timeout=120):
    """The finished process: returncode, stdout and stderr as text."""
    return subprocess.run([KOLLECT, *map(str, args)], input=stdin or "", capture_output=True, text=True,
                          env=env or environment(), timeout=timeout, check=False)


def git(folder, *args):
    return subprocess.run(["git", "-C", str(folder), *args], capture_output=True, text=True, check=True,
                          env=environment()).stdout


def write(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def tree(folder):
    """Relative path to bytes of every file below a folder."""
    folder = pathlib.Path(folder)
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


PROFILE_AND_TARGET = """\
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: cm, namespace: x}
spec:
  targetGVK: {version: v1, kind: ConfigMap}
  attributes:
    - {name: k, path: "$.data.k"}
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: t, namespace: x}
spec: {profileRef: cm}
"""


def git_sink(endpoint, name="s", mode="perResource"):
    return f"""\
---
apiVersion: kollect.dev/v1alpha1
kind: KollectSnapshotSink
metadata: {{name: {name}, namespace: x}}
spec:
  type: git
  endpoint: {endpoint}
  layout: {{mode: {mode}, content: item}}
  git: {{branch: main}}
"""


def config_maps(count, value, namespaces=5):
    """A List of ConfigMaps as text; `value` is in each, so that two calls with other values differ everywhere. The texts
    hardly compress."""
    items = [{"apiVersion": "v1", "kind": "ConfigMap",
              "metadata": {"name": f"c{i:05}", "namespace": f"n{i % namespaces}", "uid": f"u-{i}"},
              "data": {"k": f"{value} {i} " + hashlib.sha512(f"{value} {i}".encode()).hexdigest() * 2}} for i in range(count)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def sqlite_rows(path, query):
    """Rows of a file that may be written just now; None while it is not there or has no tables."""
    if not pathlib.Path(path).exists():
        return None
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
    try:
        return connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return None
    finally:
        connection.close()


def by_uid(rows):
    """{uid: (name, version)} of rows with these three; something that equals nothing when a uid is there twice or rows is None."""
    found = {uid: (name, version) for uid, name, version in rows or ()}
    return found if rows is not None and len(found) == len(rows) else {"no rows, or a row twice": rows}


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="kollect-e2e-", ignore_cleanup_errors=True)
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def ends(self, process, code):
        self.assertEqual(process.returncode, code, f"{process.args}\nstdout: {process.stdout}\nstderr: {process.stderr}")
        return process


def free_port():
    """One that nobody has, below the range that the system takes ports of connections from: one of those might be gone before somebody listens."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as listening:
            try:
                listening.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def ends_with_us(process):
    """Killed at the end of the tests if it runs still: where a test cannot begin nobody stops it, and it holds the pipe that ctest reads."""
    atexit.register(lambda: process.poll() is None and process.kill())
    return process


def main():
    unittest.main(argv=["e2e"], verbosity=2)
