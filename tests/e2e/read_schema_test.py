#!/usr/bin/env python3
"""A schema fuzzer reads the description of the read API and asks everything that it allows, and what it does not, of a SQLite file, a
PostgreSQL database and an operator. No error of the server, no answer that is not described. SCHEMA_SECONDS says how long for each (10)."""
import os
import subprocess

import harness
import read_api_test
from read_api import Api
from read_routes import G

SECONDS = int(os.environ.get("SCHEMA_SECONDS", "10"))
# Numbers that are none, unknown parameters and such mean the default (spec: runtime 13.2): accepted although the schema would not. Names that
# exist nowhere and stores without history are refused although it would.
# Without authentication any token is as good as none; read_auth_test.py tries tokens.
EXCLUDED = "negative_data_rejection,positive_data_acceptance,ignored_auth"
LEFT_OUT = "/watch$"  # streams do not end
# What a store has not (objects, history) is 501: no fault of the server where the description says so.
CONFIG = """\
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501]
"""


def setUpModule():
    read_api_test.setUpModule(serves=True)


def tearDownModule():
    read_api_test.tearDownModule()


class Schema(harness.Case):
    def fuzz(self, store):
        config = harness.write(self.folder / "schemathesis.toml", CONFIG)
        url = f"http://127.0.0.1:{G[store].port}"
        out = subprocess.run([str(harness.ROOT / "scripts/schemathesis.sh"), "--config-file", str(config), "run", f"{url}/openapi/v1alpha1/inventory.yaml", "--max-time", str(SECONDS),
                              "--exclude-checks", EXCLUDED, "--exclude-path-regex", LEFT_OUT, "--phases", "fuzzing", "--no-color"], cwd=self.folder, capture_output=True, text=True,
                             check=False, timeout=SECONDS * 3 + 300)
        self.assertEqual(out.returncode, 0, out.stdout[-20000:] + out.stderr[-2000:])
        print(store, out.stdout[out.stdout.rfind("Test cases:"):].strip(), flush=True)
        self.assertEqual(Api(G[store].port).ask("/v1alpha1/inventory", {"limit": 1})[0], 200)

    def test_operator(self):
        self.fuzz("ground")

    def test_sqlite(self):
        self.fuzz("sqlite")

    def test_postgres(self):
        self.fuzz("postgres")


if __name__ == "__main__":
    harness.main()
