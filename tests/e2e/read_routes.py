"""What the read API answers whatever holds the rows: cases for tests of one store each."""
import csv
import io
import json
import urllib.parse

import operator_test as op
import read_api
from read_api import ROWS, Api

G = {}  # servers by name


class Routes:
    """What all stores answer."""
    objects = False
    place = "inventoryNamespace"  # how an inventory's namespace is named in queries

    def setUp(self):
        self.api = Api(G[self.store].port)

    def of(self, ns="ops", **more):
        """Parameters for the rows of one inventory."""
        return {self.place: ns, "inventory": "all", **more}

    def stays(self, target, more):
        tag = self.api.ask(target, more)[1]["etag"]
        return self.api.ask(target, more, If_None_Match=tag)[0] == 304

    def test_the_whole_of_the_description_is_served(self):
        for path, methods in read_api.DOCUMENT["paths"].items():
            if path.endswith("/watch"):
                continue
            target = path.replace("{namespace}", "ops").replace("{name}", "rollup" if "cluster" in path else "all")
            more = {"changes": {"since": "2026-01-01T00:00:00Z"}, "groups": {"by": "kind"}, "history": {"uid": "x"}}.get(path.rsplit("/", 1)[-1], {})
            with self.subTest(path):
                status, headers, value = self.api.ask(target, more)
                self.assertIn(status, (200, 501), value)
                if status == 501:
                    self.assertIn(value["error"]["reason"], ("NoHistory", "NoObjects"))
                    self.assertEqual(value["error"]["code"], 501)
                elif headers["content-type"].startswith("application/json"):
                    # One compact document and a line end; a tag that spares the next answer.
                    raw = self.api.raw("GET", target + "?" + urllib.parse.urlencode(more))[2]
                    self.assertTrue(raw.endswith(b"\n") and raw.count(b"\n") == 1, raw[-50:])
                    if path != "/v1alpha1/meta":
                        op.until("an answer that stays", lambda: self.stays(target, more))  # an export may come between two
                    self.assertEqual(self.api.ask(target, more, Accept_Encoding="gzip")[0], 200)

    def test_meta(self):
        meta = self.api.get("meta")
        self.assertEqual((meta["store"], meta["abilities"]["objects"], meta["authMode"]), (self.name, self.objects, "disabled"))
        self.assertEqual(meta["access"], {"namespaces": None, "clusters": None})

    def test_rows_page_by_page(self):
        whole = self.api.get("inventory", **self.of())
        self.assertEqual((whole["itemCount"], whole["pagination"]["total"], whole["pagination"]["hasMore"]), (ROWS, ROWS, False))
        uids = [item["uid"] for item in whole["items"]]
        self.assertEqual(len(set(uids)), ROWS)
        keys = [(i["targetNamespace"], i["targetName"], i["namespace"], i["name"]) for i in whole["items"]]
        self.assertEqual(keys, sorted(keys))
        got = []
        for offset in range(0, ROWS, 30):
            page = self.api.get("inventory", **self.of(limit=30, offset=offset))
            self.assertEqual(page["pagination"], {"limit": 30, "offset": offset, "total": ROWS, "hasMore": offset + 30 < ROWS})
            got += [item["uid"] for item in page["items"]]
        self.assertEqual(got, uids)
        beyond = self.api.get("inventory", **self.of(offset=10 ** 6))
        self.assertEqual((beyond["itemCount"], beyond["items"]), (0, []))

    def test_filters(self):
        some = self.api.get("inventory", **self.of(limit=7, offset=100))["items"][3]
        for name, value in (("name", some["name"]), ("uid", some["uid"]), ("kind", "Deployment"), ("group", "apps"), ("version", "v1"), ("target", "apps"),
                            ("q", some["name"].upper()), ("attr__replicas", some["attributes"]["replicas"]), ("attr__version", some["attributes"].get("version", ""))):
            if value == "":
                continue
            with self.subTest(name):
                found = self.api.get("inventory", **self.of(limit=5000, **{name: value}))["items"]
                self.assertIn(some["uid"], [item["uid"] for item in found])
                if name.startswith("attr"):
                    self.assertEqual({item["attributes"][name[6:]] for item in found}, {value})
        for name in ("name", "uid", "kind", "group", "version", "target", "q", "attr__replicas", "attr__nothing"):
            none = self.api.get("inventory", **self.of(**{name: "nothing has this"}))
            self.assertEqual((none["items"], none["itemCount"]), ([], 0))
            self.assertNotIn("pagination", none)
        odd = self.api.get("inventory", **self.of("pay", name="odd"))["items"]
        self.assertEqual(odd[0]["attributes"]["v"], "a \"quoted\", <b>&\n\u2028 zoë 日本 \U0001f6a2")
        self.assertEqual([item["name"] for item in self.api.get("inventory", **self.of("pay", attr__v=odd[0]["attributes"]["v"]))["items"]], ["odd"])
        self.assertEqual([item["name"] for item in self.api.get("inventory", **self.of("pay", q="日本"))["items"]], ["odd"])

    def test_a_total_that_may_be_bounded(self):
        for more in ({"q": "deployment"}, {"q": "deployment", "sort": "-name"}, {"q": "nothing has this"}, {"kind": "Deployment"}):
            for offset in (0, 100, ROWS - 10, 10 ** 6):
                pages = [self.api.get("inventory", **self.of(limit=50, offset=offset, **more, **total)) for total in ({}, {"total": "exact"}, {"total": "bounded"})]
                for page in pages[1:]:  # so few rows are counted in any case
                    self.assertEqual((page["items"], page.get("pagination")), (pages[0]["items"], pages[0].get("pagination")), (more, offset))
        for path, more in (("inventory", {}), ("inventory/ops/all", {}), ("inventory", {"q": "app"})):
            refused = self.api.get(path, 400, total="some", **more)["error"]
            self.assertEqual((refused["reason"], refused["message"]), ("BadRequest", "total takes exact or bounded"))

    def test_fields_and_order(self):
        page = self.api.get("inventory", **self.of(fields="name,attributes.replicas", sort="-name", limit=50))
        self.assertTrue(all(set(item) == {"uid", "name", "attributes"} and set(item["attributes"]) <= {"replicas"} for item in page["items"]))
        names = [item["name"] for item in page["items"]]
        self.assertEqual(names, sorted(names, reverse=True))
        for sort in ("name", "-namespace", "kind", "attributes.replicas", "-attributes.version", "attributes.nothing"):
            uids = [item["uid"] for item in self.api.get("inventory", **self.of(sort=sort, limit=5000))["items"]]
            pages = [item["uid"] for offset in (0, 100, 200) for item in self.api.get("inventory", **self.of(sort=sort, limit=100, offset=offset))["items"]]
            self.assertEqual((len(set(uids)), pages), (ROWS, uids), sort)
        for wrong in ({"sort": "colour"}, {"fields": "colour"}, {"sort": "attributes."}, {"at": "yesterday"}):
            self.assertEqual(self.api.get("inventory", 400, **wrong)["error"]["reason"], "BadRequest")

    def test_inventories_by_path(self):
        self.assertEqual(self.api.get("inventory/ops/all")["pagination"]["total"], ROWS)
        self.assertEqual(self.api.get("inventory/pay/all")["pagination"]["total"], 2)
        # The path wins over the query.
        self.assertEqual(self.api.get("inventory/pay/all", namespace="ops", inventory="x")["pagination"]["total"], 2)
        for path in ("inventory/ops/none", "inventory/none/all", "clusterinventory/none"):
            self.assertEqual(self.api.get(path, 404)["error"]["reason"], "NotFound")
        self.assertEqual(self.api.get("inventory", 400, inventory="all")["error"]["reason"], "BadRequest")

    def test_counts(self):
        groups = self.api.get("groups", by="kind", **self.of())
        self.assertEqual((groups["by"], groups["rows"], groups["items"]), (["kind"], ROWS, [{"values": ["Deployment"], "rows": ROWS}]))
        groups = self.api.get("groups", by="namespace,attributes.replicas", limit=3, **self.of())
        counts = [one["rows"] for one in groups["items"]]
        self.assertEqual((len(counts), counts), (3, sorted(counts, reverse=True)))
        for by in ("", "colour", "attributes", "kind,name,uid,group,version"):
            self.api.get("groups", 400, by=by)

    def test_exports(self):
        for form, read in (("json", json.loads), ("ndjson", lambda text: [json.loads(line) for line in text.decode().splitlines()])):
            status, headers, body = self.api.raw("GET", "/v1alpha1/export?" + urllib.parse.urlencode(self.of(format=form)))
            self.assertEqual((status, headers["content-disposition"]), (200, f'attachment; filename="inventory.{form}"'))
            self.assertEqual(read(body), self.api.get("inventory", **self.of(limit=5000))["items"])
        for ns, count in (("ops", ROWS), ("pay", 2)):
            body = self.api.raw("GET", "/v1alpha1/export?" + urllib.parse.urlencode(self.of(ns, format="csv")))[2].decode()
            rows = list(csv.DictReader(io.StringIO(body, newline="")))
            self.assertEqual(len(rows), count)
        odd = next(row for row in rows if row["name"] == "odd")
        self.assertIn("a \"quoted\", <b>&\n\u2028 zoë 日本 \U0001f6a2", odd.values())
        self.api.get("export", 400, format="xml")

    def test_what_there_is(self):
        clusters = self.api.get("clusters")["items"]
        self.assertEqual(len(clusters), 1)
        inventories = {(one["namespace"], one["name"]): one for one in self.api.get("inventories")["items"]}
        self.assertEqual(inventories["ops", "all"]["rows"], ROWS)
        self.assertEqual(inventories["pay", "all"]["rows"], 2)
        overview = self.api.get("overview")
        self.assertEqual((overview["store"], overview["clusters"], overview["inventories"]), (self.name, 1, len(inventories)))
        self.assertEqual(overview["problemCount"], len(overview["problems"]))
        self.assertGreaterEqual(overview["freshest"]["exportedAt"], overview["stalest"]["exportedAt"])

    def test_methods_and_paths(self):
        for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"):
            status, headers, body = self.api.raw(method, "/v1alpha1/inventory")
            self.assertEqual(status, 405, method)
            self.assertIn("GET", headers["allow"])
            self.assertEqual(json.loads(body)["error"]["reason"], "MethodNotAllowed")
        status, headers, body = self.api.raw("HEAD", "/v1alpha1/inventory?limit=1")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(headers["content-type"], "application/json")
        self.assertEqual(self.api.raw("HEAD", "/v1alpha1/changes/watch")[2], b"")
        self.assertEqual(self.api.raw("HEAD", "/v1alpha1/inventory/watch")[0], 200)
        self.assertIn(self.api.raw("OPTIONS", "/v1alpha1/inventory", Origin="https://elsewhere.test", Access_Control_Request_Method="GET")[0], (204, 405))
        for path in ("/v1alpha1", "/v1alpha1/", "/v1alpha1/inventory/", "/v1alpha1/inventory/a/b/c", "/v1alpha1/inventory/a%2Fb/c", "/v1alpha1/inventory//b",
                     "/v1alpha1/inventory/%00/b", "/v1alpha1/inventory/%ff/b", "/v1alpha1/status/pods", "/v1alpha2/inventory", "/V1ALPHA1/inventory", "/x"):
            status, _, body = self.api.raw("GET", path)
            self.assertEqual((status, json.loads(body)["error"]["reason"]), (404, "NotFound"), path)

    def test_odd_parameters(self):
        def asked(query):
            status, headers, body = self.api.raw("GET", "/v1alpha1/inventory?" + query)
            if status not in (414, 431):
                self.api.described.check("/v1alpha1/inventory", status, headers["content-type"], json.loads(body))
            return status, body

        for query in ("limit=0", "limit=-1", "limit=x", "limit=99999999999999999999999", "limit=", "limit=1e3", "limit=+5", "limit=%20", "offset=-1", "offset=x",
                      "limit=1&limit=2", "nothing=known", "&&&", "=", "name", "name=&kind=", "q=%25", "q=_", "q=%27%20OR%201=1--", "name=%27%3B%20DROP%20TABLE%20x",
                      "attr.x'=1", "attr.a.b=1", "attr.%22=1", "attr.a%5B0%5D=1", "sort=attributes.%27", "sort=-attributes.%22%3B", "fields=attributes.%27",
                      "offset=18446744073709551615", "offset=99999999999999999999999999", "offset=9223372036854775807&limit=5000", "uid=%F0%9F%9A%A2", "If-None-Match=*"):
            status, body = asked(query)
            self.assertEqual(status, 200, (query, body[:300]))
        for limit, wanted in (("0", 500), ("-1", 500), ("x", 500), ("9999999", 5000), ("7", 7)):
            self.assertEqual(json.loads(asked(f"limit={limit}")[1])["pagination"]["limit"], wanted)
        for query in ("name=%ff", "name=%00", "q=a%00b", "attr.%ff=1", "attr.=1", "sort=%00", "%ff=1", "at=2026-13-01T00:00:00Z", "at=2026-01-01", "at=1", "sort=x"):
            status, body = asked(query)
            self.assertEqual(status, 400, (query, body[:300]))
        for size in (1000, 60000, 200000, 3000000):
            status, body = asked("q=" + "a" * size)
            self.assertIn(status, (200, 400, 414, 431), size)
        self.assertIn(asked("&".join(f"attr.a{i}=x" for i in range(2000)))[0], (200, 400))
        self.assertIn(asked("fields=" + ",".join(f"attributes.a{i}" for i in range(2000)))[0], (200, 400))
        # Bytes that stand for nothing are refused or mean nothing; the server goes on.
        for target in (b"/v1alpha1/inventory?q=\xff\xfe", b"/v1alpha1/inventory?q=%", b"/v1alpha1/inventory?q=%zz", b"/v1alpha1/inventory?%"):
            self.assertIn(self.api.raw("GET", target)[0], (200, 400), target)
        self.assertEqual(asked("limit=1")[0], 200)

    def test_conditional_requests(self):
        _, headers, _ = self.api.ask("/v1alpha1/inventory", self.of(limit=3))
        tag = headers["etag"]
        for header in (tag, f'"other", {tag}', "*", "W/" + tag.removeprefix("W/")):
            self.assertEqual(self.api.ask("/v1alpha1/inventory", self.of(limit=3), If_None_Match=header)[0], 304, header)
        for header in ('"other"', "", tag[:-2] + '"'):
            self.assertEqual(self.api.ask("/v1alpha1/inventory", self.of(limit=3), If_None_Match=header)[0], 200, header)
        self.assertEqual(self.api.ask("/v1alpha1/inventory", self.of(limit=4), If_None_Match=tag)[0], 200)

    def test_the_old_spelling(self):
        old = self.api.ask("/inventory", self.of(limit=3))[2]
        self.assertEqual(old["items"], self.api.get("inventory", **self.of(limit=3))["items"])

    def test_a_stream_of_pages(self):
        stream = self.api.stream("/v1alpha1/inventory/watch?limit=2&" + urllib.parse.urlencode(self.of()))
        self.addCleanup(stream.close)
        frame = stream.next()
        self.assertEqual(stream.answer.headers["content-type"], "text/event-stream")
        self.api.described.value(read_api.DOCUMENT["components"]["schemas"]["InventorySummary"], frame["data"], "frame")
        self.assertEqual((frame["data"]["itemCount"], frame["data"]["pagination"]["total"]), (2, ROWS))
        self.assertTrue(frame["id"])
