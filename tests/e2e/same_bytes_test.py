#!/usr/bin/env python3
"""Same state, same bytes: on a second run, and whatever the order of the input."""
import json
import random
import re

import harness


class SameBytes(harness.Case):
    def setUp(self):
        super().setUp()
        self.config = harness.write(self.folder / "config/c.yaml", harness.PROFILE_AND_TARGET).parent

    def collect(self, objects, out, *flags):
        return self.ends(harness.run("collect", "--config", self.config, "--manifests", objects, "--output", out, *flags), 0)

    def test_second_run_touches_nothing(self):
        objects = harness.write(self.folder / "objects.json", harness.config_maps(500, "a"))
        for flags in ((), ("--format", "json"), ("--layout", "perResource"), ("--layout", "split")):
            out = self.folder / "-".join(("out",) + flags).replace("--", "")
            self.collect(objects, out, *flags)
            bytes_before = harness.tree(out)
            times = {p: (out / p).stat().st_mtime_ns for p in bytes_before}
            self.collect(objects, out, *flags)
            self.assertEqual(harness.tree(out), bytes_before)
            changed = [p for p, t in times.items() if (out / p).stat().st_mtime_ns != t]
            self.assertEqual(changed, [], f"files written again with {flags}")

    def test_order_of_the_input_does_not_matter(self):
        shuffled = json.loads(harness.config_maps(500, "a"))
        objects = harness.write(self.folder / "objects.json", json.dumps(shuffled))
        random.Random(3).shuffle(shuffled["items"])
        other = harness.write(self.folder / "other.json", json.dumps(shuffled))
        for flags in ((), ("--layout", "perResource")):
            first, second = (self.folder / f"{n}{len(flags)}" for n in ("first", "second"))
            self.collect(objects, first, *flags)
            self.collect(other, second, *flags)
            documents = [{p: re.sub(rb'"exportedAt": "[^"]*"', b"", b) for p, b in harness.tree(o).items()
                          if not p.startswith(".")} for o in (first, second)]
            self.assertEqual(documents[0], documents[1])
            self.assertGreater(len(documents[0]), 0)


if __name__ == "__main__":
    harness.main()
