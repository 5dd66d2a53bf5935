"""Rows under columns that are binned already."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.learners.data.binning import MemoryCodes, bin_table
from rulekit.learners.data.problem import Problem, condition_node, with_words
from rulekit.learners.data.recoding import recoded
from rulekit.schema import Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions


def columns_of(rng: Any, n: int) -> dict[str, list[Any]]:
    """Cells of every kind, some of them missing."""

    def gaps(cells: Any) -> list[Any]:
        return [None if gap else cell for cell, gap in zip(cells.tolist(), rng.random(n) < 0.1, strict=True)]

    return {
        "number": gaps(rng.normal(size=n).round(2)),
        "flag": gaps(rng.random(n) < 0.5),
        "level": gaps(rng.choice([*"abcd"], n, p=[0.5, 0.3, 0.18, 0.02])),
        "gone": [None] * n,
    }


def bare(n: int) -> Problem:
    return Problem((), MemoryCodes(()), np.arange(n) % 2, np.ones(n, dtype=np.int64), 1.0)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), max_bins=st.sampled_from([None, 4]))
def test_codes_are_those_of_the_conditions(seed: int, max_bins: int | None) -> None:
    """The first rows have the codes that they had, and further ones those whose conditions hold for them."""
    rng = np.random.default_rng(seed)
    first = infer(columns_of(rng, 60))
    columns, codes = bin_table(first, np.ones(60, dtype=np.int64), max_bins, 3)
    again = recoded(bare(60), columns, first)
    assert all(np.array_equal(codes[k], again.codes[k]) for k in range(len(columns)))
    further = encode(columns_of(rng, 40) | {"level": [*"abcdefgh"] * 5}, Schema(first.features))
    found = recoded(bare(40), columns, further)
    for k, column in enumerate(columns):
        for code in range(column.n_codes):
            node = condition_node(column, np.arange(column.n_codes) == code)
            assert np.array_equal(evaluate_nodes([node], further)[node], found.codes[k] == code)


def test_columns_of_values_have_a_code_for_each_and_keep_their_ends() -> None:
    first = infer({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0]})
    columns, _ = bin_table(first, np.ones(4, dtype=np.int64), None)
    table = encode({"x": [9.0, 2.5, None], "y": [9.0, 2.5, None]}, Schema(first.features))
    found = recoded(bare(3), columns, table, values={0})
    assert found.columns[0].low[1:].tolist() == [1.0, 2.5, 4.0, 9.0]
    assert found.codes[0].tolist() == [4, 2, 0]
    assert found.columns[1].low[1:].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert found.codes[1].tolist() == [4, 3, 0]  # whole numbers are cut at 2, not at 2.5


def test_words_stand_behind_the_columns_of_the_table() -> None:
    texts, options = ["good day", "bad day", "good sun", "bad rain"] * 10, ReadingOptions(types={"said": "text"})
    first = infer({"said": texts, "x": [0.0, 1.0] * 20}, options)
    columns, codes = bin_table(first, np.ones(40, dtype=np.int64), None)
    known = with_words(replace(bare(40), columns=columns, codes=codes), first, 2)
    again = recoded(bare(40), known.columns, first)
    assert again.columns == known.columns
    assert np.array_equal(again.texts, known.texts)
    assert all(np.array_equal(known.codes[k], again.codes[k]) for k in range(len(known.columns)))
    table = encode({"said": ["good snow", None], "x": [1.0, 0.0]}, Schema(first.features))
    found = recoded(bare(2), known.columns, table)
    words = {column.word: found.codes[k].tolist() for k, column in enumerate(found.columns) if k}
    assert words["good"] == [2, 0]
    assert words["bad"] == [1, 0]
