"""What `compare` says of random pairs, against both models run on a row of every cell, found without its code."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from model_pairs import SECOND, all_rows, random_pair

from rulekit.audit.differences.compared import Compared, compare
from rulekit.audit.differences.joint import joint
from rulekit.audit.differences.row_flips import row_flips
from rulekit.audit.differences.ways import Differing
from rulekit.audit.rule_matching import rule_changes, rule_parts
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import RUN_CELLS
from rulekit.tables.raw.sources import raw_table

SAME = ("rewritten", "simplified", "swapped classes")


def ways_of(first: RuleGraph, second: RuleGraph, rows: dict[str, Any]) -> Counter[tuple[str, str]]:
    """How many rows flip from which class to which."""
    labels = [list(map(repr, graph.predict(rows).tolist())) for graph in (first, second)]
    return Counter((a, b) for a, b in zip(*labels, strict=True) if a != b)


def agrees(first: RuleGraph, second: RuleGraph, kind: str, compared: Compared, rows: dict[str, Any]) -> None:
    ways = ways_of(first, second, rows)
    shown = {(repr(flip.before), repr(flip.after)) for flip in compared.flips if flip.witness is not None}
    added_up = any(map(has_column, (*first.decision.roots, *second.decision.roots)))
    assert shown >= set(ways)
    if not added_up:  # else a cell may hold rows that are decided otherwise than the one that was run
        assert shown == set(ways)
        assert compared.outcome == ("different" if ways else "equal")
    assert compared.equal <= (not ways)
    if kind in SAME and not ways:
        assert compared.equal
    for flip in compared.flips:
        assert flip.witness is not None
        for graph, label in ((first, flip.before), (second, flip.after)):
            assert graph.predict([dict(flip.witness.row)])[0] == label
    if compared.rows is not None:
        labels = [repr(label) for label in compared.classes]
        assert {(labels[a], labels[b]): n for (a, b), (n, _) in compared.rows.ways().items()} == dict(ways)


def look_at(seed: int, most_run: int) -> None:
    first, second, kind = random_pair(seed)
    rows = all_rows(first, second)
    agrees(first, second, kind, compare(first, second, rows if seed % 2 else None, most_run=most_run), rows)


@pytest.mark.parametrize("kind", range(len(SECOND)), ids=SECOND)
def test_pairs_are_told_apart_or_proved_equal(kind: int) -> None:
    for seed in range(kind, 72, len(SECOND)):
        look_at(seed, RUN_CELLS)


def test_pairs_of_many_cells_are_told_apart_or_proved_equal_by_search() -> None:
    for seed in range(12):
        look_at(seed, 0)


@pytest.mark.slow
@pytest.mark.parametrize("most_run", [RUN_CELLS, 0], ids=["run", "searched"])
@pytest.mark.parametrize("first", range(0, 500, 50))
def test_five_hundred_pairs(first: int, most_run: int) -> None:
    for seed in range(first, first + 50):
        look_at(seed, most_run)


@pytest.mark.parametrize("most_run", [RUN_CELLS, pytest.param(0, marks=pytest.mark.long)], ids=["run", "searched"])
def test_regions_hold_the_rows_that_flip_and_no_other(most_run: int) -> None:
    covered = 0
    for seed in (*range(0, 60, 6), *range(1, 60, 6), *range(4, 60, 6)):
        first, second, _ = random_pair(seed)
        both = joint(first, second)
        rows = row_flips(both, raw_table(all_rows(first, second)))
        differing = Differing(both, rows.table, most_run)
        for way, found in differing.found.items():
            flips = (rows.labels[0] == way[0]) & (rows.labels[1] == way[1])
            within = np.zeros(rows.n, dtype=bool)
            for box in found.boxes.boxes:
                inside = differing.rows_in(box)
                if not differing.added_up:
                    assert not (inside & ~flips).any()
                within |= inside
            if found.boxes.complete and not differing.added_up:
                assert (within == flips).all()
                covered += 1
    assert covered > 5


def test_a_tightened_rule_covers_fewer_rows_and_a_loosened_one_more() -> None:
    seen: Counter[str] = Counter()
    for seed in (*range(0, 60, 6), *range(1, 120, 6), *range(2, 60, 6)):
        first, second, _ = random_pair(seed)
        rows = all_rows(first, second)
        rules = [{rule.rule.id: rule for rule in rule_parts(graph)} for graph in (first, second)]
        for change in rule_changes(joint(first, second)).changes:
            seen[change.kind] += 1
            if change.old is None or change.new is None:
                continue
            conditions = rules[0][change.old.id].condition, rules[1][change.new.id].condition
            if None in conditions:
                continue
            pairs = zip((first, second), conditions, strict=True)
            old, new = (evaluate_nodes([node], graph.table(rows))[node] for graph, node in pairs)
            fewer, more = bool((new <= old).all()), bool((old <= new).all())
            if change.kind in ("tightened", "loosened"):
                assert (fewer, more) == (change.kind == "tightened", change.kind == "loosened")
            elif change.kind in ("rewritten", "weight"):
                assert (old == new).all()
    assert min(seen[kind] for kind in ("added", "removed", "tightened", "loosened")) > 0
