#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, driven over its debugging pipe."""

import base64
import json
import os
import subprocess
import tempfile
import time


class Browser:
    def __init__(self):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)

        def connect():
            # The browser reads from descriptor 3 and writes to 4. First out of the way of both.
            reading, writing = os.dup2(to_browser, 30), os.dup2(from_browser, 31)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
                     "--disable-dev-shm-usage", f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(["chromium", *arguments], preexec_fn=connect, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.bytes, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url="about:blank", newWindow=True, width=900, height=560)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        """Sends a command and returns its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self):
        while b"\0" not in self.bytes:
            data = os.read(self.input, 65_536)
            if not data:
                raise RuntimeError("chromium has ended")
            self.bytes += data
        message, _, self.bytes = self.bytes.partition(b"\0")
        return json.loads(message)

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait(self, what, expression, seconds=180):
        """Waits until an expression is true in the page."""
        deadline = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                raise RuntimeError(f"not after {seconds} s: {what}; the page says: {self.evaluate('document.body.innerText')}")
            time.sleep(0.05)

    def save(self, path):
        """Saves a picture of the page."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        self.process.kill()
        self.process.wait()
        self.profile.cleanup()
