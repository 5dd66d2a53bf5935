"""The zero-one law: limits of known sentences and of random ones, which simulation confirms."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rulekit.audit.zero_one import axiom_failure, frequencies, limit_of
from rulekit.graph.evaluation.structures import graphs, random_structures, unpacked
from rulekit.graph.language.sentences import Sentence, atom, negation, sentence

GRAPH = graphs("E")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("exists x: forall y: R(x, y)", "0"),
        ("forall x, y: exists z: R(x, z) and R(z, y)", "1"),
        ("forall x, y: exists z: R(z, x) and not R(z, y)", "0"),  # x and y may be one object
        ("forall x, y: x = y or (exists z: R(z, x) and not R(z, y))", "1"),
        ("forall y: exists x: forall z: not R(z, x) or R(z, y)", "1"),  # by x = y alone
        ("exists x: P0(x) and R0(x, a)", "1"),  # it fades in spite of its constant
        ("P1(a) and (exists x: R0(x, a))", "P1(a)"),
        ("R(a, b) or (P(a) and not P(a))", "R(a, b)"),
        ("(P(a) and P(b)) or (exists x: forall y: R(x, y))", "P(a) and P(b)"),
        ("true", "1"),
    ],
)
def test_limits_of_known_sentences(text: str, limit: str) -> None:
    assert limit_of(sentence(text)).text == f"tends to {limit}"


def clique(names: str) -> str:
    return " and ".join(f"E({a}, {b})" for i, a in enumerate(names) for b in names[i + 1 :])


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (f"exists x, y, z: {clique('xyz')}", "1"),
        (f"exists u, x, y, z: {clique('uxyz')}", "1"),
        ("exists v, x, y, z: E(v, x) and E(x, y) and E(y, z) and v != y and v != z and x != z", "1"),
        ("exists x: forall y: x = y or E(x, y)", "0"),
        ("exists x: E(x, x)", "0"),
        ("forall x, y: not E(x, y) or E(y, x)", "1"),
        ("forall x, y, v: v = x or v = y or (exists z: E(z, x) and E(z, y) and not E(z, v))", "1"),
    ],
)
def test_limits_of_sentences_about_graphs(text: str, limit: str) -> None:
    assert limit_of(sentence(text), GRAPH).text == f"tends to {limit}"


def _random(rng: random.Random, depth: int, predicates: list[tuple[str, int]]) -> Sentence:
    if depth == 0 or rng.random() < 0.25:
        name, places = rng.choice(predicates)
        found = atom(name, *(rng.choice("xyz") for _ in range(places)))
        if rng.random() < 0.1:
            found = Sentence("same", terms=(rng.choice("xyz"), rng.choice("xyz")))
        return negation(found) if rng.random() < 0.5 else found
    parts = tuple(_random(rng, depth - 1, predicates) for _ in range(rng.choice((2, 3))))
    return Sentence(rng.choice(("and", "or")), parts=parts)


PREDICATES = ([("P", 1), ("R", 2)], [("R", 2)], [("P", 1), ("Q", 1), ("R", 2)], [("R", 2), ("S", 2)])


def test_limits_of_two_hundred_random_sentences_are_those_of_large_structures() -> None:
    rng = random.Random(11)
    for _ in range(200):
        formula = _random(rng, 2, rng.choice(PREDICATES))
        for variable in "zyx":
            formula = Sentence(rng.choice(("exists", "forall")), variable, parts=(formula,))
        limit = limit_of(formula)
        assert limit.outcome == ("1" if frequencies(formula, [40], 64)[0] > 0.5 else "0"), str(formula)


def test_a_long_search_is_undecided() -> None:
    text = "forall x, y: exists z: R(x, z) and R(z, y)"
    assert limit_of(sentence(text), most_steps=20).text == "undecided: the sentence is too long for the search"


def test_an_extension_axiom_fails_at_most_as_often_as_its_bound() -> None:
    """The source prints the exponent k + 1, by which no set of two would be left out of 20 vertices."""
    axiom = sentence("forall u, v: u = v or (exists z: z != u and z != v and not E(z, u) and not E(z, v))")
    few, many = (1.0 - found for found in frequencies(axiom, [20, 60], relations=GRAPH))
    printed = 190 * (1.0 - 2.0 ** -(0 + 1)) ** 18
    assert printed < 0.01 < few <= axiom_failure(20, 0, 2)
    assert many <= axiom_failure(60, 0, 2) < 0.001
    assert axiom_failure(2, 0, 2) == 1.0


def test_atoms_of_an_unknown_predicate_are_false_and_places_may_be_one_object() -> None:
    drawn = random_structures({"R": 2, "P": 1}, ("a", "b"), 100, seed=3)
    same = unpacked(drawn.holds(sentence("exists x: R(x, x)")), 100)
    assert np.array_equal(same, unpacked(drawn.holds(sentence("R(a, a) or R(b, b)")), 100))
    assert not unpacked(drawn.holds(sentence("exists x: Q(x)")), 100).any()
    assert unpacked(drawn.holds(sentence("forall x: not Q(x)")), 100).all()
