"""The limit of time that the parts of a command share."""

from __future__ import annotations

import math

import pytest

from rulekit.errors import BudgetError
from rulekit.limits import Deadline, OutOfTime


def test_a_deadline_is_over_when_its_seconds_are() -> None:
    """None is no limit; 0 seconds are over at once, and what is searched then is open."""
    assert Deadline().left == math.inf
    assert not Deadline().over
    Deadline(60).check()
    assert 0 < Deadline(60).left <= 60
    assert Deadline(0).left == 0.0
    with pytest.raises(OutOfTime, match="--time-limit") as raised:
        Deadline(0).check()
    assert isinstance(raised.value, BudgetError)


def test_a_part_gets_no_more_time_than_is_left() -> None:
    """A part's own limit is that of the whole where this one comes first."""
    whole = Deadline(0)
    assert whole.within(60).over
    assert not Deadline(60).within(30).over
    assert Deadline(60).within(30).left <= 30
