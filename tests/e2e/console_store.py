"""What the tests of the web console look at: files of SQLite that the program itself has written, `kollect serve` over them."""
import http.client
import json
import os
import shutil
import sqlite3
import subprocess

import harness
import yaml

CONFIGS = ("deployment-images", "helm-releases", "namespaces")


def axe_source():
    modules = subprocess.run([harness.ROOT / "scripts/web.sh", "modules"], check=True, capture_output=True, text=True).stdout.strip()
    with open(os.path.join(modules, "axe-core", "axe.min.js"), encoding="utf-8") as source:
        return source.read()


def collect(database, manifests, cluster, configs=CONFIGS):
    for config in configs:
        done = harness.run("collect", "--config", harness.EXAMPLES / "inventory" / config, "--manifests", manifests, "--cluster", cluster,
                           "--output", database.parent / f"out-{cluster}-{config}", "--sqlite", database, "--no-sinks", "--summary", "none")
        if done.returncode != 0:
            raise AssertionError(done.stderr)


def newer_image(folder, tag):
    """The example objects, with another image in the Deployment shop-prod/checkout. The name of its container."""
    shutil.copytree(harness.EXAMPLES / "dump", folder)
    path = folder / "shop-prod.yaml"
    objects = yaml.safe_load(path.read_text(encoding="utf-8"))
    for one in objects["items"]:
        if one["kind"] == "Deployment" and one["metadata"]["name"] == "checkout":
            container = one["spec"]["template"]["spec"]["containers"][0]
            container["image"] = container["image"].rsplit(":", 1)[0] + ":" + tag
    path.write_text(yaml.safe_dump(objects), encoding="utf-8")
    return folder


def fleet_store(folder):
    """Two clusters in step, a third of which nothing was heard for two days; one Deployment has changed since it was first seen."""
    database = folder / "inventory.db"
    for cluster in ("oslo-prod", "cork-dev", "lyon-qa"):
        collect(database, harness.EXAMPLES / "dump", cluster)
    collect(database, newer_image(folder / "newer", "9.9.9"), "oslo-prod", ("deployment-images",))
    with sqlite3.connect(database) as connection:
        for table in ("inventory", "inventory_exports"):
            connection.execute(f"UPDATE {table} SET exported_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 days') WHERE cluster = 'lyon-qa'")
    connection.close()
    return database


def long_store(folder, rows):
    """That many ConfigMaps."""
    database = folder / "long.db"
    harness.write(folder / "config/profile.yaml", harness.PROFILE_AND_TARGET)
    harness.write(folder / "objects.json", harness.config_maps(rows, "v", namespaces=40))
    done = harness.run("collect", "--config", folder / "config", "--manifests", folder / "objects.json", "--cluster", "big",
                       "--output", folder / "out", "--sqlite", database, "--summary", "none")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return database


class Serve:
    """`kollect serve`, up when it is made. `database`: a file of SQLite, or the address of a store."""

    def __init__(self, folder, database, *flags, port=None):
        self.port = port or harness.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"serve-{self.port}.log"
        with self.log.open("ab") as log:
            address = database if "://" in str(database) else f"sqlite:{database}"
            self.process = harness.start("serve", "--store", address, "--listen", f"127.0.0.1:{self.port}", *flags, stdout=log, stderr=log)
        while True:
            try:
                if self.ask("/healthz")[0] == 200:
                    return
            except OSError:
                if self.process.poll() is not None:
                    raise AssertionError(self.log.read_text(encoding="utf-8")) from None

    def ask(self, path, **headers):
        """(status, headers, bytes)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            connection.close()

    def get(self, path):
        status, _, text = self.ask(path)
        if status != 200:
            raise AssertionError(f"{path}: {status} {text[:400]}")
        return json.loads(text)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=30)
