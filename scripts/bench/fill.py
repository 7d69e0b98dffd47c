#!/usr/bin/env python3
"""Fills a kube-apiserver with Deployments, several processes over kept-alive connections.

    fill.py --objects 10000 --namespaces 100 [--processes 4]

The server comes from the environment (KUBE_SERVER, KUBE_CA, KUBE_TOKEN: scripts/servers/kube.sh). What is there already
counts: a second run with a larger number adds the rest.
"""
import argparse
import http.client
import json
import multiprocessing
import os
import ssl
import sys
import time
import urllib.parse


class Api:
    """One kept-alive connection."""

    def __init__(self):
        self.url = urllib.parse.urlsplit(os.environ["KUBE_SERVER"])
        self.trust = ssl.create_default_context(cafile=os.environ["KUBE_CA"])
        self.headers = {"Authorization": "Bearer " + os.environ["KUBE_TOKEN"], "Content-Type": "application/json",
                        "Accept": "application/json"}
        self.connection = None

    def call(self, method, path, body=None):
        """(status, bytes); a broken connection is opened anew, twice."""
        for attempt in range(3):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=self.trust,
                                                                  timeout=60)
                self.connection.request(method, path, body, self.headers)
                response = self.connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                self.connection = None
                if attempt == 2:
                    raise


def deployment(index, namespace):
    app = f"app-{index:06}"
    version = f"{index % 7}.{index % 13}.{index % 29}"
    labels = {"app.kubernetes.io/name": app, "app.kubernetes.io/part-of": f"team-{index % 40}",
              "app.kubernetes.io/version": version, "app.kubernetes.io/managed-by": "Helm",
              "helm.sh/chart": f"web-{index % 5}.1.0", "tier": ("front", "back", "data")[index % 3]}
    env = [{"name": f"SETTING_{n}", "value": f"value-{n}-of-{app}"} for n in range(6)]
    env.append({"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}})
    probe = {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": app, "namespace": namespace, "labels": labels,
                     "annotations": {"meta.helm.sh/release-name": app, "meta.helm.sh/release-namespace": namespace}},
        "spec": {"replicas": index % 5, "selector": {"matchLabels": {"app.kubernetes.io/name": app}},
                 "template": {"metadata": {"labels": {"app.kubernetes.io/name": app}},
                              "spec": {"serviceAccountName": app, "containers": [
                                  {"name": "web", "image": f"registry.example/web/{app}:{version}", "env": env,
                                   "ports": [{"containerPort": 8080, "name": "http"}], "readinessProbe": probe,
                                   "resources": {"requests": {"cpu": "50m", "memory": "64Mi"},
                                                 "limits": {"memory": "256Mi"}}},
                                  {"name": "proxy", "image": f"registry.example/proxy:{index % 9}.1",
                                   "args": ["--port=9901", "--upstream=127.0.0.1:8080"]}]}}},
    }


def work(first, last, step, namespaces):
    api = Api()
    for index in range(first, last, step):
        namespace = f"load-{index % namespaces:04}"
        body = json.dumps(deployment(index, namespace))
        status, answer = api.call("POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", body)
        if status not in (201, 409):
            sys.exit(f"fill: {status} {answer[:300]!r}")


def count(api):
    """Deployments of the server, by the list head's remaining count."""
    _, body = api.call("GET", "/apis/apps/v1/deployments?limit=1")
    head = json.loads(body)
    return len(head["items"]) + head["metadata"].get("remainingItemCount", 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, required=True)
    parser.add_argument("--namespaces", type=int, default=100)
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    api = Api()
    for index in range(options.namespaces):
        name = f"load-{index:04}"
        status, answer = api.call("POST", "/api/v1/namespaces", json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"load": "true"}}}))
        if status not in (201, 409):
            sys.exit(f"fill: namespace {name}: {status} {answer[:300]!r}")
    start = count(api)
    began = time.monotonic()
    workers = [multiprocessing.Process(target=work, args=(start + k, options.objects, options.processes, options.namespaces))
               for k in range(options.processes)]
    for worker in workers:
        worker.start()
    said = began
    while any(worker.is_alive() for worker in workers):
        time.sleep(0.2)
        if time.monotonic() - said > 10:
            said = time.monotonic()
            print(f"fill: {count(api)} of {options.objects}", file=sys.stderr)
    if any(worker.exitcode for worker in workers):
        sys.exit("fill: a worker failed")
    seconds = time.monotonic() - began
    print(f"fill: {count(api)} Deployments in {options.namespaces} namespaces ({seconds:.0f} s)", file=sys.stderr)


if __name__ == "__main__":
    main()
