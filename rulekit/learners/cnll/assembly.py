"""Rule graphs from learned formulas: one formula for two classes, one for each of more (one against the rest)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import FALSE, TRUE, Above, And, Hidden, Node, Not, Or, Probability
from rulekit.graph.probability.prime_implicants import threshold_rule
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.conditions import constant_formula, formula_node, hidden_bit
from rulekit.learners.cnll.formula.noisy_formula import Bit
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.cnll.plain.dnf_form import PlainDnf
from rulekit.learners.cnll.search.pair_bits import PairBit
from rulekit.learners.cnll.start.first_formula import Start, bit_names
from rulekit.learners.cnll.start.frozen_rules import continued_decision
from rulekit.learners.fitting.size_limits import NO_LIMITS, SizeLimits, rule_count
from rulekit.numbers import strength_of
from rulekit.schema import Schema

_FLOOR = 0.51


Snapshot = tuple[ReadOnceTree, tuple[Bit, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Assembly:
    """What the models of all sizes are put together from.

    columns: as binned; paths: per formula what was learned for 1, 2, ... units (of a plain form: clauses); priors: per
    formula the share of rows that it is to tell from the rest; preference, default: see ArgMax and RuleGraph (more than
    two unordered classes); starts: per formula what it goes on from; its path then begins with that, and 0 units are
    the start too.
    """

    schema: Schema
    classes: tuple[ClassLabel, ...]
    columns: tuple[BinnedColumn, ...]
    paths: tuple[tuple[Snapshot, ...] | tuple[PlainDnf, ...], ...]
    priors: tuple[float, ...]
    preference: tuple[int, ...]
    default: int
    limits: SizeLimits = NO_LIMITS
    starts: tuple[Start | None, ...] = ()

    @property
    def prefixes(self) -> list[str]:
        """How the names of the hidden bits of each formula begin."""
        return ["H"] if len(self.paths) == 1 else [f"H{k + 1}." for k in range(len(self.paths))]

    def graph(self, units: Sequence[int], provenance: dict[str, Any]) -> RuleGraph:
        """The model whose formulas have these numbers of units (0: the prior probability alone)."""
        starts = self.starts or (None,) * len(self.paths)
        formulas = [
            noisy_formula(self.columns, self._learned(path, n, start), prior, prefix, start)
            for path, n, prior, prefix, start in zip(self.paths, units, self.priors, self.prefixes, starts, strict=True)
        ]
        rules = [self._plain_rule(path, n) for path, n in zip(self.paths, units, strict=True)]
        if len(formulas) == 1 or self.schema.ordered_classes:
            parts = zip(formulas, rules, self._literals(units), starts, strict=True)
            decisions = [
                decide_formula(formula, self.schema, 2 * max(1, n), self.limits, start) if rule is None else rule
                for formula, rule, n, start in parts
            ]
            if len(formulas) == 1:
                return two_class_graph(self.schema, self.classes, formulas[0], decisions[0], provenance)
            return ordered_graph(self.schema, self.classes, formulas, decisions, provenance)
        silent = [
            n == 0 and prior <= 0.5 and start is None
            for n, prior, start in zip(units, self.priors, starts, strict=True)
        ]
        return many_class_graph(
            self.schema, self.classes, formulas, self.preference, self.default, provenance, silent, rules
        )

    def learned(self, units: Sequence[int]) -> list[int]:
        """How many units of each formula at these places of its path were learned, and not given as they are."""
        starts = self.starts or (None,) * len(self.paths)
        return [n if start is None else start.learned + max(n, 1) - 1 for n, start in zip(units, starts, strict=True)]

    def _literals(self, units: Sequence[int]) -> list[int]:
        """How many literals of each formula were learned: a unit has one, or those of its pair."""
        starts = self.starts or (None,) * len(self.paths)
        found = []
        for path, n, learned, start in zip(self.paths, units, self.learned(units), starts, strict=True):
            snapshot = self._learned(path, n, start)
            bits = () if snapshot is None or isinstance(snapshot, PlainDnf) else snapshot[1]
            found.append(learned + sum(bit.literals - 1 for bit in bits if isinstance(bit, PairBit)))
        return found

    def _plain_rule(self, path: tuple[Snapshot, ...] | tuple[PlainDnf, ...], n: int) -> Node | None:
        """The decision of a plain form; None where a formula decides."""
        learned = path[n - 1] if n else None
        return learned.rule(self.columns) if isinstance(learned, PlainDnf) else None

    @staticmethod
    def _learned(
        path: tuple[Snapshot, ...] | tuple[PlainDnf, ...], n: int, start: Start | None
    ) -> Snapshot | PlainDnf | None:
        """The formula at one size, or None where nothing was learned nor given."""
        if start is not None and path:
            return path[max(n, 1) - 1]
        return path[n - 1] if n else None

    def fitting(self, units: Sequence[int], costs: Sequence[Sequence[float]]) -> tuple[int, ...]:
        """At most so many units of each formula, so few that the model keeps to the limits.

        costs: per formula the training objective for 0, 1, ... units; the unit whose loss raises it least leaves first.
        """
        units = list(units)
        while self.limits != NO_LIMITS and any(units) and not self.limits.hold_for(self.graph(units, {})):
            rise = [cost[n - 1] - cost[n] if n else np.inf for n, cost in zip(units, costs, strict=True)]
            units[int(np.argmin(rise))] -= 1
        return tuple(units)


def noisy_formula(
    columns: tuple[BinnedColumn, ...],
    learned: Snapshot | PlainDnf | None,
    prior: float,
    prefix: str,
    start: Start | None = None,
) -> Node:
    """The nested formula of hidden bits; without any bit one that fires with the prior probability.

    start: what it goes on from; its frozen clauses stand in it word for word.
    """
    if learned is None:
        return constant_formula(prior, prefix)
    if isinstance(learned, PlainDnf):
        return learned.report(columns, prefix)
    tree, bits = learned
    names = bit_names(start, len(bits), prefix)
    hidden = [TRUE if bit.frozen else hidden_bit(columns, bit, name) for bit, name in zip(bits, names, strict=True)]
    return formula_node(tree, hidden, start.kept if start is not None else None)


def decide_formula(
    formula: Node, schema: Schema, most_literals: int, limits: SizeLimits, start: Start | None = None
) -> Node:
    """[P > 1/2] as a Boolean rule where it has one that is short enough, else by the probability itself."""
    if start is not None and start.kept:
        return continued_decision(formula, schema, most_literals, start)
    most = most_literals if limits.literals is None else min(most_literals, limits.literals)
    rule = threshold_rule(formula, 0.5, most, schema=schema)
    if rule is None or (limits.clauses is not None and rule_count(rule) > limits.clauses):
        return Above(Probability(formula), 0.5)
    return rule


def two_class_graph(
    schema: Schema,
    classes: tuple[ClassLabel, ...],
    formula: Node,
    decides: Node,
    provenance: dict[str, Any],
) -> RuleGraph:
    """The second class is decided where `decides` holds: where the formula does with probability above 1/2."""
    return RuleGraph(schema, classes, Fires(decides), (Probability(formula),), 0, provenance)


def many_class_graph(
    schema: Schema,
    classes: tuple[ClassLabel, ...],
    formulas: Sequence[Node],
    preference: Sequence[int],
    default: int,
    provenance: dict[str, Any],
    silent: Sequence[bool],
    rules: Sequence[Node | None],
) -> RuleGraph:
    """Of the classes whose formula holds with probability above 1/2 the most probable; of none the default.

    silent: which formulas hold nowhere with more than 1/2, so that no rule speaks for their class; rules: where they
    are known, when they hold with more than 1/2. The reported probability of the default class gets a floor of just
    above 1/2 where no class is above it, so that the class that is decided is also the most probable one that is
    reported.
    """
    scores = tuple(Probability(formula) for formula in formulas)
    deciding = tuple(FALSE if quiet else score for quiet, score in zip(silent, scores, strict=True))
    decision = ArgMax(deciding, (0.5,) * len(classes), tuple(preference))
    reported = list(scores)
    reported[default] = Probability(_with_floor(formulas, rules, default, schema))
    return RuleGraph(schema, classes, decision, tuple(reported), default, provenance)


def ordered_graph(
    schema: Schema,
    classes: tuple[ClassLabel, ...],
    formulas: Sequence[Node],
    above: Sequence[Node],
    provenance: dict[str, Any],
) -> RuleGraph:
    """Ranked classes: formula j says whether the label lies above class j, and the median of the ranks is decided.

    The reported probability of a class is that its lower cut holds and its upper one does not, over their sum.
    """
    inner = [And([low, Not(high)]) for low, high in itertools.pairwise(formulas)]
    reported = tuple(Probability(node) for node in (Not(formulas[0]), *inner, formulas[-1]))
    return RuleGraph(schema, classes, Median(tuple(above)), reported, 0, provenance)


def _with_floor(formulas: Sequence[Node], known: Sequence[Node | None], default: int, schema: Schema) -> Node:
    """The default's formula, or else a bit that fires where no class is decided.

    Where some class's rule is too long to be written as a Boolean one, the bit stands under the formulas themselves.
    """
    rules = [
        threshold_rule(formula, 0.5, 400, schema=schema) if rule is None else rule
        for formula, rule in zip(formulas, known, strict=True)
    ]
    found = [rule for rule in rules if rule is not None]
    if len(found) == len(rules):
        return Or([formulas[default], Hidden("otherwise", Not(Or(found)), strength_of(_FLOOR))])
    others = [Not(formula) for k, formula in enumerate(formulas) if k != default]
    return Or([formulas[default], And(others)])


def preference_of(weights: np.typing.NDArray[np.float64]) -> tuple[int, ...]:
    """Classes by falling training weight, then in their order."""
    return tuple(int(k) for k in np.lexsort((np.arange(len(weights)), -weights)))
