#!/usr/bin/env python3
"""The same requests to `kollect sandbox` and to a real kube-apiserver: the answers are the same, but for what STRIPPED and the
`differs` of a step name, each with its reason."""
import http.client
import json
import os
import pathlib
import re
import ssl
import tempfile
import unittest
import urllib.parse

import harness
import operator_test as op
from sandbox import Sandbox

# Not compared anywhere: what every server makes up for itself.
STRIPPED = {
    "uid": "random",
    "resourceVersion": "a server's own count",
    "creationTimestamp": "the time of the run",
    "deletionTimestamp": "the time of the run",
    "lastTransitionTime": "the time of the run",
    "managedFields": "the sandbox remembers appliers, but keeps no owners of fields",
    "continue": "opaque; that it works is compared",
    "remainingItemCount": "an estimate",
    "description": "texts of columns",
    "format": "of columns: a hint for printers that nobody reads",
}
JSON_PATCH, MERGE, STRATEGIC = (f"application/{kind}-patch+json" for kind in ("json", "merge", "strategic-merge"))
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
MAPS = "/api/v1/namespaces/sea/configmaps"
BOATS = "/apis/sea.test/v1/namespaces/sea/boats"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEPLOYMENTS = "/apis/apps/v1/namespaces/sea/deployments"


def strip(value):
    if isinstance(value, dict):
        return {k: "*" if k == "continue" and v else strip(v) for k, v in value.items() if k not in STRIPPED or k == "continue" and v}
    if isinstance(value, list):
        return [strip(v) for v in value]
    return value


def without_messages(answer):
    """Of an error: code, reason and the causes' fields."""
    if not isinstance(answer, dict) or answer.get("kind") != "Status":
        return answer
    causes = answer.get("details", {}).get("causes", [])
    details = {k: v for k, v in answer.get("details", {}).items() if k != "causes"}
    return {"code": answer.get("code"), "reason": answer.get("reason"), "status": answer.get("status"), "details": details,
            "causes": sorted({(c.get("reason", ""), c.get("field", "")) for c in causes})}


class Client:
    """One of the two servers."""

    def __init__(self, url, context=None, token=None):
        self.url = urllib.parse.urlsplit(url)
        self.context = context
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.kept = {}

    def fill(self, text):
        return re.sub(r"<(\w+)>", lambda m: urllib.parse.quote(self.kept[m[1]]) if m[1] in self.kept else m[0], text)

    def ask(self, method, path, body=None, content="application/json", accept="application/json"):
        if self.context:
            connection = http.client.HTTPSConnection(self.url.netloc, timeout=60, context=self.context)
        else:
            connection = http.client.HTTPConnection(self.url.netloc, timeout=60)
        try:
            text = None if body is None else self.fill(body if isinstance(body, str) else json.dumps(body))
            connection.request(method, self.fill(path), text, {"Content-Type": content, "Accept": accept, **self.headers})
            response = connection.getresponse()
            data = response.read().decode()
            return response.status, data, response.getheader("Warning")
        finally:
            connection.close()


def config_map(name, labels=None, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **({"labels": labels} if labels else {})}, "data": data}


def boat(name, spec, **metadata):
    return {"apiVersion": "sea.test/v1", "kind": "Boat", "metadata": {"name": name, **metadata}, "spec": spec}


def parts(*paths):
    """Sees only these members of an answer ("spec.replicas")."""
    def see(answer):
        out = {}
        for path in paths:
            found = answer
            for step in path.split("."):
                found = found.get(step) if isinstance(found, dict) else found[int(step)] if isinstance(found, list) and len(found) > int(step) else None
            out[path] = found
        return out
    return see


def names(answer):
    return [i["metadata"]["name"] for i in answer["items"]] if "items" in answer else without_messages(answer)


def cells(answer):
    columns = answer.get("columnDefinitions") or []
    age = re.compile(r"(\d+[smh])+")  # the time of the run
    return {"kind": answer["kind"], "apiVersion": answer["apiVersion"], "columns": [(c["name"], c["type"], c["priority"]) for c in columns],
            "rows": [(["age" if isinstance(c, str) and age.fullmatch(c) else c for c in r["cells"]], (r["object"] or {}).get("kind")) for r in answer["rows"]]}


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.sea.test"},
    "spec": {"group": "sea.test", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat", "shortNames": ["bt"], "categories": ["fleet"]},
             "versions": [{
                 "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                 "additionalPrinterColumns": [{"name": "Crew", "type": "integer", "jsonPath": ".spec.crew"},
                                              {"name": "Afloat", "type": "string", "jsonPath": ".status.afloat", "priority": 1},
                                              {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
                 "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                     "spec": {"type": "object", "required": ["sail"], "properties": {
                         "sail": {"type": "string", "enum": ["lateen", "gaff"]},
                         "crew": {"type": "integer", "minimum": 1, "maximum": 12, "default": 2},
                         "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
                         "hold": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                         "size": {"x-kubernetes-int-or-string": True},
                         "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                         "ports": {"type": "array", "maxItems": 2, "items": {"type": "object", "properties": {
                             "at": {"type": "string"}, "days": {"type": "integer", "default": 1}}}}},
                         "x-kubernetes-validations": [{"rule": "self.crew < 10 || self.sail == 'gaff'", "message": "many hands need a gaff"},
                                                      {"rule": "self.sail == oldSelf.sail", "message": "a sail stays"}]},
                     "status": {"type": "object", "properties": {"afloat": {"type": "boolean"}}}}}}}]}}

