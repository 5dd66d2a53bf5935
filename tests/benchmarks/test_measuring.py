"""What measures is measured: processes of their own, limits, peak memory, medians, sections."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.shared import made_tables
from benchmarks.shared.measuring import ProcessFailedError, Watch, _SampledPeak, in_process, ratios, spread
from benchmarks.shared.sections import markdown, write_section
from benchmarks.speed.training_time import BOOSTING, OURS, RULES, Timed, requirements

MEGABYTE = 1_000_000


def test_a_spread_is_median_and_range():
    found = spread([3.0, 1.0, 2.0, 10.0])
    assert (found.median, found.low, found.high, found.count) == (2.5, 1.0, 10.0, 4)
    assert found.text(1) == "2.5 (1.0-10.0)"
    assert spread([1.25]).text() == "1.25"
    with pytest.raises(ValueError, match="no value"):
        spread([])
    assert ratios([1.0, 20.0, 3.0], [2.0, 40.0]).text() == "0.50 (0.50-0.50)"  # round by round


def test_peak_memory_counts_what_was_given_back():
    with Watch() as watch:
        np.ones(10 * MEGABYTE).sum()
    assert 75 * MEGABYTE < watch.cost.memory < 130 * MEGABYTE
    assert 0 < watch.cost.processor <= 10
    with Watch() as after:
        np.ones(MEGABYTE).sum()
    assert after.cost.memory < 40 * MEGABYTE


def test_the_sampled_peak_is_there_where_the_kernel_keeps_none():
    import psutil

    process = psutil.Process()
    base = process.memory_info().rss
    peak = _SampledPeak(process)
    held = np.ones(10 * MEGABYTE)
    assert peak.end() - base > 60 * MEGABYTE
    assert held.sum() == 10 * MEGABYTE


def test_a_call_in_a_process_of_its_own():
    """A failure says what the process said, and a late one is stopped."""
    assert in_process("json:dumps", {"obj": [1, 2]}) == "[1, 2]"
    for function, arguments, limit, said, late in (
        ("json:dumps", {"obj": 1, "nothing": 1}, 60.0, "unexpected keyword argument 'nothing'", False),
        ("subprocess:run", {"args": ["sleep", "5"]}, 0.3, r"stopped after 0\.3 s", True),
    ):
        with pytest.raises(ProcessFailedError, match=said) as caught:
            in_process(function, arguments, limit=limit)
        assert caught.value.late is late


def test_requirements_compare_with_the_limit():
    def timed(seconds, memory=0):
        return Timed([{"seconds": s, "memory": memory, "rows": 1000, "columns": 10} for s in seconds])

    found = requirements("big", {BOOSTING: timed([10, 10]), OURS: timed([5, 7], 80_000), RULES: timed([1, 1])})
    assert [(r.measured.median, r.words().rpartition(": ")[2]) for r in found] == [
        (0.1, "met"),
        (0.0, "met"),
        (0.6, "met"),
        (2.0, "NOT met"),
    ]


def test_made_tables_do_not_depend_on_memory(tmp_path):
    place = made_tables.write(tmp_path, 2500, 10)
    saved, made = made_tables.read(place), made_tables.make(2500, 10)
    np.testing.assert_array_equal(saved.X, made.X)
    np.testing.assert_array_equal(saved.y, made.y)
    assert made.X.dtype == np.float32
    assert made_tables.make(2000, 40).X.shape == (2000, 40)
    assert made_tables.columns_of(10)[:7] == (0, 1, 2, 14, 15, 21, 22)


def test_a_section_is_added_once_and_then_replaced(tmp_path):
    page = tmp_path / "benchmarks.md"
    page.write_text("# Benchmarks\n\nAbout.\n")
    write_section(page, "cost laws", ["first"])
    write_section(page, "prediction", markdown(("a", "b"), [("x", "1")]))
    write_section(page, "cost laws", ["second"])
    text = page.read_text()
    assert text.count("## Cost laws") == 1
    assert "first" not in text
    assert text.index("second") < text.index("| x | 1 |")
