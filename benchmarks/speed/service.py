"""The service under load: rows a second and the time of a call, beside an endpoint that does nothing.

    python -m benchmarks.speed.service [--seconds 4] [--postgres URL] [--peers]

A model of eight rules over 15 columns decides. Each server is one process on this machine, and so are the clients,
which keep their connections. Servers: `bare` reads the body and answers {}; `unrecorded` decides and does not record;
`sqlite` and `postgres` record each decision before they answer; with --peers MLServer and MLflow with the same ONNX, in
environments of their own. Printed are calls and rows a second and the 50 % and 99 % times of calls in milliseconds, by
clients (1, 8, 64) and rows a call (1, 1,000), and the times of each in those of `bare`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from rulekit_serve.access import ROLES, new_token
from rulekit_serve.registry import Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database

from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.options import ReadingOptions
from rulekit.work.learning import TrainingRequest
from rulekit.work.training import train

CLIENTS, ROWS = (1, 8, 64), (1, 1_000)
BARE = """
from fastapi import FastAPI, Request, Response
app = FastAPI(openapi_url=None)
@app.post("/score/m")
async def score(request: Request):
    await request.body()
    return Response("{}", media_type="application/json")
"""


def made(folder: Path) -> tuple[RuleGraph, list[dict[str, object]]]:
    """A model over 15 columns, and 1,000 rows for it."""
    random = np.random.default_rng(0)
    n = 4_000
    columns: dict[str, object] = {f"x{j}": random.normal(size=n).round(4) for j in range(10)}
    columns |= {f"c{j}": random.choice(["red", "green", "blue", "grey"], n) for j in range(5)}
    frame = pl.DataFrame(columns)
    chosen = (frame["x0"] > 0.5) & (frame["c0"] != "red") | (frame["x1"] < -1.0) & (frame["x2"] > 0.0)
    chosen = chosen ^ pl.Series(random.random(n) < 0.05)
    frame.with_columns(label=chosen.cast(pl.String)).write_csv(folder / "rows.csv")
    request = TrainingRequest(folder / "rows.csv", ReadingOptions(target="label"), baselines=False)
    return train(request).model, frame.head(1_000).to_dicts()


@contextmanager
def served(command: list[str], port: int, folder: Path, **environment: str) -> Iterator[None]:
    """A server that answers on a port."""
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), **environment}
    with (folder / "server.log").open("w") as log, subprocess.Popen(command, env=known, stdout=log, stderr=log) as own:
        try:
            for _ in range(300):
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            else:
                raise SystemExit((folder / "server.log").read_text()[-2000:])
            yield
        finally:
            own.terminate()
            own.wait(20)


async def client(port: int, call: bytes, until: float, taken: list[float]) -> None:
    """Send the same call again and again over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        begun = time.perf_counter()
        writer.write(call)
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(head.decode() + (await reader.read(2000)).decode())
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        taken.append(time.perf_counter() - begun)
    writer.close()


def loaded(port: int, call: bytes, clients: int, seconds: float) -> list[float]:
    """The seconds of each call."""

    async def run(length: float) -> list[float]:
        taken: list[float] = []
        until = time.perf_counter() + length
        await asyncio.gather(*(client(port, call, until, taken) for _ in range(clients)))
        return taken

    asyncio.run(run(0.5))
    return asyncio.run(run(seconds))


def call_of(path: str, body: object, token: str = "") -> bytes:
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    )
    return (head + (f"Authorization: Bearer {token}\r\n" if token else "") + "\r\n").encode() + data


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def ours(model: RuleGraph, settings: Settings) -> Iterator[tuple[int, str]]:
    """The service with the model as champion; its port and a token."""
    database = Database(settings.url)
    database.ensure()
    token = new_token(database, "load", ROLES)
    registry = Registry(database)
    registry.move("m", "champion", registry.add("m", model, "load", "benchmark"), "load", "benchmark", None)
    registry.close()
    settings.export()
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "--factory", "rulekit_serve.app:of_environment", "--port", str(port)]
    with served([*command, "--log-level", "warning"], port, settings.folder):
        yield port, token


@contextmanager
def servers(name: str, model: RuleGraph, folder: Path, url: str) -> Iterator[tuple[int, str]]:
    """A server of this benchmark, its port and its token."""
    own = folder / name
    own.mkdir()
    if name == "bare":
        (own / "bare.py").write_text(BARE)
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", "bare:app", "--port", str(port), "--log-level", "warning"]
        with served(command, port, own):
            yield port, ""
        return
    settings = Settings(own, url if name == "postgres" else "")
    with ours(model, replace(settings, recorded=name != "unrecorded")) as found:
        yield found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--postgres", default="", help="the URL of an empty database")
    options = parser.parse_args()
    names = ["bare", "unrecorded", "sqlite", *["postgres"] * bool(options.postgres)]
    with tempfile.TemporaryDirectory() as made_here:
        folder = Path(made_here)
        model, rows = made(folder)
        bare: dict[tuple[int, int], float] = {}
        for name in names:
            with servers(name, model, folder, options.postgres) as (port, token):
                for n in ROWS:
                    call = call_of("/score/m", rows[:n], token)
                    for clients in CLIENTS:
                        taken = np.array(loaded(port, call, clients, options.seconds))
                        rate = len(taken) / options.seconds
                        bare.setdefault((n, clients), rate)
                        middle, high = 1000.0 * np.quantile(taken, [0.5, 0.99])
                        print(
                            f"{name:10} rows {n:5} clients {clients:3} calls/s {rate:8.0f} rows/s {n * rate:9.0f} "
                            f"p50 {middle:8.2f} p99 {high:8.2f} times bare {bare[n, clients] / rate:6.2f}",
                            flush=True,
                        )
                if name != "bare":
                    health = f"http://127.0.0.1:{port}/v2/health/ready"
                    assert urllib.request.urlopen(health).status == 200


if __name__ == "__main__":
    main()