STEPS = []


def step(name, method, path, body=None, **options):
    """see: what of the answer is compared; keep: (name, path of a member) that later steps use as <name>; differs: why the message of an
    error is not compared; warns: why that there is a warning is not."""
    STEPS.append((name, method, path, body, options))


UNWARNED = "the sandbox warns of unknown fields only"
OWN_WORDS = "what is wrong and where is the same, the sentence is the sandbox's own"

# ---- objects
step("namespace", "POST", "/api/v1/namespaces", {"metadata": {"name": "sea"}})
step("namespace again", "POST", "/api/v1/namespaces", {"metadata": {"name": "sea"}})
step("create", "POST", MAPS, config_map("a", {"x": "one"}, k="v"), keep=[("rv", "metadata.resourceVersion"), ("uid", "metadata.uid")])
step("create again", "POST", MAPS, config_map("a"))
step("create in no namespace", "POST", "/api/v1/namespaces/none/configmaps", config_map("a"))
step("create without a name", "POST", MAPS, {"metadata": {}}, differs=OWN_WORDS)
step("create with a bad name", "POST", MAPS, config_map("A_b"), differs=OWN_WORDS)
step("create with a bad label", "POST", MAPS, config_map("lab", {"a b": "c"}), differs=OWN_WORDS)
step("create with a resourceVersion", "POST", MAPS, {"metadata": {"name": "r", "resourceVersion": "5"}})
step("create of another kind", "POST", MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, differs=OWN_WORDS)
step("create in another namespace", "POST", MAPS, {"metadata": {"name": "s", "namespace": "default"}}, differs=OWN_WORDS)
step("create of no JSON", "POST", MAPS, "{", see=lambda a: (a.get("code"), a.get("reason")))
step("create with a made name", "POST", MAPS, {"metadata": {"generateName": "gen-"}},
     see=lambda a: (a["metadata"]["generateName"], len(a["metadata"]["name"])), keep=[("gen", "metadata.name")])
step("delete the made one", "DELETE", f"{MAPS}/<gen>", see=parts("status", "details.kind"))
step("dry run", "POST", f"{MAPS}?dryRun=All", config_map("dry", k="v"))
step("dry run left nothing", "GET", f"{MAPS}/dry")
step("bad dry run", "POST", f"{MAPS}?dryRun=Some", config_map("dry", k="v"), differs=OWN_WORDS)
step("get", "GET", f"{MAPS}/a")
step("get none", "GET", f"{MAPS}/none")
step("get of an unknown resource", "GET", "/api/v1/namespaces/sea/things", plain=True)
step("get of an unknown group", "GET", "/apis/none.test/v1/things", plain=True)
step("update", "PUT", f"{MAPS}/a", {"metadata": {"name": "a", "resourceVersion": "<rv>"}, "data": {"k": "w"}})
step("update of an old state", "PUT", f"{MAPS}/a", {"metadata": {"name": "a", "resourceVersion": "<rv>"}, "data": {"k": "x"}})
step("update without a resourceVersion", "PUT", f"{MAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "x"}})
step("update of another uid", "PUT", f"{MAPS}/a", {"metadata": {"name": "a", "uid": "1-2"}, "data": {}}, differs="the message holds the uid")
step("update of another name", "PUT", f"{MAPS}/a", {"metadata": {"name": "b"}, "data": {}})
step("update of none", "PUT", f"{MAPS}/none", {"metadata": {"name": "none", "resourceVersion": "<rv>"}}, see=lambda a: a["code"] in (404, 409))
step("put on the collection", "PUT", MAPS, {"metadata": {"name": "b"}})
step("post on an object", "POST", f"{MAPS}/a", {"metadata": {"name": "b"}})

# ---- patches
step("merge patch", "PATCH", f"{MAPS}/a", {"data": {"m": "1", "k": None}, "metadata": {"labels": {"p": "q"}}}, content=MERGE)
step("json patch", "PATCH", f"{MAPS}/a", [{"op": "test", "path": "/data/m", "value": "1"}, {"op": "add", "path": "/data/j", "value": "2"},
                                           {"op": "remove", "path": "/metadata/labels/p"}], content=JSON_PATCH)
step("json patch that fails its test", "PATCH", f"{MAPS}/a", [{"op": "test", "path": "/data/m", "value": "9"}], content=JSON_PATCH, differs=OWN_WORDS)
step("json patch of a missing place", "PATCH", f"{MAPS}/a", [{"op": "remove", "path": "/data/none"}], content=JSON_PATCH, differs=OWN_WORDS)
step("strategic patch", "PATCH", f"{MAPS}/a", {"metadata": {"labels": {"s": "t"}}, "data": {"$patch": "replace", "only": "this"}}, content=STRATEGIC)
step("patch with a conflict", "PATCH", f"{MAPS}/a", {"metadata": {"resourceVersion": "<rv>"}, "data": {"k": "1"}}, content=MERGE)
step("patch of none", "PATCH", f"{MAPS}/none", {"data": {}}, content=MERGE)
step("patch of an unknown kind", "PATCH", f"{MAPS}/a", {"data": {}}, content="application/json", differs=OWN_WORDS)
step("patch of the name", "PATCH", f"{MAPS}/a", {"metadata": {"name": "z"}}, content=MERGE, see=lambda a: a["code"] in (400, 422))
step("deployment", "POST", DEPLOYMENTS, {"metadata": {"name": "web"}, "spec": {
    "replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
        {"name": "one", "image": "i:1", "env": [{"name": "A", "value": "1"}]}, {"name": "two", "image": "i:1"}]}}}},
     see=parts("metadata.generation", "spec.replicas"))
