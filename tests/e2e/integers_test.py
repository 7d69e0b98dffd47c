#!/usr/bin/env python3
"""Large integers and texts that look like numbers, through collect into JSON and YAML (field-integers-past-2-to-53: json, yaml)."""
import json
import re

import harness
import yaml

SPEC = """{"million": 1000000, "odd": 9007199254740993, "max": 9223372036854775807, "min": -9223372036854775808, "umax": 18446744073709551615,
 "one": 1, "oneFloat": 1.0, "tenth": 0.1, "negZero": -0.0, "text": "1e3", "digits": "00420", "hexText": "0x1F"}"""
EXPECTED = {"million": 1000000, "odd": 9007199254740993, "max": 9223372036854775807, "min": -9223372036854775808, "umax": 18446744073709551615,
            "one": 1, "oneFloat": 1, "tenth": 0.1, "negZero": 0, "text": "1e3", "digits": "00420", "hexText": "0x1F"}
CONFIG = """\
apiVersion: kollect.dev/v1alpha1
kind: KollectProfile
metadata: {name: boats, namespace: x}
spec:
  targetGVK: {group: harbour.example, version: v1, kind: Boat}
  attributes: [{name: spec, path: "$.spec", type: map}, {name: generation, path: "$.metadata.generation", type: int}]
---
apiVersion: kollect.dev/v1alpha1
kind: KollectTarget
metadata: {name: boats, namespace: x}
spec: {profileRef: boats}
"""


class Yaml12(yaml.SafeLoader):
    """Scalars as the core schema of YAML 1.2 has them; PyYAML itself reads YAML 1.1."""
    yaml_implicit_resolvers = {}


for tag, pattern, first in (("bool", "true|True|TRUE|false|False|FALSE", "tTfF"), ("null", "null|Null|NULL|~|", ["n", "N", "~", ""]),
                            ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
                            ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+.0123456789")):
    Yaml12.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))
Yaml12.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value, 0 if node.value[:2] in ("0o", "0x") else 10))


class Integers(harness.Case):
    def collected(self, *flags):
        config = harness.write(self.folder / "config/c.yaml", CONFIG).parent
        boat = harness.write(self.folder / "boat.json", '{"apiVersion": "harbour.example/v1", "kind": "Boat", "metadata": {"name": "b", "namespace": "n", '
                             '"uid": "00000000-0000-4000-8000-000000000003", "generation": 9007199254740993}, "spec": ' + SPEC + "}")
        return self.ends(harness.run("collect", "--config", config, "--manifests", boat, "--output", "-", "--summary", "none", *flags), 0).stdout

    def same(self, row):
        attributes = row["attributes"]
        self.assertEqual(attributes["generation"], 9007199254740993)
        types = {key: float if key == "tenth" else str if isinstance(value, str) else int for key, value in EXPECTED.items()}
        self.assertEqual(attributes["spec"], EXPECTED)
        self.assertEqual({key: type(value) for key, value in attributes["spec"].items() if key != "negZero"},
                         {key: kind for key, kind in types.items() if key != "negZero"})

    def test_json(self):
        text = self.collected("--format", "rows")
        for number in ("9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1000000", "0.1"):
            self.assertRegex(text, rf'[:]\s*{number}[,\s}}]', "json: character by character")
        self.same(json.loads(text))

    def test_yaml(self):
        text = self.collected("--format", "yaml")
        [one], [other] = yaml.safe_load(text)["envelope"]["items"], yaml.load(text, Yaml12)["envelope"]["items"]
        self.assertEqual(one, other, "yaml")
        self.same(one)
        self.same(other)
        for quoted in ('"1e3"', '"00420"', '"0x1F"'):
            self.assertIn(quoted, text)


if __name__ == "__main__":
    harness.main()
