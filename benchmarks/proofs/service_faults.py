"""What the service promises, while its processes are killed, its disk is full and its callers are hostile.

    python -m benchmarks.proofs.service_faults crashes [--decisions 1000000] [--kills 30] [--postgres URL]
    python -m benchmarks.proofs.service_faults disk FOLDER      # a small tmpfs that is mounted there
    python -m benchmarks.proofs.service_faults hostile [--bodies 10000]

crashes: two processes answer on one database. Clients send requests of 100 rows, each with an id, and repeat one until
it is answered. Meanwhile one process after the other is killed (-9) and started again, and promotions move the champion
between two models. At the end each row of each request must be recorded once, as it was answered; the digest must be of
a champion of that time, and the label what this model decides.

disk: decisions until the disk is full, then it is freed. Nothing may be answered that is not recorded, all other
answers have status 503, and the service goes on by itself.

hostile: bodies that are deep, huge, half sent, of wrong types, with keys twice, bombs, HTML and SQL in names and cells.
None may be answered with status 500, nor take a gigabyte.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from rulekit_serve.access import ROLES, new_token
from rulekit_serve.failures import Refusal
from rulekit_serve.registry import Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database
from rulekit_serve.store.log import calls as recorded
from rulekit_serve.store.tables import events
from sqlalchemy import select

from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph

RULES = """rulekit rules 1
column amount: numeric
column age: numeric
column city: categorical {here, there}
label granted: {no, yes}
default no
decide yes when any of (
  amount > 1000 and age <= 30,
  city in {there},
)
"""
A_CALL = 100


@dataclass
class Server:
    """A process of the service that can be killed and started again."""

    settings: Settings
    port: int = field(default_factory=lambda: _free_port())
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.settings.export()
        known = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        words = ["-m", "uvicorn", "--factory", "rulekit_serve.app:of_environment", "--log-level", "error"]
        self.process = subprocess.Popen([sys.executable, *words, "--port", str(self.port)], env=known)
        for _ in range(300):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise SystemExit("the service does not start")

    def kill(self) -> None:
        if self.process is not None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass
class Prepared:
    """A database with two versions of one model, of which the first is champion."""

    settings: Settings
    database: Database
    registry: Registry
    models: dict[str, RuleGraph]
    token: str


def prepared(settings: Settings, *texts: str) -> Prepared:
    settings.folder.mkdir(parents=True, exist_ok=True)
    database = Database(settings.url)
    database.ensure()
    registry = Registry(database)
    graphs = [parse_graph(text) for text in texts or (RULES, RULES.replace("amount > 1000", "amount > 2000"))]
    models = {registry.add("m", graph, "test", "test"): graph for graph in graphs}
    registry.move("m", "champion", next(iter(models)), "test", "first", None)
    return Prepared(settings, database, registry, models, new_token(database, "test", ROLES))


def call(port: int, token: str, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        known = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
        connection.request("POST", path, body, known)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def some_rows(own: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "amount": own.choice([None, own.randrange(0, 4000)]),
            "age": own.randrange(18, 60),
            "city": own.choice(["here", "there"]) if own.random() < 0.3 else "here",
        }
        for _ in range(A_CALL)
    ]


# Killed processes -----------------------------------------------------------------------------------------------------


class Client(threading.Thread):
    """Sends its share of the requests, each until it is answered."""

    def __init__(self, number: int, ports: list[int], token: str, requests: Iterator[int]) -> None:
        super().__init__(daemon=True)
        self.number, self.ports, self.token, self.requests = number, ports, token, requests
        self.answered: dict[str, tuple[float, float, list[dict[str, Any]], dict[str, Any]]] = {}
        self.refused: Counter[str] = Counter()

    def run(self) -> None:
        own = random.Random(self.number)
        for k in self.requests:
            rows, name = some_rows(own), f"r{k}"
            body, begun = json.dumps(rows).encode(), time.time()
            while True:
                try:
                    status, data = call(own.choice(self.ports), self.token, "/score/m", body, **{"X-Request-Id": name})
                except (OSError, http.client.HTTPException) as error:
                    self.refused[type(error).__name__] += 1
                    time.sleep(0.05)
                    continue
                if status == 200:
                    break
                self.refused[f"{status} {data[:80]!r}"] += 1
                time.sleep(0.05)
            self.answered[name] = begun, time.time(), rows, json.loads(data)


def crashes(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = prepared(Settings(Path(folder), options.postgres))
        servers = [Server(own.settings) for _ in range(2)]
        for server in servers:
            server.start()
        calls, lock = itertools.count(), threading.Lock()

        def requests() -> Iterator[int]:
            while True:
                with lock:
                    k = next(calls)
                if k >= options.decisions // A_CALL:
                    return
                yield k

        ports = [server.port for server in servers]
        clients = [Client(i, ports, own.token, requests()) for i in range(8)]
        begun = time.time()
        for client in clients:
            client.start()
        pause = random.Random(1)
        killed = moved = 0
        digests = list(own.models)
        while any(client.is_alive() for client in clients):
            time.sleep(pause.uniform(0.3, 1.5))
            if killed < options.kills:
                server = servers[killed % 2]
                server.kill()
                server.start()
                killed += 1
            with suppress(Refusal):
                own.registry.move("m", "champion", digests[(moved + 1) % 2], "test", "in the middle", None)
                moved += 1
        took = time.time() - begun
        for server in servers:
            server.kill()
        _judge(own, clients, killed, moved, took)


def _judge(own: Prepared, clients: list[Client], killed: int, moved: int, took: float) -> None:
    with own.database.read() as connection:
        chosen = select(events.c.time, events.c.body).where(events.c.kind == "alias").order_by(events.c.number)
        champions = [(when, json.loads(body)["digest"]) for when, body in connection.execute(chosen)]
    kept = {one["id"]: (one["digest"], one["label"], one["row"]) for call in recorded(own.database) for one in call}
    n = len(kept)
    wrong: Counter[str] = Counter()
    requests = 0
    for client in clients:
        for name, (sent, came, rows, answer) in client.answered.items():
            requests += 1
            known = [champions[i][1] for i in range(len(champions)) if champions[i][0] <= came]
            ended = [champions[i + 1][0] if i + 1 < len(champions) else came for i in range(len(known))]
            allowed = {digest for digest, until in zip(known, ended, strict=True) if until >= sent - 1.0}
            wrong["a digest that was no champion then"] += answer["digest"] not in allowed
            labels = own.models[answer["digest"]].predict(rows)
            for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
                found = kept.pop(f"test/{name}.{i}", None)
                said = answer["decisions"][i]["label"]
                wrong["lost"] += found is None
                wrong["recorded otherwise than answered"] += found is not None and found != (
                    answer["digest"],
                    said,
                    row,
                )
                wrong["a label that the model does not decide"] += said != label
    wrong["recorded, and no row of an answered request"] += len(kept)
    refused = sum((client.refused for client in clients), Counter[str]())
    print(f"{n:,} decisions of {requests:,} requests in {took:.0f} s, {killed} kills, {moved} promotions")
    print("repeated because of", dict(refused))
    print("wrong", dict(wrong))


# A full disk ----------------------------------------------------------------------------------------------------------


def disk(options: argparse.Namespace) -> None:
    folder: Path = options.folder
    own = prepared(Settings(folder / "service"))
    server = Server(own.settings)
    server.start()
    try:
        fill = folder / "fill"
        space = os.statvfs(folder)
        fill.write_bytes(bytes(max(0, space.f_bavail * space.f_frsize - (6 << 20))))
        seen: Counter[int] = Counter()
        answered, own_random = [], random.Random(0)
        for k in itertools.count():
            rows = some_rows(own_random)
            status, _ = call(server.port, own.token, "/score/m", json.dumps(rows).encode(), **{"X-Request-Id": f"d{k}"})
            seen[status] += 1
            answered += [f"d{k}"] * (status == 200)
            if seen[503] >= 20 or k > 5_000:
                break
        print("until the disk is full", dict(seen))
        fill.unlink()
        begun = time.time()
        for k in range(100):
            rows = some_rows(own_random)
            status, _ = call(server.port, own.token, "/score/m", json.dumps(rows).encode(), **{"X-Request-Id": f"e{k}"})
            seen[status] += 1
            answered += [f"e{k}"] * (status == 200)
            if status == 200:
                break
            time.sleep(0.1)
        kept = {one["id"].rpartition(".")[0] for call in recorded(own.database) for one in call}
        lost = sum(f"test/{name}" not in kept for name in answered)
        print(f"on again after {time.time() - begun:.1f} s; {len(answered)} answered, {lost} lost, {dict(seen)}")
    finally:
        server.kill()


# Hostile callers ------------------------------------------------------------------------------------------------------


def bodies(n: int) -> Iterator[tuple[str, bytes, str]]:
    """Path, body and content type of calls that mean no good."""
    own = random.Random(0)
    odd = [
        "<script>alert(1)</script>",
        "'; DROP TABLE decisions; --",
        "../../etc/passwd",
        "\u0000",
        "\ud800",
        "💥" * 50,
    ]
    odd += ["a" * 100_000, "{{7*7}}", "%n%n%n", "\u202e", "NaN", "1e999", "-0", "null"]
    kinds = ["application/json", "text/csv", "application/vnd.apache.arrow.stream", "text/plain", "application/xml", ""]
    paths = ["/score/m", "/explain/m", "/v2/models/m/infer", "/invocations", "/score/%00", "/score/..%2f..%2fetc"]
    paths += ["/models/x", "/models/..%2fx", "/models/m/aliases/champion", "/jobs", "/uploads", "/score/m?version=%ff"]
    for k in range(n):
        path = paths[k % len(paths)]
        text = own.choice(odd)
        number: Any = own.choice([10**400, -(10**30), 1e308, 0.1, True, None, [], {}, text, "x"])
        row: Any = {"amount": number, "age": own.choice([1, text, number]), "city": own.choice(["here", text, number])}
        shaped: list[Any] = [
            [row],
            {"rows": [row] * own.choice([1, 1000])},
            {"inputs": [{"name": own.choice(["amount", text]), "shape": own.choice([[1], [-1], [10**9], "x", [1, 2]]),
                         "datatype": own.choice(["FP64", "INT8", "BYTES", text]), "data": [number]}]},
            {"dataframe_split": {"columns": ["amount", text], "data": [[number]]}},
            {"instances": [[number, 1, text]]},
            {"inputs": {"amount": [number], "age": number}},
            {"version": text, "reason": number, "expect": text, "kind": text, "model": text, "upload": text},
            number, text, [text] * 100,
        ]  # fmt: skip
        with suppress(ValueError):
            data = json.dumps(own.choice(shaped)).encode("utf-8", "surrogatepass")
        special = [
            b"[" * 200_000, b'{"a":' * 50_000, b'{"rows":[{"amount":1,"amount":2}]}', b'[{"amount":NaN}]', b"\xff\xfe",
            b'[{"amount":1' + b"0" * 100_000 + b"}]", b"", b"{", b"amount,age,city\n1,2\n", b'"' * 1001,
            b"amount,age,city\n" + b'"' * 1000 + b"\n", b"ARROW1\x00\x00" + own.randbytes(200), own.randbytes(300),
            b"\xff\xff\xff\xff" + own.randbytes(100), b"amount,amount\n1,2\n", json.dumps([{}] * 20_000).encode(),
        ]  # fmt: skip
        yield path, own.choice([data, data, own.choice(special)]), own.choice([kinds[0], kinds[0], own.choice(kinds)])


def hostile(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        own = prepared(Settings(Path(folder), seconds=3.0))
        server = Server(own.settings)
        server.start()
        assert server.process is not None
        seen: Counter[int] = Counter()
        most, watched = 0, psutil.Process(server.process.pid)
        try:
            for k, (path, data, kind) in enumerate(bodies(options.bodies)):
                if k % 10 == 9:  # half sent, then closed or left alone
                    with socket.create_connection(("127.0.0.1", server.port)) as half:
                        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {own.token}\r\n"
                        half.sendall(f"{head}Content-Length: {len(data) + 10}\r\n\r\n".encode() + data[:50_000])
                    continue
                status, answer = call(server.port, own.token, path, data, **{"Content-Type": kind})
                seen[status] += 1
                if status >= 500:
                    print(path, kind, data[:200], status, answer[:300])
                if k % 100 == 0:
                    most = max(most, watched.memory_info().rss)
            status, _ = call(server.port, own.token, "/score/m", b'[{"amount":1,"age":2,"city":"here"}]')
            print(f"{options.bodies:,} bodies: {dict(sorted(seen.items()))}; most memory {most / 2**20:.0f} MB")
            print("then a good call is answered with", status)
        finally:
            server.kill()


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["crashes", "disk", "hostile"])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--bodies", type=int, default=10_000)
    parser.add_argument("--postgres", default="")
    options = parser.parse_args()
    {"crashes": crashes, "disk": disk, "hostile": hostile}[options.what](options)


if __name__ == "__main__":
    main()
