"""A training that ends without a rule says what may give some, and that does on the same table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, done

import rulekit


def towns(path: Path) -> None:
    """Thirty towns of which four have many floods, in fewer than half of their houses."""
    rng = np.random.default_rng(0)
    town = rng.integers(0, 30, 1800)
    flood = rng.random(1800) < np.where(town < 4, 0.36, 0.1)
    built = rng.integers(1900, 2020, 1800)
    rows = zip(town, built, flood, strict=True)
    written(path, "town,built,y", (f"t{a},{year},{'yes' if b else 'no'}" for a, year, b in rows))


def ranks(path: Path) -> None:
    """Three classes of which two are seldom, and nowhere the most frequent ones."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 900)).round(1)
    lost, late = np.where(a > 0.8, 0.25, 0.02), np.where(b > 0.8, 0.3, 0.06)
    drawn = rng.random(900)
    label = np.where(drawn < lost, "lost", np.where(drawn < lost + late, "late", "fine"))
    written(path, "a,b,y", (f"{p},{q},{c}" for p, q, c in zip(a, b, label, strict=True)))


def noise(path: Path) -> None:
    rng = np.random.default_rng(1)
    a, label = rng.normal(size=60).round(2), rng.permutation(60) < 24
    written(path, "a,y", (f"{p},{'yes' if c else 'no'}" for p, c in zip(a, label, strict=True)))


def written(path: Path, header: str, lines: Iterable[str]) -> None:
    path.write_text("\n".join([header, *lines]) + "\n")


@pytest.mark.parametrize(
    ("table", "given", "way"),
    [
        (towns, [], "--cost 1:5"),
        pytest.param(towns, ["--positive", "no"], "--positive yes --cost 1:5", marks=pytest.mark.long),
        pytest.param(ranks, [], "--param class_weight=balanced", marks=pytest.mark.long),
        (noise, [], ""),
    ],
)
def test_what_may_help_where_no_rule_is_found_gives_some(
    table: Callable[[Path], None], given: list[str], way: str, run: Run, tmp_path: Path
) -> None:
    data, model = tmp_path / "rows.csv", tmp_path / "model.json"
    table(data)

    ran = run("train", str(data), "--target", "y", "--no-baselines", "-o", str(model), *given)

    assert ran.status == 0, ran.err
    assert "no rule was found" in ran.err
    said = " ".join(ran.err.split())
    assert " ".join(re.findall(r"--(?:positive|cost|param) \S+", said)) == way
    if not way:
        assert "note: 60 rows hardly tell a rule from chance; with more rows there may be some" in said
        return
    ran = done(run("train", str(data), "--target", "y", "--no-baselines", "--json", "-o", str(model), *way.split()))
    assert json.loads(ran.out)["literals"] > 0


def test_a_model_that_decides_every_row_alike_says_so_and_how_to_find_the_class(run: Run, tmp_path: Path) -> None:
    """A noisy-or keeps causes for their probabilities where none exceeds 1/2; nothing was said of it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=2_000)
    y = rng.random(2_000) < np.where(x > 1.0, 0.15, 0.01)
    data, model = tmp_path / "rows.csv", tmp_path / "model.json"
    data.write_text("x,y\n" + "".join(f"{a:.3f},{int(b)}\n" for a, b in zip(x, y, strict=True)))
    given = ["train", str(data), "--target", "y", "--learner", "noisy-or-paper", "--no-baselines", "-o", str(model)]

    said = " ".join(run(*given).err.split())

    assert "every row is decided 0, so that the rules only say how likely another answer is" in said
    assert "--param threshold=f1 decides where 1 is found best" in said
    found = done(run(*given, "--param", "threshold=f1"))
    assert "every row is decided" not in found.err


def test_the_advice_for_a_rare_class_names_a_rule_and_leads_to_precise_ones(run: Run, tmp_path: Path) -> None:
    """Adaboost found nothing, said that no rule is right more often than wrong, and advised --cost 1:318."""
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 6_000)).round(2)
    label = rng.random(6_000) < np.where((a > 1.6) & (b > 1.6), 0.75, 0.001)
    data, model = tmp_path / "rows.csv", tmp_path / "model.json"
    written(data, "a,b,c,y", (f"{p},{q},{r},{'yes' if s else 'no'}" for p, q, r, s in zip(a, b, c, label, strict=True)))
    given = ("train", str(data), "--target", "y", "--no-baselines", "-o", str(model))

    said = " ".join(run(*given, "--learner", "adaboost", "--param", "n_estimators=20").err.split())

    assert re.search(r"the best is right on \d+ of its \d+ rows: a > 1\.\d+ and b > 1\.\d+", said), said
    assert "right more often than wrong" not in said
    assert "--learner rules looks for such rules" in said
    found = json.loads(run(*given, "--learner", "rules", "--json").out)
    assert found["literals"] > 0
    cost = re.findall(r"--cost 1:\d+", said)[0].split()
    assert run(*given, "--learner", "adaboost", "--param", "n_estimators=20", *cost).status == 0
    rows = {"a": a, "b": b, "c": c}
    yes = rulekit.load(model).predict(rows) == "yes"
    assert label[yes].mean() > 0.3
