"""A stand-in of GitLab on 127.0.0.1: the calls of its API that merge requests need, and real Git over http behind its tokens."""
import base64
import http.server
import json
import os
import pathlib
import subprocess
import threading
import urllib.parse

TOKEN = "glpat-stand-in"
BACKEND = "/usr/lib/git-core/git-http-backend"


class GitLab:
    """One project with a branch main. The server ends with stop(), and with kill() until start()."""

    def __init__(self, folder, project="harbor/fleet"):
        self.root = pathlib.Path(folder) / "gitlab"
        self.project = project
        self.repository = self.root / f"{project}.git"
        self.requests = []
        self.tokens = {TOKEN}
        self.lock = threading.Lock()
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.repository)], check=True)
        self.git("config", "http.receivepack", "true")
        tree = self.git("mktree", stdin="")
        self.git("update-ref", "refs/heads/main", self.git("-c", "user.name=h", "-c", "user.email=h@h", "commit-tree", "-m", "by hand", tree))
        self.port = 0
        self.start()
        self.endpoint = f"http://127.0.0.1:{self.port}/{project}.git"

    def git(self, *args, stdin=None):
        return subprocess.run(["git", "--git-dir", str(self.repository), *args], input=stdin, check=True, capture_output=True, text=True).stdout.strip()

    def start(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self.handler())
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def kill(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    stop = kill

    def api(self, method, path, query, body):
        """Status and answer of one call below the project."""
        with self.lock:
            if (method, path) == ("GET", ""):
                return 200, {"id": 7}
            if (method, path) == ("GET", "/merge_requests"):
                return 200, [one for one in self.requests if one["state"] == "opened" and one["source_branch"] == query["source_branch"]]
            if (method, path) == ("POST", "/merge_requests"):
                self.requests.append({**body, "iid": len(self.requests) + 1, "state": "opened", "source_project_id": 7, "target_project_id": 7})
                return 201, self.requests[-1]
            number = path.removeprefix("/merge_requests/")
            if method == "PUT" and number.isdecimal():
                one = self.requests[int(number) - 1]
                one.update({"state": "closed"} if body.pop("state_event", "") == "close" else {}, **body)
                return 200, one
        return 404, {"message": "404 Not Found"}

    def handler(self):
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def body(self):
                if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                whole = b""
                while size := int(self.rfile.readline(), 16):
                    whole += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return whole

            def reply(self, status, content, **headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def token(self):
                basic = self.headers.get("Authorization", "").removeprefix("Basic ")
                return self.headers.get("PRIVATE-TOKEN") or base64.b64decode(basic).decode().partition(":")[2]

            def handle_all(self):
                body = self.body()
                url = urllib.parse.urlsplit(self.path)
                if self.token() not in stand_in.tokens:
                    return self.reply(401, b'{"message":"401 Unauthorized"}', WWW_Authenticate='Basic realm="GitLab"')
                if not url.path.startswith("/api/v4/"):
                    return self.repository(url, body)
                project = "/api/v4/projects/" + urllib.parse.quote(stand_in.project, safe="")
                if url.path == "/api/v4/version":
                    status, answer = 200, {"version": "18.2.1"}
                elif url.path.startswith(project):
                    query = dict(urllib.parse.parse_qsl(url.query))
                    status, answer = stand_in.api(self.command, url.path[len(project):], query, json.loads(body or b"{}"))
                else:
                    status, answer = 404, {"message": "404 Project Not Found"}
                return self.reply(status, json.dumps(answer).encode(), Content_Type="application/json")

            def repository(self, url, body):
                env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(stand_in.root), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "token",
                       "REQUEST_METHOD": self.command, "PATH_INFO": urllib.parse.unquote(url.path), "QUERY_STRING": url.query,
                       "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
                       "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
                out = subprocess.run([BACKEND], input=body, env=env, capture_output=True, check=True).stdout
                head, _, content = out.partition(b"\r\n\r\n")
                headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                status = int(headers.pop("Status", "200").split()[0])
                self.reply(status, content, **{name.replace("-", "_"): value for name, value in headers.items()})

            do_GET = do_POST = do_PUT = handle_all

        return Handler
