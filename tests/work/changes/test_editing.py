"""Edits: the rows said to change are those that change, the rest is proved; refitting leaves every decision alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rulekit.audit.figures.metrics import measured
from rulekit.errors import InputError, RulekitError
from rulekit.graph.check import check
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes, probabilities
from rulekit.graph.files.model_files import load
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import And, Compare, Hidden, Not, Or, Sided
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.limits import Deadline, OutOfTime
from rulekit.numbers import probability_of, strength_of
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.options import ReadingOptions
from rulekit.verification.rows import adversarial_rows
from rulekit.work.changes.editing import edit, edit_of
from rulekit.work.changes.refitting import refit, refitted_bits, refitted_to
from rulekit.work.training import TrainingRequest, train

N = 900
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "rules": ("rules", {"max_rules": 4, "n_folds": 2}),
    "rules of three classes": ("rules", {"max_rules": 4, "n_folds": 2}),
    "formula": ("cnll", {"n_units": 4, "n_folds": 2}),
    "score card": ("adaboost", {}),
    "rules with costs": ("rules", {"max_rules": 3, "n_folds": 2}),
}


def table(n_classes: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=N).round(2), rng.normal(size=N).round(2), rng.integers(0, 4, N)
    risk = (a > 0.4) * (b <= 0.5) + (c == 2) + (a <= -0.9) * (b > 0)
    noise = rng.random(N) < 0.08
    y = np.where(noise, rng.integers(0, n_classes, N), np.minimum(risk, n_classes - 1))
    names = np.array(["no", "yes", "perhaps"])
    gaps = np.where(rng.random(N) < 0.05, np.nan, a)
    return {"a": gaps, "b": b, "c": np.array(["w", "x", "y", "z"])[c], "label": names[y]}


@pytest.fixture(scope="module", params=list(MODELS))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model file and its table."""
    import polars as pl

    learner, parameters = MODELS[request.param]
    folder = tmp_path_factory.mktemp("model")
    data, model = folder / "rows.csv", folder / "model.json"
    pl.DataFrame(table(3 if "three" in request.param else 2, 5)).fill_nan(None).write_csv(data)
    cost = "1:3" if "costs" in request.param else None
    reading = ReadingOptions(target="label", positive=None if "three" in request.param else "yes", cost=cost)
    train(TrainingRequest(data, reading, learner, parameters, output=model))
    return data, model


