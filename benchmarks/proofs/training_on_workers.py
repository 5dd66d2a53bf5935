"""Rows in parts on the workers of Dask: the model file of one process, byte for byte, also where workers die.

    python -m benchmarks.proofs.training_on_workers [--quick] [--only files|faults] [--seed 0] [--data FOLDER]

Each table is a Parquet file of 1, 2, 4 and 7 row groups. Each learner is trained as `rulekit train` does, without
baselines: in one process, with `--memory`, and on one and two workers; SHA-256 is of the model file. Then workers are
killed, added and retired while AdaBoost counts. A run of more than ten minutes is a hang, which ends all. --quick:
smaller tables and fewer faults, in a minute. About 20 minutes on two cores. Exit status 1 where a model file differs.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, product
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.proofs.same_model import classes
from benchmarks.shared import made_tables
from benchmarks.shared.machine import stamp, versions
from benchmarks.shared.sections import markdown
from rulekit.distributed.engine import DaskParts, Traffic, local_cluster
from rulekit.distributed.meeting import Meeting
from rulekit.distributed.source import parts_of
from rulekit.distributed.training import PartedFinish, rows_on
from rulekit.limits import Deadline
from rulekit.tables.options import ReadingOptions
from rulekit.work.training import RowsElsewhere, TrainingRequest, train

if TYPE_CHECKING:
    from distributed import Client

ADULT = "adult_train.csv.gz"
LEARNERS = ("rules", "additive", "adaboost")
LARGE, PARTS, ROUNDS, HANG = 1_000_000, (1, 2, 4, 7), 20, 600.0
TARGET, WEIGHT, FILE, MEMORY = "target", "weight", "rows.parquet", "500MB"


@dataclass(frozen=True, slots=True)
class Given:
    """A table as it is trained on; folder: has a folder with the file for each number of parts."""

    folder: Path
    weight: str | None = None

    def request(self, learner: str, parts: int, **more: Any) -> TrainingRequest:
        """Train on the file of so many row groups."""
        data, reading = self.folder / str(parts) / FILE, ReadingOptions(target=TARGET, weight=self.weight)
        return TrainingRequest(data, reading, learner, output=self.folder / "model.json", **more)


# Tables ---------------------------------------------------------------------------------------------------------------


def made(rows: int, columns: int) -> pl.DataFrame:
    """Numbers without gaps, and two classes."""
    own = made_tables.make(rows, columns)
    return pl.DataFrame({f"f{j}": own.X[:, j] for j in range(columns)} | {TARGET: own.y})


def mixed(rows: int) -> pl.DataFrame:
    """Categories, missing cells, weights of which some are 0, and three classes."""
    given, weights = classes(rows), np.random.default_rng(11).integers(0, 7, rows) / 2
    columns = {name: pl.Series(column, nan_to_null=column.dtype.kind == "f") for name, column in given["X"].items()}
    return pl.DataFrame(columns | {TARGET: given["y"].astype(str), WEIGHT: weights})


def written(frame: pl.DataFrame, folder: Path, parts: tuple[int, ...] = PARTS) -> Given:
    """The table as a file of so many row groups each; the name of the file is the same, as the model says it."""
    import pyarrow.parquet as pq

    for number in parts:
        (folder / str(number)).mkdir(parents=True)
        pq.write_table(frame.to_arrow(), folder / str(number) / FILE, row_group_size=-(-len(frame) // number))
    return Given(folder, WEIGHT if WEIGHT in frame.columns else None)


# Trainings ------------------------------------------------------------------------------------------------------------


@contextmanager
def watched() -> Iterator[None]:
    """A block that ends the process, with where it was, if it takes too long."""
    faulthandler.dump_traceback_later(HANG, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def sha(request: TrainingRequest, elsewhere: RowsElsewhere | None = None) -> str:
    """Of the model file that a training writes."""
    assert request.output is not None
    request.output.unlink(missing_ok=True)
    train(request, elsewhere=elsewhere)
    return hashlib.sha256(request.output.read_bytes()).hexdigest()


def one_process(request: TrainingRequest) -> str:
    """Train where all rows are."""
    with watched():
        return sha(request)


def on_workers(
    client: Client, request: TrainingRequest, disturb: Callable[[DaskParts, int], object] | None = None
) -> tuple[str, Traffic]:
    """Train on the workers of a client; disturb: called with the parts and the number of each trip of the learner."""
    with (
        watched(),
        rows_on(client, parts_of(request.data.resolve(), request.reading), request.reading, lambda share: None) as rows,
    ):
        parts, number = rows.parts, count()
        assert isinstance(parts, DaskParts)
        go = parts.meeting.go

        def trip(questions: Any, wanted: Any) -> list[Any]:
            if disturb is not None and questions[0].talk is not None:
                disturb(parts, next(number))
            return go(questions, wanted)

        parts.meeting = Meeting(trip)
        return sha(request, RowsElsewhere(rows, partial(PartedFinish, rows=rows), Deadline(None))), parts.traffic


def same(given: Given, learner: str, clients: dict[int, Client], parts: tuple[int, ...]) -> tuple[str, ...]:
    """A row of the table: how many ways there are to train, those that differ, the digest, trips and seconds."""
    begun, trips = time.perf_counter(), list[int]()
    expected = one_process(given.request(learner, parts[0]))
    seconds = time.perf_counter() - begun
    found = {f"--memory {MEMORY}": one_process(given.request(learner, parts[0], memory=MEMORY))}
    for (workers, client), number in product(clients.items(), parts):
        found[f"{number} parts, {workers} workers"], traffic = on_workers(client, given.request(learner, number))
        trips.append(traffic.trips)
    others = ", ".join(way for way, own in found.items() if own != expected) or "0"
    counted, spent = f"{min(trips)}-{max(trips)}", time.perf_counter() - begun
    return learner, f"{len(found) + 1}", others, expected[:12], counted, f"{seconds:.1f}", f"{spent:.0f}"


# Faults ---------------------------------------------------------------------------------------------------------------


def kill(client: Client, workers: int, after: float = 0.0) -> None:
    """Send SIGKILL to so many workers, in the middle of what follows."""
    pids = sorted(pid for pid in client.run(os.getpid, on_error="ignore").values() if isinstance(pid, int))
    for pid in pids[:workers]:
        Timer(after, os.kill, (pid, signal.SIGKILL)).start()


def join(client: Client) -> None:
    """A worker more."""
    client.cluster.scale(len(client.cluster.worker_spec) + 1)
    client.wait_for_workers(len(client.cluster.worker_spec), timeout=60)


def move(client: Client, parts: DaskParts) -> None:
    """A new worker in the place of one that has parts."""
    join(client)
    at = next(iter(parts.owner.values()))
    name = client.scheduler_info(n_workers=-1)["workers"][at]["name"]
    client.cluster.sync(client.cluster.scale_down, {name})
    parts.workers(look=True)


def faults(seed: int, rounds: int) -> dict[str, Callable[[DaskParts, int], object]]:
    """What happens to the workers, by its name; each is told the parts and how often the learner has asked."""
    moments, some, every = random.Random(seed), (3, 9), range(rounds)

    def killing(at: Container[int], workers: int) -> Callable[[DaskParts, int], object]:
        return lambda parts, number: number in at and kill(parts.client, workers, moments.random() / 20)

    return {
        f"kill -9 of a worker in each of {rounds} rounds": killing(every, 1),
        "kill -9 of both workers, in rounds 3 and 9": killing(some, 2),
        "a worker joins, in rounds 3 and 9": lambda parts, number: number in some and join(parts.client),
        f"a worker is added and one retired in each of {rounds} rounds": lambda parts, number: (
            number in every and move(parts.client, parts)
        ),
    }


def disturbed(client: Client, given: Given, seed: int, rounds: int) -> Iterator[tuple[str, ...]]:
    """A row of the table for each fault."""
    request = given.request("adaboost", PARTS[-1], parameters={"n_estimators": ROUNDS})
    expected = one_process(request)
    for name, disturb in {"none": None, **faults(seed, rounds)}.items():
        client.cluster.scale(2)
        while len(client.scheduler_info(n_workers=-1)["workers"]) != 2:
            time.sleep(0.1)
        begun = time.perf_counter()
        found, traffic = on_workers(client, request, disturb)
        seconds = f"{time.perf_counter() - begun:.1f}"
        yield name, "the same" if found == expected else "DIFFERENT", f"{traffic.trips}", f"{traffic.replayed}", seconds


def main() -> int:
    """Print a table of model files and one of faults; exit status 1 where a model file differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("files", "faults"), help="half of the proof")
    parser.add_argument("--seed", type=int, default=0, help="of the moments at which workers die")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the shared tables")
    arguments = parser.parse_args()
    quick, only, adult = arguments.quick, arguments.only, arguments.data / ADULT
    few, small, parts = (4_000, 5_000, PARTS[-1:]) if quick else (50_000, 200_000, PARTS)
    tables: dict[str, Callable[[], pl.DataFrame | None]] = {
        f"{small:,} x 20": lambda: made(small, 20),
        f"{few:,}, categories, gaps, weights, three classes": lambda: mixed(few),
    }
    if not quick:
        tables["adult"] = lambda: pl.read_csv(adult) if adult.exists() else None
        tables[f"{LARGE:,} x 28"] = lambda: made(LARGE, 28)
    print(f"{stamp()} {versions(('distributed', 'dask', 'pyarrow'))}\n")
    cells, events = [], []
    with tempfile.TemporaryDirectory() as place, local_cluster(1) as alone, local_cluster(2) as both:
        given = written(made(small, 20), Path(place, "faults"), PARTS[-1:])
        for event in disturbed(both, given, arguments.seed, 3 if quick else ROUNDS) if only != "files" else ():
            events.append(event)
            print("  ".join(event), flush=True)
        clients = {2: both} if quick else {1: alone, 2: both}
        for number, (name, make) in enumerate(tables.items() if only != "faults" else ()):
            if (frame := make()) is None:
                print(f"{name}: left out, since {adult} is not there")
                continue
            given = written(frame, Path(place, str(number)), parts)
            for learner in LEARNERS:
                cells.append((name, *same(given, learner, clients, parts)))
                print("  ".join(cells[-1]), flush=True)
    header = ("table", "learner", "ways to train", "other files", "SHA-256", "trips", "one process, s", "all, s")
    print("", *markdown(header, cells), "", sep="\n")
    print(*markdown(("fault", "model file", "trips", "parts replayed", "seconds"), events), sep="\n")
    wrong = any(cell[3] != "0" for cell in cells) or any(event[1] != "the same" for event in events)
    print(f"\n- the same model file in every way, 0 hangs: {'NOT met' if wrong else 'met'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
