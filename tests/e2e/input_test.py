#!/usr/bin/env python3
"""What is typed or piped in: the questions of `kollect init` on a terminal, and being stopped while waiting for input."""
import fcntl
import os
import pathlib
import pty
import signal
import struct
import subprocess
import tempfile
import termios

import harness
import manifests
import sandbox

OBJECTS = manifests.namespace("shop") + manifests.config_map("shop", "a", k="one")
# Context, kind, namespaces (explicit), which ones, filter, sample, attributes, name, write.
ANSWERS = "yes\nConfigMap\nexplicit\nshop\nnone\nno\n\n\nyes\n"


class Init(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="kollect-e2e-")
        cls.server = sandbox.Sandbox(pathlib.Path(cls.temporary.name), OBJECTS)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.temporary.cleanup()

    def on_a_terminal(self, *args, typed="", at=None, key=b""):
        """(exit code, what the terminal showed). `typed` is typed ahead; `key` when the text `at` was shown."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([harness.KOLLECT, *map(str, args)], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
                                   env=harness.environment(), start_new_session=True,
                                   preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)))  # its terminal
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        while True:
            try:
                got = os.read(ours, 65536)
            except OSError:  # nobody holds the other side any more
                break
            shown += got
            if at is not None and at in shown:
                os.write(ours, key)
                at = None
        self.assertEqual(process.stdout.read(), b"")
        process.stdout.close()
        os.close(ours)
        return process.wait(timeout=60), shown.decode().replace("\r\n", "\n")

    def init(self, **how):
        return self.on_a_terminal("init", "--kubeconfig", self.server.kubeconfig, "--output-dir", self.folder / "new", **how)

    def test_answers_become_two_files_and_existing_ones_are_asked_for(self):
        code, shown = self.init(typed=ANSWERS)
        self.assertEqual(code, 0, shown)
        written = harness.tree(self.folder / "new")
        self.assertEqual(set(written), {"profile.yaml", "target.yaml"})
        self.assertIn(b"includedNamespaces:\n  - shop\n", written["target.yaml"])
        rows = harness.run("collect", "--config", self.folder / "new", "--kubeconfig", self.server.kubeconfig, "--output", "-")
        self.assertIn('"name":"a"', self.ends(rows, 0).stdout)
        code, shown = self.init(typed=ANSWERS + "no\n")
        self.assertEqual(code, 2, shown)
        self.assertIn("profile.yaml exists with this content", shown)
        code, shown = self.init(typed=ANSWERS.replace("shop", "default") + "yes\nno\n")
        self.assertEqual(code, 2, shown)
        self.assertIn("--- now\napiVersion", shown)
        self.assertEqual(harness.tree(self.folder / "new"), written)
        code, shown = self.init(typed=ANSWERS.replace("shop", "default") + "yes\nyes\n")
        self.assertEqual(code, 0, shown)
        self.assertIn(b"  - default\n", harness.tree(self.folder / "new")["target.yaml"])

    def test_interrupt_ends_it_with_nothing_written(self):
        code, shown = self.init(typed="yes\n", at=b"(number, name, or a part of it): ", key=b"\x03")
        self.assertEqual(code, 128 + signal.SIGINT, shown)
        self.assertIn("cancelled; nothing was written", shown)
        self.assertFalse((self.folder / "new").exists())

    def test_end_of_input_and_no_cancel(self):
        for typed in ("no\n", "\x04"):
            code, shown = self.init(typed=typed)
            self.assertEqual(code, 2, shown)
            self.assertFalse((self.folder / "new").exists())

    def test_flags_are_checked(self):
        def refused(*args):
            run = harness.run("init", "--kubeconfig", self.server.kubeconfig, "--output-dir", self.folder / "new", *args)
            return self.ends(run, 2).stderr
        self.assertIn("did you mean configmaps", refused("--kind", "configmap-s"))
        self.assertIn('"level":"error"', refused("--kind", "configmaps", "--name", "Bad_Name"))
        self.assertFalse((self.folder / "new").exists())


class Input(harness.Case):
    def test_a_program_that_waits_for_its_input_can_be_stopped(self):
        config = harness.write(self.folder / "config/c.yaml", harness.PROFILE_AND_TARGET).parent
        for number in (signal.SIGINT, signal.SIGTERM):
            for args in (("collect", "--config", config, "--manifests", "-", "--output", "-"), ("validate", "-"),
                         ("extract", "--profile", config / "c.yaml", "-")):
                with self.subTest(number=number, args=args), harness.start(*args, stdin=subprocess.PIPE) as process:
                    os.write(process.stdin.fileno(), b"begun: and never ended\n")
                    while unread(process.stdin):
                        os.sched_yield()
                    process.send_signal(number)
                    self.assertEqual(process.wait(timeout=60), 128 + number)
                    self.assertIn(b"stopped while waiting for input", process.stderr.read())
                    self.assertEqual(process.stdout.read(), b"")


def unread(pipe):
    """Bytes in a pipe that its other side has not read."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"    "))[0]


if __name__ == "__main__":
    harness.main()
