"""Rows and labels are known again by digests that hang on values alone."""

from __future__ import annotations

import numpy as np

from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table
from rulekit.targets import Outcome
from rulekit.verification.report import digest_of_labels, digest_of_rows, versions

SCHEMA = Schema((Feature("x"), Feature("wide", precision="float64"), Feature("c", "categorical", ("a", "b"))))


def table(x: list[float], c: list[str | None]) -> Table:
    return encode({"x": x, "wide": x, "c": c}, SCHEMA)


def outcome(labels: list[int], kind: str = "<i8") -> Outcome:
    return Outcome(np.array(labels, dtype=kind), np.zeros((len(labels), 2)))


def test_the_digest_of_rows_is_fixed() -> None:
    """A report made on one platform is compared on another."""
    found = digest_of_rows(table([1.5, float("nan"), -3.0], ["a", None, "z"]))
    assert found == "4c397950d99a7abf6fa76e266b2681e5e8e36b07303cb19f87ba44dc0a53343a"


def test_every_nan_and_zero_is_one() -> None:
    odd = np.array([0x7FC00001, 0x80000000], dtype=np.uint32).view(np.float32)
    one, other = (Table(SCHEMA.features[:1], (array,), 2) for array in (odd, np.array([np.nan, 0.0], dtype=np.float32)))
    assert odd.tobytes() != other.arrays[0].tobytes()
    assert digest_of_rows(one) == digest_of_rows(other)


def test_another_value_width_or_name_is_another_digest() -> None:
    rows = table([1.5, 2.0], ["a", "b"])
    others = [
        table([1.5, 2.0000002], ["a", "b"]),
        table([1.5, 2.0], ["a", None]),
        table([1.5], ["a"]),
        Table((Feature("y"), *SCHEMA.features[1:]), rows.arrays, 2),
        Table((Feature("x", precision="float64"), *SCHEMA.features[1:]), (rows.arrays[1], *rows.arrays[1:]), 2),
    ]
    assert len({digest_of_rows(each) for each in (rows, *others)}) == 6


def test_labels_count_run_after_run_and_not_by_their_type() -> None:
    assert digest_of_labels([outcome([0, 1, 1])]) == digest_of_labels([outcome([0, 1, 1], ">i4")])
    assert digest_of_labels([outcome([0, 1]), outcome([1])]) != digest_of_labels([outcome([1]), outcome([0, 1])])


def test_versions_are_those_of_what_runs() -> None:
    assert versions()["numpy"] == np.__version__
    assert set(versions()) <= {"python", "numpy", "onnxruntime"}
