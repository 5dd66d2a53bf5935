"""The nearest change: the knapsack over points finds what trying every combination of cells finds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import rulekit.audit.nearest_change.nearest as nearest
from rulekit.audit.nearest_change.nearest import nearest_changes
from rulekit.graph.language.text import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.verification.rows.adversarial import adversarial_rows
from rulekit.work.scoring import ScoringRequest, score

COLUMNS = """rulekit rules 1
column age: numeric, integer
column income: numeric
column owner: boolean
column town: categorical {a, b, c, d}
"""


def sum_text(rng: np.random.Generator) -> str:
    """A sum with points on four columns."""
    points = rng.integers(-6, 7, 12)
    return (
        f"sum({points[0]}, 1 * step(age: {points[1]} up to 20, {points[2]} up to 40, then {points[3]},"
        f" missing {points[4]}), {points[5]} if income <= 3.5, {points[6]} if income > 7.25,"
        f" {points[7]} if owner, {points[8]} if town in {{a, b}}, {points[9]} if (town in {{c}} or missing))"
    )


def random_graph(seed: int, kind: str) -> RuleGraph:
    rng = np.random.default_rng(seed)
    if kind == "two":
        return parse_graph(
            f"{COLUMNS}label y: {{no, yes}}\ndefault no\ndecide yes when {sum_text(rng)} exceeds score 0.5\n"
        )
    if kind == "ranks":
        cuts = "".join(f"  above {k}: {sum_text(rng)} exceeds score {t},\n" for k, t in (("low", -2), ("mid", 3)))
        return parse_graph(f"{COLUMNS}label y: {{low, mid, high}}, ordered\ndefault low\ndecide median of (\n{cuts})\n")
    floor = " above 0" if kind == "default" else ""
    scores = "".join(f"  {label}: {sum_text(rng)}{floor},\n" for label in ("p", "q", "r"))
    return parse_graph(f"{COLUMNS}label y: {{p, q, r}}\ndefault p\ndecide largest of (\n{scores}) preferring r, p, q\n")


@pytest.mark.parametrize("kind", ["two", "ranks", "largest", "default"])
@pytest.mark.parametrize("seed", range(4))
def test_the_knapsack_finds_what_trying_all_finds(seed: int, kind: str) -> None:
    graph = random_graph(seed, kind)
    rows = adversarial_rows(graph, 40).table
    found = nearest_changes(graph, rows)
    search = nearest._Search(graph, rows, frozenset(), {}, None)
    assert search.apart
    tried = search.by_trying(np.arange(rows.n_rows))
    assert [(len(a.columns), a.proved) for a in found] == [(len(b.columns), b.proved) for b in tried]
    for a, b in zip(found, tried, strict=True):
        assert a.distance == pytest.approx(b.distance) or a.distance == b.distance == math.inf


def test_a_row_in_words() -> None:
    graph = parse_graph(
        COLUMNS + "label y: {no, yes}\ndefault no\n"
        "decide yes when sum(0, 3 if age > 30, -2 if (income <= 2.5 or missing), 2 if town in {c}) exceeds score 2.5\n"
    )
    data = {"age": [20, 40, None], "income": [1.0, 9.0, None], "owner": [True] * 3, "town": ["a", "a", "zzz"]}
    rows = graph.explain(data)
    assert [row["change"]["text"] for row in rows] == [
        "age: 20 -> 31, income: 1 -> above 2.5",
        "age: 40 -> 30",
        "age: missing -> 31, income: missing -> above 2.5",
    ]
    assert rows[1]["scores"][0]["points"] == [{"id": rows[1]["rules"][0]["id"], "text": "age > 30", "points": 3.0}]
    assert (rows[1]["scores"][0]["total"], rows[1]["scores"][0]["threshold"]) == (3.0, 2.5)


def test_rules_on_several_columns_are_searched_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = parse_graph(
        COLUMNS + "label y: {no, yes}\ndefault no\n"
        "decide yes when sum(-1, 3 if age > 30 and owner and town in {c}) exceeds score 0\n"
    )
    data = {"age": [20.0], "income": [1.0], "owner": [False], "town": ["a"]}
    change = graph.explain(data)[0]["change"]
    assert change["text"] == "age: 20 -> 31, owner: false -> true, town: a -> c"
    assert change["proved"]
    monkeypatch.setattr(nearest, "MOST_LOOKED_AT", 10)
    change = graph.explain(data)[0]["change"]
    assert (change["text"], change["proved"]) == ("not found by changes of up to 1 column", False)


def test_a_sum_that_no_values_turn_says_so() -> None:
    graph = parse_graph(
        COLUMNS + "label y: {no, yes}\ndefault no\ndecide yes when sum(0, 1 if owner) exceeds score 2\n"
    )
    assert graph.explain({"owner": [True]})[0]["change"]["text"] == "no change of values turns it"


def test_predictions_say_points_and_the_nearest_change(tmp_path: Path) -> None:
    graph = random_graph(1, "largest")
    graph.save(tmp_path / "m.json")
    (tmp_path / "rows.csv").write_text("age,income,owner,town\n30,1.5,true,a\n,,,\n")
    scores = score(ScoringRequest(tmp_path / "m.json", tmp_path / "rows.csv", explain=True))
    assert list(scores.columns)[-6:] == ["rules", "total(p)", "total(q)", "total(r)", "points", "change"]
    for row, explanation in zip(
        scores.as_rows(),
        graph.explain({"age": [30, None], "income": [1.5, None], "owner": [True, None], "town": ["a", None]}),
        strict=True,
    ):
        assert row["explanation"] == explanation
        for of in explanation["scores"]:
            assert of["total"] == sum(line["points"] for line in of["points"])
            assert row[f"total({of['class']})"] == of["total"]
        sizes = [abs(line["points"]) for line in explanation["scores"][0]["points"]]
        assert sizes == sorted(sizes, reverse=True)
