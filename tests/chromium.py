"""A real browser without a package for it: headless chromium, driven over its debugging pipe.

Messages are JSON with a NUL at the end: ours go to its descriptor 3, its own come from 4.
"""

import base64
import fcntl
import json
import os
import pathlib
import select
import signal
import time

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--disable-component-update", "about:blank",
]  # fmt: skip
PATIENCE_S = 30
CHECKS = (pathlib.Path(__file__).parent / "reports" / "checks.js").read_text(encoding="utf-8")


class Chromium:
    """One process, one tab."""

    def __init__(self, path, folder):
        theirs_in, self.to = (_above_nine(one) for one in os.pipe())
        self.back, theirs_out = (_above_nine(one) for one in os.pipe())
        log = os.open(folder / "chromium.log", os.O_CREAT | os.O_WRONLY)
        moves = [(theirs_in, 3), (theirs_out, 4), (log, 1), (log, 2)]
        actions = [(os.POSIX_SPAWN_DUP2, ours, number) for ours, number in moves]
        words = [path, f"--user-data-dir={folder / 'profile'}", *FLAGS]
        self.process = os.posix_spawn(path, words, os.environ, file_actions=actions, setpgroup=0)
        for number in (theirs_in, theirs_out, log):
            os.close(number)
        self.read, self.events, self.number, self.session = b"", [], 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        os.close(self.to)
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.back)

    def call(self, method, **parameters):
        """Ask, and wait for the answer; what happens meanwhile is kept as events."""
        self.number += 1
        whole = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            whole["sessionId"] = self.session
        os.write(self.to, json.dumps(whole).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self.number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self.events.append(message)

    def _next(self):
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self.read:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            assert ready, "chromium does not answer"
            data = os.read(self.back, 1 << 20)
            assert data, "chromium has ended"
            self.read += data
        message, _, self.read = self.read.partition(b"\0")
        return json.loads(message)

    # What a test does with it

    def open(self, path, width=1100, dark=False):
        """Load a file and wait until it has loaded."""
        self.events = []
        self.look(width, dark)
        self.call("Page.navigate", url=pathlib.Path(path).as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def look(self, width=1100, dark=False, media=""):
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)

    def evaluate(self, script):
        """The value of an expression in the page, whatever the page's own policy forbids."""
        done = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def checked(self):
        """{check: what it found}; nothing found is good."""
        return self.evaluate(CHECKS)

    def complaints(self):
        """What the console shows: errors, warnings, exceptions, refusals by the policy."""
        self.evaluate("new Promise((done) => setTimeout(done, 20))")
        said = []
        for event in self.events:
            about = event.get("params", {})
            if event["method"] == "Log.entryAdded":
                said.append(about["entry"]["text"])
            elif event["method"] == "Runtime.exceptionThrown":
                said.append(about["exceptionDetails"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                said.append(" ".join(str(one.get("value")) for one in about["args"]))
        return said

    def requests(self):
        """Every address that was asked for."""
        asked = [
            event["params"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [one["request"]["url"] for one in asked]

    def picture(self, path):
        """The whole page as a PNG, for eyes."""
        size = self.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        shot = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def printed(self):
        """The page as a PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])


def _above_nine(number):
    """Away from 3 and 4, which the child gets."""
    moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return moved