CONTAINERS = parts("metadata.generation", "spec.replicas", "spec.template.spec.containers.0.name", "spec.template.spec.containers.0.image",
                   "spec.template.spec.containers.0.env", "spec.template.spec.containers.1.name", "spec.template.spec.containers.1.image",
                   "spec.template.spec.containers.2.name")
step("strategic patch of lists by their keys", "PATCH", f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": {"containers": [
    {"name": "two", "image": "i:2"}, {"name": "one", "env": [{"name": "B", "value": "2"}]}]}}}}, content=STRATEGIC, see=CONTAINERS)
step("strategic patch deletes an element", "PATCH", f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": {"containers": [
    {"name": "one", "$patch": "delete"}]}}}}, content=STRATEGIC, see=CONTAINERS)
step("strategic patch with a new one in front", "PATCH", f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": {"containers": [
    {"name": "three", "image": "i:3"}, {"name": "two", "image": "i:4"}]}}}}, content=STRATEGIC, see=CONTAINERS)
step("strategic patch of the last", "PATCH", f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": {"containers": [
    {"name": "four", "image": "i:4"}]}}}}, content=STRATEGIC, see=CONTAINERS)
step("strategic patch with an order", "PATCH", f"{DEPLOYMENTS}/web", {"spec": {"template": {"spec": {
    "$setElementOrder/containers": [{"name": "two"}, {"name": "four"}], "containers": [{"name": "four", "image": "i:5"}]}}}},
     content=STRATEGIC, see=CONTAINERS)
