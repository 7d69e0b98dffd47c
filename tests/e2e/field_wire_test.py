#!/usr/bin/env python3
"""What users of comparable tools met, as the API server sees it: what the operator asks for, how often, and with which revision. A relay
(relay.py) before `kollect sandbox` plays the part that a case describes. Each test names its case (field-...) and each assertion its check."""
import datetime
import json
import threading
import time

import field_cases_test as cases
import harness
import operator_test as op
import relay
from field_cases_test import profile, target

MAPS = profile("maps", "", "v1", "ConfigMap") + target("maps", "maps")
GONE = relay.status(410, "Expired", "too old resource version: 1000 (5000)")
MINUTE = 60 / 60  # seconds of ours in a minute of kollect_fast


def config_map(name, version="1"):
    return {"apiVersion": "v1", "kind": "ConfigMap", "data": {"v": "1"},
            "metadata": {"name": name, "namespace": "sea", "uid": f"u-{name}", "resourceVersion": version}}


def page(version, names, more=""):
    """No remainingItemCount."""
    return relay.answer({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": version, "continue": more},
                         "items": [config_map(name) for name in names]})


def event(kind, name, version):
    return {"type": kind, "object": config_map(name, version)}


def bookmark(version, **annotations):
    return {"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": version, "annotations": annotations}}}


def streamed(version, names, *events, end=True):
    """A streamed list and what its watch brings."""
    mark = bookmark(version, **{"k8s.io/initial-events-end": "true"})
    return relay.frames(*(event("ADDED", name, "1") for name in names), mark, *events, end=end)


