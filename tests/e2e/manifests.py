"""Documents of kollect.dev and others for tests: each function gives YAML text that begins a document of its own."""
import base64
import json


def document(kind, ns, name, spec=None, api="kollect.dev/v1alpha1", labels=None, **members):
    metadata = {"name": name, **({"namespace": ns} if ns else {}), **({"labels": labels} if labels else {})}
    whole = {"apiVersion": api, "kind": kind, "metadata": metadata, **({"spec": spec} if spec is not None else {}), **members}
    # YAML knows no pairs of surrogates, and takes U+2028 for the end of a line.
    return "---\n" + json.dumps(whole, ensure_ascii=False).replace("\u2028", "\\u2028") + "\n"


def namespace(name):
    return document("Namespace", None, name, api="v1")


def config_map(ns, name, **data):
    return document("ConfigMap", ns, name, api="v1", data=data)


def secret(ns, name, **data):
    return document("Secret", ns, name, api="v1", data={key: base64.b64encode(value.encode()).decode() for key, value in data.items()})


def profile(ns, name, kind, *attributes, group="", version="v1"):
    """Each attribute: {"name": ..., "path": ..., ...}"""
    return document("KollectProfile", ns, name, {"targetGVK": {"group": group, "version": version, "kind": kind}, "attributes": list(attributes)})


def target(ns, name, profile_ref, **spec):
    return document("KollectTarget", ns, name, {"profileRef": profile_ref, **spec})


def sqlite_sink(ns, path, name="file"):
    return document("KollectDatabaseSink", ns, name, {"type": "sqlite", "sqlite": {"path": path}})


def postgres_sink(ns, dsn, table, name="pg", **spec):
    """With its Secret."""
    return secret(ns, name, dsn=dsn) + document(
        "KollectDatabaseSink", ns, name, {"type": "postgres", "postgres": {"databaseRef": {"name": name}, "table": table}, **spec})


def git_sink(ns, endpoint, name="git", **spec):
    """A file for each row, on the branch main."""
    return document("KollectSnapshotSink", ns, name,
                    {"type": "git", "endpoint": endpoint, "layout": {"mode": "perResource", "content": "item"}, "git": {"branch": "main"}, **spec})


def inventory(ns, name="all", **spec):
    return document("KollectInventory", ns, name, spec)
