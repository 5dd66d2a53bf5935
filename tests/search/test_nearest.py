"""The nearest change: the knapsack over points finds what trying every combination of cells finds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rulekit.search.nearest as search
from rulekit import explain
from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.search.moves import ANY, Wishes
from rulekit.search.nearest import nearest_changes
from rulekit.search.patterns import TurnQuestion
from rulekit.verification.rows import adversarial_rows
from rulekit.work.scoring import score

COLUMNS = """rulekit rules 1
column age: numeric, integer
column income: numeric
column owner: boolean
column town: categorical {a, b, c, d}
"""


def model(condition: str, columns: str = COLUMNS) -> RuleGraph:
    return parse_graph(f"{columns}label y: {{no, yes}}\ndefault no\ndecide yes when {condition}\n")


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
        return model(f"{sum_text(rng)} exceeds score 0.5")
    if kind == "ranks":
        cuts = "".join(f"  above {k}: {sum_text(rng)} exceeds score {t},\n" for k, t in (("low", -2), ("mid", 3)))
        return parse_graph(f"{COLUMNS}label y: {{low, mid, high}}, ordered\ndefault low\ndecide median of (\n{cuts})\n")
    floor = " above 0" if kind == "default" else ""
    scores = "".join(f"  {label}: {sum_text(rng)}{floor},\n" for label in ("p", "q", "r"))
    return parse_graph(f"{COLUMNS}label y: {{p, q, r}}\ndefault p\ndecide largest of (\n{scores}) preferring r, p, q\n")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["two", "ranks", "largest", "default"])
@pytest.mark.parametrize("seed", range(4))
def test_the_knapsack_finds_what_the_search_by_sets_finds(seed: int, kind: str) -> None:
    graph = random_graph(seed, kind)
    rows = adversarial_rows(graph, 40).table
    searched = search.NearestSearch(TurnQuestion(graph, rows, ANY, None))
    every = list(range(rows.n_rows))
    by_points, by_sets = searched.by_sums(every), searched.by_sets(every)
    assert by_points  # of ranks one sum may rise while another one falls, which is left to the other search
    for i, a in by_points.items():
        b = by_sets[i]
        assert (len(a.columns), a.proved) == (len(b.columns), b.proved)
        assert a.distance == pytest.approx(b.distance) or a.distance == b.distance == math.inf


def test_a_row_in_words() -> None:
    graph = model("sum(0, 3 if age > 30, -2 if (income <= 2.5 or missing), 2 if town in {c}) exceeds score 2.5")
    data = {"age": [20, 40, None], "income": [1.0, 9.0, None], "owner": [True] * 3, "town": ["a", "a", "zzz"]}
    rows = explain(graph, data)
    assert [row["change"]["text"] for row in rows] == [
        "age: 20 -> 31, income: 1 -> above 2.5",
        "age: 40 -> 30",
        "age: missing -> 31, income: missing -> above 2.5",
    ]
    assert rows[1]["scores"][0]["points"] == [{"id": rows[1]["rules"][0]["id"], "text": "age > 30", "points": 3.0}]
    assert (rows[1]["scores"][0]["total"], rows[1]["scores"][0]["threshold"]) == (3.0, 2.5)


def test_rules_on_several_columns_are_searched_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = model("sum(-1, 3 if age > 30 and owner and town in {c}) exceeds score 0")
    data = {"age": [20.0], "income": [1.0], "owner": [False], "town": ["a"]}
    change = explain(graph, data)[0]["change"]
    assert change["text"] == "age: 20 -> 31, owner: false -> true, town: a -> c"
    assert change["proved"]
    monkeypatch.setattr(search, "MOST_LOOKED_AT", 0)
    monkeypatch.setattr(search, "_FEWEST_LOOKED_AT", 0)
    change = explain(graph, data)[0]["change"]
    assert change["text"] == "age: 20 -> 31, owner: false -> true, town: a -> c (a smaller change may do)"
    assert not change["proved"]


def test_a_sum_that_no_values_turn_says_so() -> None:
    graph = model("sum(0, 1 if owner) exceeds score 2")
    assert explain(graph, {"owner": [True]})[0]["change"]["text"] == "no change of values turns it"


def test_predictions_say_points_and_the_nearest_change(tmp_path: Path) -> None:
    graph = random_graph(1, "largest")
    graph.save(tmp_path / "m.json")
    (tmp_path / "rows.csv").write_text("age,income,owner,town\n30,1.5,true,a\n,,,\n")
    scores = score(tmp_path / "m.json", tmp_path / "rows.csv", explain=True)
    assert list(scores.columns)[-6:] == ["rules", "total(p)", "total(q)", "total(r)", "points", "change"]
    for row, explanation in zip(
        scores.as_rows(),
        explain(graph, {"age": [30, None], "income": [1.5, None], "owner": [True, None], "town": ["a", None]}),
        strict=True,
    ):
        assert row["explanation"].items() <= explanation.items()  # it has sentences too
        for of in explanation["scores"]:
            assert of["total"] == sum(line["points"] for line in of["points"])
            assert row[f"total({of['class']})"] == of["total"]
        sizes = [abs(line["points"]) for line in explanation["scores"][0]["points"]]
        assert sizes == sorted(sizes, reverse=True)


RULES = model("any of (age > 30 and income > 2.5, owner and town in {c} and income <= 10)")


def told(graph: RuleGraph, data: dict[str, list[object]], wishes: Wishes = ANY, to: int | None = None) -> list[str]:
    return [str(change) for change in nearest_changes(graph, graph.table(data), wishes, to)]


def test_rules_are_answered_under_wishes() -> None:
    data: dict[str, list[object]] = {"age": [20, 40], "income": [1.0, 3.0], "owner": [True, False], "town": ["a", "a"]}
    assert told(RULES, data) == ["town: a -> c", "income: 3 -> 2.5"]
    assert told(RULES, data, Wishes(frozenset({"town"}))) == [
        "age: 20 -> 31, income: 1 -> above 2.5",
        "income: 3 -> 2.5",
    ]
    assert told(RULES, data, Wishes(frozenset({"town"}), {"age": "down", "income": "up"})) == [
        "no change of values turns it",
        "age: 40 -> 30",
    ]
    assert told(RULES, data, to=1) == ["town: a -> c", "it is decided so already"]


def test_distances_are_in_units_of_the_spread() -> None:
    graph = RULES.with_(statistics={"columns": {"income": {"low": 0.0, "high": 100.0, "spread": 0.25}}})
    table = graph.table({"age": [40], "income": [3], "owner": [False], "town": ["a"]})
    change = nearest_changes(graph, table, Wishes(frozenset({"age"})))[0]
    assert (str(change), change.distance) == ("income: 3 -> 2.5", 2.0)


@pytest.mark.parametrize(
    ("wishes", "to", "said"),
    [
        (Wishes(frozenset({"agee"})), None, "no column 'agee'"),
        (Wishes(directions={"town": "up"}), None, "goes neither up nor down"),
        (Wishes(directions={"age": "sideways"}), None, "no direction 'sideways'"),  # type: ignore[dict-item]
        (ANY, 2, "no class 2"),
    ],
)
def test_wishes_and_classes_that_do_not_fit_are_refused(wishes: Wishes, to: int | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        told(RULES, {"age": [1], "income": [1], "owner": [True], "town": ["a"]}, wishes, to)


UNITS = """sum(0, 2 * clip(x, from -9 to 9, missing 0), -3 * clip(z, from -1 to 1, missing 0),
  0.5 * clip(n, from 0 to 4, missing 0)) exceeds score"""
NUMBERS = "rulekit rules 1\ncolumn x: numeric\ncolumn z: numeric\ncolumn n: numeric, integer\n"


@settings(max_examples=25, deadline=None)
@given(st.floats(-10, 10, width=32), st.floats(-2, 2, width=32), st.integers(0, 5), st.sampled_from([1, 4, 16, 22.5]))
def test_the_number_before_the_one_that_is_told_does_not_turn(x: float, z: float, n: int, threshold: float) -> None:
    """Of unrounded numbers it is the next float32 that turns; no random change of as many columns is nearer."""
    graph = model(f"{UNITS} {threshold}", NUMBERS)
    table = graph.table({"x": [x], "z": [z], "n": [n]})
    change = nearest_changes(graph, table)[0]
    rng = np.random.default_rng(1)
    width = {"x": 18.0, "z": 2.0, "n": 4.0}
    own = {"x": float(np.float32(x)), "z": float(np.float32(z)), "n": float(n)}
    label = graph.decide(table)[0]
    if not change.columns:
        ends = {"x": [-9, 9] * 4, "z": [-1, -1, 1, 1] * 2, "n": [0] * 4 + [4] * 4}
        assert change.proved
        assert (graph.decide(ends) == label).all()
        return
    changed = [one.column for one in change.columns]
    if len(changed) == 1:
        one = change.columns[0]
        # beside 0 the next floats are so small that the sum does not see them
        step = 1.0 if one.column == "n" else max(np.spacing(np.float32(abs(one.after))), 1e-9)
        back = one.after - math.copysign(step, one.after - one.before)
        assert graph.decide({**{k: [v] for k, v in own.items()}, one.column: [back]})[0] == label
    tried = {k: np.full(4000, v) for k, v in own.items()}
    for k in rng.permutation(["x", "z", "n"])[: len(changed)]:
        drawn = rng.uniform(-9, 9, 4000) if k == "x" else rng.uniform(-1, 1, 4000)
        tried[k] = rng.integers(0, 5, 4000).astype(float) if k == "n" else drawn.astype(np.float32).astype(float)
    turned = graph.decide(tried) != label
    far = sum(np.abs(tried[k] - own[k]) / width[k] for k in own)
    assert change.proved
    assert not turned.any() or change.distance <= far[turned].min() * (1 + 1e-6) + 1e-12


def test_words_are_added_and_removed() -> None:
    graph = model("note contains fraud and not (note contains paid or missing)", "rulekit rules 1\ncolumn note: text\n")
    assert told(graph, {"note": ["a fraud", "fraud paid", None]}) == [
        "note contains fraud: true -> false",
        "note contains paid: true -> false",
        "note is missing: true -> false, note contains fraud: false -> true",
    ]
    assert told(graph, {"note": ["a fraud"]}, Wishes(frozenset({"note"}))) == ["no change of values turns it"]


def test_every_decision_is_explained_with_its_change() -> None:
    row = explain(RULES, {"age": [20], "income": [1.0], "owner": [True], "town": ["a"]})[0]
    assert row["change"] == {
        "to": "yes",
        "columns": [{"column": "town", "from": "a", "to": "c"}],
        "distance": 1.0,
        "proved": True,
        "text": "town: a -> c",
    }
