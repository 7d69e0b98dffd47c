#!/usr/bin/env python3
"""What the pages of docs say is true: pages that the program makes are fresh."""
import harness

DOCS = harness.ROOT / "docs"


class Pages(harness.Case):
    def test_pages_of_the_kinds_are_what_the_program_makes(self):
        self.ends(harness.run("crds", "--docs", self.folder / "kinds"), 0)
        made, kept = harness.tree(self.folder / "kinds"), harness.tree(DOCS / "kinds")
        self.assertEqual(len(made), 12)
        self.assertEqual(sorted(made), sorted(kept))
        self.assertEqual([name for name in made if made[name] != kept[name]], [], "stale pages in docs/kinds: make manifests")


if __name__ == "__main__":
    harness.main()
