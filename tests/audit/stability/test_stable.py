"""The figures of stability, of models that were written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.audit.stability import stability_lines, stability_of
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph

HEADER = """rulekit rules 1
column a: numeric
column b: numeric
label y: {no, yes}
default no
"""
COLUMNS = {"a": np.arange(100.0), "b": np.arange(100.0)[::-1]}


def model(*rules: str) -> RuleGraph:
    return parse_graph(f"{HEADER}decide yes when any of ({', '.join(rules)})\n")


def card(*terms: str) -> RuleGraph:
    return parse_graph(f"{HEADER}decide yes when sum(0, {', '.join(terms)}) exceeds score 1\n")


def test_rules_conditions_columns_and_labels_are_counted() -> None:
    own = model("a > 50 and b > 20", "b > 90")
    others = [model("a > 51 and b > 20", "b > 89"), model("a > 50", "b > 90"), model("a > 50 and b > 20", "a > 90")]
    found = stability_of(own, others, own.table(COLUMNS), halves=[(0, 1)])
    assert [(one["text"], one["found"]) for one in found["rules"]] == [("a > 50 and b > 20", 2), ("b > 90", 2)]
    assert {one["text"]: one["found"] for one in found["conditions"]} == {"a > 50": 3, "b > 20": 2, "b > 90": 2}
    assert {one["text"]: one["found"] for one in found["columns"]} == {"a": 3, "b": 3}
    assert found["rarer_further_rules"] == 2  # each once, which is not often
    assert found["dice_sorensen_of_disjoint_halves"] == pytest.approx(0.5)
    assert found["dice_sorensen"] == pytest.approx(np.mean([0.5, 0.5, 0.0]))
    labels = [graph.decide(COLUMNS) for graph in (own, *others)]
    share = np.mean([label == labels[0] for label in labels[1:]], axis=0)
    assert found["labels"]["mean"] == pytest.approx(share.mean())
    assert found["labels"]["never_in_doubt"] == (share == 1.0).mean()
    assert found["labels"]["worst"][0]["share"] == share.min()
    held = (COLUMNS["a"] > 50) & (COLUMNS["b"] > 20)
    assert found["rules"][0]["rows_decided_alike"] == pytest.approx(share[held].mean())


def test_the_range_of_weights_is_that_of_the_term_wherever_it_stands() -> None:
    own = card("2 if a > 50", "1 if b > 20")
    others = [card("3 if a > 51"), card("-1.5 if (a <= 49 or missing)", "1.25 if b > 20"), card("4 if b > 80")]
    found = stability_of(own, others, own.table(COLUMNS))
    first, second = found["rules"]
    assert (first["found"], *first["weights"].values(), first["weight"]) == (2, 1.5, 3.0, 3.0, 2.0)
    assert (second["found"], *second["weights"].values()) == (1, 1.25, 1.25, 1.25)


def test_models_without_rules_are_alike() -> None:
    own = model("a > 500")
    nothing = parse_graph(f"{HEADER}decide yes when false\n")
    found = stability_of(own, [nothing, nothing], own.table(COLUMNS))
    assert found["dice_sorensen"] == 1.0
    assert found["rules"][0]["found"] == 0
    assert "rows_decided_alike" not in found["rules"][0]
    assert found["labels"]["never_in_doubt"] == 1.0
    with pytest.raises(ValueError, match="two models"):
        stability_of(own, [nothing], own.table(COLUMNS))


def test_lines_and_json_say_the_same() -> None:
    own = model("a > 50", "b > 90")
    found = stability_of(own, [own, own, model("a > 50")], own.table(COLUMNS), wanted=20, stopped="time limit")
    text = "\n".join(f"{word} {line}" for word, line in stability_lines(found))
    assert "3 models of 20 (time limit)" in text
    assert " 100 %  r" in text
    assert "  67 %  r" in text
    assert [rule["share"] for rule in found["rules"]] == [1.0, 2 / 3]
    assert (found["resamples"], found["asked_for"]) == (3, 20)
