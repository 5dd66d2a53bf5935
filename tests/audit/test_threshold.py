"""The chosen threshold against every threshold there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.audit.threshold import Purpose, ThresholdStep, choose_threshold, with_threshold
from rulekit.errors import InputError
from rulekit.graph import nodes as rg
from rulekit.graph.check import check
from rulekit.graph.decisions import Fires
from rulekit.graph.probability.deciding import noisy_or_decision
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema
from rulekit.verification.proof.prove import guarantee

PURPOSES = [Purpose(precision=0.7), Purpose(recall=0.8), Purpose(cost=(1.0, 5.0)), Purpose(f1=True)]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), purpose=st.sampled_from(PURPOSES))
def test_no_other_threshold_serves_better(seed: int, purpose: Purpose) -> None:
    rng = np.random.default_rng(seed)
    p = np.round(rng.random(30), 1)
    truth = rng.random(30) < 0.2 + 0.6 * p
    truth[0], p[0] = True, 0.9
    weight = rng.integers(1, 4, 30).astype(float)

    def quality(threshold: float) -> float:
        chosen = p > threshold
        hits, alarms = weight[chosen & truth].sum(), weight[chosen & ~truth].sum()
        precision, recall = hits / max(hits + alarms, 1e-300), hits / weight[truth].sum()
        if not chosen.any() or chosen.all():  # no decision at all
            return -np.inf
        if purpose.precision is not None:
            return float(recall) if precision >= purpose.precision else -np.inf
        if purpose.recall is not None:
            return float(precision) if recall >= purpose.recall else -np.inf
        if purpose.f1:
            return float(2 * hits / (hits + alarms + weight[truth].sum()))
        return -float(1.0 * alarms + 5.0 * (weight[truth].sum() - hits))

    best = max(quality(t) for t in np.arange(0.0, 1.0, 0.05))
    everybody = -float(weight[~truth].sum()) if purpose.cost is not None else -np.inf
    if best == -np.inf or everybody > best:
        with pytest.raises(InputError, match="every row"):
            choose_threshold(truth, p, purpose, weight)
    else:
        choice = choose_threshold(truth, p, purpose, weight)
        assert quality(choice.chosen.threshold) == pytest.approx(best)
        steps = [step for step in (choice.laxer, choice.chosen, choice.stricter) if step is not None]
        counts = [int((p > step.threshold).sum()) for step in steps]
        assert counts == sorted(set(counts), reverse=True)
        assert counts[0] < len(p)


def test_a_threshold_that_says_yes_to_everybody_is_refused() -> None:
    """A model of few rules had a least recall of .9 only at a threshold below all its probabilities: it was written."""
    truth = np.array([True, True, True, False, False])
    p = np.array([0.9, 0.9, 0.1, 0.1, 0.1])
    only = r"the steps that there are: above 0\.5 precision 1\.000, recall 0\.667$"
    with pytest.raises(InputError, match=f"no threshold reaches that recall .* every row .*{only}"):
        choose_threshold(truth, p, Purpose(recall=0.9))
    for at, how in ((0.05, "every"), (0.95, "no")):
        with pytest.raises(InputError, match=f"{how} row has a probability above.*{only}"):
            choose_threshold(truth, p, Purpose(at=at))
    assert choose_threshold(truth, p, Purpose(at=0.3)).chosen == ThresholdStep(0.3, 1.0, 2 / 3, 0.8, 1.0)
    with pytest.raises(InputError, match="every row"):
        choose_threshold(truth, p, Purpose(cost=(1.0, 100.0)))
    with pytest.raises(InputError, match="same probability"):
        choose_threshold(truth, np.full(5, 0.3), Purpose(f1=True))


def test_exactly_one_purpose() -> None:
    wrong = ({}, {"precision": 0.5, "f1": True}, {"recall": 1.5}, {"cost": (-1.0, 1.0)}, {"at": 1.0})
    for asked in (*wrong, {"at": 0.3, "f1": True}):
        with pytest.raises(InputError):
            Purpose(**asked)  # type: ignore[arg-type]


def test_the_new_rule_is_the_old_probability_against_the_threshold() -> None:
    bits = [rg.Hidden(f"h{i}", rg.Compare(f"x{i}", ">", 0.5), strength_of(p)) for i, p in enumerate((0.6, 0.4))]
    schema = Schema((Feature("x0"), Feature("x1")))
    graph = RuleGraph(schema, ("no", "yes"), Fires(rg.Compare("x0", ">", 0.5)), (rg.Probability(rg.Or(bits)),))
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    for threshold, expected in ((0.3, [0, 1, 1, 1]), (0.5, [0, 1, 0, 1]), (0.7, [0, 0, 0, 1]), (0.9, [0, 0, 0, 0])):
        assert with_threshold(graph, threshold).decide(rows).tolist() == expected


@settings(max_examples=40, deadline=None)
@given(threshold=st.floats(0.02, 0.98), odds=st.sampled_from((1.0, 3.0)))
def test_a_threshold_of_a_sided_probability_adds_rows_to_the_rules_or_takes_some_away(
    threshold: float, odds: float
) -> None:
    bits = [
        rg.Hidden(f"h{i}", rg.Compare("x", ">", i / 4), strength_of(p), 0.1) for i, p in enumerate((0.2, 0.3, 0.5, 0.4))
    ]
    rules = rg.And((rg.Compare("x", ">", 0.3), rg.Compare("x", "<=", 0.9)))
    inner: rg.Node = rg.Probability(rg.Or(bits)) if odds == 1.0 else rg.Rescaled(rg.Probability(rg.Or(bits)), odds)
    graph = RuleGraph(Schema((Feature("x"),)), (0, 1), Fires(rules), (rg.Sided(inner, rules, 0.501, 0.499),))
    x = {"x": np.append(np.linspace(-1, 2, 61), np.nan).astype(np.float32)}
    moved = decides_above(graph, threshold, x)
    assert with_threshold(moved, 0.5).decision == graph.decision


def decides_above(graph: RuleGraph, threshold: float, x: dict[str, np.ndarray]) -> RuleGraph:
    """The legal model at a threshold, which decides rows by their probability, but for those that are too near."""
    moved = with_threshold(graph, threshold)
    check(moved)
    chances = graph.predict_proba(x)[:, 1]
    apart = np.abs(chances - threshold) > 1e-12
    assert (moved.decide(x) == (chances > threshold))[apart].all()
    return moved


_ROUNDED = rg.Column("x", 0.0, -8.0, 8.0, 0.25)
_SCORE = rg.Linear([(1.0, _ROUNDED), (0.5, rg.Compare("x", ">", 1.0))], -0.25)
_BITS = rg.Or(
    [rg.Hidden(f"h{i}", rg.Compare("x", ">", i / 4), strength_of((i + 1) / 40), strength_of(0.01)) for i in range(9)]
)


@pytest.mark.parametrize("threshold", [0.125, 0.5, 0.9])
@pytest.mark.parametrize(
    ("decides", "reported"),
    [
        (_SCORE, rg.Logistic(_SCORE)),
        (_SCORE, rg.Logistic(rg.Linear([(0.6, _SCORE)], 1.5))),
        (rg.Strength(_BITS), rg.Probability(_BITS)),
        (rg.Probability(_BITS), rg.Probability(_BITS)),
    ],
)
def test_a_model_that_is_proved_stays_proved(decides: rg.Node, reported: rg.Node, threshold: float) -> None:
    """A moved threshold compared the logistic itself, whose last bit differs between platforms."""
    graph = RuleGraph(Schema((Feature("x"),)), (0, 1), Fires(rg.Above(decides, 0.25)), (reported,))
    x = {"x": np.append(np.linspace(-9, 9, 200), np.nan).astype(np.float32)}
    assert guarantee(decides_above(graph, threshold, x)).proved


def test_a_noisy_or_that_decides_by_strengths_on_a_grid_stays_on_it():
    """The reported strengths are not rounded; those that decide are, and a new threshold is one for these."""
    bits = [rg.Hidden(f"h{i}", rg.Compare(f"x{i}", ">", 0.5), strength_of(0.1 + 0.02 * i), 0.001) for i in range(30)]
    schema = Schema(tuple(Feature(f"x{i}") for i in range(30)), target="y")
    decision = noisy_or_decision(bits)
    graph = RuleGraph(schema, ("no", "yes"), Fires(decision), (rg.Probability(rg.Or(bits)),))
    (moved,) = with_threshold(graph, 0.25).decision.roots
    assert moved == rg.Above(decision.score, strength_of(0.25))
    for formula in (rg.And(bits), rg.Not(rg.Or(bits))):
        (moved,) = with_threshold(graph.with_(probability=(rg.Probability(formula),)), 0.25).decision.roots
        assert isinstance(moved.score, rg.Linear)