step("labels raise no generation", "PATCH", f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": "b"}}}, content=MERGE, see=CONTAINERS)
step("status of a deployment", "PATCH", f"{DEPLOYMENTS}/web/status", {"spec": {"replicas": 9}, "status": {"replicas": 1}}, content=MERGE,
     see=parts("metadata.generation", "spec.replicas", "status.replicas"))
step("scale", "GET", f"{DEPLOYMENTS}/web/scale")
step("scale to three", "PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 3}}, content=MERGE)
step("scaled", "GET", f"{DEPLOYMENTS}/web", see=parts("metadata.generation", "spec.replicas"))
step("scale of none", "GET", f"{DEPLOYMENTS}/none/scale")
step("a subresource that is none", "GET", f"{MAPS}/a/status", plain=True)

# ---- server-side apply
APPLIED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ap", "labels": {"l": "1"}}, "data": {"a": "1", "b": "2"}}
step("apply makes", "PATCH", f"{MAPS}/ap?fieldManager=one", APPLIED, content=APPLY)
step("apply changes and takes away", "PATCH", f"{MAPS}/ap?fieldManager=one", {**APPLIED, "data": {"a": "3"}}, content=APPLY)
step("another applies beside", "PATCH", f"{MAPS}/ap?fieldManager=two", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ap"}, "data": {"c": "4"}},
     content=APPLY)
step("the first knows nothing of it", "PATCH", f"{MAPS}/ap?fieldManager=one", {**APPLIED, "data": {"a": "5"}}, content=APPLY)
step("apply without a manager", "PATCH", f"{MAPS}/ap", APPLIED, content=APPLY, differs=OWN_WORDS)
step("delete what was applied", "DELETE", f"{MAPS}/ap")

# ---- definitions
step("define", "POST", CRDS, DEFINITION, see=parts("kind", "spec.names", "spec.scope", "spec.conversion"))
step("wait", "GET", f"{CRDS}/boats.sea.test", until=lambda a: any(
    c["type"] == "Established" and c["status"] == "True" for c in a.get("status", {}).get("conditions") or []),
     see=lambda a: sorted((c["type"], c["status"], c["reason"]) for c in a["status"]["conditions"]))
step("its names", "GET", f"{CRDS}/boats.sea.test", see=parts("status.acceptedNames", "status.storedVersions", "metadata.generation"))
step("a bad definition", "POST", CRDS, {**DEFINITION, "metadata": {"name": "other.sea.test"}}, differs=OWN_WORDS)
step("its list", "GET", BOATS, until=lambda a: a.get("kind") == "BoatList")
step("discovery", "GET", "/apis/sea.test/v1", until=lambda a: a.get("kind") == "APIResourceList",
     see=lambda a: [{k: v for k, v in r.items() if k != "storageVersionHash"} for r in a["resources"]])
step("the group", "GET", "/apis/sea.test")
step("a boat with defaults", "POST", BOATS, boat("argo", {"sail": "gaff", "ports": [{"at": "x"}]}))
step("unknown fields go", "POST", BOATS, boat("pruned", {"sail": "gaff", "none": 1, "hold": {"any": {"thing": 1}}}))
step("unknown fields are refused", "POST", f"{BOATS}?fieldValidation=Strict", boat("strict", {"sail": "gaff", "none": 1}))
for index, (label, spec) in enumerate({
        "no required": {}, "not of the enum": {"sail": "kite"}, "too small": {"sail": "gaff", "crew": 0}, "of another type": {"sail": "gaff", "crew": "many"},
        "no fit for the pattern": {"sail": "gaff", "name": "X9"}, "too long": {"sail": "gaff", "name": "abcdefghijk"},
        "too many": {"sail": "gaff", "ports": [{}, {}, {}]}, "null": {"sail": None}, "no int or string": {"sail": "gaff", "size": True},
        "twice in a set": {"sail": "gaff", "tags": ["a", "a"]}, "a broken rule": {"sail": "lateen", "crew": 11},
        "a list for an object": {"sail": "gaff", "hold": []}, "several at once": {"sail": "kite", "crew": 99, "name": "X"}}.items()):
    step(f"refused: {label}", "POST", BOATS, boat(f"bad{index}", spec), see=without_messages)
step("a rule of two states", "PATCH", f"{BOATS}/argo", {"spec": {"sail": "lateen"}}, content=MERGE, see=without_messages)
step("the spec raises the generation", "PATCH", f"{BOATS}/argo", {"spec": {"crew": 5}, "status": {"afloat": True}}, content=MERGE)
step("the status does not", "PATCH", f"{BOATS}/argo/status", {"spec": {"crew": 7}, "status": {"afloat": True}}, content=MERGE)
step("a bad status", "PATCH", f"{BOATS}/argo/status", {"status": {"afloat": "yes"}}, content=MERGE, see=without_messages)
step("get the status", "GET", f"{BOATS}/argo/status", keep=[("argo", "metadata.resourceVersion")])
step("replace the status", "PUT", f"{BOATS}/argo/status", {**boat("argo", {"sail": "kite"}, resourceVersion="<argo>"), "status": {"afloat": False}},
     see=parts("spec.sail", "status", "metadata.generation"))
step("no strategic patch", "PATCH", f"{BOATS}/argo", {"spec": {"crew": 5}}, content=STRATEGIC, differs=OWN_WORDS)
step("an update without a resourceVersion", "PUT", f"{BOATS}/argo", boat("argo", {"sail": "gaff"}), differs=OWN_WORDS)
step("a boat of no kind", "POST", BOATS, {"metadata": {"name": "x"}}, differs=OWN_WORDS)
step("a boat of another version", "POST", BOATS, {**boat("x", {}), "apiVersion": "sea.test/v2"}, differs=OWN_WORDS, warns=UNWARNED)

# ---- what schemas can say
SHIP = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "when": {"type": "string", "format": "date-time"},
    "maybe": {"type": "string", "nullable": True, "default": "d"},
    "never": {"type": "string", "default": "d"},
    "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}, "maxProperties": 2},
    "even": {"type": "integer", "multipleOf": 2},
    "small": {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
    "long": {"type": "integer", "format": "int64"},
    "either": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "not": {"type": "string", "not": {"enum": ["bad"]}},
    "some": {"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": 2}]},
    "both": {"type": "string", "allOf": [{"minLength": 2}, {"maxLength": 3}]},
    "rooms": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
              "items": {"type": "object", "required": ["name"], "properties": {
                  "name": {"type": "string"}, "beds": {"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self >= oldSelf"}]}}}},
    "matrix": {"type": "array", "minItems": 1, "items": {"type": "array", "items": {"type": "integer"}}},
    "told": {"type": "object", "properties": {"n": {"type": "integer"}}, "x-kubernetes-validations": [
        {"rule": "!has(self.n) || self.n < 5", "message": "too many", "fieldPath": ".n", "reason": "FieldValueForbidden"}]},
    "flag": {"type": "boolean"}}}}}
