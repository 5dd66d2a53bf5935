"""Score cards of whole points from the table to a proved export, by the command."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run, done


@pytest.mark.parametrize(("learner", "size"), [("additive", "max_rules=4"), ("adaboost", "n_estimators=8")])
def test_a_score_card_is_trained_moved_exported_and_proved(run: Run, table: Path, learner: str, size: str) -> None:
    words = ("--target", "label", "--learner", learner, "--param", size, "--param", "points=true", "-q")
    assert run("train", str(table), *words, "-o", "card.json").status == 0
    assert run("threshold", "card.json", str(table), "--recall", "0.95", "-o", "moved.json").status == 0
    for name, target, out in (("card", "onnx", "card.onnx"), ("moved", "python", "moved.py")):
        shown = run("show", f"{name}.json").out
        assert "add up to" in shown.splitlines()[0], shown
        assert run("export", f"{name}.json", "--to", target, "-o", out).status == 0
        verified = done(run("verify", f"{name}.json", out, "--rows", "200"))
        assert "proved" in verified.out
