"""Chromium without a window, led over its debugging pipe (Chrome DevTools Protocol): JSON texts that end in a zero byte,
in on descriptor 3, out on 4. Needs no library and no port."""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = os.environ.get("CHROMIUM", "chromium")
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "ArrowDown": ("ArrowDown", 40, ""), "ArrowUp": ("ArrowUp", 38, ""),
        "PageDown": ("PageDown", 34, ""), "End": ("End", 35, ""), "Home": ("Home", 36, ""), "Tab": ("Tab", 9, "\t")}


class Browser:
    """One process with one page."""

    def __init__(self, width=1360, height=850):
        self.folder = tempfile.mkdtemp(prefix="kollect-browser-")
        to_browser, self.out = os.pipe()
        self.input, from_browser = os.pipe()
        # Descriptors 3 and 4 are free in the child only after its own have been moved up.
        script = f'exec {CHROMIUM} "$@" 3<&{to_browser} 4>&{from_browser}'
        arguments = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                     "--force-color-profile=srgb", f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", script, "bash", *arguments], pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                        env={**os.environ, "HOME": self.folder, "TZ": "UTC"})
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.size(width, height)

    def close(self):
        try:
            self.session = None
            self.send("Browser.close")
        except (OSError, AssertionError):
            pass
        os.close(self.out)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        os.close(self.input)
        shutil.rmtree(self.folder, ignore_errors=True)

    # The protocol.

    def receive(self, timeout=30):
        end = time.monotonic() + timeout
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise AssertionError("the browser does not answer")
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise AssertionError("the browser has ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, timeout=60, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.receive(timeout)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def drain(self):
        """Takes in what has been said meanwhile."""
        self.send("Runtime.evaluate", expression="0")

    # What a reader does.

    def size(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def go(self, url):
        """Loads a page; it is there when its script has drawn something."""
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && document.querySelector('header.top') !== null", f"page {url}")

    def reload(self):
        self.send("Page.reload")
        self.wait("document.readyState === 'complete' && document.querySelector('header.top') !== null", "reload")

    def run(self, expression):
        """The value of a JavaScript expression; promises are waited for."""
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, expression, what, timeout=30):
        """Until the expression holds; gives its value."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                value = self.run(expression)
            except AssertionError as error:
                # While a page is being left there is nothing to ask.
                if "context" not in str(error) and "navigat" not in str(error) and "null" not in str(error):
                    raise
                value = None
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError(f"not seen: {what}\n{expression}\n--- page {self.run('location.href')}:\n{self.text()[:3000]}")

    def text(self, selector="body"):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def sees(self, text, selector="body", timeout=30):
        """Until the text is there; line breaks count as spaces."""
        return self.wait(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').replace(/\\s+/g, ' ').includes({json.dumps(text)})",
                         f"{text!r} in {selector}", timeout)

    def texts(self, selector):
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText.trim())")

    def click(self, selector, text=None):
        """A real click in the middle of the element; `text`: of the one that shows it."""
        find = (f"[...document.querySelectorAll({json.dumps(selector)})].find(e => {'true' if text is None else f'e.innerText.includes({json.dumps(text)})'})")
        self.wait(f"{find} !== undefined", f"{selector} {text or ''}")
        box = self.run(f"(() => {{ const e = {find}; e.scrollIntoView({{block: 'nearest'}}); const b = e.getBoundingClientRect(); "
                       "return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def key(self, key, times=1):
        for _ in range(times):
            name, code, text = KEYS.get(key, (key, ord(key[0].upper()), key))
            down = {"type": "keyDown", "key": name, "windowsVirtualKeyCode": code}
            if text:
                down["text"] = text
            self.send("Input.dispatchKeyEvent", **down)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def choose(self, selector, value):
        self.wait(f"document.querySelector({json.dumps(selector)}) !== null", selector)
        self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)}; "
                 "e.dispatchEvent(new Event('change', {bubbles: true})); })()")

    def downloads(self, folder):
        """Files go there, from the next page on."""
        folder.mkdir()
        session, self.session = self.session, None
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        self.session = session

    def screenshot(self, path):
        data = self.send("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def complaints(self):
        """Errors of the console, exceptions, and what the content security policy has refused. Failed requests are the server's affair."""
        self.drain()
        said = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                said.append(details.get("exception", {}).get("description") or details["text"])
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error" and parameters["entry"]["source"] != "network":
                said.append(parameters["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
                said.append(str(parameters["args"]))
        self.events = []
        return said
