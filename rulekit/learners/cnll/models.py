"""What a candidate of CNLL holds: a learned formula, or the plain form that takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy.typing as npt

from rulekit.graph.nodes import TRUE, Above, Node, Probability
from rulekit.graph.probability.prime_implicants import threshold_rule
from rulekit.learners.binned.codes import Codes
from rulekit.learners.binned.problem import Problem
from rulekit.learners.cnll.formula.formula_nodes import formula_node, hidden_bit
from rulekit.learners.cnll.formula.noisy_formula import Bit, probability_of_codes
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.cnll.plain.dnf_form import WAYS, DnfSettings, PlainDnf, plain_clauses, plain_dnfs, reported
from rulekit.learners.cnll.plain.way_race import raced_way
from rulekit.learners.cnll.search.growth import Grown, GrownStep, GrowthSettings, Snapshot, states
from rulekit.learners.cnll.search.pair_bits import PairBit
from rulekit.learners.cnll.start.first_formula import Start, bit_names
from rulekit.learners.cnll.start.frozen_rules import continued_decision
from rulekit.learners.contract import Candidate, Frame, Score, Variants
from rulekit.learners.counting.histograms import Bools
from rulekit.learners.fitting.size_limits import rule_count


@dataclass(frozen=True, slots=True, eq=False)
class LearnedFormula:
    """tree over bits; start: what it goes on from; steps: those that led to it, one after the other."""

    tree: ReadOnceTree
    bits: tuple[Bit, ...]
    start: Start | None = None
    steps: tuple[GrownStep, ...] = ()

    @property
    def snapshot(self) -> Snapshot:
        return self.tree, self.bits

    @property
    def learned(self) -> int:
        """How many bits were learned, or may be changed."""
        return sum(not bit.frozen for bit in self.bits)

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose probability is above 1/2."""
        decided: Bools = probability_of_codes(self.tree, self.bits, codes) > 0.5
        return decided

    def score(self, frame: Frame, prefix: str) -> Score:
        """The nested formula of hidden bits, and its Boolean rule where it is decided alone."""
        names = bit_names(self.start, len(self.bits), prefix)
        hidden = [
            TRUE if bit.frozen else hidden_bit(frame.columns, bit, name)
            for bit, name in zip(self.bits, names, strict=True)
        ]
        formula = formula_node(self.tree, hidden, self.start.kept if self.start is not None else None)
        return Score(formula, None if frame.kind == "several" else self._decision(formula, frame))

    def _decision(self, formula: Node, frame: Frame) -> Node:
        """[P > 1/2] as a Boolean rule where it has one that is short enough, else by the probability itself."""
        literals = self.learned + sum(bit.literals - 1 for bit in self.bits if isinstance(bit, PairBit))
        most, limits = 2 * max(1, literals), frame.limits
        if self.start is not None and self.start.kept:
            return continued_decision(formula, frame.schema, most, self.start)
        most = most if limits.literals is None else min(most, limits.literals)
        rule = threshold_rule(formula, 0.5, most, schema=frame.schema)
        if rule is None or (limits.clauses is not None and rule_count(rule) > limits.clauses):
            return Above(Probability(formula), 0.5)
        return rule


def last_of(grown: Grown, start: Start | None) -> Candidate:
    """The last state of a growing formula."""
    model = LearnedFormula(*grown.path[-1], start, tuple(grown.steps))
    return Candidate(model.learned, *grown.measured[-1], model, start is not None and len(grown.path) == 1)


def candidates_of(grown: Grown, settings: GrowthSettings) -> Iterator[Candidate]:
    """The states of a formula while it grows; one may take the place of the one before, which is as large."""
    if grown.path:
        yield last_of(grown, settings.start)
    for _ in states(grown, settings):
        yield last_of(grown, settings.start)


def path_of(grown: Grown, start: Start | None) -> list[Candidate]:
    """All states of a grown formula, under the steps of all."""
    steps = tuple(grown.steps)
    models = [LearnedFormula(*snapshot, start, steps) for snapshot in grown.path]
    return [Candidate(model.learned, *measured, model) for model, measured in zip(models, grown.measured, strict=True)]


def plain_variants(
    problem: Problem, grown: Sequence[Candidate], settings: DnfSettings, groups: npt.NDArray[Any] | None, seed: int
) -> Variants:
    """The plain forms of a grown formula, by each way to find them."""
    path = [made.model.snapshot for made in grown if isinstance(made.model, LearnedFormula)]

    asked_in_order, known = plain_clauses(problem, path, settings, WAYS), list[list[PlainDnf]]()

    def by(way: int) -> list[Candidate]:
        # Asked for one after the other they share the search; one alone is looked for alone.
        if way == len(known):
            known.append(reported(problem, next(asked_in_order), settings))
        forms = known[way] if way < len(known) else plain_dnfs(problem, path, settings, [WAYS[way]])[0]
        return [Candidate(k, form.objective, form.error, form) for k, form in enumerate(forms, start=1)]

    ways = [partial(by, way) for way in range(len(WAYS))]
    return Variants(ways, lambda: raced_way(problem, path, settings, groups, seed))
