#!/usr/bin/env python3
"""A full disk: one clear line, the right exit code, and the old state stands.

The disk is a small tmpfs. Where nothing may be mounted, RLIMIT_FSIZE stands in for it (a write beyond the limit fails), so
that the same promises are tested everywhere.
"""
import resource
import signal
import sqlite3
import subprocess

import harness

SIZE = 1 << 20


def limit_file_size():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))


class FullDisk(harness.Case):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(self.disk)],
                                 capture_output=True, check=False).returncode == 0
        self.limit = None if mounted else limit_file_size
        if mounted:
            self.addCleanup(subprocess.run, ["umount", "-l", str(self.disk)], check=True)
        self.config = harness.write(self.folder / "config/c.yaml", harness.PROFILE_AND_TARGET).parent
        self.small = harness.write(self.folder / "small.json", harness.config_maps(100, "small"))
        self.large = harness.write(self.folder / "large.json", harness.config_maps(12000, "large"))

    def collect(self, objects, *output):
        process = subprocess.Popen(
            [harness.KOLLECT, "collect", "--config", str(self.config), "--manifests", str(objects), *map(str, output)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
            env=harness.environment(TMPDIR=str(self.disk)), preexec_fn=self.limit if objects == self.large else None)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def refused(self, *output):
        process = self.ends(self.collect(self.large, *output), 2)
        said = [line for line in process.stderr.splitlines()
                if "No space left" in line or "too large" in line or "full" in line]
        self.assertTrue(said, process.stderr)

    def test_document(self):
        out = self.disk / "out"
        self.ends(self.collect(self.small, "--output", out), 0)
        before = harness.tree(out)
        self.refused("--output", out)
        self.assertEqual(harness.tree(out), before)
        self.ends(self.collect(self.small, "--output", out), 0)
        self.assertEqual(harness.tree(out), before)

    def test_sqlite(self):
        file = self.disk / "inventory.db"
        self.ends(self.collect(self.small, "--sqlite", file), 0)
        self.refused("--sqlite", file)
        database = sqlite3.connect(file)
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchone()[0], "ok")
        self.assertEqual(database.execute("SELECT count(*) FROM inventory").fetchone()[0], 100)
        database.close()
        self.ends(self.collect(self.small, "--sqlite", file), 0)

    def test_git(self):
        remote = self.disk / "r.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", "--template=", str(remote)], check=True)
        harness.write(self.config / "sink.yaml", harness.git_sink(f"file://{remote}", mode="document"))
        self.ends(self.collect(self.small), 0)
        before = harness.git(remote, "rev-parse", "main")
        self.ends(self.collect(self.large), 2)
        self.assertEqual(harness.git(remote, "rev-parse", "main"), before)
        self.ends(self.collect(self.small), 0)
        harness.git(remote, "fsck", "--strict")


if __name__ == "__main__":
    harness.main()
