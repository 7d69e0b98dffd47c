#!/usr/bin/env python3
"""A schema fuzzer reads /openapi.yaml of `kollect fleet serve` and tries everything that it allows, and what it does not. No error of the
server, no answer that is not described, nothing accepted that the description forbids. SCHEMA_SECONDS says how long (30)."""
import os
import subprocess

import fleet_test
import harness

SECONDS = int(os.environ.get("SCHEMA_SECONDS", "30"))
# What a schema cannot say (ids must exist, no control characters, circles) is refused although the schema would allow it.
EXCLUDED = "positive_data_acceptance"
# Which version is meant is looked at before the body: a wrong body for another version is refused with 412.
CONFIG = """\
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 412, 415, 422, 428, 429]
"""


class Schema(harness.Case):
    def fuzz(self, *flags, token="read-token", **settings):
        server = fleet_test.Server(self.folder, "sqlite", "harbour.json", LOG_LEVEL="error", **settings)
        self.addCleanup(server.stop)
        harness.write(self.folder / "schemathesis.toml", CONFIG)
        out = subprocess.run([str(harness.ROOT / "scripts/schemathesis.sh"), "run", f"http://127.0.0.1:{server.port}/openapi.yaml", "--header", f"Authorization: Bearer {token}",
                              "--max-time", str(SECONDS), "--exclude-checks", EXCLUDED, "--no-color", *flags], cwd=self.folder, capture_output=True, text=True, check=False,
                             timeout=SECONDS * 3 + 300)
        self.assertEqual(out.returncode, 0, out.stdout[-20000:] + out.stderr[-2000:])
        print(out.stdout[out.stdout.rfind("Test cases:"):].strip())
        status, _, _ = server.ask("GET", "/ready")
        self.assertEqual(status, 200)

    def test_one_token_for_all(self):
        self.fuzz(CRUD_AUTH_TOKEN="read-token")


if __name__ == "__main__":
    harness.main()
