"""The nearest change is what brute force finds over every combination of cells, of every form of decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
from nearest_by_force import force_of

from rulekit.conformance.models import MODELS, SMALL, random_legal_graph
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.search.moves import Direction, Wishes, has_order
from rulekit.search.nearest import nearest_changes
from rulekit.verification.rows import adversarial_rows

MANY_CELLS, FEW_CELLS = 10_000, 700

OWN = {
    "words of a text": """rulekit rules 1
column note: text
column age: numeric, integer
label y: {no, yes}
default no
decide yes when any of (
  note contains any of {late, unpaid} and age <= 30,
  note contains fraud and not (note contains paid or missing),
  note is missing and age > 60,
)
""",
    "ordered levels": """rulekit rules 1
column grade: categorical {low, mid, high, top}, ordered
column income: numeric
column owner: boolean
label y: {no, yes}
default no
decide yes when any of (
  grade in {mid, top} and income > 2.5,
  (owner or missing) and grade in {high} and income <= 7.25,
)
""",
    "a sum of conjunctions": """rulekit rules 1
column age: numeric, integer
column income: numeric
column town: categorical {a, b, c, d}
label y: {no, yes}
default no
decide yes when sum(
  -1.25, 2 if age > 30 and income > 4, -1.5 if town in {a} and age <= 50, 1 if (town in {b} or unseen),
  0.75 if income <= 9, 0.5 * step(age: -1 up to 20, 0.5 up to 40, then 2, missing 0.1)
) exceeds score 0.5
""",
    "units over numbers": """rulekit rules 1
column a: numeric
column b: numeric, integer
column flag: boolean
label y: {p, q, r}
default q
decide largest of (
  p: at least 1.5 points of (
    1 * clip(a, from -2 to 2, step 0.5, missing 0.5),
    -0.75 * clip(b, from 0 to 5, step 1, missing 1),
  ) above 0.5,
  q: flag above 0.5,
  r: at least 3 points of (
    1 * clip(a, from -1 to 3, step 1, missing 0),
    1 * clip(b, from 0 to 4, step 1, missing 0),
    1 if flag,
  ) above 0.5,
) preferring r, p, q
""",
}
SHORT = (
    *("threshold", "level sets", "rule beside probability", "points by level", "attained threshold"),
    *("probability on the side of the rules", "few stumps", "few units", "rules of three classes"),
)
LONG = (
    *("noisy-or", "shared bits", "noisy-and", "4 ordered, rules", "4 ordered, noisy", "3 classes, additive"),
    *("3 classes, the first of rule sets", "dates and money", "whole numbers", "3 classes, numbers", "noisy-parity"),
    *("CNLL, ratio stumps", "CNLL, original form", "look-alikes", "doubles throughout"),
)


def models() -> dict[str, Callable[[], RuleGraph]]:
    named = {name: {**MODELS, **SMALL}[name] for name in (*SHORT, *LONG)}
    return {**named, **{name: partial(parse_graph, text) for name, text in OWN.items()}}


def compared(graph: RuleGraph, n_rows: int, seed: int, cells: int) -> int | None:
    """How many rows agree, under random wishes; fails where one does not. None where there are too many cells."""
    rng = np.random.default_rng(seed)
    names = graph.used_features
    fixed: frozenset[str] = frozenset()
    directions: dict[str, Direction] = {}
    if seed % 2:
        fixed = frozenset(name for name in names if rng.random() < 0.2)
        ordered = [name for name in names if has_order(graph.schema[name])]
        directions = {name: "up" if rng.random() < 0.5 else "down" for name in ordered if rng.random() < 0.4}
    to = int(rng.integers(len(graph.classes))) if seed % 3 == 2 else None
    ranked = frozenset(name for name in directions if graph.schema[name].kind == "categorical")
    force = force_of(graph, cells, ranked)
    if force is None or not force.sides:
        return None
    rows = adversarial_rows(graph, n_rows, seed)
    found = nearest_changes(graph, rows.table, Wishes(fixed, directions), to)
    for i, change in enumerate(found):
        row = _row(rows.columns, i)
        wanted = force.nearest(row, fixed, directions, to)
        assert change.proved, (row, str(change))
        if wanted is None:
            assert (change.columns, change.class_index) == ((), None), (row, str(change))
        else:
            assert len(change.columns) == wanted[0], (row, str(change), wanted)
            assert math.isclose(change.distance, wanted[1], rel_tol=1e-8, abs_tol=1e-12), (row, str(change), wanted)
            assert change.class_index is not None
            assert to in (None, change.class_index)
    return len(found)


def _row(columns: Mapping[str, Any], i: int) -> dict[str, Any]:
    return {name: cells[i].item() if isinstance(cells[i], np.generic) else cells[i] for name, cells in columns.items()}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [*SHORT, *OWN])
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_small_models(name: str, seed: int) -> None:
    assert compared(models()[name](), 12, seed, 3_000)


@pytest.mark.parametrize("part", range(4))
def test_random_models(part: int) -> None:
    found = [compared(random_legal_graph(seed), 10, seed, FEW_CELLS) for seed in range(10 * part, 10 * part + 10)]
    assert any(found)


@pytest.mark.one_in(2)
@pytest.mark.full
@pytest.mark.parametrize("name", LONG)
def test_models_of_many_cells(name: str) -> None:
    assert compared(models()[name](), 60, 0, MANY_CELLS)


@pytest.mark.long
@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_a_thousand_rows(name: str, seed: int) -> None:
    assert compared(models()[name](), 1000, seed, MANY_CELLS)


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_many_random_models(part: int) -> None:
    for seed in range(1000 + 40 * part, 1040 + 40 * part):
        compared(random_legal_graph(seed), 25, seed, 3_000)
