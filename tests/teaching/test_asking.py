"""Made rows: each cell is one of the table's, as frequent as there, and so are pairs of neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from foreign_models import table_text, write
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.errors import InputError
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import read_labelled
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Budget, Table
from rulekit.teaching.asking import RowSampler, least_sure, made_table
from rulekit.teaching.teachers import columns_of, gathered


def table_of(columns: dict[str, Any]) -> Table:
    return infer(raw_table(columns), DEFAULT_OPTIONS)


def sampled(table: Table, rows: int, seed: int = 0) -> tuple[RowSampler, np.ndarray[Any, Any]]:
    sampler = RowSampler.of(table)
    return sampler, sampler.draw(rows, np.random.default_rng(seed))


def keyed(table: Table, name: str) -> list[str]:
    return [str(cell) for cell in columns_of(table)[name].tolist()]


CELLS = {
    "number": st.sampled_from([None, 0.5, 1.25, -3.0, 7.5, 1e9]),
    "level": st.sampled_from([None, "red", "green", "blue"]),
    "truth": st.sampled_from([None, True, False]),
    "constant": st.just("same"),
    "nothing": st.just(None),
}


@given(st.data(), st.integers(2, 30), st.integers(1, 40), st.integers(0, 5))
@settings(max_examples=60)
def test_every_made_cell_is_one_of_its_column(data: st.DataObject, n: int, made: int, seed: int) -> None:
    """Of any kinds, with gaps, constant or empty columns; and the same seed draws the same rows."""
    kinds = data.draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=5))
    columns = {f"{kind}{j}": data.draw(st.lists(CELLS[kind], min_size=n, max_size=n)) for j, kind in enumerate(kinds)}
    table = table_of(columns)
    _, donors = sampled(table, made, seed)
    assert donors.shape == (len(table.features), made)
    assert ((donors >= 0) & (donors < n)).all()
    assert (sampled(table, made, seed)[1] == donors).all()
    rows = made_table(table, donors)
    assert (rows.n_rows, rows.features) == (made, table.features)
    by_hand = gathered(columns, donors)
    for j, name in enumerate(columns):
        assert set(keyed(rows, name)) <= set(keyed(table, name))
        assert list(by_hand[name]) == [columns[name][row] for row in donors[j]]


def correlated(n: int = 400) -> Table:
    """A number and its noisy copy, a level that follows it, and a column that nothing says anything of."""
    draw = np.random.default_rng(1)
    x = np.round(draw.normal(size=n), 2)
    near = np.where(draw.random(n) < 0.25, np.nan, np.round(x + draw.normal(size=n) / 5, 2))
    level = np.where(x > 0.5, "high", np.where(draw.random(n) < 0.1, "rare", "low")).astype(object)
    level[draw.random(n) < 0.1] = None
    return table_of({"x": x, "near": near, "level": level, "alone": draw.choice(["p", "q"], n)})


def test_levels_gaps_and_pairs_of_neighbours_are_as_frequent_as_in_the_table() -> None:
    """Beside pairs that no rule of the tree keeps apart: x and alone are independent in made rows."""
    table = correlated()
    sampler, donors = sampled(table, 40_000)
    codes = sampler.codes
    made = np.stack([codes[j][donors[place]] for j, place in enumerate(sampler.places)])
    assert sum(before < 0 for before in sampler.neighbours.values()) == 1
    names = [table.names[place] for place in sampler.places]
    assert {frozenset((names[j], names[b])) for j, b in sampler.neighbours.items() if b >= 0} >= {
        frozenset(("x", "near")),
        frozenset(("x", "level")),
    }
    for j, before in sampler.neighbours.items():
        pair, drawn = ([own[max(before, 0)] * 1000 + own[j] for own in each] for each in ([codes], [made]))
        kinds = np.unique(np.concatenate([*pair, *drawn]))
        shares = [np.array([np.mean(each == kind) for kind in kinds]) for each in (pair[0], drawn[0])]
        assert np.abs(shares[0] - shares[1]).max() < 0.01
    whole = np.array(columns_of(table)["near"])
    assert np.isnan(whole[donors[1]]).mean() == pytest.approx(np.isnan(whole).mean(), abs=0.01)


def test_made_rows_reach_cells_that_the_table_has_not() -> None:
    table = correlated()
    _, donors = sampled(table, 4000)
    assert len(np.unique(donors.T, axis=0)) > 3000
    assert (donors == donors[0]).all(axis=0).mean() < 0.1


def test_wide_tables_and_texts_are_drawn_from() -> None:
    """Beyond 200 columns each goes with the first one; a text goes with a row whose other cells it may not share."""
    draw = np.random.default_rng(0)
    wide = {f"x{j}": np.round(draw.random(60), 2) for j in range(500)}
    sampler, donors = sampled(table_of(wide), 20)
    assert sorted(sampler.neighbours) == list(range(500))
    assert donors.shape == (500, 20)
    text = {"note": [f"good word{i} and more words of this" for i in range(60)], "x": wide["x0"]}
    table = infer(raw_table(text), ReadingOptions(types={"note": "text"}))
    assert table.features[0].kind == "text"
    _, donors = sampled(table, 20)
    assert made_table(table, donors).n_rows == 20
    assert (donors[0] == donors[1]).all()
    with pytest.raises(InputError, match="no column of numbers or categories"):
        RowSampler.of(table.select(["note"]))


def test_rows_of_which_the_rules_are_not_sure_are_preferred() -> None:
    """By 1.2 to 0.2 of those in the middle to those at the ends, and each row at most once."""
    chances = np.repeat([[0.5, 0.5], [0.0, 1.0]], 5000, axis=0)
    taken = least_sure(chances, 1000, np.random.default_rng(0))
    assert len(np.unique(taken)) == 1000
    assert np.mean(taken < 5000) == pytest.approx(1.2 / 1.4, abs=0.04)
    three = np.repeat([np.full(3, 1 / 3), [0.0, 0.0, 1.0]], 5000, axis=0)
    assert np.mean(least_sure(three, 1000, np.random.default_rng(0)) < 5000) == pytest.approx(1.2 / 1.4, abs=0.04)
    assert least_sure(chances[5000:], 5000, np.random.default_rng(0)).tolist() == list(range(5000))


def test_a_table_on_disk_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", table_text())
    stored = read_labelled(path, ReadingOptions(target="label"), Budget(400_000_000)).table
    with pytest.raises(InputError, match="rows are made from a table in memory"):
        RowSampler.of(stored)
