"""Gramression: the source's experiment, the search beside it, grammars, and sentences as features."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit import GramressionClassifier
from rulekit.errors import DataWarning
from rulekit.graph.evaluation.structures import Structures, random_structures, unpacked
from rulekit.graph.language.sentences import Sentence, atom, sentence
from rulekit.learners.contract import OutOfTimeError
from rulekit.learners.gramression import learner
from rulekit.learners.gramression.grammar import STRUCTURES, Grammar, Language, Vocabulary, closed, opened
from rulekit.learners.gramression.search import Counts, Search, at, solve
from rulekit.synthetic import structures

TRUE = (0.1, 0.2, 0.4, 0.8, 1.6)
LANGUAGE = Language({"P0": 1, "P1": 1, "R0": 2}, ("a", "b", "c"))


def of_the_source(seed: int, n: int = 3000) -> tuple[dict[str, Any], np.ndarray]:
    """Five properties of three objects; those of the first one decide, with the weights of Table 1."""
    rng = np.random.default_rng(seed)
    truth = rng.random((5, n, 3)) < 0.5
    scores = sum(weight * truth[i][:, 0] for i, weight in enumerate(TRUE)) - 1.0
    labels = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-scores)), "yes", "no")
    return {f"P{i}({c})": truth[i][:, c] for i in range(5) for c in range(3)}, labels


def descended(seed: int, **parameters: Any) -> GramressionClassifier:
    parameters = {"solver": "descent", "positive": "yes", "random_state": seed, **parameters}
    return GramressionClassifier(**parameters).fit(*of_the_source(seed))


def error_of(model: GramressionClassifier) -> float:
    """The mean absolute error of the weights that are not 0 in truth; Table 1 has the bias beside them."""
    found = dict(zip(map(str, model.features_), model.weights_, strict=True))
    return float(np.mean([abs(found.get(f"P{i}(0)", 0.0) - weight) for i, weight in enumerate(TRUE)]))


ALL = Grammar(lambda language: language.atoms())


@pytest.mark.slow
def test_table_1_over_many_seeds() -> None:
    plain = [error_of(descended(seed, grammar=ALL, penalty=16.0)) for seed in range(20)]
    assert 0.11 < np.mean(plain) < 0.17
    counts = {
        name: sum(descended(seed, grammar="chain", **parameters).offered_["next"][1] >= 4 for seed in range(100))
        for name, parameters in {"printed": {}, "clock": {"solver": "descent-own"}, "step": {"rules": "step"}}.items()
    }
    assert 5 <= counts["printed"] <= 30
    assert counts["clock"] >= 35
    assert counts["step"] >= 95


def test_the_features_of_the_source_are_found() -> None:
    """By the search, which leaves what does not matter, and by rules after each step."""
    model = descended(0, grammar="chain", rules="step")
    assert {f"P{i}(0)" for i in range(2, 5)} <= set(map(str, model.features_))
    assert error_of(model) < 0.2
    model = GramressionClassifier(positive="yes", grammar="chain").fit(*of_the_source(3))
    assert {"P4(0)"} <= set(map(str, model.features_)) <= {f"P{i}(0)" for i in range(5)}


def rows_of(drawn: Structures) -> dict[str, Any]:
    return {
        f"{name}({', '.join(drawn.objects[place] for place in places)})": unpacked(words[places], drawn.n)
        for name, words in drawn.atoms.items()
        for places in itertools.product(range(len(drawn.objects)), repeat=words.ndim - 1)
    }


def drawn_labels(drawn: Structures, truths: dict[str, float], seed: int) -> np.ndarray:
    held = {text: unpacked(drawn.holds(sentence(text)), drawn.n) for text in truths}
    scores = sum(weight * (held[text] - held[text].mean()) for text, weight in truths.items())
    chance = np.random.default_rng(seed).random(drawn.n)
    return np.where(chance < 1.0 / (1.0 + np.exp(-scores)), "yes", "no")


@pytest.mark.parametrize(
    "truths",
    [
        {"exists x: P0(x) and R0(x, a)": 1.6, "P1(a) and P1(b)": -1.4},
        {"exists x, y: P0(x) and R0(x, y) and P1(y)": 2.0, "P0(a) and P1(b)": 1.5},
    ],
)
def test_features_that_decide_are_found_as_sentences(truths: dict[str, float]) -> None:
    drawn = random_structures(LANGUAGE.arities, LANGUAGE.objects, 3000, seed=2)
    model = GramressionClassifier(positive="yes").fit(rows_of(drawn), drawn_labels(drawn, truths, 2))
    expected = {str(closed(LANGUAGE, *opened(sentence(text)))) for text in truths}
    assert expected <= set(map(str, model.features_))
    assert len(model.features_) <= len(expected) + 1


def test_a_grammar_of_ones_own() -> None:
    def turned(feature: Sentence, language: Language) -> Iterator[Sentence]:
        if len(feature.terms) == 2:
            yield atom(feature.name, *feature.terms[::-1])

    drawn = random_structures(LANGUAGE.arities, LANGUAGE.objects, 1500, seed=4)
    labels = drawn_labels(drawn, {"R0(a, b)": 2.0, "R0(b, a)": 2.0}, 4)
    own = Grammar(lambda language: [atom("R0", "a", "b")], {"turned": turned})
    model = GramressionClassifier(grammar=own).fit(rows_of(drawn), labels)
    assert set(map(str, model.features_)) == {"R0(a, b)", "R0(b, a)"}
    assert model.offered_["turned"][1] == 1


def _growing(formula: Sentence, language: Language) -> Iterator[Sentence]:
    for rule in STRUCTURES.rules.values():
        yield from rule(formula, language)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_a_vocabulary_says_what_every_formula_says(seed: int) -> None:
    """Whatever is offered has a place with the same truth on each row, or the contrary one."""
    rng = np.random.default_rng(seed)
    drawn = random_structures(LANGUAGE.arities, LANGUAGE.objects, 150, seed=seed)
    words = Vocabulary(LANGUAGE, drawn, np.ones(150), STRUCTURES, least=0.0)
    for _ in range(6):
        for made in itertools.islice(_growing(words.formulas[rng.integers(len(words))], LANGUAGE), 30):
            place = words.offer(made, "test")
            if place >= 0:
                own = unpacked(drawn.holds(made), 150)
                known = words.columns([place])[:, 0]
                assert np.array_equal(own, known) or np.array_equal(own, ~known)
    own = [row.tobytes() for row in words.columns().T]
    assert len({*own, *((~np.frombuffer(row, bool)).tobytes() for row in own)}) == 2 * len(own)


@pytest.mark.parametrize("lam", [4.0, 16.0, 60.0])
def test_the_solver_is_as_low_as_scikit_learns_and_says_how_low_it_could_be(lam: float) -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    columns = (rng.random((1000, 20)) < 0.5).astype(float)
    labels = (rng.random(1000) < 1.0 / (1.0 + np.exp(1.0 - columns[:, :5] @ np.array(TRUE)))).astype(float)
    counts = Counts(np.ones(1000), labels)
    found = solve(columns, counts, lam)
    assert 0.0 <= found.gap <= 1e-6
    other = LogisticRegression(l1_ratio=1.0, C=1.0 / lam, solver="saga", max_iter=20_000, tol=1e-9).fit(columns, labels)
    assert np.allclose(other.coef_[0], found.weights, atol=1e-5)
    assert found.loss <= at(columns, counts, float(other.intercept_[0]), other.coef_[0], lam).loss + 1e-7


def test_the_description_is_as_short_as_that_of_every_pair_of_features() -> None:
    rng = np.random.default_rng(6)
    language = Language({f"c{k}": 0 for k in range(6)}, longest=2)
    drawn = random_structures(language.arities, (), 800, seed=6)
    both = unpacked(drawn.atoms["c1"], 800) & unpacked(drawn.atoms["c4"], 800)
    labels = (rng.random(800) < np.where(both, 0.9, 0.3)).astype(float)
    words = Vocabulary(language, drawn, np.ones(800), Grammar(STRUCTURES.seeds, STRUCTURES.rules))
    for place in range(6):
        words.grow(place)
    search = Search(words, Counts(np.ones(800), labels), lambda: None)
    best = search.best()
    every = itertools.chain.from_iterable(itertools.combinations(range(len(words)), k) for k in (0, 1, 2))
    assert search.length(best) <= min(search.length(search.chosen(each)) for each in every) + 1e-9


def noisy_table(logical: bool) -> tuple[np.ndarray, np.ndarray]:
    """Five columns; two conjunctions decide, or five small weights."""
    rng = np.random.default_rng(1)
    x = rng.random((300, 5)) < 0.5
    rules = 4.0 * (x[:, 0] & x[:, 1]) + 4.0 * (~x[:, 2] & x[:, 3]) - 2.0
    scores = rules if logical else 1.5 * (x - 0.5).sum(axis=1)
    return x.astype(float), np.asarray(rng.random(300) < 1.0 / (1.0 + np.exp(-scores)))


@pytest.mark.parametrize(("logical", "shrunk"), [(True, False), (False, True)])
def test_held_out_rows_choose_between_few_features_and_small_weights(
    logical: bool, shrunk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = list[int]()
    preferred = learner._preferred
    monkeypatch.setattr(learner, "_preferred", lambda question: chosen.append(preferred(question)) or chosen[-1])

    model = GramressionClassifier(random_state=0, n_folds=3).fit(*noisy_table(logical))

    assert [place >= len(learner._PRICES) for place in chosen] == [shrunk]
    assert logical == (len(model.features_) <= 3)


def test_the_best_sum_so_far_stands_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def over(question: Any) -> int:
        raise OutOfTimeError

    monkeypatch.setattr(learner, "_preferred", over)
    assert GramressionClassifier(random_state=0, time_limit=60.0).fit(*noisy_table(True)).features_


@pytest.mark.parametrize("seed", range(4))
def test_labels_without_a_cause_get_no_feature(seed: int) -> None:
    rng = np.random.default_rng(seed)

    with pytest.warns(DataWarning, match="no rule"):
        model = GramressionClassifier(random_state=0).fit(rng.random((300, 4)) < 0.5, rng.random(300) < 0.15)

    assert model.features_ == ()


def test_the_weakest_feature_leaves_first() -> None:
    drawn = random_structures(LANGUAGE.arities, LANGUAGE.objects, 500, seed=3)
    words = Vocabulary(LANGUAGE, drawn, np.ones(500), ALL)
    strong, weak = (unpacked(words.words[place], 500) for place in (4, 0))
    labels = np.random.default_rng(0).random(500) < 1.0 / (1.0 + np.exp(1.0 - 3.0 * strong - 0.2 * weak))
    search = Search(words, Counts(np.ones(500), labels.astype(float)), lambda: None)

    left = [each.features for each in search.eliminated(search.chosen((0, 1, 4, 9)))]

    assert [len(each) for each in left] == [4, 3, 2, 1, 0]
    assert left[3] == (4,)
    assert all(set(smaller) < set(larger) for larger, smaller in itertools.pairwise(left))


def test_a_bound_that_is_reached_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random_structures(LANGUAGE.arities, LANGUAGE.objects, 100, seed=0)
    words = Vocabulary(LANGUAGE, drawn, np.ones(100), STRUCTURES, most=5)
    assert (len(words), words.full) == (5, True)
    columns, labels = structures(500, seed=1)
    monkeypatch.setattr(learner, "MOST_FEATURES", 70)
    with pytest.warns(DataWarning, match="the grammar reached its bound of 70 features"):
        GramressionClassifier(positive=1).fit(columns, labels)
