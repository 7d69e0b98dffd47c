#!/usr/bin/env python3
"""Profiles of the operator over HTTP; what pprof makes of them: src/profiling/profiles_gotest.cc."""
import gzip
import http.client
import re

import harness
import operator_test as op
from sandbox import Sandbox


class Profiles(op.Scenario):
    def setUp(self):
        super().setUp()
        self.sandbox = Sandbox(self.folder)
        op.KUBE["KUBECONFIG"] = str(self.sandbox.kubeconfig)

    def tearDown(self):
        super().tearDown()
        self.sandbox.stop()

    def served(self, *flags):
        """An operator, and a way to ask its profiles."""
        operator = self.operator("--enable-pprof", "--pprof-bind-address", "127.0.0.1:0", "--leader-elect", *flags)
        port = op.until("profiles", lambda: re.search(r'"profiles are served","port":"(\d+)"', operator.text()))[1]

        def ask(path):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
            self.addCleanup(connection.close)
            connection.request("GET", "/debug/pprof/" + path)
            return connection.getresponse()
        return operator, ask

    def test_off_unless_asked_for(self):
        operator = self.operator()
        op.until("start", lambda: "operator starts" in operator.text())
        self.assertEqual(operator.stop(), 0)
        self.assertNotIn("profiles", operator.text())

    def test_leader_and_standby_answer(self):
        for _ in range(2):
            _, ask = self.served()
            self.assertIn(b"profile?seconds=30", ask("").read())
            self.assertIn(b"inuse_space", gzip.decompress(ask("heap").read()))
            # A function by its name. One of many allocations is in a profile, and each question makes some.
            op.until("a sample", lambda: b"kollect::" in gzip.decompress(ask("heap").read()))

    def test_the_end_of_the_operator_ends_a_profile(self):
        operator, ask = self.served()
        begun = ask("profile?seconds=300")
        self.assertEqual(begun.status, 200)
        second = ask("profile?seconds=1")
        self.assertEqual((second.status, second.read()), (409, b"a CPU profile is being taken; there is one at a time\n"))
        self.assertEqual(operator.stop(), 0)
        self.assertEqual(begun.read(), b"")  # nobody takes half a profile for a whole one

    def test_an_address_that_is_taken_is_told(self):
        operator = self.operator("--enable-pprof", "--pprof-bind-address", self.sandbox.url.partition("://")[2])
        self.assertEqual(operator.process.wait(timeout=60), 1)
        self.assertIn("--pprof-bind-address: ", operator.text())


if __name__ == "__main__":
    harness.main()
