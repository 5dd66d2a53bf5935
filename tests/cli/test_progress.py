"""What is said while a model is learned: on a terminal, and not elsewhere."""

from __future__ import annotations

import logging
import sys

import pytest
from rulekit_cli.console import library_heard, shown_progress

from rulekit.work.progress import Event, Learning, RunProgress, Stage


@pytest.mark.parametrize(("terminal", "quiet", "said"), [(True, False, 1), (True, True, 0), (False, False, 1)])
def test_compiling_is_said_as_progress_is(
    terminal: bool, quiet: bool, said: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("rulekit.learners.sums_of_rows.kernels")
    before = (logger.level, list(logger.handlers))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with library_heard(), shown_progress(quiet) as progress:
        progress(Learning("cnll", {"stage": "counting", "done": 0, "total": 3}))
        logger.warning("compiling for this machine, %s", "once")
        logger.warning("compiling for this machine, %s", "once")
    assert capsys.readouterr().err.count("compiling for this machine, once") == said
    assert (logger.level, logger.handlers) == before


def test_one_share_for_a_whole_run_never_falls_and_says_what_remains() -> None:
    now = [0.0]
    run = RunProgress(clock=lambda: now[0])
    step = {"n_units": 4, "error": 0.25, "questions": 2, "folds": 5}
    events: list[Event] = [
        Stage("reading", 0.5),
        Stage("reading", 1.0),
        Learning("cnll", {"stage": "counting", "done": 1, "total": 3}),
        *(Learning("cnll", {**step, "class": c, "unit": unit}) for unit in (1, 2, 3) for c in "ab"),
        *(Learning("cnll", {**step, "class": c, "unit": 3, "fold": fold}) for c in "ab" for fold in (1, 2, 3, 4, 5)),
        Stage("simplifying"),
        Stage("measuring"),
    ]
    standings = []
    for event in events:
        now[0] += 4.0
        standings.append(run.take(event))
    shares = [standing.share or 0.0 for standing in standings]
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] < 1
    assert [standings[i].label for i in (0, -2, -1)] == ["reading", "simplifying", "measuring"]
    assert all(s.remaining.startswith("about ") and not s.remaining.startswith("about 0") for s in standings)
    limited = RunProgress(time_limit=60.0, clock=lambda: now[0])
    now[0] += 50.0
    assert limited.take(Learning("cnll", {**step, "class": "a", "unit": 1})).remaining == "about 10 s left"
