#!/usr/bin/env python3
"""`kollect fleet serve` with TLS: versions, client certificates, certificates that change under the server, clients that stall."""
import http.client
import socket
import ssl
import subprocess
import time
import unittest

import fleet_test
import harness

READ = fleet_test.READ


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Authority:
    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                "-keyout", self.key, "-out", self.certificate)

    def issue(self, name, names="IP:127.0.0.1,DNS:localhost"):
        """(certificate, key)."""
        certificate, key, request, more = (self.folder / f"{name}.{end}" for end in ("pem", "key", "csr", "ext"))
        more.write_text(f"subjectAltName={names}\n", encoding="utf-8")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-days", "2", "-extfile", more, "-out", certificate)
        return certificate, key


class TlsServer(fleet_test.Server):
    def __init__(self, folder, authority, context=None, **settings):
        self.context = context or ssl.create_default_context(cafile=authority.certificate)
        super().__init__(folder, "memory", "harbour.json", TLS_CERT_FILE=str(folder / "tls.pem"), TLS_KEY_FILE=str(folder / "tls.key"), **settings)

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self.context)


class Tls(harness.Case):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.folder, "authority")
        self.use(*self.authority.issue("first"))

    def use(self, certificate, key):
        for source, name in ((key, "tls.key"), (certificate, "tls.pem")):
            (self.folder / f"{name}.new").write_bytes(source.read_bytes())
            (self.folder / f"{name}.new").rename(self.folder / name)

    def start(self, **settings):
        server = TlsServer(self.folder, self.authority, **settings)
        self.addCleanup(lambda: server.process.poll() is None and server.stop())
        return server

    def status(self, server, **files):
        """What the server answers to a client with these files; None: it is refused."""
        context = ssl.create_default_context(cafile=self.authority.certificate)
        if files:
            context.load_cert_chain(*files["pair"])
        try:
            with socket.create_connection(("127.0.0.1", server.port), 30) as plain, context.wrap_socket(plain, server_hostname="localhost") as tls:
                tls.sendall(b"GET /clusters HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer read-token\r\nConnection: close\r\n\r\n")
                return int(tls.recv(100).split()[1])
        except (OSError, IndexError):
            return None

    def name_of(self, server):
        with socket.create_connection(("127.0.0.1", server.port), 30) as plain, server.context.wrap_socket(plain, server_hostname="localhost") as tls:
            return dict(pair for parts in tls.getpeercert()["subject"] for pair in parts)["commonName"]

    def test_versions_and_curl(self):
        server = self.start()
        answer = subprocess.run(["curl", "-sS", "--cacert", str(self.authority.certificate), "-H", "Authorization: Bearer read-token", "-w", "%{http_code}",
                                 f"https://127.0.0.1:{server.port}/api/v2/flux/clusters"], capture_output=True, text=True, check=True).stdout
        self.assertTrue(answer.startswith('{"inputs":[') and answer.endswith("200"), answer)
        for version, good in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.load_verify_locations(self.authority.certificate)
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
            with socket.create_connection(("127.0.0.1", server.port), 30) as plain:
                if good:
                    with context.wrap_socket(plain, server_hostname="localhost") as tls:
                        self.assertEqual(tls.version(), version.name.replace("_", "."))
                else:
                    with self.assertRaises(ssl.SSLError):
                        context.wrap_socket(plain, server_hostname="localhost")
        with self.assertRaises((OSError, http.client.HTTPException)):
            fleet_test.Server.ask(type("Plain", (), {"connect": lambda _: http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)})(), "GET", "/health")

    def test_large_answers_and_bodies(self):
        server = self.start()
        labels = {f"key-{number}": "x" * 1000 for number in range(1000)}
        self.assertEqual(server.write("POST", "/namespaces", {"id": "large", "labels": labels})[0], 200)
        self.assertEqual(server.read("/namespaces/large")[1]["labels"], labels)

    def test_client_certificates(self):
        own = self.authority.issue("client")
        stranger = Authority(self.folder, "elsewhere").issue("stranger")
        context = ssl.create_default_context(cafile=self.authority.certificate)
        context.load_cert_chain(*own)
        for wanted, without in (("required", None), ("optional", 200)):
            with self.subTest(wanted):
                server = self.start(context=context, TLS_CLIENT_CA_FILE=str(self.authority.certificate), TLS_CLIENT_AUTH=wanted)
                self.assertEqual((self.status(server), self.status(server, pair=own), self.status(server, pair=stranger)), (without, 200, None))
                self.assertEqual(server.ask("GET", "/clusters", headers={})[0], 401, "a certificate is no token")
                server.stop()

    def test_the_certificate_changes_under_the_server(self):
        server = self.start()
        kept = server.connect()
        kept.request("GET", "/health")
        self.assertEqual(kept.getresponse().read(), b'{"status":"ok"}')
        self.assertEqual(self.name_of(server), "first")
        (self.folder / "tls.pem").write_text("no certificate", encoding="utf-8")
        while "of no use" not in server.log.read_text(encoding="utf-8"):
            time.sleep(0.05)
        self.assertEqual(self.name_of(server), "first")
        self.use(*self.authority.issue("second"))
        while self.name_of(server) != "second":
            time.sleep(0.05)
        kept.request("GET", "/health")
        self.assertEqual(kept.getresponse().status, 200, "connections that are open live on")
        kept.close()

    def test_clients_that_stall_in_the_handshake_hold_nobody_up(self):
        server = self.start()
        stalled = [socket.create_connection(("127.0.0.1", server.port), 30) for _ in range(100)]
        for one in stalled[50:]:
            one.sendall(b"\x16\x03\x01")
        for _ in range(5):
            self.assertEqual(self.status(server), 200)
        for one in stalled:
            one.close()

    def test_wrong_settings(self):
        pair = {"TLS_CERT_FILE": str(self.folder / "tls.pem"), "TLS_KEY_FILE": str(self.folder / "tls.key")}
        for settings, named in (({"TLS_CERT_FILE": pair["TLS_CERT_FILE"]}, "TLS_KEY_FILE"), ({**pair, "TLS_KEY_FILE": str(self.authority.key)}, "key"),
                                ({**pair, "TLS_CERT_FILE": "/none"}, "/none"), ({"TLS_CLIENT_CA_FILE": "/none"}, "TLS_CLIENT_CA_FILE"),
                                ({**pair, "TLS_CLIENT_AUTH": "maybe"}, "TLS_CLIENT_AUTH")):
            (self.folder / "empty.json").write_text('{"clusters": [], "platform_components": []}', encoding="utf-8")
            ended = harness.run("fleet", "serve", env=harness.environment(AUTH_TOKEN="t", STORE_BACKEND="memory", SEED_FILE=str(self.folder / "empty.json"),
                                                                         LISTEN_ADDR="127.0.0.1:0", **settings), timeout=30)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn(named, ended.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