SHIP_V1 = json.loads(json.dumps(SHIP))
SHIP_V1["properties"]["spec"]["properties"]["only"] = {"type": "string"}
SHIPS = "/apis/sea.test/v1/ships"
step("define in three versions", "POST", CRDS, {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "ships.sea.test"},
    "spec": {"group": "sea.test", "scope": "Cluster", "names": {"plural": "ships", "kind": "Ship"}, "versions": [
        {"name": "v1beta1", "served": True, "storage": False, "schema": {"openAPIV3Schema": SHIP}},
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SHIP_V1}, "selectableFields": [{"jsonPath": ".spec.maybe"}]},
        {"name": "v1alpha1", "served": False, "storage": False, "schema": {"openAPIV3Schema": SHIP}}]}},
     see=parts("kind", "spec.names", "spec.scope"))
step("ships are served", "GET", SHIPS, until=lambda a: a.get("kind") == "ShipList")
step("in the other version", "GET", "/apis/sea.test/v1beta1/ships", until=lambda a: a.get("kind") == "ShipList")
step("not in the third", "GET", "/apis/sea.test/v1alpha1/ships", plain=True)
step("versions of the group", "GET", "/apis/sea.test", until=lambda a: len(a.get("versions", [])) == 2)


def ship(name, **spec):
    return {"apiVersion": "sea.test/v1", "kind": "Ship", "metadata": {"name": name}, "spec": spec}


step("a good ship", "POST", SHIPS, ship("good", any=[1, {"x": None}], when="2026-01-02T03:04:05Z", maybe=None, never=None, labels={"a": "b"}, even=4, small=1.25,
                                         long=9007199254740993, either={"a": "x"}, some=12, both="ab", rooms=[{"name": "r"}], matrix=[[1, 2], []], told={"n": 1}, flag=False))
step("it in the other version", "GET", "/apis/sea.test/v1beta1/ships/good")
step("made in the other version", "POST", "/apis/sea.test/v1beta1/ships", {**ship("beta"), "apiVersion": "sea.test/v1beta1"})
step("both in one list", "GET", SHIPS, see=names)
step("fields of its own", "GET", f"{SHIPS}?fieldSelector=spec.maybe%3Dd", see=names)
step("fields not named in that version", "GET", "/apis/sea.test/v1beta1/ships?fieldSelector=spec.maybe%3Dd", differs=OWN_WORDS)
for index, spec in enumerate([
        {"when": "yesterday"}, {"labels": {"a": "long one"}}, {"labels": {"a": "1", "b": "2", "c": "3"}}, {"labels": {"a": 1}}, {"even": 3}, {"small": 1.5},
        {"small": "1"}, {"long": 1.5}, {"either": {}}, {"either": {"a": "1", "b": "2"}}, {"not": "bad"}, {"some": 5}, {"both": "a"}, {"both": "abcd"},
        {"rooms": [{"name": "a"}, {"name": "a"}]}, {"rooms": [{}]}, {"rooms": [{"name": "a", "beds": "2"}]}, {"matrix": []}, {"matrix": [["1"]]}, {"matrix": [1]},
        {"told": {"n": 7}}, {"told": {"n": 7}, "even": 3}, {"flag": "true"}, {"labels": None}, {"rooms": [{"name": "a", "beds": None}]}]):
    step(f"ship {json.dumps(spec)}", "POST", SHIPS, ship(f"s{index}", **spec), see=without_messages)
step("a rule between two states of an item", "PATCH", f"{SHIPS}/good", {"spec": {"rooms": [{"name": "q"}, {"name": "r", "beds": 0}]}}, content=MERGE,
     see=without_messages)
step("a patch of all versions", "PATCH", "/apis/sea.test/v1beta1/ships/good", {"spec": {"even": 6}}, content=MERGE, see=parts("apiVersion", "spec.even", "metadata.generation"))
step("apply to a list by its keys", "PATCH", f"{SHIPS}/good?fieldManager=t&force=true", ship("good", rooms=[{"name": "w", "beds": 3}]), content=APPLY, see=parts("spec.rooms"))
step("a dry apply", "PATCH", f"{SHIPS}/fresh?fieldManager=t&dryRun=All", ship("fresh", even=2), content=APPLY, see=parts("metadata.name", "spec"))
step("left nothing", "GET", f"{SHIPS}/fresh")
step("no status without a subresource", "PATCH", f"{SHIPS}/good/status", {"status": {}}, content=MERGE, plain=True)
step("namespaced path of a cluster's kind", "GET", "/apis/sea.test/v1/namespaces/sea/ships", plain=True)
step("take a version away", "PATCH", f"{CRDS}/ships.sea.test", [{"op": "replace", "path": "/spec/versions/0/served", "value": False}], content=JSON_PATCH,
     see=parts("metadata.generation", "status.storedVersions"))
