"""The service under load: rows a second and the time of a call, beside an endpoint that does nothing.

    python -m benchmarks.speed.service [--seconds 4] [--postgres URL] [--peers]

A model of eight rules over 15 columns decides. Each server is one process on this machine, and so are the clients,
which keep their connections and send other rows in each call. Servers: `bare` reads the body and answers {};
`unrecorded` decides and does not record; `sqlite` and `postgres` record each decision before they answer; with --peers
MLServer and MLflow with the same ONNX, in environments of their own. All answer with labels, probabilities and the
rules that fired. All speak V2 but MLflow, which has its own form; `-score` are the calls of /score.
Printed are calls and rows a second and the 50 % and 99 % times of calls in milliseconds, by clients (1, 8, 64) and rows
a call (1, 1,000), and the times of each in those of `bare`.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from rulekit_serve.access import ROLES, new_token
from rulekit_serve.registry import Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database

from rulekit.graph.files.model_files import export
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.options import ReadingOptions
from rulekit.work.learning import TrainingRequest
from rulekit.work.training import train

CLIENTS, ROWS = (1, 8, 64), (1, 1_000)
DIFFERENT = 4_000
"""Rows, of which each call takes the next ones."""
PEERS = {"mlserver": ("mlserver", "onnxruntime"), "mlflow": ("mlflow", "onnx", "onnxruntime")}
ENVIRONMENTS = Path(__file__).parents[2] / "build"
"""Each peer has one of its own, since they ask for other versions of packages than we do."""
MLSERVER = """
import numpy as np
import onnxruntime
from mlserver import MLModel
from mlserver.types import InferenceResponse, ResponseOutput
class OnnxModel(MLModel):
    async def load(self):
        self.session = onnxruntime.InferenceSession("model.onnx")
        return True
    async def predict(self, payload):
        types = {"BYTES": object, "FP32": np.float32}
        feeds = {i.name: np.array(list(i.data), dtype=types[i.datatype]).reshape(-1, 1) for i in payload.inputs}
        label, chances, fired = self.session.run(None, feeds)
        texts = [str(one) for one in label.tolist()]
        outputs = [ResponseOutput(name="label", shape=[len(label)], datatype="BYTES", data=texts)]
        flat = chances.ravel().tolist()
        outputs.append(ResponseOutput(name="probabilities", shape=list(chances.shape), datatype="FP32", data=flat))
        flat = fired.ravel().tolist()
        outputs.append(ResponseOutput(name="fired", shape=list(fired.shape), datatype="BOOL", data=flat))
        return InferenceResponse(model_name=self.name, outputs=outputs)
"""
MLFLOW = """
import sys, mlflow.onnx, onnx
mlflow.onnx.save_model(onnx.load(sys.argv[1]), sys.argv[2])
"""
BARE = """
from fastapi import FastAPI, Request, Response
app = FastAPI(openapi_url=None)
@app.post("/v2/models/m/infer")
async def infer(request: Request):
    await request.body()
    return Response("{}", media_type="application/json")
"""


def made(folder: Path) -> tuple[RuleGraph, list[dict[str, object]]]:
    """A model over 15 columns, and rows for it."""
    random = np.random.default_rng(0)
    n = DIFFERENT
    columns: dict[str, object] = {f"x{j}": random.normal(size=n).round(4) for j in range(10)}
    columns |= {f"c{j}": random.choice(["red", "green", "blue", "grey"], n) for j in range(5)}
    frame = pl.DataFrame(columns)
    chosen = (frame["x0"] > 0.5) & (frame["c0"] != "red") | (frame["x1"] < -1.0) & (frame["x2"] > 0.0)
    chosen = chosen ^ pl.Series(random.random(n) < 0.05)
    frame.with_columns(label=chosen.cast(pl.String)).write_csv(folder / "rows.csv")
    request = TrainingRequest(folder / "rows.csv", ReadingOptions(target="label"), baselines=False)
    return train(request).model, frame.to_dicts()


@contextmanager
def served(command: list[str], port: int, folder: Path, **environment: str) -> Iterator[None]:
    """A server that answers on a port."""
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), **environment}
    log = (folder / "server.log").open("w")
    with log, subprocess.Popen(command, env=known, cwd=folder, stdout=log, stderr=log) as own:
        try:
            for _ in range(600):
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


async def client(port: int, calls: Iterator[bytes], until: float, taken: list[float]) -> None:
    """Send one call after the other over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        begun = time.perf_counter()
        writer.write(next(calls))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(head.decode() + (await reader.read(2000)).decode())
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        taken.append(time.perf_counter() - begun)
    writer.close()


