"""AdaBoost over models of other learners: votes, bounds, one ordinary rule graph, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from rulekit import AdditiveRulesClassifier, CNLLClassifier, simplify
from rulekit.audit.checks.checking import check_model
from rulekit.errors import InputError
from rulekit.graph.check import check
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import Above, Linear
from rulekit.learners.contract import learner_names
from rulekit.learners.papers.boosted import BoostedClassifier, base_of
from rulekit.synthetic import loans

SMALL: dict[str, Any] = {"n_estimators": 5, "stopping": "none", "target": "default", "positive": "yes"}
BASES = ("additive(max_rules=1)", "additive(max_rules=2)", "rules(max_rules=3, size=1)", "adaboost(n_estimators=2)")


def data(seed: int = 1, n: int = 400) -> tuple[dict[str, Any], Any]:
    rows = loans(n, seed=seed)
    return rows, np.array(rows.pop("default"))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("draws", [None, pytest.param(500, marks=pytest.mark.long)])
def test_the_training_error_is_below_the_product_of_all_z(base: str, draws: int | None) -> None:
    rows, y = data()
    model = BoostedClassifier(**SMALL, base=base, draws=draws, random_state=0).fit(rows, y)
    history = [record for record in model.history_ if "alpha" in record]

    assert len(history) == len(model.path_) > 1
    for record, size in zip(history, model.path_, strict=True):
        assert 0.0 < record["edge"] <= 0.5
        assert record["alpha"] == pytest.approx(0.5 * np.log((0.5 + record["edge"]) / (0.5 - record["edge"])), abs=1e-3)
        assert record["z"] == pytest.approx(np.sqrt(1.0 - 4.0 * record["edge"] ** 2), abs=1e-6)
        assert np.mean(size.predict(rows) != y) <= record["bound"] <= record["edge_bound"] + 1e-6


@pytest.mark.parametrize("base", BASES)
def test_votes_are_an_ordinary_sum_that_decides_as_the_models_do(base: str) -> None:
    rows, y = data()
    model = BoostedClassifier(**SMALL, base=base).fit(rows, y)
    graph = model.rule_graph_
    (root,) = graph.decision.roots

    check(graph)
    assert isinstance(root, Above)
    assert isinstance(root.score, Linear)
    assert parse_graph(print_graph(simplify(graph))) == simplify(graph)
    assert np.mean(graph.predict(rows) != y) == model.path_.points[-1].training_error
    margins = model.margins(rows, y)
    assert np.array_equal(margins > 0.0, graph.predict(rows) == y) or np.any(margins == 0.0)
    assert np.abs(margins).max() <= 1.0


def test_a_model_of_one_rule_is_that_rule_and_equal_ones_are_one_term() -> None:
    graph = BoostedClassifier(**{**SMALL, "n_estimators": 8}, base="additive(max_rules=1)").fit(*data()).rule_graph_
    terms = [node for _, node in graph.decision.roots[0].score.terms]

    assert not any(isinstance(node, Above) for node in terms)
    assert len(set(terms)) == len(terms)


def test_a_learner_may_be_given_unfitted() -> None:
    rows, y = data()
    written = BoostedClassifier(**SMALL, base="additive(max_rules=1)").fit(rows, y)
    given = BoostedClassifier(**SMALL, base=AdditiveRulesClassifier(1))

    assert clone(given).fit(rows, y).rule_graph_.decision == written.rule_graph_.decision


def test_rules_vote_where_a_round_finds_none() -> None:
    """A round of drawn rows without a rule was asked for its probability on all rows, and failed."""
    X, y = np.repeat(np.eye(3), 50, axis=0), np.repeat(["a", "b", "c"], 50)
    model = BoostedClassifier("rules(max_rules=2, size=1)", n_estimators=3, draws=100, stopping="none", random_state=0)
    assert model.fit(X, y).score(X, y) > 0.6


def test_promises_are_kept_by_each_model_and_so_by_their_votes() -> None:
    promises = {"monotone": {"amount": "decreasing", "age": "increasing"}, "missing_never_helps": True}
    for base in BASES[1:3]:
        graph = BoostedClassifier(**SMALL, base=base, **promises).fit(*data()).rule_graph_
        assert {verdict.outcome for verdict in check_model(graph).verdicts} == {"proved"}


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "learner": ({"base": "cnl"}, "no learner 'cnl'; did you mean cnll"),
    "parameter": ({"base": "cnll(sze=1)"}, "cnll has no parameter 'sze'; did you mean size"),
    "value": ({"base": "cnll(size=0)"}, "base: size is 0"),
    "words": ({"base": "cnll(size)"}, "'size' is not K=V"),
    "brackets": ({"base": "cnll(size=1"}, "names no learner"),
    "whole": ({"base": CNLLClassifier(memory="1GB")}, "memory of cnll is said of the whole model"),
    "other": ({"base": 3}, "base is 3"),
    "apart": ({"base": "cnll", "forbid": ["age, amount"]}, "cannot promise which columns stand in one rule"),
}


@pytest.mark.parametrize(("parameters", "said"), CASES.values(), ids=CASES)
def test_what_cannot_vote_is_refused_in_one_line(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        BoostedClassifier(**{**SMALL, **parameters}).fit(*data(1, 60))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("word", ["madaline", pytest.param("mada-winnow", marks=pytest.mark.long)])
def test_a_network_that_votes_is_small(word: str) -> None:
    """Each of a hundred rounds in each fold looked for an LTU tree and trained five networks of its shape."""
    model = BoostedClassifier(**SMALL, base=word)
    found = base_of(model.checked_settings(), 400.0).settings
    assert (found.shape, found.n_networks) == ("small", 1)
    asked = base_of(replace(model.checked_settings(), base=f"{word}(shape=or-3)"), 400.0).settings
    assert (asked.shape, asked.n_networks) == ("or-3", 1)
    rows, y = data()
    assert np.mean(model.fit(rows, y).predict(rows) != y) < 0.25


@pytest.mark.parametrize("word", [word for word in learner_names() if word != "boosted"])
def test_every_learner_is_found_by_its_word(word: str) -> None:
    """Words with a hyphen, as noisy-or, were said to name no learner; `none` was read as a null."""
    given = {"noisy-or": "rule_length=2", "ltu-tree-paper": "node=backprop"}.get(word, "")
    for written in (word, f" {word} ( {given} ) "):
        settings = BoostedClassifier(**SMALL, base=written).checked_settings()
        assert base_of(settings, 100.0).learner.word == word
    with pytest.raises(InputError, match=r"is 'none'|has no parameter 'inner'"):
        base_of(replace(settings, base=f"{word}(inner=none)"), 100.0)
