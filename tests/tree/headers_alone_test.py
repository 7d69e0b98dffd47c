#!/usr/bin/env python3
"""Every header below src/ compiles alone, without the precompiled header.

    headers_alone_test.py COMPILER

What compiled once is remembered in the user's cache folder by its text and that of all it includes, so that only headers
that changed are tried again.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = sys.argv[1]
FLAGS = ["-std=c++23", "-Wall", "-Wextra", '-DKOLLECT_SOURCE_DIR="."', "-fsyntax-only"]
# The only library of ours whose headers lie in a folder of their own.
FOLDERS = subprocess.run(["pkg-config", "--cflags", "libmongoc-1.0"], capture_output=True, text=True, check=True).stdout.split()
PLACES = [ROOT / "src", ROOT / "tests"]
MEMORY = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "kollect/headers_alone.json"
REMEMBERED = 3000


@functools.lru_cache(None)
def includes_of(header):
    """Our own headers that a header includes, itself first, each once."""
    found = [header]
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', header.read_text(), re.M):
        for place in PLACES:
            if (place / name).is_file():
                found += includes_of(place / name)
    return list(dict.fromkeys(found))


def key_of(header, compiler):
    text = hashlib.sha256((compiler + " ".join(FLAGS)).encode())
    for part in includes_of(header):
        text.update(part.read_bytes())
    return text.hexdigest()


def try_header(header):
    """Compiler output, empty when the header compiles alone and twice in a row."""
    name = header.relative_to(ROOT / "src")
    run = subprocess.run([COMPILER, *FLAGS, *FOLDERS, *(f"-I{place}" for place in PLACES), "-x", "c++", "-"],
                         input=f'#include "{name}"\n#include "{name}"\n', capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else f"{name}:\n{run.stderr}"


class HeadersAlone(unittest.TestCase):
    def test_headers(self):
        headers = sorted((ROOT / "src").rglob("*.h"))
        self.assertGreater(len(headers), 30)
        compiler = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True).stdout
        known = json.loads(MEMORY.read_text()) if MEMORY.exists() else []
        keys = {header: key_of(header, compiler) for header in headers}
        todo = [header for header in headers if keys[header] not in set(known)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = dict(zip(todo, pool.map(try_header, todo)))
        good = [keys[header] for header, problem in results.items() if not problem]
        MEMORY.parent.mkdir(parents=True, exist_ok=True)
        new = MEMORY.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps((known + good)[-REMEMBERED:]))
        new.rename(MEMORY)
        problems = [problem for problem in results.values() if problem]
        self.assertEqual(problems, [], "\n".join(problems))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
