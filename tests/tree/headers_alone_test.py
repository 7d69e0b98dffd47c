#!/usr/bin/env python3
"""Every header below src/ compiles alone, without the precompiled header.

    headers_alone_test.py WORK-FOLDER COMPILER

Results are remembered by content: a header is tried again when it or anything it may include has changed.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2]


def try_header(header):
    """Compiler output, empty when the header compiles alone and twice in a row."""
    name = header.relative_to(ROOT / "src")
    text = f'#include "{name}"\n#include "{name}"\n'
    run = subprocess.run(
        [COMPILER, "-std=c++23", "-Wall", "-Wextra", "-fsyntax-only",
         # Headers that tests share name their case files by it.
         '-DKOLLECT_SOURCE_DIR="."', "-I", str(ROOT / "src"), "-x", "c++", "-"],
        input=text, capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else f"{name}:\n{run.stderr}"


class HeadersAlone(unittest.TestCase):
    def test_headers(self):
        headers = sorted((ROOT / "src").rglob("*.h"))
        self.assertGreater(len(headers), 30)
        everything = hashlib.sha256(b"".join(h.read_bytes() for h in headers)).hexdigest()
        memory = WORK / "headers_alone.json"
        known = json.loads(memory.read_text()) if memory.exists() else {}
        todo = [h for h in headers if known.get(str(h)) != everything]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = dict(zip(todo, pool.map(try_header, todo)))
        for header, problem in results.items():
            if not problem:
                known[str(header)] = everything
        memory.write_text(json.dumps(known))
        problems = [p for p in results.values() if p]
        self.assertEqual(problems, [], "\n".join(problems))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
