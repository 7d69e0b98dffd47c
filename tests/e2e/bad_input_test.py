#!/usr/bin/env python3
"""Bad input: one clear line and the specified exit code, and what was there stays. Cases that need a real server are in
bad_cluster_test.py."""
import os
import socket
import subprocess

import harness

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""


class BadInput(harness.Case):
    def setUp(self):
        super().setUp()
        self.config = harness.write(self.folder / "config/c.yaml", harness.PROFILE_AND_TARGET).parent
        self.objects = harness.write(self.folder / "objects.json", harness.config_maps(5, "a"))

    def refused(self, *words, args=(), code=2, **options):
        process = self.ends(harness.run("collect", "--config", self.config, *args, **options), code)
        lines = [line for line in process.stderr.splitlines() if all(word in line for word in words)]
        self.assertTrue(lines, f"no line with all of {words}:\n{process.stderr}")
        self.assertEqual(process.stdout, "")
        return process

    def test_kubeconfig_is_missing(self):
        self.refused("/nonexistent/kubeconfig", args=("--kubeconfig", "/nonexistent/kubeconfig", "--output", "-"))

    def test_kubeconfig_is_no_yaml(self):
        path = harness.write(self.folder / "kubeconfig", "clusters: [\n  {name: a,\n")
        self.refused(str(path), "3", args=("--kubeconfig", path, "--output", "-"))

    def test_kubeconfig_is_unreadable(self):
        path = self.folder / "kubeconfig"
        path.mkdir()
        self.refused(str(path), args=("--kubeconfig", path, "--output", "-"))

    def test_server_refuses_connections(self):
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))  # bound, never listening
            server = f"https://127.0.0.1:{held.getsockname()[1]}"
            path = harness.write(self.folder / "kubeconfig", KUBECONFIG.format(server=server))
            out = self.folder / "out"
            self.refused("unreachable", args=("--kubeconfig", path, "--output", out, "--timeout", "20s"))
            self.assertFalse((out / "inventory").exists())

    def test_profile_with_a_mistake_names_line_and_column(self):
        harness.write(self.config / "c.yaml", harness.PROFILE_AND_TARGET.replace("targetGVK: {", "targetGVK: [{"))
        self.refused("c.yaml:6:3: ", args=("--manifests", self.objects, "--output", "-"))

    def test_unknown_field_names_file_line_and_field(self):
        harness.write(self.config / "c.yaml", harness.PROFILE_AND_TARGET.replace("{profileRef: cm}", "{profileRef: cm, bogus: 1}"))
        self.refused("c.yaml:12: ", "spec.bogus: unknown field (line 12, column 24)", args=("--manifests", self.objects, "--output", "-"))

    def test_bad_path_in_a_profile(self):
        harness.write(self.config / "c.yaml", harness.PROFILE_AND_TARGET.replace("$.data.k", "$.data["))
        self.refused("c.yaml:7: ", "spec.attributes[0].path: ", "(position 8; the field: line 7, column 17)", args=("--manifests", self.objects, "--output", "-"))

    def test_template_that_leaves_the_folder(self):
        for template in ("../{namespace}/{name}", "/etc/{namespace}/{name}", "a/../../{namespace}/{name}"):
            with self.subTest(template):
                out = self.folder / "out"
                self.refused("path", args=("--manifests", self.objects, "--output", out, "--path-template", template))
                self.assertEqual(list(self.folder.rglob("t.yaml")) + list(self.folder.rglob("x")), [])

    def test_output_is_a_file(self):
        out = harness.write(self.folder / "out", "mine")
        self.refused(str(out), args=("--manifests", self.objects, "--output", out))
        self.assertEqual(out.read_text(), "mine")

    def test_output_is_not_writable(self):
        out = self.folder / "proc"
        out.symlink_to("/proc/1/task")  # nobody may create a file there
        self.refused("proc", args=("--manifests", self.objects, "--output", out))

    def test_git_remote_refuses(self):
        remote = self.folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        hook = harness.write(remote / "hooks/pre-receive", "#!/bin/sh\necho 'inventory is frozen' >&2\nexit 1\n")
        os.chmod(hook, 0o755)
        harness.write(self.config / "sink.yaml", harness.git_sink(f"file://{remote}"))
        self.refused("snapshot/s", "inventory is frozen", args=("--manifests", self.objects))
        self.assertEqual(harness.git(remote, "for-each-ref"), "")

    def test_git_remote_is_missing(self):
        harness.write(self.config / "sink.yaml", harness.git_sink(f"file://{self.folder}/none.git"))
        self.refused("snapshot/s", args=("--manifests", self.objects))

    def test_manifests_are_missing(self):
        self.refused("/nonexistent", args=("--manifests", "/nonexistent", "--output", "-"))

    def test_one_unreadable_document_among_others(self):
        bad = harness.write(self.folder / "dump/bad.yaml", "a: 1\n---\nkind: [\n")
        harness.write(self.folder / "dump/good.json", self.objects.read_text())
        process = self.ends(harness.run("collect", "--config", self.config, "--manifests", self.folder / "dump", "--output", "-"), 1)
        self.assertIn(str(bad.name), process.stderr)
        self.assertIn('"itemCount":5', process.stdout)

    def test_messages_that_nobody_reads_change_nothing(self):
        """As behind `2>&1 | head -1`: the work is done, and the exit code is what it would have been."""
        collect = ["collect", "--config", self.config, "--manifests", self.objects, "--summary", "text", "--output"]
        for i, (arguments, code) in enumerate((([*collect, self.folder / "out"], 0), (["collect", "--colour"], 2), (["nosuch"], 2),
                                               (["validate", "--config", "/nonexistent"], 2), (["query", "/nonexistent", "x"], 2))):
            for closed in (False, True):
                with self.subTest(i=i, closed=closed):
                    read, write = os.pipe()
                    os.close(read)
                    before = (lambda: os.close(2)) if closed else None
                    with os.fdopen(write, "wb") as errors:
                        process = subprocess.run([harness.KOLLECT, *map(str, arguments)], stderr=errors, stdout=subprocess.DEVNULL,
                                                 stdin=subprocess.DEVNULL, env=harness.environment(), check=False, preexec_fn=before)
                    self.assertEqual(process.returncode, code)
        self.assertEqual(sorted(harness.tree(self.folder / "out")), [".kollect-manifest.json", "inventory/x/t.yaml"])

    def test_secret_does_not_print(self):
        harness.write(self.config / "sink.yaml", harness.git_sink(f"file://{self.folder}/none.git").replace(
            "  layout", "  secretRef: {name: tok}\n  layout") + """\
---
apiVersion: v1
kind: Secret
metadata: {name: tok, namespace: x}
stringData: {token: "${env:TOK}"}
""")
        env = harness.environment(TOK="s3cr3t-value-of-tok")
        process = self.refused("snapshot/s", args=("--manifests", self.objects, "--log-level", "debug"),
                               env=env)
        self.assertNotIn("s3cr3t-value-of-tok", process.stderr)
        self.refused("tok", "TOK", args=("--manifests", self.objects))


if __name__ == "__main__":
    harness.main()
