"""The table of the ladder takes the room that it has: no rule is cut before the last column, and none runs over it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rulekit import RulesClassifier
from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.audit.ladder_lines import ladder_lines
from rulekit.graph.ladder import Ladder


@pytest.fixture(scope="module", params=[2, 3])
def ladder(request: pytest.FixtureRequest) -> Ladder:
    rng = np.random.default_rng(0)
    columns = {f"a_column_with_a_name_{n}": np.round(rng.random(300), 1) for n in range(4)}
    a, b, c, d = columns.values()
    y = (a > 0.5) * (b > 0.3) * (c > 0.2) + (request.param - 1) * ((d > 0.7) & (a < 0.4) & (b < 0.8))
    return RulesClassifier(6, n_folds=2).fit(pl.DataFrame(columns), y).ladder_


@pytest.mark.parametrize("width", [80, 90, 120])
def test_a_rule_is_cut_at_the_last_column_only(ladder: Ladder, width: int) -> None:
    lines = ladder_lines(ladder, None, width)

    assert max(map(len, lines)) <= width
    cut = [line for line in lines if "..." in line]
    assert bool(cut) or width == 120
    assert all(len(line) >= width - 1 for line in cut)


def test_names_of_baselines_take_no_room_from_the_rules(ladder: Ladder) -> None:
    model = Baseline("best single condition", 0.2, 0.1, 0.3, 5)
    beside = ladder_lines(ladder, Baselines((model,), 300, 300), 80)

    alone = ladder_lines(ladder, None, 80)
    assert beside[1].startswith("best single condition   20.0 ± 10.0")
    assert beside[0].index("error %") - alone[0].index("error %") <= 2
