"""Suggestions for a wrong name: slips of the hand are mended, other names are not offered."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulekit.errors import InputError
from rulekit.names import near_files, near_names
from rulekit.tables.reading import read_table


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("incme", ["income", "outcome"], ["income"]),
        ("Age", ["age", "wage"], ["age", "wage"]),
        ("late_payment", ["late_payments"], ["late_payments"]),
        ("outcome", ["income"], []),
        ("sex", ["six", "age"], []),
        ("a99", [f"a{i:02}" for i in range(34)], []),
        ("bb", ["a", "b"], []),
    ],
)
def test_names_that_share_most_letters_are_near(name: str, known: list[str], near: list[str]) -> None:
    assert near_names(name, known) == near


@pytest.mark.parametrize(
    ("name", "there", "near"),
    [
        ("fare.csv", ["e.csv", "are.csv", "m.json"], ["are.csv"]),
        ("fare.csv", ["e.csv", "age.csv"], []),
        ("car", ["car.csv", "model.json"], ["car.csv"]),
        ("loans.csv", ["loans.csv.gz", "loans.json", "means.csv"], ["loans.csv.gz", "loans.json"]),
    ],
)
def test_a_file_is_not_near_for_its_ending(name: str, there: list[str], near: list[str]) -> None:
    assert near_files(name, there) == near


def test_a_file_of_another_name_is_not_offered(tmp_path: Path) -> None:
    """`e.csv` was offered for `fare.csv`, for the sake of four letters that both end in."""
    (tmp_path / "e.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match=r"no such file; check the path"):
        read_table(tmp_path / "fare.csv")
