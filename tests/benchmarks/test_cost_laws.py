"""What "linear" means, what is kept of a run, and what a report says of it."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import run as every
from benchmarks.learning.peers import comparison
from benchmarks.proofs import same_model
from benchmarks.shared import kept, sections
from benchmarks.shared.kept import Found, Kept, code_digest
from benchmarks.shared.laws import exponent, line_through, upper_decade
from benchmarks.shared.measuring import ProcessFailedError
from benchmarks.shared.pictures import Bars, Panel, draw_bar_panels, draw_lines
from benchmarks.speed import out_of_core, prediction
from benchmarks.speed.cost_laws import E, Law, Run, section, verdict_table
from benchmarks.speed.training_time import Timed


def test_an_exponent_is_that_of_the_upper_decade():
    times = {n: 0.5 + 1e-6 * n for n in (10, 100, 1000)} | {10**k: 3.0 * 10.0**k for k in (6, 7)}
    assert exponent(times) == pytest.approx(1.0)
    assert exponent({10: 1.0, 30: 9.0, 100: 100.0}) == pytest.approx(2.0)
    assert math.isnan(exponent({10: 1.0}))
    assert list(upper_decade({10: 1.0, 30: 1.0, 100: 1.0, 300: 1.0})) == [30, 100, 300]


def test_a_line_has_a_fixed_part_and_a_part_for_each():
    line = line_through({n: 0.2 + 3e-6 * n for n in (10_000, 100_000, 1_000_000)})
    assert (line.fixed, line.each) == (pytest.approx(0.2), pytest.approx(3e-6))
    assert line.furthest == pytest.approx(0.0, abs=1e-9)
    assert line.without_fixed({100_000: 0.5, 10: 0.1}) == {100_000: pytest.approx(0.3)}
    falling = line_through({10: 1.0, 100: 40.0})
    assert falling.fixed == 0.0  # it is not negative
    assert falling.furthest > 0.2


def _law(name: str, power: float, fixed: float = 0.0) -> Law:
    times = {n: fixed + (n / 1e6) ** power for n in (100_000, 300_000, 1_000_000)}
    runs = {n: {"all_seconds": [t], "all_processor": [t], "memory": 1e6, "others": 0.0} for n, t in times.items()}
    return Law(name, name, {E: runs})


@pytest.mark.parametrize(
    ("power", "fixed", "verdict"),
    [
        (1.0, 0.0, "met"),
        (1.08, 0.0, "met"),
        (1.2, 0.0, "NOT met"),
        (1.0, 0.5, "less than linear; met without the fixed part"),
        (0.5, 0.0, "less than linear"),
    ],
)
def test_linear_is_an_exponent_of_one_within_a_tenth(power: float, fixed: float, verdict: str):
    wall = next(line for line in verdict_table(_law("rows", power, fixed)) if line.startswith(f"| {E}, wall"))
    assert wall.endswith(f"| {verdict} |")
    assert "linear within" not in verdict_table(_law("units", power, fixed))[0]  # none is required of units


# What is kept --------------------------------------------------------------------------------------------------------


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that were asked for; one named late is late, one named broken fails."""
    asked: list[str] = []

    def in_process(function: str, arguments: Mapping[str, Any], **_: Any) -> Any:
        asked.append(function)
        if function in ("late", "broken"):
            raise ProcessFailedError(function, late=function == "late")
        return {"asked": len(asked)}

    monkeypatch.setattr(kept, "in_process", in_process)
    return asked


def test_a_run_goes_on_with_what_is_finished(tmp_path: Path, processes: list[str]):
    """Other code, or a wish, starts anew; what is kept are lines of JSON."""
    path = tmp_path / "r.jsonl"
    first = Kept(path, code="1")
    assert first.measure("a", "good", {"x": np.float64(1.0)}, limit=1.0) == Found({"asked": 1})
    assert first.measure("b", "late", {}, limit=1.0) == Found(stopped="late", late=True)
    assert first.measure("c", "broken", {}, limit=1.0).stopped == "broken"
    head, row, *_ = map(json.loads, path.read_text().splitlines())
    assert head["code"] == "1"
    assert row == {"key": "a", "value": {"asked": 1}, "stopped": "", "late": False}

    again = Kept(path, code="1")
    assert ("a" in again, "b" in again, "c" in again) == (True, True, False)
    assert again.measure("a", "good", {}, limit=1.0) == Found({"asked": 1}, kept=True)
    assert again.measure("b", "late", {}, limit=1.0).stopped == "late"
    assert processes == ["good", "late", "broken"]

    assert "a" not in Kept(path, code="2")
    Kept(path, code="2").measure("a", "good", {}, limit=1.0)
    assert "a" in Kept(path, code="2")
    assert "a" not in Kept(path, code="2", anew=True)
    assert len(path.read_text().splitlines()) == 1


def test_the_code_digest_changes_with_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("1")
    before = code_digest(("code",))
    (tmp_path / "code" / "a.py").write_text("2")
    assert code_digest(("code",)) != before


