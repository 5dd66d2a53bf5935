"""Models for the parity table: every node type and every decision over every kind of column.

The columns have missing and unseen values, awkward names and unused neighbours whose values must not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit.graph.nodes import (
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Constant,
    Hidden,
    IsTrue,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Or,
    Probability,
    Step,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold, strength_of
from rulekit.schema import Feature, Schema

COLOUR = ("red", "green", "blue")

SCHEMA = Schema(
    (
        Feature("age", display="integer"),
        Feature("capital gain", display="money", unit="$"),
        Feature("account", precision="float64"),
        Feature("member", "boolean"),
        Feature("colour", "categorical", COLOUR, missing_tokens=("?",)),
        Feature("code", "categorical", ("1", "2", "3", "NA"), unseen="missing"),
        Feature("size", "categorical", ("small", "mid", "large"), ordered=True),
        Feature("grade", "categorical", ("A", "B", "C"), unseen="error"),
        Feature("unused number"),
        Feature("unused text", "categorical", ("x", "y")),
        Feature("unused flag", "boolean"),
    ),
    target="outcome",
)

NUMBERS = Schema(
    (*(Feature(f"x{i}") for i in range(8)), Feature("flag", "boolean"), Feature("wide", precision="float64")),
    target="y",
)

AWKWARD = Schema(
    tuple(
        Feature(name)
        for name in ('quo"te', "it's", "new\nline", "lambda", "__import__('os')", "ü", "x y", "{brace}", "%s", "\\n")
    ),
    target="class",
)


def _x(i: int, threshold: float, op: str = ">", missing: bool = False) -> Node:
    return Compare(f"x{i}", op, canonical_threshold(threshold, "float32"), missing)


def _bits(causes: list[Node], on: list[float], off: float = 0.0, first: int = 1) -> list[Node]:
    pairs = zip(causes, on, strict=True)
    return [Hidden(f"h{i}", c, strength_of(p), strength_of(off)) for i, (c, p) in enumerate(pairs, first)]


def _literals() -> list[Node]:
    return [
        Compare("age", ">", 28.5),
        Compare("capital gain", "<=", 5100.1, missing=True),
        Compare("account", ">", 16777217.0),
        IsTrue("member"),
        Among("colour", ("red", "blue"), missing=True),
        Among("code", ("1", "NA")),
        Among("size", ("large",), unseen=True),
        Among("grade", ("A", "C"), missing=True),
        Missing("capital gain"),
        Missing("colour"),
    ]


def _two(decision: Fires | Exceeds, *probability: Node, schema: Schema = SCHEMA) -> RuleGraph:
    return RuleGraph(schema, ("no", "yes"), decision, probability)


def _threshold() -> RuleGraph:
    return RuleGraph(NUMBERS, (0, 1), Fires(_x(0, 0.1)))


def _below_missing() -> RuleGraph:
    return RuleGraph(NUMBERS, (False, True), Fires(And((_x(0, 0.3, "<=", True), _x(1, 1e-40)))))


def _extreme_thresholds() -> RuleGraph:
    values = (0.0, 5e-324, 1e-45, 1e-40, 2.0**-126, 0.1, 1 / 3, 16777216.0, 1e30, 3.4028234663852886e38, -1e30, -0.1)
    wide = Compare("wide", "<=", 0.1 + 2.0**-54, True)
    pairs = [And((_x(i % 8, v), _x((i + 1) % 8, v, "<=", i % 2 == 0))) for i, v in enumerate(values)]
    return RuleGraph(NUMBERS, ("low", "high"), Fires(Or((*pairs, And((wide, IsTrue("flag")))))))


def _level_sets() -> RuleGraph:
    first, second = Among("colour", ("red",), unseen=True), Among("code", ("2", "NA"), missing=True)
    return _two(Fires(Or((And((first, second)), And((Among("size", ("mid", "large")), Not(first)))))))


def _strict_levels() -> RuleGraph:
    return _two(Fires(Or((Among("grade", ("B",)), Missing("grade")))))


def _boolean_columns() -> RuleGraph:
    return _two(Fires(Or((And((IsTrue("member"), Compare("age", ">", 40.5))), Missing("member")))))


def _dnf() -> RuleGraph:
    a = _literals()
    return _two(Fires(Or((And(a[:3]), And((a[3], a[4])), And((a[5], a[6], a[7])), And((a[8], Not(a[9])))))))


def _at_least() -> RuleGraph:
    a = _literals()
    return _two(Fires(AtLeast(4, [*a, a[0], Not(AtLeast(2, a[3:6]))])))


def _many_rules() -> RuleGraph:
    rng = np.random.default_rng(3)
    clauses = []
    for _ in range(120):
        picks = rng.choice(8, int(rng.integers(2, 5)), replace=False)
        signs = rng.random(len(picks)) < 0.5
        cuts = np.round(rng.normal(0, 1, len(picks)), 2)
        clauses.append(
            And([_x(int(i), float(c), ">" if s else "<=") for i, c, s in zip(picks, cuts, signs, strict=True)])
        )
    return RuleGraph(NUMBERS, (0, 1), Fires(Or(clauses)))


def _many_mixed_rules() -> RuleGraph:
    """So many literals over every kind of column that the exporters put them in one block."""
    rng = np.random.default_rng(11)
    names = ("age", "capital gain", "account", "unused number")
    cuts = (0.0, 0.1, 28.5, 5100.1, 16777216.0)

    def literal() -> Node:
        missing, unseen = (bool(v) for v in rng.random(2) < 0.3)
        match int(rng.integers(8)):
            case 0 | 1 | 2 | 3:
                value = float(rng.choice(cuts)) + float(rng.integers(40))
                return Compare(names[rng.integers(4)], ">" if rng.random() < 0.5 else "<=", value, missing)
            case 4:
                return IsTrue("member", missing)
            case 5:
                return Missing(names[rng.integers(3)]) if missing else Not(Missing("colour"))
            case 6:
                return Among("colour", tuple(rng.choice(COLOUR, rng.integers(1, 3), replace=False)), missing, unseen)
            case _:
                return Among("code", tuple(rng.choice(("1", "2", "3", "NA"), 2, replace=False)), missing)

    rules = [And([literal() for _ in range(rng.integers(2, 7))]) for _ in range(90)]
    return _two(Fires(Or(rules)))


def _look_alikes() -> RuleGraph:
    """Levels that another text means too, and levels that are such texts themselves."""
    schema = Schema(
        (
            Feature("digit", "categorical", ("-1", "0", "1", "2", "2.0"), missing_tokens=("9", "1.0")),
            Feature("truth", "categorical", ("true", "false", "TRUE")),
            Feature("shouted", "categorical", ("True", "False"), unseen="missing"),
            Feature("mixed", "categorical", ("1", "true", "01", "1.00", "yes")),
        ),
        target="y",
    )
    rules = (
        And((Among("digit", ("-1", "1", "2"), missing=True), Among("truth", ("true",)))),
        And((Among("digit", ("0", "2.0"), unseen=True), Among("truth", ("false", "TRUE"), missing=True))),
        And((Among("shouted", ("True",), missing=True), Among("mixed", ("1", "yes"), unseen=True))),
        And((Among("mixed", ("true", "01")), Among("truth", ("TRUE",), unseen=True))),
    )
    return _two(Fires(Or(rules)), schema=schema)


def _deep_chain() -> RuleGraph:
    node = _x(0, 0.0)
    for i in range(1, 150):
        leaf = _x(i % 8, round(math.sin(i), 2))
        node = Or((And((node, leaf)), Not(leaf))) if i % 2 else And((Or((node, leaf)), Not(node)))
    return RuleGraph(NUMBERS, (0, 1), Fires(node))


def _constants() -> RuleGraph:
    return _two(Fires(Or((Constant(False), And(()), AtLeast(1, (Constant(False),))))))


def _awkward_names() -> RuleGraph:
    literals = [Compare(name, ">", 0.5 * i, i % 3 == 0) for i, name in enumerate(AWKWARD.names)]
    formula = Or([And((a, b)) for a, b in zip(literals[::2], literals[1::2], strict=True)])
    return RuleGraph(AWKWARD, ('"no"', "it's\nyes"), Fires(formula))


def _ltu_grid() -> RuleGraph:
    terms = [(0.25 * (i + 1) * (-1) ** i, Column(f"x{i}", 0.5, -4.0, 4.0, 2.0**-6)) for i in range(6)]
    unit = LinearThreshold(terms, -0.125)
    return RuleGraph(NUMBERS, (0, 1), Fires(Or((unit, And((IsTrue("flag"), LinearThreshold(terms[:2], 0.0)))))))


def _ltu_of_literals() -> RuleGraph:
    weights = (1.5, -2.25, 0.75, 3.0, 1.0, -1.0, 0.5, 2.0, -0.5, 0.25)
    return _two(Fires(LinearThreshold(list(zip(weights, _literals(), strict=True)), -1.0)))


def _ltu_unrounded() -> RuleGraph:
    terms = [(0.1 * (i + 1), Column(f"x{i}", -0.3, -1e3, 1e3)) for i in range(5)]
    terms.append((0.7, Column("wide", 0.2, -10.0, 10.0)))
    return RuleGraph(NUMBERS, (0, 1), Fires(LinearThreshold([*terms, (-0.3, IsTrue("flag"))], -0.35)))


def _noisy_or() -> RuleGraph:
    a = _literals()
    score = Probability(Or(_bits(a[:6], [0.9, 0.7, 0.55, 0.31, 0.83, 0.99], off=0.02)))
    return _two(Exceeds(score, 0.9), score)


def _noisy_or_strengths() -> RuleGraph:
    a = _literals()
    score = Probability(Or((*_bits(a[:7], [0.9, 0.7, 1.0, 0.31, 0.83, 0.99, 0.5], off=0.01), a[8])))
    return _two(Exceeds(score, strength_of(0.95), "log-complement"), score)


def _noisy_and() -> RuleGraph:
    score = Probability(And(_bits(_literals()[:5], [0.97, 0.9, 1.0, 0.95, 0.85], off=0.4)))
    return _two(Exceeds(score, 0.125), score)


def _gated_noisy_or() -> RuleGraph:
    bits = _bits(_literals(), [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.75, 0.65, 0.55])
    score = Probability(And((Or(bits[:6]), Not(Or(bits[6:])))))
    return _two(Exceeds(score, 0.5), score)


def _nested_formula() -> RuleGraph:
    a = _literals()
    bits = _bits(a, [0.93, 0.88, 0.71, 0.64, 0.52, 0.95, 0.81, 0.77, 0.66, 0.99], off=0.05)
    node = bits[0]
    for i, bit in enumerate(bits[1:]):
        node = And((node, bit)) if i % 3 == 1 else Or((node, bit))
    score = Probability(node)
    return _two(Exceeds(score, 0.5), score)


def _shared_bits() -> RuleGraph:
    b = _bits(_literals()[:6], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], off=0.1)
    formula = Or((And((b[0], b[1])), And((b[1], b[2], Not(b[3]))), And((b[0], b[4])), And((b[5], b[3]))))
    score = Probability(formula)
    return _two(Exceeds(score, 0.4), score)


def _noisy_add() -> RuleGraph:
    score = Probability(AtLeast(3, _bits(_literals()[:7], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.95])))
    return _two(Exceeds(score, 0.5), score)


def _rule_beside_probability() -> RuleGraph:
    """The decision is a Boolean rule, what is reported a noisy-logical probability."""
    a = _literals()
    score = Probability(Or((And(_bits(a[:2], [0.9, 0.8])), *_bits(a[5:7], [0.95, 0.6], first=3))))
    return _two(Fires(Or((And(a[:2]), a[5]))), score)


def _boosted_stumps() -> RuleGraph:
    rng = np.random.default_rng(5)
    terms: list[tuple[float, Node]] = []
    for name in (*NUMBERS.names[:8], "wide"):
        cuts = sorted({float(c) for c in np.round(rng.normal(0, 2, 12), 2)})
        values = tuple(float(v) / 1024 for v in rng.integers(-2048, 2048, len(cuts) + 1))
        terms.append((1.0, Step(name, tuple(cuts), values, float(rng.integers(-99, 99)) / 1024)))
    score = Linear(terms, 0.25)
    return RuleGraph(NUMBERS, (0, 1), Exceeds(score, 0.0, "score"), (Logistic(score),))


def _logistic_of_rules() -> RuleGraph:
    a = _literals()
    rules = [And(a[:2]), And((a[3], a[4])), Or((a[5], a[6])), a[7], AtLeast(2, a[6:])]
    score = Linear(list(zip((1.25, -0.5, 2.0, 0.75, -1.125), rules, strict=True)), -0.75)
    return _two(Exceeds(score, 0.0, "score"), Logistic(score))


def _rule_sets_of_three() -> RuleGraph:
    a = _literals()
    scores = (Or((And(a[:2]), a[6])), And((a[3], Not(a[4]))), AtLeast(2, a[4:8]))
    return RuleGraph(SCHEMA, ("low", "mid", "high"), ArgMax(scores, (0.5, 0.5, 0.5), (2, 0, 1)), default=1)


def _noisy_three() -> RuleGraph:
    a = _literals()
    scores = tuple(
        Probability(Or(_bits(a[i : i + 3], [0.9, 0.8 - i / 10, 0.5], off=0.25 if i == 2 else 0.0, first=1 + 2 * i)))
        for i in (0, 2, 4)
    )
    decision = ArgMax(scores, (0.5, 0.5, 0.25), (1, 0, 2))
    return RuleGraph(SCHEMA, ("red", "amber", "green"), decision, scores, default=2)


def _scores_of_four() -> RuleGraph:
    scores = tuple(
        Linear(
            [
                (0.5, _x(i, 0.5 * i)),
                (-0.25, _x(i + 1, -1.0, "<=", True)),
                (1.0, Step("x7", (-1.0, 1.0), (0.0, 0.5, 0.25), 0.75)),
            ],
            0.0,
        )
        for i in range(4)
    )
    return RuleGraph(NUMBERS, (0, 1, 2, 3), ArgMax(scores, (-math.inf,) * 4, (3, 1, 0, 2)))


def _ordered_rules() -> RuleGraph:
    a = _literals()
    above = (
        Fires(Or((a[0], a[4]))),
        Fires(And((a[0], a[1]))),
        Exceeds(Linear([(1.0, a[0]), (1.0, a[6])], 0.0), 1.0, "score"),
    )
    schema = Schema(SCHEMA.features, SCHEMA.target, ordered_classes=True)
    return RuleGraph(schema, ("none", "some", "much", "all"), Median(above))


def _ordered_noise() -> RuleGraph:
    a = _literals()
    bits = _bits(a[:6], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], off=0.05)
    scores = (Probability(Or(bits)), Probability(Or(bits[:3])), Probability(And(bits[:2])))
    above = (
        Exceeds(scores[0], 0.5),
        Exceeds(scores[1], strength_of(0.75), "log-complement"),
        Exceeds(scores[2], 0.5),
    )
    schema = Schema(SCHEMA.features, SCHEMA.target, ordered_classes=True)
    return RuleGraph(schema, (1, 2, 3, 4), Median(above))


def _attained_threshold() -> RuleGraph:
    """The threshold is a value that the probability takes: strictly above decides."""
    score = Probability(Or(_bits([_x(0, 0.0), _x(1, 0.0), _x(2, 0.0)], [0.5, 0.5, 0.5])))
    return RuleGraph(NUMBERS, (0, 1), Exceeds(score, 0.75), (score,))


MODELS: dict[str, Callable[[], RuleGraph]] = {
    "threshold": _threshold,
    "below, missing true": _below_missing,
    "extreme thresholds": _extreme_thresholds,
    "level sets": _level_sets,
    "levels, unseen refused": _strict_levels,
    "Boolean columns": _boolean_columns,
    "DNF": _dnf,
    "at least k": _at_least,
    "120 rules": _many_rules,
    "90 mixed rules": _many_mixed_rules,
    "look-alikes": _look_alikes,
    "chain 150 deep": _deep_chain,
    "constants": _constants,
    "awkward names": _awkward_names,
    "LTU on a grid": _ltu_grid,
    "LTU of literals": _ltu_of_literals,
    "LTU, not rounded": _ltu_unrounded,
    "noisy-or": _noisy_or,
    "noisy-or, strengths": _noisy_or_strengths,
    "noisy-and": _noisy_and,
    "gated noisy-or": _gated_noisy_or,
    "nested formula": _nested_formula,
    "shared bits": _shared_bits,
    "noisy-add": _noisy_add,
    "rule beside probability": _rule_beside_probability,
    "boosted stumps": _boosted_stumps,
    "logistic of rules": _logistic_of_rules,
    "3 classes, rule sets": _rule_sets_of_three,
    "3 classes, noisy": _noisy_three,
    "4 classes, scores": _scores_of_four,
    "4 ordered, rules": _ordered_rules,
    "4 ordered, noisy": _ordered_noise,
    "attained threshold": _attained_threshold,
}
