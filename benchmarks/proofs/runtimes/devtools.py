"""Headless Chromium by its DevTools protocol over a pipe: what a page asks for, says, shows and prints.

    with devtools() as page:
        page.open(file_url(Path("report.html")))
        page.value("document.title")

Messages are JSON ended by a NUL, written to descriptor 3 and read from descriptor 4 (--remote-debugging-pipe), so that
no port is opened and no further library is needed.
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.proofs.runtimes.browser import FLAGS, end
from benchmarks.proofs.runtimes.environments import browser

LIMIT = 60.0
# puts the pipes where Chromium looks for them
_WRAPPER = """
import os, sys
read, write = (int(number) for number in sys.argv[1:3])
while write <= 4:
    write = os.dup(write)
while read <= 4:
    read = os.dup(read)
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Page:
    """One page. requests: the addresses that it asked for; faults: what its scripts and its policy complained of."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._number, self._rest = 0, b""
        self._session = ""
        self.requests: list[str] = []
        self.faults: list[str] = []
        self._loaded = False
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Load an address, and wait until that is done."""
        self.requests, self.faults, self._loaded = [], [], False
        self._call("Page.navigate", url=url)
        begun = time.monotonic()
        while not self._loaded:
            if time.monotonic() - begun > LIMIT:
                raise TimeoutError(f"{url} was not loaded")
            self._receive()

    def value(self, expression: str) -> Any:
        """The value of an expression in the page, as JSON has it."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def window(self, width: int, height: int, scale: float = 1.0) -> None:
        """The size of the window, in pixels of the page."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False
        )

    def media(self, media: str = "", scheme: str = "light") -> None:
        """The medium (print or none in particular), and whether light or dark colours are wished."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", media=media, features=features)

    def scripts(self, on: bool) -> None:
        """Whether pages that are opened from now on run scripts."""
        self._call("Emulation.setScriptExecutionDisabled", value=not on)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key; code: its number as Windows has it."""
        for kind in ("keyDown", "keyUp"):
            own = {"text": text} if text and kind == "keyDown" else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **own)

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self._call("Input.insertText", text=text)

    def picture(self, clip: tuple[float, float, float, float] | None = None) -> bytes:
        """The window as png, or a part of the page: left, top, width, height."""
        part = (
            {} if clip is None else {"clip": dict(zip(("x", "y", "width", "height"), clip, strict=True)) | {"scale": 1}}
        )
        found = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=clip is not None, **part)
        return base64.b64decode(found["data"])

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self._call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        own = self._number
        session = {"sessionId": self._session} if self._session else {}
        message = json.dumps({"id": own, "method": method, "params": parameters, **session})
        os.write(self._write, message.encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == own:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        """The next message; events are noted."""
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], LIMIT)[0]:
                raise TimeoutError("Chromium said nothing")
            part = os.read(self._read, 1 << 16)
            if not part:
                raise EOFError("Chromium has ended")
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, said: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.faults.append(json.dumps(said["exceptionDetails"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.faults.append(said["entry"]["text"])
        elif method == "Page.loadEventFired":
            self._loaded = True


@contextmanager
def devtools() -> Iterator[Page]:
    """A page in a browser with a profile of its own, ended after the block."""
    path = browser()
    if path is None:
        raise FileNotFoundError("no Chromium on this machine")
    (read_commands, write), (read, write_answers) = os.pipe(), os.pipe()
    own = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, *FLAGS, *own, f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"]
        wrapped = [sys.executable, "-c", _WRAPPER, str(read_commands), str(write_answers), *command]
        process = subprocess.Popen(
            wrapped, pass_fds=(read_commands, write_answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read_commands)
        os.close(write_answers)
        try:
            yield Page(write, read)
        finally:
            end(process)
            os.close(write)
            os.close(read)


def file_url(path: Path) -> str:
    """The address of a file of this machine."""
    return path.resolve().as_uri()