step("it is not served", "GET", "/apis/sea.test/v1beta1/ships", plain=True, ends=404)
step("the other stays", "GET", SHIPS, see=names)
for index, (label, change) in enumerate({
        "no storage": {"storage": False}, "an unknown type": {"schema": {"openAPIV3Schema": {"type": "thing"}}},
        "no schema": {"schema": None}, "a bad pattern": {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}}},
        "a bad rule": {"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-validations": [{"rule": "self.none == = 1"}]}}},
        "no type": {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}},
        "a bad default": {"schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}}}}}.items()):
    step(f"definition with {label}", "POST", CRDS, {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"bad{index}s.sea.test"},
        "spec": {"group": "sea.test", "scope": "Cluster", "names": {"plural": f"bad{index}s", "kind": f"Bad{index}"}, "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}, **change}]}},
         see=lambda a: (a.get("code"), a.get("reason")))
step("undefine ships", "DELETE", f"{CRDS}/ships.sea.test", see=lambda a: a.get("kind") in ("Status", "CustomResourceDefinition"))
step("ships are gone", "GET", f"{CRDS}/ships.sea.test", until=lambda a: a.get("code") == 404)

# ---- lists
for name, labels in (("l1", {"x": "one", "y": "a"}), ("l2", {"x": "two"}), ("l3", {"y": "a"}), ("l4", {"x": "one"})):
    step(f"create {name}", "POST", MAPS, config_map(name, labels))
NOT_ROOT = "metadata.name!=kube-root-ca.crt"
for selector in ("x=one", "x!=one", "x in (one,two)", "x notin (one)", "x", "!x", "x=one,y=a", "x==two", "y,x notin (two)"):
    step(f"labels {selector}", "GET", f"{MAPS}?fieldSelector={urllib.parse.quote(NOT_ROOT)}&labelSelector={urllib.parse.quote(selector)}", see=names)
for selector in ("x in one", "=", "x=a=b", "x in ()"):
    step(f"bad labels {selector}", "GET", f"{MAPS}?labelSelector={urllib.parse.quote(selector)}", differs=OWN_WORDS)
for selector in ("metadata.name=l1", "metadata.name=none", "metadata.namespace=sea,metadata.name!=kube-root-ca.crt", "metadata.namespace=other"):
    step(f"fields {selector}", "GET", f"{MAPS}?fieldSelector={urllib.parse.quote(selector)}", see=names)
step("fields of all namespaces", "GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Dl1", see=names)
step("bad fields", "GET", f"{MAPS}?fieldSelector=spec.none%3D1", differs=OWN_WORDS)
BOATS_ONLY = f"{BOATS}?limit=1"
step("first page", "GET", BOATS_ONLY, keep=[("token", "metadata.continue"), ("rv", "metadata.resourceVersion")])
step("a boat between", "POST", BOATS, boat("between", {"sail": "gaff"}))
step("second page, of the same state", "GET", f"{BOATS_ONLY}&continue=<token>")
step("a list at least as new", "GET", f"{BOATS}?resourceVersion=<rv>&resourceVersionMatch=NotOlderThan", see=names)
step("a list of that state", "GET", f"{BOATS}?resourceVersion=<rv>&resourceVersionMatch=Exact&limit=100", see=names)
step("any state", "GET", f"{BOATS}?resourceVersion=0", see=lambda a: a["kind"])
step("bad token", "GET", f"{BOATS_ONLY}&continue=bad", differs=OWN_WORDS)
step("token and resourceVersion", "GET", f"{BOATS_ONLY}&continue=<token>&resourceVersion=<rv>", differs=OWN_WORDS)
step("match without a resourceVersion", "GET", f"{BOATS}?resourceVersionMatch=Exact", differs=OWN_WORDS)
step("match unknown", "GET", f"{BOATS}?resourceVersion=<rv>&resourceVersionMatch=Some", differs=OWN_WORDS)
step("exactly zero", "GET", f"{BOATS}?resourceVersion=0&resourceVersionMatch=Exact", differs=OWN_WORDS)
step("no number", "GET", f"{BOATS}?resourceVersion=x", differs=OWN_WORDS)
step("of the future", "GET", f"{BOATS}?resourceVersion=99999999", see=lambda a: (a["code"], a["reason"], [c["reason"] for c in a["details"]["causes"]]))

# ---- forms
step("table of maps", "GET", f"{MAPS}?labelSelector=x", accept=TABLE, see=cells)
step("table of one", "GET", f"{MAPS}/l1", accept=TABLE, see=cells)
step("table of boats", "GET", BOATS, accept=TABLE, see=cells)
step("table without objects", "GET", f"{BOATS}?includeObject=None", accept=TABLE, see=cells)
step("table with objects", "GET", f"{BOATS}?includeObject=Object", accept=TABLE, see=cells)
step("table of definitions", "GET", f"{CRDS}?fieldSelector=metadata.name%3Dboats.sea.test", accept=TABLE,
     see=lambda a: {**cells(a), "rows": [r["cells"][0] for r in a["rows"]]})
step("metadata of one", "GET", f"{BOATS}/argo", accept=PARTIAL)
step("metadata of all", "GET", BOATS, accept=PARTIALS)

# ---- watches: the rest of a second, or until `until`
step("watch from a state", "GET", f"{BOATS}?watch=1&resourceVersion=<rv>&timeoutSeconds=1", watch=True)
step("watch with what exists", "GET", f"{BOATS}?watch=1&timeoutSeconds=1", watch=True)
step("watch with the end of what exists", "GET",
     f"{BOATS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1", watch=True)
step("watch of one", "GET", f"{BOATS}?watch=1&fieldSelector=metadata.name%3Dargo&timeoutSeconds=1", watch=True)
step("watch by labels", "GET", f"{MAPS}?watch=1&labelSelector=x%3Done&timeoutSeconds=1", watch=True)
step("watch of tables", "GET", f"{BOATS}?watch=1&timeoutSeconds=1", watch=True, accept=TABLE)
step("watch of metadata", "GET", f"{BOATS}?watch=1&timeoutSeconds=1", watch=True, accept=PARTIAL)
step("initial events without a match", "GET", f"{BOATS}?watch=1&sendInitialEvents=true", differs=OWN_WORDS)
step("a match without initial events", "GET", f"{BOATS}?watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1", differs=OWN_WORDS)
step("initial events of a list", "GET", f"{BOATS}?sendInitialEvents=true", differs=OWN_WORDS)
step("mark", "GET", f"{MAPS}?labelSelector=x%3Done", see=names, keep=[("mark", "metadata.resourceVersion")])
step("leaves", "PATCH", f"{MAPS}/l1", {"metadata": {"labels": {"x": "two"}}}, content=MERGE)
step("enters", "PATCH", f"{MAPS}/l2", {"metadata": {"labels": {"x": "one"}}}, content=MERGE)
step("changes", "PATCH", f"{MAPS}/l4", {"data": {"k": "v"}}, content=MERGE)
step("changes nothing", "PATCH", f"{MAPS}/l4", {"data": {"k": "v"}}, content=MERGE)
step("goes", "DELETE", f"{MAPS}/l4")
step("what enters and leaves a selection", "GET", f"{MAPS}?watch=1&labelSelector=x%3Done&resourceVersion=<mark>&timeoutSeconds=1", watch=True)

# ---- deletion
step("delete", "DELETE", f"{MAPS}/l2")
step("delete again", "DELETE", f"{MAPS}/l2")
step("delete of another uid", "DELETE", f"{MAPS}/a", {"preconditions": {"uid": "1-2"}}, differs="the message holds the uid")
step("delete of an old state", "DELETE", f"{MAPS}/a", {"preconditions": {"resourceVersion": "1"}}, differs="the message holds the resourceVersion")
step("delete as a dry run", "DELETE", f"{MAPS}/a?dryRun=All")
step("delete as a dry run in the body", "DELETE", f"{MAPS}/a", {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]})
step("is still there", "GET", f"{MAPS}/a", see=parts("metadata.name"))
step("in the background", "DELETE", f"{MAPS}/a", {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"})
step("bad propagation", "DELETE", f"{MAPS}/l1", {"propagationPolicy": "Sideways"}, differs=OWN_WORDS)
step("a boat that waits", "POST", BOATS, boat("waits", {"sail": "gaff"}, finalizers=["sea.test/harbour"]))
step("its deletion begins", "DELETE", f"{BOATS}/waits")
step("begins once", "DELETE", f"{BOATS}/waits")
step("it is dying", "GET", f"{BOATS}/waits", see=lambda a: ("deletionTimestamp" in a["metadata"], a["metadata"].get("deletionGracePeriodSeconds"), a["metadata"]["generation"]))
step("no new finalizers", "PATCH", f"{BOATS}/waits", {"metadata": {"finalizers": ["sea.test/harbour", "sea.test/other"]}}, content=MERGE, differs=OWN_WORDS)
step("its finalizer goes", "PATCH", f"{BOATS}/waits", {"metadata": {"finalizers": None}}, content=MERGE)
step("it is gone", "GET", f"{BOATS}/waits")
step("an unqualified finalizer", "POST", BOATS, boat("badfin", {"sail": "gaff"}, finalizers=["none"]), warns=UNWARNED)
step("it waits for that too", "DELETE", f"{BOATS}/badfin")
step("and goes", "PATCH", f"{BOATS}/badfin", [{"op": "remove", "path": "/metadata/finalizers"}], content=JSON_PATCH)
step("some by labels", "DELETE", f"{MAPS}?labelSelector=y", see=lambda a: sorted(i["metadata"]["name"] for i in a.get("items", [])))
step("those are gone", "GET", f"{MAPS}?labelSelector=y", see=names)

# ---- reviews
for kind, group in (("SelfSubjectAccessReview", "authorization.k8s.io"),):
    step(kind, "POST", f"/apis/{group}/v1/{kind.lower()}s", {"apiVersion": f"{group}/v1", "kind": kind, "spec": {
        "resourceAttributes": {"verb": "list", "resource": "pods"}}}, see=parts("kind", "apiVersion", "status.allowed", "spec"))

step("SubjectAccessReview", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": {
    "user": "admin", "groups": ["system:masters"], "resourceAttributes": {"verb": "list", "resource": "pods"}}}, see=parts("kind", "status.allowed"))
step("a review without attributes", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {}}, see=parts("code", "reason"))
step("SelfSubjectReview", "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, see=parts("kind", "apiVersion"))
step("SelfSubjectRulesReview", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {"spec": {"namespace": "sea"}},
     see=lambda a: any("*" in r["verbs"] and "*" in r["resources"] for r in a["status"]["resourceRules"]))
step("a secret's plain text", "POST", "/api/v1/namespaces/sea/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}})
step("secrets by type", "GET", "/api/v1/namespaces/sea/secrets?fieldSelector=type%3DOpaque", see=names)
step("a service account", "POST", "/api/v1/namespaces/sea/serviceaccounts", {"metadata": {"name": "cook"}})
step("a role", "POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/sea/roles",
     {"metadata": {"name": "system:cook"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})
step("a node", "POST", "/api/v1/nodes", {"metadata": {"name": "n1"}}, see=parts("kind", "metadata.name"))
step("nodes by name", "GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dn1", see=names)
step("namespaces", "GET", "/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name%3Dsea")
step("a namespace begins to go", "DELETE", "/api/v1/namespaces/none")
step("everywhere", "GET", "/apis/apps/v1/deployments", see=names)
step("no collection of all namespaces can be deleted", "DELETE", "/api/v1/configmaps")
step("no post to all namespaces", "POST", "/api/v1/configmaps", config_map("x"))
step("version", "GET", "/version", see=parts("major"))
step("alive", "GET", "/livez", plain=True)

# ---- history that is forgotten
step("before it is forgotten", "GET", BOATS_ONLY, keep=[("token", "metadata.continue"), ("rv", "metadata.resourceVersion")])
step("the world goes on", "PATCH", f"{BOATS}/argo", {"metadata": {"labels": {"late": "yes"}}}, content=MERGE)
step("forget", "", "")
step("watch of a lost state", "GET", f"{BOATS}?watch=1&resourceVersion=1&timeoutSeconds=1", watch=True)
step("list of a lost state", "GET", f"{BOATS}?resourceVersion=1&resourceVersionMatch=Exact", differs=OWN_WORDS)
step("page of a lost state", "GET", f"{BOATS_ONLY}&continue=<token>", keep=[("rest", "metadata.continue")])
step("the rest without a state", "GET", f"{BOATS}?continue=<rest>", see=names)

# ---- the end of a kind
step("undefine", "DELETE", f"{CRDS}/boats.sea.test", see=lambda a: a.get("kind") in ("Status", "CustomResourceDefinition"))
step("the definition is gone", "GET", f"{CRDS}/boats.sea.test", until=lambda a: a.get("code") == 404)
step("its objects are not served", "GET", BOATS, plain=True)


class Same(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="kollect-same-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(op.server, "kube.sh", "stop")
        kube = op.exports(op.server("kube.sh", "start"))
        cls.sandbox = Sandbox(pathlib.Path(cls.folder.name))
        cls.addClassCleanup(cls.sandbox.stop)
        context = ssl.create_default_context(cafile=kube["KUBE_CA"])
        cls.real = Client(kube["KUBE_SERVER"], context, kube["KUBE_TOKEN"])
        cls.own = Client(cls.sandbox.url)

    def answer(self, client, name, method, path, body, options):
        if name == "forget":
            if client is self.own:
                self.sandbox.call("POST", "/sandbox/restart")
            else:
                op.server("kube.sh", "compact")
                op.server("kube.sh", "restart-apiserver")
            return "forgotten"
        ask = {k: options[k] for k in ("content", "accept") if k in options}
        answers = []

        def once():
            status, text, warning = client.ask(method, path, body, **ask)
            answers[:] = [status, text, warning]
            if "ends" in options:
                return status == options["ends"]
            if status == 429:  # "try again", of a server that has just begun
                return False
            return options["until"](json.loads(text)) if "until" in options and text.startswith("{") else "until" not in options

        op.until(name, once)
        status, text, warning = answers
        if options.get("watch"):
            return [status, [self.event(json.loads(line)) for line in text.splitlines() if '"type":"BOOKMARK"' not in line or "initial-events-end" in line]]
        if options.get("plain"):
            return [status]
        answer = json.loads(text)
        for key, place in options.get("keep", []):
            client.kept[key] = parts(place)(answer)[place]
        if "differs" in options:
            answer = without_messages(answer)
        if "see" in options:
            answer = options["see"](answer)
        return [status, strip(answer), bool(warning) and "warns" not in options]

    @staticmethod
    def event(event):
        seen = event["object"]
        if event["type"] == "ERROR":
            return ["ERROR", seen["code"], seen["reason"]]
        if seen["kind"] == "Table":
            return [event["type"], seen["columnDefinitions"] is not None, cells(seen)["rows"]]
        return [event["type"], strip(seen)]

    def test_answers_are_the_same(self):
        for name, *request in STEPS:
            with self.subTest(name):
                real = self.answer(self.real, name, *request)
                own = self.answer(self.own, name, *request)
                self.assertEqual(own, real, f"{name}: sandbox (first) and kube-apiserver differ")


if __name__ == "__main__":
    harness.main()
