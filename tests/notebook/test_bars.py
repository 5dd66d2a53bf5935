"""What is seen of a fit while it runs: one bar, which never goes back and says what remains."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cnll_cases import loan_rows

from rulekit import RulesClassifier
from rulekit.work.progress import Learning, RunProgress, Standing


def _rich(X: Any) -> np.ndarray:
    return np.asarray([income or 0 for income in X["income"]]) > 60_000


@pytest.mark.parametrize("classes", [2, 3])
def test_the_share_of_a_fit_rises_to_the_end(classes: int) -> None:
    X, y = loan_rows(200)
    y = y if classes == 2 else np.where(_rich(X), "rich", y)
    seconds = iter(range(10_000))
    course, seen = RunProgress(clock=lambda: float(next(seconds)), parts=(0.0, 0.1, 1.0)), list[Standing]()
    RulesClassifier(4, n_folds=3, callback=lambda step: seen.append(course.take(Learning("rules", step)))).fit(X, y)
    shares = [standing.share for standing in seen if standing.share is not None]
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert shares[-1] == 1.0
    assert seen[-1].seconds == 0
    middle = next(i for i, standing in enumerate(seen) if (standing.share or 0) > 0.3)
    assert seen[middle].seconds == pytest.approx((middle + 1) * (1 / shares[middle] - 1), rel=0.2)
    assert [standing.label for standing in seen if "fold 3 of 3" in standing.label]


def test_what_remains_is_said_in_words() -> None:
    said = [Standing("", 0.5, seconds).remaining for seconds in (None, 0.2, 42.4, 200.0, 9000.0)]
    assert said == ["", "about 1 s left", "about 42 s left", "about 3 min left", "about 2 h left"]


def test_a_notebook_has_one_bar_and_no_bar_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class may be called anything: it is text in the bar."""
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=1)))
    display = SimpleNamespace(HTML=lambda text: text, display=lambda text, display_id: shown.append(text) or handle)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr("rulekit.notebook.display._EVERY", 0.0)
    X, y = loan_rows(100)
    labels = np.where(_rich(X), "<b>rich</b>", y)
    RulesClassifier(2, n_folds=2, verbose=1).fit(X, labels)
    assert "reading the rows" in shown[1]
    assert any("&lt;b&gt;rich" in text for text in shown)
    assert not any("<b>rich" in text for text in shown)
    assert re.search(r'<progress max="1" value="1.000"', shown[-2])
    assert shown[-1] == ""
    shown.clear()
    RulesClassifier(2, n_folds=2).fit(X, labels)
    assert shown == []


def test_elsewhere_a_line_says_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    """In a log file; the model does not depend on it, and the callback still cancels."""
    X, y = loan_rows(100)
    steps: list[Any] = []
    stopped = RulesClassifier(4, n_folds=2, verbose=True, callback=lambda step: steps.append(step) or len(steps) == 2)
    assert stopped.fit(X, y).rule_graph_.provenance["stopped"] == "cancelled"
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "rules: reading the rows"
    assert len(lines) == 3