class Steps:
    """A script for config maps: each request must be the next step, and gets its answer; after the last one nothing is answered any more."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.asked = []
        self.lock = threading.Lock()

    @staticmethod
    def name(request):
        if request.query.get("sendInitialEvents") == "true":
            return "STREAM"
        version = request.query.get("resourceVersion")
        return ("WATCH" if request.is_watch else "LIST") + (f" {version}" if version else "")

    def __call__(self, request):
        if request.method != "GET" or not request.path.endswith("/configmaps"):
            return None
        with self.lock:
            self.asked.append(self.name(request))
            if len(self.asked) <= len(self.steps) and self.steps[len(self.asked) - 1][0] == self.asked[-1]:
                return self.steps[len(self.asked) - 1][1]
            return relay.frames(end=False)

    def expected(self):
        return [name for name, _ in self.steps]


class Wire(cases.Served):
    def test_expired_revision_said_in_two_ways(self):
        """field-watch-expired-revision: rows, bounded, visible"""
        steps = Steps(("LIST", page("1000", ["a", "b"])),
                      ("WATCH 1000", relay.frames({"type": "ERROR", "object": GONE})),
                      ("LIST", page("5001", ["a", "c"])),
                      ("WATCH 5001", relay.answer(GONE, 410)),
                      ("LIST", relay.answer(GONE, 410)),
                      ("LIST", page("6000", ["a", "c"])),
                      ("WATCH 6000", relay.frames(end=False)))
        self.expired(steps, "--watch-list=false")

    def test_expired_revision_of_streamed_lists(self):
        """field-watch-expired-revision: rows, bounded, visible"""
        self.expired(Steps(("STREAM", streamed("1000", ["a", "b"], {"type": "ERROR", "object": GONE})),
                           ("STREAM", streamed("5001", ["a", "c"])),
                           ("WATCH 5001", relay.answer(GONE, 410)),
                           ("STREAM", streamed("6000", ["a", "c"], end=False))))

    def expired(self, steps, *flags):
        self.begin(MAPS, *flags, script=steps)
        op.until("the last step", lambda: len(steps.asked) >= len(steps.steps))
        op.until("rows", lambda: self.names() == ["a", "c"])
        op.until("rows: the repository", lambda: self.files_now() == ["a.yaml", "c.yaml"])
        op.until("visible", lambda: self.state("maps", "Ready") == "True/Collecting")
        self.assertEqual(self.ask("SELECT name FROM inventory_changes WHERE change = 'went'"), [("b",)], "rows: b went once")
        self.assertEqual(steps.asked, steps.expected(), "bounded")

    def test_expired_for_a_minute(self):
        """field-watch-expired-revision: backoff, visible. On the fast clock."""
        asked = []

        def script(request):
            if not self.forgotten.is_set() or request.method != "GET" or not request.path.endswith("/configmaps"):
                return None
            asked.append(time.monotonic())
            return relay.answer(GONE, 410)

        self.forgotten = threading.Event()
        self.begin(MAPS, maps=("a", "b"), script=script, operator=False)
        self.run_operator(program=harness.FAST)
        op.until("rows", lambda: self.names() == ["a", "b"] and self.state("maps", "Ready") == "True/Collecting")
        self.forgotten.set()
        self.sandbox.call("POST", "/sandbox/restart")
        self.sandbox.call("DELETE", cases.MAPS + "/b")
        op.until("visible", lambda: self.state("maps", "Degraded") == "True/InformerRegistrationFailed")
        self.assertRegex(self.target_conditions("maps")["Degraded"][1], "(?i)410|expired|too old")
        self.assertEqual(self.state("maps", "Ready"), "", "visible: not both")
        op.until("a minute of this", lambda: asked[-1] - asked[0] >= MINUTE)
        self.assertLess(sum(at - asked[0] < MINUTE for at in asked), 20, "backoff")
        self.assertEqual(self.names(), ["a", "b"], "nothing is taken away on the ground of lists that fail")
        self.forgotten.clear()
        op.until("rows", lambda: self.names() == ["a"])
        op.until("visible: well again", lambda: self.state("maps", "Ready") == "True/Collecting" and self.state("maps", "Degraded") == "")

    def no_end_mark(self, steps, program=harness.KOLLECT):
        self.begin(MAPS, script=steps, operator=False)
        self.run_operator(program=program)
        op.until("synced", lambda: self.names() == ["a", "b"] and self.state("maps", "Ready") == "True/Collecting")
        op.until("the watch that follows", lambda: any(name.startswith("WATCH") for name in steps.asked))
        self.assertLessEqual({name for name in steps.asked if name.startswith("WATCH")}, {"WATCH 300"}, "revision")
        self.assertEqual(self.ask("SELECT count(*), count(DISTINCT at) FROM inventory_changes"), [(2, 1)], "no-partial")

    def test_no_end_mark_and_no_more_frames(self):
        """field-streaming-list-without-end-mark: synced, revision, no-partial; variant A. On the fast clock: it waits ten seconds for the mark."""
        self.no_end_mark(Steps(("STREAM", relay.frames(event("ADDED", "b", "205"), event("ADDED", "a", "117"), end=False)),
                               ("LIST", page("300", ["a", "b"])), ("WATCH 300", relay.frames(end=False))), harness.FAST)

    def test_no_end_mark_but_a_bookmark(self):
        """field-streaming-list-without-end-mark: synced, revision, no-partial; variant B"""
        self.no_end_mark(Steps(("STREAM", relay.frames(event("ADDED", "b", "205"), event("ADDED", "a", "117"), bookmark("300"), end=False)),
                               ("LIST", page("300", ["a", "b"])), ("WATCH 300", relay.frames(end=False))))

    def test_streamed_lists_refused(self):
        """field-streaming-list-without-end-mark: synced, revision, no-partial; variant C"""
        steps = Steps(("STREAM", relay.answer(relay.status(400, "BadRequest"), 400)), ("LIST", page("300", ["a", "b"])),
                      ("WATCH 300", relay.frames(end=False)))
        self.no_end_mark(steps)
        self.assertEqual(steps.asked, steps.expected())

    def test_a_streamed_list_is_one_request(self):
        """field-streaming-list-without-end-mark: works-too"""
        self.begin(MAPS, maps=("b", "a"), script=lambda request: None)
        op.until("synced", lambda: self.names() == ["a", "b"])
        self.map("c")
        op.until("its watch goes on", lambda: self.names() == ["a", "b", "c"])
        self.assertEqual([Steps.name(r) for r in self.relay.requests("configmaps")], ["STREAM"], "works-too")

    def pages(self, *pages):
        names = [f"m{i:03}" for i in range(541)]
        made, before = [], ""
        for count, more in pages:
            made.append(page("7", names[:count], more))
            names = names[count:]
        left = iter(made)

        def script(request):
            if request.method != "GET" or not request.path.endswith("/configmaps"):
                return None
            return relay.frames(end=False) if request.is_watch else next(left)

        self.begin(MAPS, "--watch-list=false", script=script)
        op.until("all", lambda: (self.ask("SELECT count(*), count(DISTINCT uid) FROM inventory_rows") or [(0, 0)]) == [(541, 541)])
        op.until("the watch", lambda: self.relay.requests("configmaps", True))
        self.assertEqual([r.query["resourceVersion"] for r in self.relay.requests("configmaps", True)], ["7"])
        queries = [r.query for r in self.relay.requests("configmaps", False)]
        for query, (_, more) in zip(queries, pages):
            self.assertEqual(query, {"limit": "500", **({"continue": before} if before else {})}, "same-query")
            before = more
        self.assertEqual(len(queries), len(pages))
        self.assertEqual(self.ask("SELECT count(DISTINCT at) FROM inventory_changes"), [(1,)], "all: in one write")

    def test_pages_without_remaining_count(self):
        """field-pages-without-remaining-count: all, same-query. An operator's lists have no selectors: its targets share them."""
        self.pages((500, "c1"), (0, "c2"), (41, ""))

    def test_a_server_that_ignores_the_limit(self):
        """field-pages-without-remaining-count: one-page"""
        self.pages((541, ""))

    def test_why_a_kind_cannot_be_read(self):
        """field-missing-kind-does-not-stop-others: not served, forbidden and unreachable are told apart. On the fast clock."""
        self.begin(MAPS + "".join(profile(name, group, "v1", kind) + target(name, name) for name, group, kind in (
            ("absent", "image.toolkit.fluxcd.io", "ImagePolicy"), ("denied", "", "Service"), ("dead", "", "Pod"))), maps=("a",), operator=False)
        denied = {"id": "denied", "do": "error", "code": 403, "verbs": ["list", "watch"], "resources": ["services"]}
        self.faults(denied, {"id": "dead", "do": "cut", "verbs": ["list", "watch"], "resources": ["pods"]})
        self.run_operator(program=harness.FAST)
        for name, why in (("absent", "is not served"), ("denied", "403"), ("dead", "no complete list of pods within 30s")):
            op.until(f"{name} is told", lambda name=name: self.state(name, "Degraded") == "True/InformerRegistrationFailed")
            self.assertIn(why, self.target_conditions(name)["Degraded"][1])
        op.until("exported", lambda: self.names() == ["a"])

    def test_missing_kinds_are_not_told_again_and_again(self):
        """field-missing-kind-does-not-stop-others: log. Ten minutes on the fast clock."""
        self.begin(MAPS + profile("imagepolicies", "image.toolkit.fluxcd.io", "v1", "ImagePolicy") + target("imagepolicies", "imagepolicies")
                   + profile("typo", "apps", "v1", "Deploiment") + target("typo", "typo"), maps=("a",), operator=False)
        op.ENVIRONMENT["KOLLECT_CLOCK_SPEED"] = "120"
        self.addCleanup(op.ENVIRONMENT.pop, "KOLLECT_CLOCK_SPEED")
        operator = self.run_operator(program=harness.FAST)

        def lines():
            return [json.loads(line) for line in operator.text().splitlines() if line.endswith("}")]

        def at(line):
            return datetime.datetime.fromisoformat(line["ts"][:19])

        op.until("exported", lambda: self.names() == ["a"])
        for name in ("imagepolicies", "typo"):
            op.until(f"{name} is told", lambda name=name: self.state(name, "Degraded") == "True/InformerRegistrationFailed")
        end = at(lines()[0]) + datetime.timedelta(minutes=10)
        op.until("ten minutes", lambda: at(lines()[-1]) > end)
        told = [line for line in lines() if line["level"] != "debug" and at(line) <= end and any(
            word in json.dumps(line) for word in ("ImagePolicy", "imagepolicies", "Deploiment", "typo"))]
        self.assertLess(len(told), 10, f"log: {told}")


if __name__ == "__main__":
    harness.main()
