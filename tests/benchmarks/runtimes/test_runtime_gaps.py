"""The table of declared gaps cannot become untrue: neither an undeclared gap nor one that has gone passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rulekit_exporters.onnx.metadata import label_texts

from benchmarks.proofs.runtimes import gaps
from benchmarks.proofs.runtimes.cases import VALUES, Case, cases_of
from benchmarks.proofs.runtimes.catalogue import RUNTIMES
from benchmarks.proofs.runtimes.comparing import Cell, compare, conclude
from benchmarks.proofs.runtimes.environments import PYTHONS, ROOT
from benchmarks.proofs.runtimes.exchange import Answer
from benchmarks.proofs.runtimes.gaps import GAPS, Gap
from benchmarks.proofs.runtimes.pages import gaps_table
from rulekit.conformance.models import MODELS

NAN = Gap("slow", "NaN", "compares it as infinity")
TEXT = Gap("slow", "text input", "no texts", "no tensors of text")
DOUBLES = Gap("slow", "doubles", "computes in float32")


@pytest.fixture(scope="module")
def case() -> Case:
    return next(cases_of({"DNF": MODELS["DNF"]}, 200, ["columns"]))


def right(case: Case) -> Answer:
    """What a runtime without a fault answers."""
    texts = np.array(label_texts(case.graph), dtype=object)
    return Answer(texts[case.expected.labels], case.expected.probabilities.copy())


def wrong_at(case: Case, row: int) -> Answer:
    """All right but one row."""
    answer = right(case)
    assert answer.labels is not None
    labels = answer.labels.copy()
    labels[row] = next(text for text in label_texts(case.graph) if text != labels[row])
    return replace(answer, labels=labels)


def row_with(case: Case, value: str, there: bool) -> int:
    others = np.logical_or.reduce([rows for name, rows in case.values.items() if name != value])
    return int(np.flatnonzero((case.values[value] == there) & ~others)[0])


def test_a_wrong_answer_is_a_fault_that_shows_the_row(case: Case) -> None:
    assert compare(case, "slow", right(case), ()) == Cell("DNF", "columns", rows=200)
    off = right(case)
    assert off.probabilities is not None
    off.probabilities[3] += 2e-6
    maybe = replace(right(case), labels=np.array(["maybe"] * 200, dtype=object))
    for answer, fault in (
        (wrong_at(case, 7), "1 different decisions; age = "),
        (off, "0 different decisions"),
        (maybe, "'maybe' is no class"),
    ):
        assert fault in compare(case, "slow", answer, ()).fault
    assert compare(case, "slow", wrong_at(case, 7), ()).different == 1
    for nothing in (None, Answer(), Answer(error="out of memory")):
        assert compare(case, "slow", nothing, ()).fault


def test_rows_of_a_declared_value_may_differ_and_others_not(case: Case) -> None:
    excused = compare(case, "slow", wrong_at(case, row_with(case, "NaN", True)), (NAN,))
    caught = compare(case, "slow", wrong_at(case, row_with(case, "NaN", False)), (NAN,))

    assert (excused.fault, excused.different, excused.shown) == ("", 0, (NAN,))
    assert excused.rows + excused.left_out == 200
    assert caught.fault


def test_a_declared_refusal_must_be_that_refusal(case: Case) -> None:
    refused = compare(case, "slow", Answer(error="there are no tensors of text here"), (TEXT,))

    assert (refused.fault, refused.shown) == ("", (TEXT,))
    assert "out of memory" in compare(case, "slow", Answer(error="out of memory"), (TEXT,)).fault
    assert "is declared to refuse 'text input', and took" in compare(case, "slow", right(case), (TEXT,)).fault
    assert compare(case, "fast", Answer(error="no tensors of text"), (TEXT,)).fault  # the gap is of another runtime


def test_a_gap_that_no_case_shows_is_a_fault(case: Case) -> None:
    faults = conclude("slow", [compare(case, "slow", right(case), (NAN, DOUBLES))], (NAN, DOUBLES)).faults

    assert [fault.split(",")[0] for fault in faults] == [f"slow is declared to lack {x!r}" for x in ("NaN", "doubles")]


@pytest.mark.parametrize(("known", "faults"), [("of this machine", 1), ("of another", 0)])
def test_a_gap_of_other_processors_need_not_show_here(
    case: Case, known: str, faults: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaps, "_instructions", lambda: frozenset({"of this machine"}))
    gap = replace(NAN, processor=known)
    cell = compare(case, "slow", right(case), (gap,))
    wrong = compare(case, "slow", wrong_at(case, row_with(case, "NaN", True)), (gap,))

    assert len(conclude("slow", [cell], (gap,)).faults) == faults
    assert conclude("slow", [wrong], (gap,)).faults == ()


def test_codes_are_held_against_what_32_bits_take() -> None:
    codes = np.array([-(2**63), -(2**31), -1, 0, 2**31 - 1, 2**31, 2**63 - 1])

    assert VALUES["code beyond 32 bits"](codes).tolist() == [True, False, False, False, False, True, True]
    assert not VALUES["code beyond 32 bits"](np.array([1e300, np.nan])).any()


def test_the_declared_gaps_are_of_known_runtimes_and_told_once_on_the_page() -> None:
    assert {gap.runtime for gap in GAPS} <= set(RUNTIMES)
    assert len({(gap.runtime, gap.feature) for gap in GAPS}) == len(GAPS)
    text = (ROOT / "docs" / "runtimes.md").read_text()
    assert "\n".join(gaps_table()) in text, "python -m benchmarks.proofs.runtimes --write"
    assert {"onnxruntime==1.18.1", "numpy==1.26.4", "onnx==1.16.2"} <= set(PYTHONS["oldest"])  # the project's floors
