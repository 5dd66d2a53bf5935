"""Moving the threshold of a model that has promised something."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from rulekit.audit.threshold import Purpose
from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.work.evaluating import move_threshold

CARD = """rulekit rules 1
column amount: numeric
column late: numeric
label bad: {no, yes}
require yes when amount > 9000
default no
decide yes when sum(
  -1,
  3 if amount > 9000,
  2 if late > 2,
) exceeds score 0
report yes with logistic of sum(
  -1,
  3 if amount > 9000,
  2 if late > 2,
)
"""


def test_a_threshold_that_would_break_a_promise_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    parse_graph(CARD).save(tmp_path / "card.json")
    rows = {"amount": [9500, 9500, 100, 100], "late": [0, 3, 3, 0], "bad": ["no", "yes", "no", "no"]}
    pl.DataFrame(rows).write_csv(tmp_path / "rows.csv")
    model, data, output = (tmp_path / name for name in ("card.json", "rows.csv", "moved.json"))
    with pytest.raises(InputError, match=r"breaks a promise: where amount > 9000, the decision is \"yes\""):
        move_threshold(model, data, Purpose(at=0.95), output)  # of 9,500 alone .88 is said
    assert not output.exists()
    assert move_threshold(model, data, Purpose(at=0.8), output).choice.chosen.precision == 0.5
