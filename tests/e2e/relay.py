"""A server between the operator and its API server: it notes every request, and may answer some itself."""
import collections
import json
import socket
import threading
import urllib.parse


class Request:
    def __init__(self, head, connection):
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        url = urllib.parse.urlsplit(self.target)
        self.path, self.query = url.path, dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)}
        self.is_watch = self.query.get("watch") in ("1", "true")
        self.ended = threading.Event()  # its answer is complete, or its connection closed
        self.connection = connection

    def is_open(self):
        """Also false when the client has hung up and we have not been told yet."""
        if self.ended.is_set():
            return False
        try:
            return self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def __repr__(self):
        return f"{'WATCH' if self.is_watch else self.method} {self.target}"


def answer(body, code=200):
    """A finished answer for Relay.script."""
    text = json.dumps(body).encode()
    return b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (code, len(text)) + text


def status(code, reason, message=""):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": message or reason}


def frames(*events, end=True):
    """A watch's answer; without its end it stays open."""
    body = b"".join(b"%x\r\n%s\r\n" % (len(text), text) for text in (json.dumps(event).encode() + b"\n" for event in events))
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + body + (b"0\r\n\r\n" if end else b"")


class Relay:
    """`script` is called with each request, on any thread: None lets it pass to the server at `url`, bytes are the answer."""

    def __init__(self, url, script=lambda request: None):
        self.upstream = urllib.parse.urlsplit(url)
        self.script = script
        self.lock = threading.Lock()
        self.passed = []
        self.most_open = collections.Counter()  # by plural: watches that were open at once
        self.let_through = threading.Event()  # while it is not set, frames of watches are held back
        self.let_through.set()
        self.held = {}  # what is held back, by connection
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.sockets = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def stop(self):
        self.let_through.set()
        with self.lock:
            open_ones = [self.listening, *self.sockets]
        for one in open_ones:
            self.close(one)

    @staticmethod
    def close(one):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        one.close()

    def requests(self, plural, watch=None):
        """Lists (watch=False), watches (True) or both of a resource so far, in order."""
        with self.lock:
            return [r for r in self.passed if r.path.endswith("/" + plural) and r.method == "GET" and watch in (None, r.is_watch)]

    def open_watches(self, plural):
        return [r for r in self.requests(plural, True) if r.is_open()]

    def held_back(self):
        return b"".join(self.held.values()).decode()

    def accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def note(self, request):
        plural = request.path.rpartition("/")[2]
        count = 1 + len(self.open_watches(plural)) if request.is_watch else 0
        with self.lock:
            self.passed.append(request)
            self.most_open[plural] = max(self.most_open[plural], count)

    def serve(self, client):
        """The requests of one connection, one after the other: nobody sends a second one before the answer to the first."""
        with self.lock:
            self.sockets.add(client)
        reader, server, request = client.makefile("rb"), None, None
        current = [None]
        try:
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = reader.readline()
                    if not line:
                        return
                    head += line
                if request:
                    request.ended.set()
                request = Request(head, client)
                current[0] = request
                body = reader.read(int(request.headers.get("content-length", "0")))
                self.note(request)
                own = self.script(request)
                if own is not None:
                    client.sendall(own)
                    continue
                if server is None:
                    server = socket.create_connection((self.upstream.hostname, self.upstream.port))
                    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    with self.lock:
                        self.sockets.add(server)
                    threading.Thread(target=self.pump, args=(server, client, current), daemon=True).start()
                server.sendall(head + body)
        except OSError:
            pass
        finally:
            if request:
                request.ended.set()
            for one in (client, server):
                if one is not None:
                    self.close(one)
                    with self.lock:
                        self.sockets.discard(one)

    def hold(self, server, data):
        while not self.let_through.is_set():
            self.held[server] = data
            server.settimeout(0.02)
            try:
                more = server.recv(65536)
            except TimeoutError:
                continue
            data += more
            if not more:
                self.let_through.wait()
        server.settimeout(None)
        self.held.pop(server, None)
        return data

    def pump(self, server, client, current):
        try:
            while data := server.recv(65536):
                if current[0].is_watch:
                    data = self.hold(server, data)
                    if data.endswith(b"0\r\n\r\n"):
                        current[0].ended.set()
                client.sendall(data)
        except OSError:
            pass
        current[0].ended.set()
        self.close(client)
