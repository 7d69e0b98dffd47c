#!/usr/bin/env python3
"""Arrows between rooms: every #include below src/ and every kollect_room line must be allowed by ARCHITECTURE.md."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"


def block(name):
    """Lines of the fenced block `name` of ARCHITECTURE.md as {left: set(right)}."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    found = re.search(rf"^```{name}\n(.*?)^```", text, re.S | re.M)
    table = {}
    for line in found.group(1).splitlines():
        left, _, right = line.partition(":")
        table[left.strip()] = set(right.split())
    return table


ARROWS = block("arrows")
LIBRARIES = block("libraries")


def sources():
    for path in sorted(SRC.rglob("*")):
        if path.suffix in (".cc", ".h"):
            yield path, path.relative_to(SRC).parts[0]


def wrong_includes(text, room):
    """(line number, what) of includes that `room` may not have."""
    for number, line in enumerate(text.splitlines(), 1):
        ours = re.match(r'\s*#\s*include\s+"([^"/]+)/', line)
        if ours and ours[1] != room and ours[1] not in ARROWS.get(room, set()):
            yield number, f"{room} -> {ours[1]}"
        foreign = re.match(r"\s*#\s*include\s+<([^>]+)>", line)
        for header, owners in LIBRARIES.items():
            if foreign and foreign[1].startswith(header) and room not in owners:
                yield number, f"<{foreign[1]}> belongs to {', '.join(sorted(owners))}"


class IncludeDirection(unittest.TestCase):
    def test_every_room_is_named(self):
        rooms = {p.name for p in SRC.iterdir() if p.is_dir()}
        self.assertEqual(rooms, set(ARROWS), "folders of src/ and the arrows of ARCHITECTURE.md differ")

    def test_arrows_have_no_circle(self):
        done = []
        left = dict(ARROWS)
        while left:
            free = [room for room, deps in left.items() if deps <= set(done)]
            self.assertTrue(free, f"circle among {sorted(left)}")
            for room in free:
                done.append(room)
                del left[room]

    def test_includes(self):
        wrong = []
        count = 0
        for path, room in sources():
            count += 1
            for number, what in wrong_includes(path.read_text(encoding="utf-8"), room):
                # Tests of all rooms share the scripted and the real servers of tests/support.
                if not (path.name.endswith(("test.cc", "_fixture.h")) and what.endswith("-> support")):
                    wrong.append(f"{path.relative_to(ROOT)}:{number}: {what}")
        self.assertGreater(count, 50)
        self.assertEqual(wrong, [], "\n".join(["arrows that ARCHITECTURE.md does not have:"] + wrong))

    def test_linked_rooms(self):
        seen = 0
        for cmake in SRC.glob("*/CMakeLists.txt"):
            for room, arguments in re.findall(r"kollect_room\(\s*(\w+)([^)]*)\)", cmake.read_text()):
                seen += 1
                deps = re.search(r"\bDEPS\b([a-z\s]*)", arguments)
                linked = set(deps[1].split()) if deps else set()
                self.assertLessEqual(linked, ARROWS[room], f"{cmake}: links a room that it may not use")
        self.assertGreater(seen, 8)

    def test_a_wrong_arrow_is_seen(self):
        self.assertEqual([w for _, w in wrong_includes('#include "sinks/sink.h"\n', "extract")], ["extract -> sinks"])
        self.assertTrue(list(wrong_includes("#include <curl/curl.h>\n", "sinks")))
        self.assertEqual(list(wrong_includes('#include "base/result.h"\n#include <map>\n', "extract")), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
