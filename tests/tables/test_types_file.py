"""Files of types: what describing a table writes is read back to the same columns; broken files are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rulekit.errors import InputError
from rulekit.schema import Feature
from rulekit.tables.kinds.hints import hints_of, likely_order
from rulekit.tables.options import ReadingOptions, levels_declared, ordered_kind, read_types, types_text
from rulekit.tables.reading import read_table
from rulekit.work.describing import describe

CELLS = {
    "numbers": ["1", "2.5", "-3e4", "0", "16777217", "16777216", ""],
    "integers": ["1", "20", "-999", ""],
    "truth": ["0", "1", ""],
    "words": ["true", "false", "True"],
    "dates": ["2024-05-31", "1999-01-01", ""],
    "moments": ["2024-05-31 12:00:01", "1999-01-01T00:00"],
    "levels": ["low", "a,b", 'say "x"', "#1", "", "é", "007", "\x1b[31m", "= 3"],
    "nothing": [""],
}
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=12)
DECLARED = {
    "integers": {"missing": ["{}=-999"], "units": "USD", "roles": "audit"},
    "dates": {"types": "date"},
    "levels": {"unseen": "missing"},
    "moments": {"types": "datetime"},
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[str]], ReadingOptions]:
    """Columns of every kind under any name, and declarations of some."""
    n_rows = draw(st.integers(1, 30))
    columns: dict[str, list[str]] = {}
    declared: dict[str, dict[str, str]] = {"units": {}, "roles": {}, "types": {}, "unseen": {}}
    missing = []
    for name in draw(
        st.lists(NAMES.filter(lambda n: n.strip() == n and "=" not in n), min_size=1, max_size=6, unique=True)
    ):
        kind = draw(st.sampled_from(list(CELLS)))
        columns[name] = draw(st.lists(st.sampled_from(CELLS[kind]), min_size=n_rows, max_size=n_rows))
        if kind in DECLARED and any(columns[name]) and draw(st.booleans()):
            for what, value in DECLARED[kind].items():
                if isinstance(value, list):
                    missing += [text.format(name) for text in value]
                else:
                    declared[what][name] = value
    return columns, ReadingOptions(missing=missing, **declared)  # type: ignore[arg-type]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_what_is_described_is_read_back_to_the_same_columns(tmp_path: Path, drawn) -> None:
    columns, options = drawn
    data, types = tmp_path / "data.csv", tmp_path / "types.toml"
    pl.DataFrame({name: [cell or None for cell in cells] for name, cells in columns.items()}).write_csv(
        data, quote_style="non_numeric"
    )
    try:
        before = read_table(data, options)
    except InputError:  # a table without a cell, or a name that is no name
        return
    describe(data, options, types)
    after = read_table(data, ReadingOptions().over(read_types(types)))
    assert after.features == before.features
    for old, new in zip(before.arrays, after.arrays, strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xfe", "not UTF-8 at byte 0"),
        (b"[columns", "not TOML"),
        (b"x = " + b"[" * 100_000, "not TOML"),
        (b"x = " + b"9" * 10_000, "not TOML"),
        (b"#" * (16 * 2**20 + 1), "more than 16 MB"),
        (b"", "no section"),
        (b"columns = 3", "no section"),
        (b"[rows]", "a section 'rows'"),
        (b"[columns]\nx = 3", "no list of declarations"),
        (b"[columns]\nx = { kind = 3 }", "kind is no text"),
        (b"[columns]\nx = { kind = 'number' }", "no kind 'number'"),
        (b"[columns]\nx = { knd = 'numeric' }", "no key 'knd'; did you mean 'kind'?"),
        (b"[columns]\nx = { kind = 'ordered' }", "an ordered column has levels"),
        (b"[columns]\nx = { kind = 'numeric', levels = ['a'] }", "an ordered column has levels"),
        (b"[columns]\nx = { kind = 'ordered', levels = ['a', 'a'] }", "each level once"),
        (b"[columns]\nx = { missing = 'NA' }", "missing is no list of texts"),
        (b"[columns]\nx = {}\nx = {}", "not TOML"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "types.toml"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_types(path)
    assert said in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


@given(st.lists(st.text(min_size=1), min_size=1, unique=True))
def test_any_levels_can_be_declared_in_their_order(levels: list[str]) -> None:
    assert list(levels_declared(ordered_kind(levels))) == levels


@pytest.mark.parametrize(
    "levels",
    [
        ("low", "med", "high", "vhigh"),
        ("Never", "Sometimes", "Often"),
        ("<18", "18-25", "26-35", "36+"),
        ("no checking", "<0", "0<=X<200", ">=200"),
        ("under 5", "5 to 10", "10 to 20", "over 20"),
        ("<$1,000", "$1,000 - $2,000", "$2,000 - $3,000"),
        ("2", "3", "4", "5more"),
        ("1st", "2nd", "3rd"),
    ],
)
def test_levels_that_look_ordered(levels: tuple[str, ...]) -> None:
    assert likely_order(sorted(levels)) == levels
    for others in ("car home boat", "a04 a05 a06", "1 2 3", "low high", " ".join(["9" * 5000 + "-1"] * 3)):
        assert likely_order(others.split()) == ()


def test_what_columns_look_like(tmp_path: Path) -> None:
    rows = range(40)
    frame = {
        "nr": [7 + 2 * i for i in rows],
        "name": [f"client {i}" for i in rows],
        "day": [f"2024-05-{1 + i % 28:02}" for i in rows],
        "us": [f"{1 + i % 12}/{1 + i % 28}/2024" for i in rows],
        "same": ["x"] * 40,
        "one": [1] * 40,
        "size": [("small", "medium", "large")[i % 3] for i in rows],
        "word": [("car", "home", "boat")[i % 3] for i in rows],
        "x": [i % 7 for i in rows],
    }
    data = tmp_path / "data.csv"
    pl.DataFrame(frame).write_csv(data)
    table = read_table(data)
    looks = {name: hint.look for name, hint in hints_of(table.features, table.arrays).items()}
    assert looks == {
        "nr": "an id",
        "name": "an id",
        "day": "dates",
        "us": "dressed",
        "same": "constant",
        "one": "constant",
        "size": "ordered",
    }
    assert [note.split(";")[0] for note in table.notes] == [
        "column 'us' is a category of dates such as '1/1/2024'",
        "columns 'nr', 'name': ids or row numbers, it seems",
        "column 'day': dates",
        "column 'size': levels seem ordered",
    ]


def test_a_form_stands_in_a_file_of_types(tmp_path: Path) -> None:
    path = tmp_path / "types.toml"
    feature = Feature("price", form="1.234,50 €", unit="€", display="money")
    path.write_text(types_text([feature], {}, {}), encoding="utf-8")
    assert 'price = { kind = "money", form = "1.234,50 €" }' in path.read_text("utf-8")
    assert read_types(path).types == {"price": "money:1.234,50 €"}
    data = tmp_path / "data.csv"
    data.write_text('price\n"12,50 €"\n"1.200,00 €"\n', encoding="utf-8")
    table = read_table(data, read_types(path))
    assert (table.features[0], table.array("price").tolist()) == (feature, [12.5, 1200.0])
