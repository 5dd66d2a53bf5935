"""The table of the ladder shows every rule that a size adds, runs over no column, and fits a screen."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rulekit import RulesClassifier
from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.audit.training_lines import ladder_lines
from rulekit.graph.decisions import Fires
from rulekit.graph.model_parts import Ladder, Rung
from rulekit.graph.nodes import And, Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import added_rules, rung_of
from rulekit.schema import Feature, Schema
from rulekit.shown.rule_rows import Words, conditions_of


@pytest.fixture(scope="module", params=[2, 3])
def ladder(request: pytest.FixtureRequest) -> Ladder:
    rng = np.random.default_rng(0)
    columns = {f"a_column_with_a_name_{n}": np.round(rng.random(300), 1) for n in range(4)}
    a, b, c, d = columns.values()
    y = (a > 0.5) * (b > 0.3) * (c > 0.2) + (request.param - 1) * ((d > 0.7) & (a < 0.4) & (b < 0.8))
    return RulesClassifier(6, n_folds=2).fit(pl.DataFrame(columns), y).ladder_


@pytest.mark.parametrize("width", [60, 80, 90, 120])
def test_every_rule_that_a_size_adds_stands_in_full(ladder: Ladder, width: int) -> None:
    lines = ladder_lines(ladder, None, width)

    assert max(map(len, lines)) <= width
    assert not any("..." in line for line in lines)
    shown = " ".join(" ".join(lines).split())
    for rung, added in zip(ladder.rungs, added_rules(ladder), strict=True):
        words = Words.of([rule.node for rule in added], rung.model.schema)
        for rule in added:
            assert " and ".join(conditions_of(rule.node, words)) in shown


def rung(size: int, *cuts: float) -> Rung:
    """A row with a rule of four conditions for each cut."""
    rules = [And([Compare(f"column_{k}", ">", cut) for k in range(4)]) for cut in cuts]
    graph = RuleGraph(Schema(tuple(Feature(f"column_{k}") for k in range(4))), ("no", "yes"), Fires(Or(rules)))
    return rung_of(size, (0.1, 0.01, None), graph)


def test_what_a_size_leaves_out_is_said_shortly() -> None:
    for before, said in (((2.0,), "without column_0 > 2"), ((2.0, 3.0), "without 2 rules of size 1")):
        lines = ladder_lines(Ladder((rung(1, 1.0, *before), rung(2, 1.0, 4.0)), 2), None, 120)

        assert sum("without" in line for line in lines) == 1
        assert lines[-2].strip().startswith(said)  # below what is added, above what the marks mean
        assert sum("column_0 > 1 " in line for line in lines) == 1


@pytest.mark.parametrize("width", [50, 100])
def test_a_long_ladder_fits_a_screen_and_the_taken_row_stands_in_full(width: int) -> None:
    rows = [rung(size, *(10.0 * size + n for n in range(5))) for size in range(1, 9)]
    lines = ladder_lines(Ladder(tuple(rows), 5, 1, "least error"), None, width)

    assert len(lines) <= 40
    assert max(map(len, lines)) <= width
    shown = {size: sum(f"column_0 > {size}{n}" in line for line in lines for n in range(5)) for size in range(1, 9)}
    assert shown[5] == 5
    assert all(shown[size] == 1 for size in (2, 3, 7, 8))
    assert sum(" and 4 more" in line for line in lines) >= 4


def test_names_of_baselines_take_no_room_from_the_rules(ladder: Ladder) -> None:
    model = Baseline("best single condition", 0.2, 0.1, 0.3, 5)
    beside = ladder_lines(ladder, Baselines((model,), 300, 300), 80)

    alone = ladder_lines(ladder, None, 80)
    assert beside[1].startswith("best single condition   20.0 ± 10.0")
    assert beside[0].index("error %") - alone[0].index("error %") <= 2
