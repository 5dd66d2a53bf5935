"""The columns that all formulas of a model share where their number is limited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rulekit.learners.cnll.search.growth import GrowthSettings, begin, grown_freer, states
from rulekit.learners.contract import Candidate, Question
from rulekit.learners.fitting.size_limits import NO_LIMITS


def shared_columns(
    settings: GrowthSettings, questions: Sequence[Question], nothing: Callable[[Question], Candidate]
) -> tuple[int, ...]:
    """The columns that together lower the objectives of formulas grown without the limit most."""
    most = settings.sizes.features
    assert most is not None
    free = replace(settings, sizes=NO_LIMITS, n_units=min(settings.n_units, 2 * most))
    gain: dict[int, float] = {}
    for question in questions:
        grown = begin(question.problem, free)
        for _ in states(grown, free):
            if question.watch.over:
                break
        if not question.watch.over:
            grown = grown_freer(grown, free) or grown
        before = nothing(question).objective
        for step in grown.steps:
            for column in step.bit.columns:
                gain[column] = gain.get(column, 0.0) + before - step.after
            before = step.after
    return tuple(sorted(sorted(gain, key=lambda column: (-gain[column], column))[:most]))