def loaded(port: int, calls: Sequence[bytes], clients: int, seconds: float) -> list[float]:
    """The seconds of each call."""
    every = itertools.cycle(calls)

    async def run(length: float) -> list[float]:
        taken: list[float] = []
        until = time.perf_counter() + length
        await asyncio.gather(*(client(port, every, until, taken) for _ in range(clients)))
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
    token = new_token(database, settings.folder.name, ROLES)
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
    if name in PEERS:
        with peer(name, model, own) as port:
            yield port, ""
        return
    settings = Settings(own, url if name.startswith("postgres") else "")
    with ours(model, replace(settings, recorded=not name.startswith("unrecorded"))) as found:
        yield found


def environment(name: str) -> Path:
    """The folder of the programs of a peer, which is installed where it is not there."""
    programs = ENVIRONMENTS / name / "bin"
    if not (programs / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENTS / name)], check=True)
        install = [str(programs / "python"), "-m", "pip", "install", "--quiet", *PEERS[name]]
        subprocess.run(install, check=True)
    return programs


@contextmanager
def peer(name: str, model: RuleGraph, folder: Path) -> Iterator[int]:
    """A peer that serves the ONNX of the model; its port."""
    programs, port = environment(name), free_port()
    export(model, folder / "model.onnx", to="onnx", fired=True)
    if name == "mlserver":
        (folder / "own.py").write_text(MLSERVER)
        known = {"http_port": port, "grpc_port": free_port(), "metrics_port": free_port(), "parallel_workers": 0}
        (folder / "settings.json").write_text(json.dumps(known | {"debug": False}))
        (folder / "model-settings.json").write_text(json.dumps({"name": "m", "implementation": "own.OnnxModel"}))
        command = [str(programs / "mlserver"), "start", "."]
    else:
        own = [str(programs / "python"), "-c", MLFLOW, "model.onnx", "model"]
        subprocess.run(own, check=True, cwd=folder, capture_output=True)
        command = [str(programs / "mlflow"), "models", "serve", "-m", "model", "-p", str(port)]
        command += ["--env-manager", "local", "--workers", "1"]
    with served(command, port, folder, PYTHONPATH=str(folder), PATH=f"{programs}{os.pathsep}{os.environ['PATH']}"):
        time.sleep(3.0)  # the port is open before the model is loaded
        yield port


def call_in_form(name: str, rows: list[dict[str, object]], used: Sequence[str], token: str) -> bytes:
    """Rows in the form that a server reads."""
    if name.endswith("-score"):
        return call_of("/score/m", rows, token)
    columns = {column: [row[column] for row in rows] for column in used}
    if name == "mlflow":
        return call_of(
            "/invocations", {"inputs": {column: [[cell] for cell in own] for column, own in columns.items()}}
        )
    inputs = [
        {
            "name": column,
            "shape": [len(own), 1],
            "datatype": "BYTES" if isinstance(own[0], str) else "FP32",
            "data": own,
        }
        for column, own in columns.items()
    ]
    return call_of("/v2/models/m/infer", {"inputs": inputs}, token)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--postgres", default="", help="the URL of an empty database")
    parser.add_argument("--peers", action="store_true", help="install and measure MLServer and MLflow")
    options = parser.parse_args()
    names = ["bare", "unrecorded", "unrecorded-score", "sqlite", "sqlite-score"]
    names += ["postgres", "postgres-score"] * bool(options.postgres) + list(PEERS) * options.peers
    with tempfile.TemporaryDirectory() as made_here:
        folder = Path(made_here)
        model, rows = made(folder)
        bare: dict[tuple[int, int], float] = {}
        for name in names:
            with servers(name, model, folder, options.postgres) as (port, token):
                for n in ROWS:
                    parts = (rows[k : k + n] for k in range(0, len(rows), n))
                    calls = [call_in_form(name, part, model.used_features, token) for part in parts]
                    for clients in CLIENTS:
                        taken = np.array(loaded(port, calls, clients, options.seconds))
                        rate = len(taken) / options.seconds
                        bare.setdefault((n, clients), rate)
                        middle, high = 1000.0 * np.quantile(taken, [0.5, 0.99])
                        print(
                            f"{name:16} rows {n:5} clients {clients:3} calls/s {rate:8.0f} rows/s {n * rate:9.0f} "
                            f"p50 {middle:8.2f} p99 {high:8.2f} times bare {bare[n, clients] / rate:6.2f}",
                            flush=True,
                        )


if __name__ == "__main__":
    main()