def test_what_would_be_late_is_listed_and_not_started(tmp_path: Path, processes: list[str]):
    at = Run(tmp_path, 10, 10, 5.0, Kept(tmp_path / "r.jsonl", code="1"))
    run = {"all_seconds": [1.0], "all_processor": [1.0], "memory": 0, "others": 0.0}
    law = Law("rows", "rows", {E: {10: run}})
    at.measure(law, E, 100, lambda: tmp_path)
    assert processes == []
    assert law.stopped == [f"{E}, 100 rows: not started: about 10 s by its time at 10, the limit is 5 s"]
    assert section([law])[-2] == f"- {law.stopped[0]}"


# What is written -----------------------------------------------------------------------------------------------------


def test_the_page_is_written_when_it_is_asked_for(tmp_path: Path):
    page = tmp_path / "page.md"
    arguments = Namespace(write=False, page=page)
    sections.publish(arguments, "cost laws", ["found"])
    assert not page.exists()
    assert sections.picture(arguments, "x") == kept.RESULTS / "x.png"
    arguments.write = True
    sections.publish(arguments, "cost laws", ["found"])
    assert "found" in page.read_text()
    assert sections.picture(arguments, "x") == tmp_path / "pictures" / "x.png"


def test_out_of_core_says_which_figure_is_missed():
    wanted = out_of_core.runs(1000, 100, "500MB")
    rest, measured = {"reading": 0.1, "processor": 1.0, "model": "m"}, ((1.0, 1), (2.0, 1), (40.0, 6))
    values = [{**rest, "seconds": seconds, "peak": peak * 100_000_000} for seconds, peak in measured]
    found = {name: Found(value) for name, value in zip(wanted, values, strict=True)}
    lines, met = out_of_core.section(found, wanted, "500MB")
    assert not met
    assert [line.rpartition(": ")[2] for line in lines[-4:]] == ["met", "NOT met", "NOT met", "met"]
    found["500MB, 1,000 rows"] = Found(stopped="stopped after 9 s", late=True)
    lines, met = out_of_core.section(found, wanted, "500MB")
    assert not met
    assert lines[-2] == "- 500MB, 1,000 rows: stopped after 9 s: NOT met"


def test_prediction_compares_round_by_round_and_lists_what_did_not_run():
    def timed(speed: float) -> Timed:
        return Timed([{"latency": 1e-6, "at_once": speed, "in_chunks": speed, "differ": 0.0}])

    results = {way: Timed(stopped="no network") for way in prediction.NAMES}
    results |= {"graph": timed(30e6), prediction.BASE: timed(1e6)}
    lines = prediction.section(results, 1000)
    assert any(line.startswith("| decision tree of depth 4, predict | no network |") for line in lines)
    assert lines[-2].endswith("measured 30.0: met")
    results["graph"] = timed(19e6)
    assert prediction.section(results, 1000)[-2].endswith("measured 19.0: NOT met")


def test_a_table_whose_models_differ_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def in_process(
        _: str, arguments: Mapping[str, Any], environment: Mapping[str, str] | None = None, **__: Any
    ) -> Any:
        other = bool(environment) and arguments["tables"] == ["weighted"]
        return {f"{arguments['tables'][0]}, E": dict.fromkeys(arguments["ways"], "b" if other else "a")}

    monkeypatch.setattr(kept, "in_process", in_process)
    compiled, both = same_model.compare(Kept(tmp_path / "r.jsonl", code="1"), 100, 10, 1.0)
    assert same_model.differing(compiled) == []
    assert same_model.differing(both) == ["weighted, E"]
    assert list(both["weighted, E"]) == ["1 thread", "no numba, 1 thread", "no numba, 2 threads"]


def test_pictures_are_drawn(tmp_path: Path):
    points = [(10, 1.0, 1.5, 2.0), (100, 10.0, 10.0, 10.0)]
    draw_lines(tmp_path / "lines.png", [[Panel("t", "x", "y", {"a": points, "b": points[:1]})]])
    draw_bar_panels(
        tmp_path / "bars.png", [Bars("t", "x", {"a": (1.0, 2.0, 3.0), "b": (1e6, 2e6, 3e6)}, frozenset("a"))]
    )
    for name in ("lines.png", "bars.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_every_benchmark_of_the_list_is_a_module_and_gets_the_options_that_it_knows():
    for name in every.BENCHMARKS:
        _, module, *rest = every.command(name, ["--small", "--write"])
        place = Path(every.__file__).parent.joinpath(*module.split(".")[1:])
        source = (place / "__main__.py" if place.is_dir() else place.with_suffix(".py")).read_text()
        for option in rest:
            shared = option in ("--small", "--write") and "add_options(parser)" in source
            compared = "Comparison(" in source and f'"{option}"' in Path(comparison.__file__).read_text()
            assert shared or compared or f'"{option}"' in source, (name, option)
    curves = ["-m", "benchmarks.learning.accuracy", "--curves", "--write"]
    assert every.command("curves", ["--small", "--write"]) == curves
