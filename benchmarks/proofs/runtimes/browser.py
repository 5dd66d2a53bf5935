"""A page in headless Chromium, served from this process, that posts back what it found."""

from __future__ import annotations

import json
import os
import posixpath
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from benchmarks.proofs.runtimes.environments import browser

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}
# Nothing but the page is to be loaded, and nothing asked of anybody else's server.
FLAGS = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"),
)


class PageServer(ThreadingHTTPServer):
    """Serves folders by prefix on a free port of this machine and keeps what pages post.

    names: answered to GET /names; POST /answers/NAME/FILE is written below `answers`, any POST of another path is kept
    in `posted` and ends the wait.
    """

    daemon_threads = True

    def __init__(self, served: Mapping[str, Path], answers: Path, names: Sequence[str] = ()) -> None:
        self.served, self.answers, self.names = served, answers.resolve(), list(names)
        self.posted: dict[str, bytes] = {}
        self.done = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def address(self) -> str:
        """Without a slash at the end."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = posixpath.normpath(unquote(urlsplit(self.path).path))
        if path == "/names":
            return self._answer(json.dumps(self.server.names).encode(), TYPES[".json"])
        for prefix, folder in self.server.served.items():
            inside = path == prefix or path.startswith(f"{prefix}/")
            file = folder / path[len(prefix) :].lstrip("/")
            if inside and file.is_file() and folder.resolve() in file.resolve().parents:
                return self._answer(file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"))
        return self._answer(b"", "text/plain", 404)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = unquote(self.path).strip("/").split("/")
        if (
            len(parts) == 3
            and parts[0] == "answers"
            and parts[1] in self.server.names
            and Path(parts[2]).name == parts[2]
        ):
            folder = self.server.answers / parts[1]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / parts[2]).write_bytes(content)
        else:
            self.server.posted[self.path] = content
            self.server.done.set()
        self._answer(b"", "text/plain")

    def _answer(self, content: bytes, kind: str, status: int = 200) -> None:
        with suppress(ConnectionError):  # a browser that is closed reads no more
            self._send(content, kind, status)

    def _send(self, content: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@contextmanager
def serving(served: Mapping[str, Path], answers: Path, names: Sequence[str] = ()) -> Iterator[PageServer]:
    """A server while the block runs."""
    server = PageServer(served, answers, names)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a browser to end, and end it where it does not."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def chromium(url: str, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Headless Chromium on a page, with a profile of its own, ended after the block."""
    path = browser()
    if path is None:
        raise FileNotFoundError("no Chromium on this machine")
    # root has no user namespace of its own to put the sandbox into
    own = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [path, *FLAGS, *own, f"--user-data-dir={profile}", *flags, url]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            end(process)


def run_page(page: str, served: Mapping[str, Path], answers: Path, names: Sequence[str], limit: float) -> str:
    """Open a page until it posts to /done; returns what went wrong, in one line, or ""."""
    with (
        serving(served, answers, names) as server,
        chromium(f"{server.address}{page}", "--remote-debugging-port=0") as process,
    ):
        waited = 0.0
        while not server.done.wait(0.25):
            waited += 0.25
            if process.poll() is not None:
                return f"Chromium ended with status {process.returncode}"
            if waited > limit:
                return "stopped at the time limit"
        return server.posted.get("/done", b"").decode(errors="replace").partition("\n")[0]
