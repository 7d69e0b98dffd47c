#!/usr/bin/env python3
"""The example folders validate and run, the README's words are true, and the demo runs."""
import json
import re
import subprocess

import harness

README = (harness.ROOT / "README.md").read_text()
COLLECT = (harness.ROOT / "docs/collect.md").read_text()


class Examples(harness.Case):
    def folders(self):
        folders = sorted(p for p in (harness.EXAMPLES / "inventory").iterdir() if p.is_dir())
        self.assertGreaterEqual(len(folders), 6)
        return folders

    def test_every_folder_is_valid(self):
        for folder in self.folders():
            with self.subTest(folder.name):
                self.ends(harness.run("validate", "--config", folder), 0)

    def test_every_folder_finds_rows(self):
        expected = {"deployment-images": 50, "helm-releases": 42, "ingress-hosts": 12, "namespaces": 14, "certificates": 9,
                    "git-sink": 50}
        for folder in self.folders():
            with self.subTest(folder.name):
                process = self.ends(harness.run("collect", "--config", folder, "--manifests", harness.EXAMPLES / "dump",
                                                "--no-sinks", "--output", "-"), 0)
                records = [json.loads(line) for line in process.stdout.splitlines()]
                self.assertEqual([r["envelope"]["itemCount"] for r in records], [expected[folder.name]])

    def test_helm_values_are_decoded(self):
        process = self.ends(harness.run("collect", "--config", harness.EXAMPLES / "inventory/helm-releases", "--manifests",
                                        harness.EXAMPLES / "dump", "--output", "-"), 0)
        rows = json.loads(process.stdout)["envelope"]["items"]
        loki = next(r for r in rows if r["name"] == "sh.helm.release.v1.loki.v1")
        self.assertEqual(loki["attributes"]["chart"], "loki")
        self.assertEqual(loki["attributes"]["appVersion"], "6.27.0")
        self.assertEqual(loki["attributes"]["status"], "deployed")

    def test_commands_of_the_readme_exist(self):
        commands = re.findall(r"^\| `kollect ([a-z]+)` \|", README, re.M)
        self.assertGreaterEqual(len(commands), 7)
        for command in commands:
            self.ends(harness.run("help", command), 0)

    def test_flags_of_the_page_exist(self):
        help_text = self.ends(harness.run("collect", "--help"), 0).stdout
        flags = set(re.findall(r"`(--[a-z-]+)", COLLECT))
        self.assertGreaterEqual(len(flags), 20)
        texts = [help_text] + [self.ends(harness.run(command, "--help"), 0).stdout for command in ("validate", "init")]  # told of there too
        unknown = sorted(f for f in flags if not any(f in text for text in texts))
        self.assertEqual(unknown, [], "flags in docs/collect.md that the program does not have")
        missing = sorted(set(re.findall(r"(--[a-z-]+)", help_text)) - flags - {"--help"})
        self.assertEqual(missing, [], "flags of the program that docs/collect.md does not have")

    def test_steps_of_the_readme(self):
        """The commands of the first inventory, as they stand there, but for those that ask or need a cluster."""
        lines = re.findall(r"^   (kollect (?:collect|query) .*--?.*)$", README, re.M)
        lines = [line.split("#")[0] for line in lines if "--manifests" in line or "query" in line]
        self.assertGreaterEqual(len(lines), 3)
        script = f'set -e; shopt -s expand_aliases; kollect() {{ "{harness.KOLLECT}" "$@"; }}\n' + "\n".join(lines)
        (self.folder / "examples").symlink_to(harness.EXAMPLES)
        process = subprocess.run(["bash", "-c", script], cwd=self.folder, env=harness.environment(), capture_output=True,
                                 text=True, check=False)
        self.ends(process, 0)
        document = (self.folder / "inventory/inventory/kollect-system/deployment-images.yaml").read_text()
        self.assertIn("name: checkout", document)
        self.assertIn("storefront", process.stdout + document)

    def test_demo(self):
        process = subprocess.run([str(harness.ROOT / "scripts/demo.sh"), harness.KOLLECT, str(self.folder / "demo")],
                                 env=harness.environment(), capture_output=True, text=True, check=False)
        self.ends(process, 0)
        for words in ("shop/checkout:9.0.0", "analytics-prod", "still two commits", "Try next"):
            self.assertIn(words, process.stdout)
        self.assertRegex(process.stdout, r"went .*ledger-api")
        # What it shows can be copied.
        shown = re.findall(r"^\$ ((?:cd|kollect query) .*)$", process.stdout, re.M)
        self.assertEqual(len(shown), 4)
        script = f'set -e; kollect() {{ "{harness.KOLLECT}" "$@"; }}\n' + "\n".join(shown)
        copied = subprocess.run(["bash", "-c", script], env=harness.environment(), capture_output=True, text=True, check=False)
        self.ends(copied, 0)
        self.assertEqual(len(re.findall(r"^\(\d+ rows?\)$", copied.stdout, re.M)), 3)


if __name__ == "__main__":
    harness.main()
