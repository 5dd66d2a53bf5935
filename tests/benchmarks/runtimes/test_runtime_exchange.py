"""Cases keep every bit on their way to another process: NaN, infinities, both zeros, subnormals, any text."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.proofs.runtimes.catalogue import RUNTIMES, Runtime
from benchmarks.proofs.runtimes.exchange import chunks_of, read_answer, read_case, write_answer, write_case, write_error

NUMBERS = [0.0, -0.0, 5e-324, 1e-45, 1e300, -np.inf, np.inf, np.nan, 16777217.0]
TEXTS = ["", "a\0b", "ü", "😀", "a ", "\n", "nan", "a\0b", ""]


def test_values_come_back_bit_for_bit(tmp_path: Path) -> None:
    with np.errstate(over="ignore"):
        feeds = {
            "wide": np.array(NUMBERS).reshape(-1, 1),
            "narrow": np.array([NUMBERS, NUMBERS[::-1]], dtype=np.float32).T.copy(),
            "codes": np.array([[-(2**63)], [2**63 - 1], [0], [1], [2], [3], [4], [5], [6]], dtype=np.int64),
            "text": np.array(TEXTS, dtype=object).reshape(-1, 1),
        }

    write_case(tmp_path / "case", b"model", feeds)
    described, found = read_case(tmp_path / "case")

    assert described["chunks"] == [1, 8]  # one row, and then all others
    assert (chunks_of(1), chunks_of(20_000)) == ([1], [1, 8192, 8192, 3615])
    assert [found[name].dtype.kind for name in feeds] == ["f", "f", "i", "O"]
    for name in ("wide", "narrow", "codes"):
        assert found[name].tobytes() == feeds[name].tobytes()
    assert found["text"].tolist() == feeds["text"].tolist()


@pytest.mark.parametrize("labels", [np.array([1, 0, 1]), np.array(["yes", "nö", "yes"], dtype=object)])
def test_answers_come_back(tmp_path: Path, labels: np.ndarray) -> None:
    shares = np.array([[0.25, 0.75], [1.0, 0.0], [0.0, 1.0]], dtype=np.float32)

    write_answer(tmp_path, labels, shares)
    answer = read_answer(tmp_path)

    assert answer is not None
    assert answer.labels is not None
    assert answer.labels.tolist() == labels.tolist()
    assert answer.probabilities is not None
    assert answer.probabilities.tolist() == shares.tolist()


def test_a_process_that_ends_at_a_case_loses_that_case_alone(tmp_path: Path) -> None:
    def start(cases: Path, answers: Path, names: list[str], limit: float) -> str:
        for name in names:
            if name == "b":
                return "status -11"
            write_error(answers / name, "answered")
        return ""

    runtime = Runtime("made", "made", "", start, lambda: sys.version)

    runtime.run(tmp_path, tmp_path, ["a", "b", "c"])

    found = [read_answer(tmp_path / name).error for name in ("a", "b", "c")]  # type: ignore[union-attr]
    assert found == ["answered", "the process ended: status -11", "answered"]
    assert read_answer(tmp_path / "d") is None
    assert {"reference", "openvino", "opencv", "tract"} <= set(RUNTIMES)
