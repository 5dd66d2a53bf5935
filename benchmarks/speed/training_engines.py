"""Training on workers of Dask beside one process, and a model of what more workers would give.

    python -m benchmarks.speed.training_engines [--rows 10000000] [--repeats 2] [--small] [--write]

Made rows in a Parquet file with groups of 500,000. Two workers of one thread, and one process of two threads, train
by turns, each in a process that has trained on 20,000 rows before; a run takes from reading to the model. For the
default of AdaBoost a model of cost is made of a run of one worker on a tenth and a fifth of the rows, of empty trips
and of trips with bytes alone, and checked by runs of 1, 2 and 4 workers on all rows. --small: 2,000,000 rows. --write
replaces the section "training engines" of docs/benchmarks/. About 30 minutes on two quiet cores.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.shared import made_tables
from benchmarks.shared.machine import stamp, versions
from benchmarks.shared.measuring import in_process
from benchmarks.shared.sections import add_options, markdown, publish
from benchmarks.speed.training_cost import Cost, Run
from rulekit.limits import Deadline
from rulekit.tables.options import ReadingOptions
from rulekit.work.training import TrainingRequest, train

HERE, COST = "benchmarks.speed.training_engines", "benchmarks.speed.training_cost"
LEARNERS, CHECKED = ("adaboost", "additive", "rules"), "adaboost"
GROUP, FIRST, TARGET = 500_000, 20_000, "y"
MOST_RATIO, MOST_ERROR, LEAST_EFFICIENCY = 1.3, 0.2, 0.75
MOST_TRIPS, MOST_IN, MOST_OUT = {"adaboost": 130, "additive": 250}, 64 << 10, 1 << 10
FAR_ROWS, FAR_WORKERS, FAR_THREADS = 1_000_000_000, 100, 8
MOST_WAIT = 3600.0
Measured = Callable[..., Run]


def make(path: str, rows: int, group: int) -> None:
    """The made table as a file of groups of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"f{j}" for j in range(made_tables.COLUMNS)]
    schema = pa.schema([*((name, pa.float32()) for name in names), (TARGET, pa.int8())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, group):
            size = min(group, rows - start)
            first, last = start // made_tables.BLOCK, -(-(start + size) // made_tables.BLOCK)
            blocks = [made_tables.block_of(k, min(made_tables.BLOCK, rows)) for k in range(first, last)]
            columns = [pa.concat_arrays([pa.array(b.X[:, j]) for b in blocks]) for j in range(len(names))]
            labels = pa.concat_arrays([pa.array(block.y.astype("int8")) for block in blocks])
            writer.write_table(pa.table([*columns, labels], schema=schema)[:size], row_group_size=group)


def request(folder: str, learner: str, rows: int) -> TrainingRequest:
    """The default training on the file of so many rows."""
    output = Path(folder, f"model_{os.getpid()}.json")
    return TrainingRequest(Path(folder, f"{rows}.parquet"), ReadingOptions(target=TARGET), learner, output=output)


def one_process(folder: str, learner: str, rows: int) -> Run:
    """Two threads, as many as there are cores."""
    train(request(folder, learner, FIRST))
    begun = time.perf_counter()
    train(request(folder, learner, rows))
    return {"seconds": time.perf_counter() - begun}


def on_workers(folder: str, learner: str, rows: int, workers: int) -> Run:
    """Workers of one thread: seconds, and of each trip what was asked, questions, seconds, bytes of the workers."""
    from rulekit.distributed.engine import DaskParts, local_cluster
    from rulekit.distributed.meeting import Meeting
    from rulekit.distributed.source import parts_of
    from rulekit.distributed.training import PartedFinish, rows_on
    from rulekit.work.training import RowsElsewhere

    def trained(client: Any, own: TrainingRequest) -> Run:
        trips, talks = list[tuple[str, int, float, float, float]](), Counter[str]()
        begun = time.perf_counter()
        with rows_on(client, parts_of(own.data.resolve(), own.reading), own.reading, lambda share: None) as found:
            parts, reading = found.parts, time.perf_counter() - begun
            assert isinstance(parts, DaskParts)
            traffic, go = parts.traffic, parts.meeting.go
            first = traffic.trips

            def trip(questions: Any, wanted: Any) -> list[Any]:
                orders, inward, outward, sent = traffic.orders, traffic.bytes_in, traffic.bytes_out, time.perf_counter()
                answers = go(questions, wanted)
                seconds, orders = time.perf_counter() - sent, traffic.orders - orders
                asked = [(each.call or each.talk).function for each in questions]
                name = " and ".join(sorted({"told" if function is None else function.__name__ for function in asked}))
                moved = traffic.bytes_in - inward, (traffic.bytes_out - outward) / orders
                trips.append((name, len(questions), seconds, *moved))
                talks.update([name] if all(each.call is None for each in questions) else [])
                return answers

            parts.meeting = Meeting(trip)
            train(own, elsewhere=RowsElsewhere(found, partial(PartedFinish, rows=found), Deadline(None)))
            seconds = time.perf_counter() - begun
        rounds = "".join(name for name, _ in talks.most_common(1))
        return {"seconds": seconds, "reading": reading, "first": first, "trips": trips, "rounds": rounds}

    with local_cluster(workers) as client:
        trained(client, request(folder, learner, FIRST))
        return trained(client, request(folder, learner, rows))


# The table ------------------------------------------------------------------------------------------------------------


def said(words: str, asked: str, found: str, met: bool) -> str:
    """A line of the section."""
    return f"- {words}: asked {asked}, measured {found}: {'met' if met else 'NOT met'}"


def compare(measured: Measured, learner: str, rows: int, repeats: int) -> tuple[Sequence[str], list[str], list[Run]]:
    """A row of the table, its figures, and the runs of two workers."""
    ones, runs = list[Run](), list[Run]()
    for number in range(repeats):
        for engine in (False, True) if number % 2 == 0 else (True, False):
            own, name, more = (runs, "on_workers", {"workers": 2}) if engine else (ones, "one_process", {})
            own.append(measured(name, learner=learner, rows=rows, **more))
            print(f"  {learner}, {name}: {own[-1]['seconds']:.1f} s", flush=True)
    ratio = statistics.median(far["seconds"] / one["seconds"] for far, one in zip(runs, ones, strict=True))
    trips, rounds = runs[-1]["trips"], runs[-1]["rounds"]
    kinds, count = Counter(trip[0] for trip in trips), runs[-1]["first"] + len(trips)
    talks = [(inward / n, outward / n) for name, n, _, inward, outward in trips if name == rounds]
    inward, outward = ([own[k] for own in talks] or [0.0] for k in (0, 1))
    other = max((trip for trip in trips if trip[0] != rounds), key=lambda trip: trip[3])
    both = ["-".join(f"{end(run['seconds'] for run in own):.1f}" for end in (min, max)) for own in (ones, runs)]
    sizes = [f"{max(own):,.0f} / {statistics.mean(own):,.0f}" for own in (inward, outward)]
    cells = (learner, *both, f"{ratio:.2f}", f"{count}", f"{len(talks)}", *sizes, f"{other[3]:,.0f} {other[0]}")
    words = f"{learner}, two workers over two threads"
    figures = [said(words, f"at most {MOST_RATIO:g}", f"{ratio:.2f}", ratio <= MOST_RATIO)]
    if most := MOST_TRIPS.get(learner):
        figures.append(said(f"{learner}, trips", f"at most {most}", f"{count}", count <= most))
    if learner == CHECKED:
        words = f"{learner}, largest bytes of a round a part and question, in and out"
        fits = max(inward) <= MOST_IN and max(outward) <= MOST_OUT
        figures.append(said(words, "64 KB and 1 KB", f"{max(inward):,.0f} and {max(outward):,.0f}", fits))
    asked = ", ".join(f"{many} {name}" for name, many in kinds.most_common())
    figures.append(f"- {learner}, what is asked in its trips: {runs[-1]['first']} reading, {asked}")
    print("  ".join(cells), *figures, sep="\n", flush=True)
    return cells, figures, runs


def check(measured: Measured, rows: int, runs: list[Run]) -> tuple[list[str], list[str]]:
    """The lines of the model of cost, and its figures."""
    trips = {workers: in_process(f"{COST}:empty_trips", {"workers": workers}) for workers in (1, 2, 4, 8)}
    print(trips, flush=True)
    fewer = {n: measured("on_workers", learner=CHECKED, rows=n, workers=1) for n in (rows // 10, rows // 5)}
    cost = Cost(fewer, trips)
    about = (
        f"{CHECKED}: one worker on {rows // 10:,} and {rows // 5:,} rows gives the costs. It reads a row in "
        f"{1e6 * cost.reading:.3f} us and counts it in {1e6 * cost.counting:.2f} us, folds included "
        f"({1e9 * cost.counting / cost.rounds:.1f} ns a round). The driver deals a row to its fold in "
        f"{1e6 * (cost.sent + cost.driver):.3f} us. Each training takes {cost.fixed:.2f} s more. An empty trip takes "
        f"{1e3 * cost.once:.1f} ms and {1e3 * cost.each:.2f} ms for each worker. A worker computes "
        f"{1e3 * cost.passed:.2f} ms for each errand that it passes on, and the first answer to these takes "
        f"{1e3 * cost.next:.1f} ms. A byte takes {1e9 * cost.byte:.2f} ns."
    )
    print(about, flush=True)
    cells, wrong = [], []
    for workers in (1, 2, 4):
        found = runs if workers == 2 else [measured("on_workers", learner=CHECKED, rows=rows, workers=workers)]
        seconds = statistics.median(run["seconds"] for run in found)
        guess = sum(cost.parts(rows, workers, min(workers, os.cpu_count() or 1)).values())
        wrong.append(abs(guess / seconds - 1))
        cells.append((f"{workers}", f"{guess:.1f}", f"{seconds:.1f}", f"{guess / seconds - 1:+.0%}"))
        print("  ".join(cells[-1]), flush=True)
    cores = FAR_WORKERS * FAR_THREADS
    far = cost.parts(FAR_ROWS, FAR_WORKERS, cores, far=True)
    share, spent = far["rows"] / sum(far.values()), ", ".join(f"{name} {own:.0f}" for name, own in far.items())
    table = markdown(("workers", "predicted, s", "measured, s", "off by"), cells)
    note = f"This machine has {os.cpu_count()} cores, so that four workers share them, in the prediction too."
    words = (
        f"by it {FAR_ROWS:,} rows on {FAR_WORKERS} workers of {FAR_THREADS} cores: {sum(far.values()):.0f} s ({spent})"
    )
    return [about, "", *table, "", note], [
        said("the model of cost, largest error", f"at most {MOST_ERROR:.0%}", f"{max(wrong):.0%}", max(wrong) <= 0.2),
        said(f"{words}; efficiency", f"at least {LEAST_EFFICIENCY}", f"{share:.2f}", share >= LEAST_EFFICIENCY),
    ]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    add_options(parser)
    arguments = parser.parse_args()
    rows = 2_000_000 if arguments.small else arguments.rows
    cells, figures, model = list[Sequence[str]](), list[str](), list[str]()
    with tempfile.TemporaryDirectory() as folder:

        def measured(function: str, **given: Any) -> Run:
            path = Path(folder, f"{given['rows']}.parquet")
            for n in {FIRST, given["rows"]}:
                if not (path := Path(folder, f"{n}.parquet")).exists():
                    in_process(f"{HERE}:make", {"path": str(path), "rows": n, "group": min(GROUP, n // 2)})
            found: Run = in_process(f"{HERE}:{function}", {"folder": folder, **given}, limit=MOST_WAIT)
            return found

        for learner in LEARNERS:
            own, more, runs = compare(measured, learner, rows, arguments.repeats)
            cells, figures = [*cells, own], [*figures, *more]
            if learner == CHECKED:
                model, more = check(measured, rows, runs)
                figures += more
    header = ("learner", "one process, s", "two workers, s", "ratio", "trips", "of them rounds")
    bytes_ = ("bytes in, largest / mean", "bytes out", "largest other answer, bytes")
    about = (
        f"{rows:,} x {made_tables.COLUMNS} made rows in a Parquet file, the default of each learner, from reading to "
        f"the model; {arguments.repeats} runs each, by turns, and the median of the ratios. Two workers of one thread; "
        f"one process of two. Bytes of rounds are of a part, question and trip. {versions(('distributed', 'pyarrow'))}."
    )
    publish(
        arguments,
        "training engines",
        [stamp(), "", about, "", *markdown((*header, *bytes_), cells), "", *model, "", *figures],
    )


if __name__ == "__main__":
    sys.exit(main())