def edits_of(text: str) -> Iterator[str]:
    """Rule texts with an item less, numbers moved, an item more, and a condition more."""
    begin = text.index("\n", text.index("\ndefault") + 1)
    head, body = text[:begin], text[begin:]
    report = body.index("\nreport")
    deciding, rest = body[:report], body[report:]
    text = re.sub(r"\s*#.*", "", deciding)
    items = [line for line in text.split("\n") if line.startswith("  ") and line.endswith(",") and "rule" not in line]
    for item in items[:1]:
        yield head + text.replace(f"\n{item}", "", 1) + rest
    numbers = list(re.finditer(r"(<=|>|up to|probability|\n ) (-?[0-9.]+)", text))
    for found in (*numbers[:2], numbers[len(numbers) // 2], *numbers[-2:]):  # a cut of a step may pass the next one
        moved = 0.9 * float(found[2]) + 0.05
        yield head + text[: found.start(2)] + f"{moved:.4g}" + text[found.end(2) :] + rest
    compared = re.search(r"(<=|>) -?[0-9.]+", text)
    if compared is not None:
        yield head + text[: compared.end()] + " and b > -1.5" + text[compared.end() :] + rest
    if "any of (" in text and "probability of" not in text:
        yield head + text.replace("any of (", "any of (\n  c in {z} and b > 1,", 1) + rest


def rows_of(graph: RuleGraph, data: Path) -> LabelledTable:
    import polars as pl

    return label_for_model(pl.read_csv(data), graph.schema, graph.classes, ReadingOptions(target="label"))


def test_the_rows_said_to_change_are_those_that_change(trained: tuple[Path, Path]) -> None:
    data, model = trained
    base = load(model)
    rows = rows_of(base, data)
    made = adversarial_rows(base, 1000).table
    done = 0
    for text in edits_of(print_graph(base)):
        try:
            edited = parse_graph(text)
        except RulekitError:
            continue
        done += 1
        found = edit_of(base, edited, rows, author="A", reason="policy 7")
        check(found.model)
        before, after = decide(base, rows.table), decide(found.model, rows.table)
        assert [changed.row - 1 for changed in found.rows] == np.flatnonzero(before != after).tolist()
        rules = {f"{rule.id} added": rule for rule in found.added} | {f"{r.id} removed": r for r in found.removed}
        for changed in found.rows:
            at = changed.row - 1
            assert (changed.before, changed.after) == (base.classes[before[at]], base.classes[after[at]])
            row = rows.table.take(np.array([at]))
            true = {key for key, rule in rules.items() if rule.nested or evaluate_nodes([rule.node], row)[rule.node][0]}
            assert changed.rule in true or (changed.rule == "" and not true)  # "": the bias of a sum
        # the claim holds on rows of all kinds, or a row shows that it does not, or the reason is said
        outside = np.ones(made.n_rows, dtype=bool)
        for rule in rules.values():
            if not rule.nested:
                outside &= evaluate_nodes([rule.node], made)[rule.node] == 0
        differ = decide(base, made) != decide(found.model, made)
        if found.unchanged.proved:
            assert not (differ & outside).any() or any(rule.nested for rule in rules.values())
        elif found.unchanged.example is not None:
            shown = {column: [value] for column, value in found.unchanged.example.row.items()}
            assert base.decide(shown) != found.model.decide(shown)
        else:
            assert found.unchanged.reason
        if all(rule.connective == "or" and not rule.nested for rule in (*rules_of(base), *rules.values())):
            assert found.unchanged.proved, (str(found.unchanged), text)
        (note,) = found.model.provenance["edits"]
        assert (note["author"], note["reason"], note["base"]) == ("A", "policy 7", base.digest)
        again = edit_of(found.model, edited, rows)
        assert [e["author"] for e in again.model.provenance["edits"]] == ["A", ""]
        assert again.model.digest == found.model.digest
        assert again.rows == ()
        assert again.unchanged.proved
    assert done >= 4


def test_refitting_leaves_every_decision_alone(trained: tuple[Path, Path], tmp_path: Path) -> None:
    data, model = trained
    base = load(model)
    rows = rows_of(base, data)
    picked = np.random.default_rng(0).random(len(rows)) < 0.3
    few = rows.take(picked & ((rows.table.array("b") > 0) | (rows.y == 0)))  # other rows than those of training
    if not any(isinstance(node, Hidden | Sided) for node in base.nodes()):
        with pytest.raises(InputError):
            refitted_to(base, few)
        return
    refitted = refitted_to(base, few)
    check(refitted)
    assert refitted.decision is base.decision
    assert measured(refitted, few).log_loss < measured(base, few).log_loss
    threshold = base.provenance.get("threshold", 0.5)
    for shown in (rows.table, adversarial_rows(base, 1000).table):
        chances, decided = probabilities(refitted, shown), decide(base, shown)
        two = len(base.classes) == 2
        assert ((chances[:, 1] > threshold) == (decided == 1) if two else chances.argmax(axis=1) == decided).all()
    assert isinstance(refitted.probability[0], Sided)
    fitted = {probability_of(s) for node in refitted.nodes() if isinstance(node, Hidden) for s in (node.on, node.off)}
    old = {probability_of(s) for node in base.nodes() if isinstance(node, Hidden) for s in (node.on, node.off)}
    assert all(p == pytest.approx(float(f"{p:.4g}"), rel=1e-12) for p in fitted - old)
    assert parse_graph(print_graph(refitted)) == refitted
    found = refit(model, data, tmp_path / "refitted.json")
    assert found.after.log_loss <= found.before.log_loss + 1e-9
    assert load(tmp_path / "refitted.json").decision == base.decision


def test_an_edited_condition_gets_its_probability_from_the_rows(tmp_path: Path) -> None:
    header = "rulekit rules 1\ncolumn a: numeric\ncolumn b: numeric\nlabel y: {no, yes}\n"
    rules = (
        "decide yes when any of (\n  rule 1: a > 1,\n  rule 2: b > 2,\n)\n"
        "report yes with probability of any of (\n  H1 fires with probability 0.9 when rule 1,\n"
        "  H2 fires with probability 0.8 when rule 2,\n)\n"
    )
    parse_graph(header + rules).save(tmp_path / "base.json")
    (tmp_path / "edited.txt").write_text(header + rules.replace("a > 1", "a > 0"))
    lines = ["a,b,y", *["0.5,0,yes"] * 3, "0.5,0,no", "0,0,no", *["0,3,yes"] * 2, "0,3,no"]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    found = edit(tmp_path / "edited.txt", tmp_path / "base.json", tmp_path / "rows.csv", tmp_path / "new.json")
    strengths = {node.name: probability_of(node.on) for node in found.model.nodes() if isinstance(node, Hidden)}
    assert strengths == {"H1": pytest.approx(0.75, abs=1e-3), "H2": pytest.approx(0.8)}
    assert found.refitted == ("H1",)
    assert [str(row) for row in found.rows] == [f"row {k}: no -> yes   {found.added[0].id} added" for k in range(1, 5)]
    assert found.unchanged.proved
    assert load(tmp_path / "new.json").statistics["rows"] == 8
    other = parse_graph(header.replace("numeric\nc", "boolean\nc") + rules.replace("a > 1", "a"))
    with pytest.raises(InputError, match="other columns"):
        edit_of(load(tmp_path / "base.json"), other, rows_of_pairs(tmp_path))


def rows_of_pairs(folder: Path) -> LabelledTable:
    graph = load(folder / "base.json")
    return label_for_model(
        {"a": [1.0], "b": [0.0], "y": ["yes"]}, graph.schema, graph.classes, ReadingOptions(target="y")
    )


def test_strengths_are_fitted_by_slopes_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slope by every strength was two formulas a bit, so that 500 rules did not end."""
    causes = [Compare(f"x{j}", ">", 0.0) for j in range(3)]
    a, b, c = (Hidden(f"H{j}", cause, strength_of(0.7 + j / 10), strength_of(0.1)) for j, cause in enumerate(causes))
    formula = Or((And((a, b)), And((Not(a), c))))
    rng = np.random.default_rng(0)
    table = encode({f"x{j}": rng.normal(size=200) for j in range(3)}, Schema(tuple(Feature(f"x{j}") for j in range(3))))
    positive = rng.random(200) < 0.4

    def checked(loss: Any, first: Any, **_: Any) -> Any:
        found = approx_fprime(first, lambda point: loss(point)[0], 1e-7)
        assert loss(first)[1] == pytest.approx(found, abs=1e-6)
        raise OutOfTime("over")

    monkeypatch.setattr("scipy.optimize.minimize", checked)
    bits = refitted_bits(formula, (a, b, c), table, positive)
    assert set(bits) == {a, b, c}
    monkeypatch.undo()
    begun = Deadline(0.0)
    assert refitted_bits(formula, (a, b, c), table, positive, deadline=begun).keys() == bits.keys()
