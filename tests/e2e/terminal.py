"""A program in a terminal of its own: what is on its screen, keys for it, a size that changes."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

TOKEN = re.compile(rb"\x1b\[(\??[0-9;]*)([@-~])|\x1b(.)|([^\x1b\r\n]+)|(\r?\n)", re.S)


class Terminal:
    """As much of a terminal (ECMA-48) as a program needs that places whole lines."""

    def __init__(self, args, env, columns=120, lines=24):
        self.master, self.slave = pty.openpty()
        self.lines, self.row, self.other, self.cursor, self.colours = {}, 1, False, True, set()
        self.pending, self.plain = b"", b""
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.slave)

        def own_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(args, stdin=self.slave, stdout=self.slave, stderr=self.slave, env={"TERM": "xterm", **env},
                                        start_new_session=True, preexec_fn=own_terminal)

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys):
        os.write(self.master, keys.encode())

    def read(self):
        """Takes what has come."""
        while select.select([self.master], [], [], 0.02)[0]:
            got = os.read(self.master, 65536)
            if not got:
                return
            self.pending += got
        if self.pending and not re.search(rb"\x1b(\[\??[0-9;]*)?$", self.pending):
            for match in TOKEN.finditer(self.pending):
                self.take(match)
            self.pending = b""

    def take(self, match):
        parameters, command, _, text, _ = match.groups()
        if text is not None:
            if self.other:
                self.lines[self.row] = self.lines.get(self.row, b"") + text
            else:
                self.plain += text + b"\n"
        elif command == b"H":
            self.row = int(parameters.split(b";")[0] or 1)
        elif command == b"J":
            self.lines = {}
        elif command == b"K":
            self.lines[self.row] = b""
        elif command == b"m":
            self.colours |= set(parameters.split(b";"))
        elif command in (b"h", b"l") and parameters == b"?1049":
            self.other = command == b"h"
        elif command in (b"h", b"l") and parameters == b"?25":
            self.cursor = command == b"h"

    def screen(self):
        """Lines from the top."""
        self.read()
        return [self.lines.get(i, b"").decode() for i in range(1, max(self.lines, default=0) + 1)]

    def text(self):
        return "\n".join(self.screen())

    def waits(self, what, condition, limit=30):
        end = time.monotonic() + limit
        while not condition():
            self.read()
            if time.monotonic() > end:
                raise AssertionError(f"not within {limit} s: {what}; on the screen:\n{self.text()}\n{self.plain.decode()}")

    def shows(self, *texts):
        self.waits(texts, lambda: all(text in self.text() for text in texts))

    def ended(self):
        """Its exit code."""
        code = self.process.wait(timeout=30)
        self.read()
        return code

    def given_back(self):
        """The terminal is as it was before."""
        self.read()
        return not self.other and self.cursor and termios.tcgetattr(self.slave) == self.before

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)
