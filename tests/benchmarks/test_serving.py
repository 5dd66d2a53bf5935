"""How serving is timed and judged: turns, samples, ratios, verdicts, the section of the page."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.shared.measuring import spread
from benchmarks.speed import conversion
from benchmarks.speed.conversion import convert
from benchmarks.speed.serving import __main__ as serving
from benchmarks.speed.serving import others
from benchmarks.speed.serving.bench import Bench, Made, export
from benchmarks.speed.serving.models import clauses
from benchmarks.speed.serving.report import Agreement, Part, Verdict, compare, faster, shown, times_table, verdict_table
from benchmarks.speed.serving.timing import Times, Way, measure, quartiles
from benchmarks.speed.serving.ways import (
    Pool,
    Turns,
    feed,
    floor_columns_way,
    identity_model,
    labels,
    session,
    session_way,
)


def test_every_range_comes_once_before_any_comes_again():
    turns = Turns(7, 10, seed=1)
    taken = turns.take(3) + turns.take(4)
    assert sorted(taken) == [0, 10, 20, 30, 40, 50, 60]
    assert sorted(turns.take(14)) == sorted([*taken, *taken])


def test_each_call_gets_an_input_of_its_own_and_the_loop_is_taken_off():
    seen: list[int] = []
    number = iter(range(10**6))

    def inputs() -> list[int]:
        return [next(number) for _ in range(50)]

    def wait(_: int) -> None:
        until = time.thread_time() + 20e-6
        while time.thread_time() < until:
            pass

    times = measure({"short": Way(seen.append, inputs), "long": Way(wait, inputs, rows=10)}, rounds=3)
    assert len(seen) == len(set(seen))
    assert {name: len(calls) for name, calls in times.calls.items()} == {"short": 3, "long": 3}
    assert times.samples == 6
    assert times.call("long").median >= 20.0
    assert times.row("long").median == pytest.approx(100 * times.call("long").median)
    assert times.ratio("long", "short").median > 1


def _times() -> Times:
    return Times({"a": [2.0, 6.0, 3.0], "b": [1.0, 2.0, 1.0]}, {"a": 10, "b": 1})


@pytest.mark.parametrize(
    ("bound", "limit", "value", "met"),
    [
        ("at most", 2.0, 2.0, True),
        ("at most", 2.0, 2.001, False),
        ("below", 2.0, 2.0, False),
        ("below", 2.0, 1.999, True),
        ("at least", 50.0, 50.0, True),
        ("at least", 50.0, 49.9, False),
    ],
)
def test_a_verdict_is_on_the_median(bound, limit, value, met):
    verdict = Verdict("w", bound, limit, spread([0.0, value, 1e9]))
    assert (verdict.met, verdict.cells()[3]) == (met, "met" if met else "NOT met")


def test_what_was_not_measured_is_not_met_and_says_why():
    verdict = compare(_times(), "w", "c", "b", "at most", 2.0, {"c": "no C compiler"})
    assert not verdict.met
    assert verdict.cells() == ("w", "at most 2 times", "-", "no C compiler")
    assert compare(_times(), "w", "a", "c", "at most", 2.0, {}).cells()[3] == "not measured"
    ours = faster(_times(), "w", "a", "b", 3.0, {})  # theirs over ours
    assert ours.measured is not None
    assert (ours.measured.median, ours.met) == (pytest.approx(1 / 0.3), True)


def test_tables_have_a_column_for_each_base_that_ran():
    """Ratios are of times a row, round by round."""
    found = _times().ratio("a", "b")
    assert (found.median, found.low, found.high) == pytest.approx((0.3, 0.25, 0.3))
    assert quartiles([1.0, 2.0, 3.0, 4.0, 5.0]).text() == "3.00 (2.00-4.00)"
    lines = times_table(_times(), {"a": "A", "b": "B", "c": "C"}, "call", ("b", "c"), ("a",))
    assert lines[0] == "| call | us a call | ns a row | M rows/s | times B | times faster than A |"
    assert lines[3].startswith("| B |")
    assert lines[3].endswith("| 1 | 0.300 (0.250-0.300) |")
    assert len(lines) == 4
    assert shown(spread([1234.4, 1234.5, 1236.0])) == "1,234 (1,234-1,236)"
    assert shown(spread([3622])) == "3,622"


def test_the_verdicts_of_all_parts_stand_in_one_table():
    part = Part("Title.", "About.", [["| x |"]], [Verdict("w", "at most", 1.0, spread([0.5]))], [Agreement("c", 10, 1)])
    assert verdict_table([part])[2] == "| w | at most 1 times | 0.5 | met |"
    assert part.lines() == ["**Title.** About.", "", "| x |", "", "- c: 1 of 10 rows differ", ""]
    parts = {"a": Part("A.", agreements=[Agreement("x", 10, 0), Agreement("y", 10, 1)]), "b": Part("B.")}
    (verdict,) = serving.agreement(parts).verdicts
    assert verdict.cells() == ("labels that differ, 2 comparisons, 20 rows in all", "at most 0 rows", "1", "NOT met")
    assert not serving.agreement({}).verdicts[0].met


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(20_000, 2, tmp_path_factory.mktemp("serving"))


def test_exports_take_the_rows_of_the_pool_in_either_form(bench: Bench):
    """An agreement counts labels that differ, and an export that is refused says why."""
    pool = bench.pool
    for options in ({}, {"input": "columns"}):
        made = bench.artifact("onnx", **options)
        assert made, made.absent
        assert bench.agreement("onnx", labels(made.value, pool)).differ == 0
        given = feed(session(made.value), pool, 5, 9)
        assert [len(value) for value in given.values()] == [4] * (14 if options else 1)
    wrong = bench.expected().copy()
    wrong[[3, 17]] ^= 1
    assert bench.agreement("w", wrong).words() == "w: 2 of 20,000 rows differ"
    assert export(clauses(), optimize="nonsense").absent.startswith("not there: onnx: optimize is 'nonsense'")
    assert "no export target 'abacus'" in export(clauses(), "abacus").absent


def test_single_rows_are_copies_and_batches_are_views():
    pool = Pool(100)
    (single, _), (batch, _) = (session_way(identity_model(), pool, n, 2, 1).inputs() for n in (1, 50))
    assert not np.shares_memory(single["x"], pool.rows)
    assert np.shares_memory(batch["x"], pool.rows)


def test_the_parts_run_and_judge(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    latency, size = serving.PARTS["latency"], serving.PARTS["size"]
    monkeypatch.setattr(bench, "boosting", lambda: Made(absent="no network"))
    found = latency(bench)
    assert [verdict.limit for verdict in found.verdicts] == [2.0, 1.3]
    assert "HistGradientBoosting(100), skl2onnx: no network" in found.remarks
    assert size(bench).verdicts[0].met


def test_columns_reach_c_in_the_order_of_the_used_ones(bench: Bench):
    class Library:
        decide_columns = staticmethod(lambda *call: calls.append(call))

    calls: list[tuple[int, ...]] = []
    way = floor_columns_way(Library, bench.pool, [3, 0], 10, 1, 1)
    (prepared,) = way.inputs()
    way.run(prepared)
    (size, _, label, probability) = calls[0]
    start = (prepared.pointers[0] - bench.pool.columns["x3"].ctypes.data) // 4
    assert size == 10
    assert prepared.pointers[1] == bench.pool.columns["x0"].ctypes.data + 4 * start
    assert label != probability


def test_a_failing_conversion_says_the_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conversion, "ENVIRONMENT", Path(sys.prefix))
    assert convert("print('fine')", []) == ""
    assert convert("raise SystemExit('no rows')", []) == "skl2onnx failed: no rows"
    assert "FileNotFoundError" in convert("import sys; open(sys.argv[1])", [tmp_path / "absent"])


@pytest.mark.full
@pytest.mark.long
def test_every_part_runs_and_all_labels_agree(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    """The peers are left out: they need an environment of their own."""
    monkeypatch.setattr(others, "convert", lambda *_: "no network")
    monkeypatch.setattr(bench, "boosting", lambda: Made(absent="no network"))
    parts = serving.run(bench, list(serving.PARTS))
    absent = {verdict.what: verdict.cells()[3] for part in parts.values() for verdict in part.verdicts}
    peers = {name for name, why in absent.items() if why == "no network"}
    assert peers == {name for name in absent if "AdaBoost" in name or "HistGradientBoosting" in name}
    assert len(peers) == 8
    compiler = bench.floor().absent
    assert {why for name, why in absent.items() if name not in peers} <= {"met", "NOT met", compiler}
    (verdict,) = serving.agreement(parts).verdicts
    assert verdict.met, [each.words() for part in parts.values() for each in part.agreements]
    assert all(line for line in serving.explanation(bench, parts)[::2])


def test_the_page_gets_one_section_of_all_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def part(_: Bench) -> Part:
        return Part("Title.", verdicts=[Verdict("w", "at most", 1.0, spread([0.5]))], times=[_times()])

    monkeypatch.setattr(serving, "PARTS", dict.fromkeys(("latency", "throughput", "python"), part))
    monkeypatch.setattr(serving, "NAMES", {"a": "A", "b": "B"})
    page = tmp_path / "benchmarks.md"
    arguments = ["serving", "--rows", "20000", "--rounds", "2", "--write", "--page", str(page)]
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", arguments)
        serving.main()
    text = page.read_text()
    assert text.count("## Serving") == text.count("![latency and throughput](pictures/serving.png)") == 1
    assert text.count("| w | at most 1 times |") == 3
    assert (tmp_path / "pictures" / "serving.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(sys, "argv", ["serving", "--only", "latency", "--write"])
    with pytest.raises(SystemExit):
        serving.main()
    assert "--write needs all parts" in capsys.readouterr().err
