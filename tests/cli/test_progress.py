"""What is said while a model is learned: on a terminal, and not elsewhere."""

from __future__ import annotations

import logging
import sys

import pytest
from rulekit_cli.console import library_heard
from rulekit_cli.progress import shown_progress

from rulekit.work.progress import Learning


@pytest.mark.parametrize(("terminal", "quiet", "said"), [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_compiling_is_said_as_progress_is(
    terminal: bool, quiet: bool, said: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("rulekit.learners.counting.kernels")
    before = (logger.level, list(logger.handlers))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with library_heard(), shown_progress(quiet) as progress:
        progress(Learning("cnll", {"stage": "counting", "done": 0, "total": 3}))
        logger.info("compiling for this machine, %s", "once")
        logger.info("compiling for this machine, %s", "once")
    assert capsys.readouterr().err.count("compiling for this machine, once") == said
    assert (logger.level, logger.handlers) == before
