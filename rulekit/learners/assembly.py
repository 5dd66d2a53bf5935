"""Rule graphs from learned formulas: one formula for two classes, one for each of more (one against the rest)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit.graph.nodes import And, Hidden, Node, Not, Or, Probability
from rulekit.graph.prime_implicants import threshold_rule
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.learners.binning import BinnedColumn
from rulekit.learners.conditions import constant_formula, formula_node, hidden_bit
from rulekit.learners.formula import Bit
from rulekit.learners.read_once import ReadOnceTree
from rulekit.numbers import strength_of
from rulekit.schema import Schema

_FLOOR = 0.51


def noisy_formula(
    columns: tuple[BinnedColumn, ...],
    learned: tuple[ReadOnceTree, tuple[Bit, ...]] | None,
    prior: float,
    prefix: str,
) -> Node:
    """The nested formula of hidden bits; without any bit one that fires with the prior probability."""
    if learned is None:
        return constant_formula(prior, prefix)
    tree, bits = learned
    return formula_node(tree, [hidden_bit(columns, bit, i + 1, prefix) for i, bit in enumerate(bits)])


def decide_formula(formula: Node, schema: Schema, most_literals: int) -> Fires | Exceeds:
    """[P > 1/2] as a Boolean rule where it has one that is short enough, else by the probability itself."""
    rule = threshold_rule(formula, 0.5, most_literals, schema=schema)
    return Exceeds(Probability(formula), 0.5) if rule is None else Fires(rule)


def two_class_graph(
    schema: Schema, classes: tuple[ClassLabel, ...], formula: Node, n_bits: int, provenance: dict[str, Any]
) -> RuleGraph:
    """The second class is decided where the formula holds with probability above 1/2."""
    decision = decide_formula(formula, schema, 2 * max(1, n_bits))
    return RuleGraph(schema, classes, decision, (Probability(formula),), 0, provenance)


def many_class_graph(
    schema: Schema,
    classes: tuple[ClassLabel, ...],
    formulas: Sequence[Node],
    preference: Sequence[int],
    default: int,
    provenance: dict[str, Any],
) -> RuleGraph:
    """Of the classes whose formula holds with probability above 1/2 the most probable; of none the default.

    The reported probability of the default class gets a floor of just above 1/2 where no class is above it, so that
    the class that is decided is also the most probable one that is reported.
    """
    scores = tuple(Probability(formula) for formula in formulas)
    decision = ArgMax(scores, (0.5,) * len(classes), tuple(preference))
    reported = list(scores)
    reported[default] = Probability(_with_floor(formulas, default, schema))
    return RuleGraph(schema, classes, decision, tuple(reported), default, provenance)


def ordered_graph(
    schema: Schema,
    classes: tuple[ClassLabel, ...],
    formulas: Sequence[Node],
    units: Sequence[int],
    provenance: dict[str, Any],
) -> RuleGraph:
    """Ranked classes: formula j says whether the label lies above class j, and the median of the ranks is decided.

    The reported probability of a class is that its lower cut holds and its upper one does not, over their sum.
    """
    above = tuple(decide_formula(f, schema, 2 * max(1, n)) for f, n in zip(formulas, units, strict=True))
    inner = [And([low, Not(high)]) for low, high in itertools.pairwise(formulas)]
    reported = tuple(Probability(node) for node in (Not(formulas[0]), *inner, formulas[-1]))
    return RuleGraph(schema, classes, Median(above), reported, 0, provenance)


def _with_floor(formulas: Sequence[Node], default: int, schema: Schema) -> Node:
    """The default's formula, or else a bit that fires where no class is decided.

    Where some class's rule is too long to be written as a Boolean one, the bit stands under the formulas themselves.
    """
    rules = [threshold_rule(formula, 0.5, 400, schema=schema) for formula in formulas]
    found = [rule for rule in rules if rule is not None]
    if len(found) == len(rules):
        return Or([formulas[default], Hidden("otherwise", Not(Or(found)), strength_of(_FLOOR))])
    others = [Not(formula) for k, formula in enumerate(formulas) if k != default]
    return Or([formulas[default], And(others)])


def preference_of(weights: np.typing.NDArray[np.float64]) -> tuple[int, ...]:
    """Classes by falling training weight, then in their order."""
    return tuple(int(k) for k in np.lexsort((np.arange(len(weights)), -weights)))
