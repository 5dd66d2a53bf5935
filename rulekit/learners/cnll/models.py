"""What a candidate of CNLL holds that decides by a formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rulekit.graph.nodes import FALSE, TRUE, Above, And, Hidden, Node, Or, Probability
from rulekit.graph.rules import conjuncts, disjuncts, literals
from rulekit.learners.cnll.formula.noisy_formula import Bit, PairBit, contrary, probability_of_codes
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.cnll.search.growth import Grown, GrownStep, GrowthSettings, Snapshot, states
from rulekit.learners.cnll.start.first_formula import Start
from rulekit.learners.contract import Candidate, Frame, Score
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.conditions import condition_node
from rulekit.learners.models.rule_sets import truths_on_cells
from rulekit.learners.sizes.path import rule_count
from rulekit.learners.sums_of_rows.histograms import Bools
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.numbers import short_probability, strength_of
from rulekit.schema import Schema


def hidden_bit(columns: tuple[BinnedColumn, ...], bit: Bit, name: str) -> Node:
    """The hidden bit, its condition turned so that it fires with the larger strength where it holds.

    Where both strengths are the same the condition does nothing, and the bit has none.
    """
    said = float if bit.frozen else short_probability
    low, high = (strength_of(said(p)) for p in sorted((bit.alpha, bit.beta)))
    if low == high:
        return Hidden(name, TRUE, high, 0.0)
    return Hidden(name, bit_condition(columns, bit, bit.alpha >= bit.beta), high, low)


def bit_condition(columns: tuple[BinnedColumn, ...], bit: Bit, holds: bool = True) -> Node:
    """The Boolean node of a bit's condition, or of its contrary."""
    if isinstance(bit, PairBit):
        return _pair(columns, bit if holds else contrary(bit))
    return condition_node(columns[bit.column], bit.condition if holds else bit.known & ~bit.condition)


def _pair(columns: tuple[BinnedColumn, ...], bit: PairBit) -> Node:
    one, two = columns[bit.column], columns[bit.other]
    a, b = condition_node(one, bit.condition), condition_node(two, bit.other_condition)
    if bit.junction != "xor":
        return And([a, b]) if bit.junction == "and" else Or([a, b])
    not_a = condition_node(one, bit.known & ~bit.condition)
    not_b = condition_node(two, bit.other_known & ~bit.other_condition)
    return Or([And([a, not_b]), And([not_a, b])])


def formula_node(tree: ReadOnceTree, hidden: list[Node], kept: Mapping[int, Node] | None = None) -> Node:
    """The nested formula over hidden bits; kept: tree nodes at which a frozen clause stands as it is."""
    made: dict[int, Node] = {}
    kept = kept or {}
    for node in reversed(tree.order()):
        if node in kept:
            made[node] = kept[node]
        elif tree.bit[node] >= 0:
            made[node] = hidden[tree.bit[node]]
        else:
            parts = [made[child] for child in tree.children[node]]
            joined = And(parts) if tree.operator[node] == "and" else Or(parts)
            made[node] = parts[0] if len(parts) == 1 else joined
    return made[tree.root]


def continued_decision(formula: Node, schema: Schema, most_literals: int, start: Start) -> Node:
    """[P > 1/2] around the frozen rules of `start`, of at most `most_literals` literals more than they have.

    A Boolean decision stays one, with its frozen rules first; where the new part is too long to be written, they stand
    beside the formula that decides (it is true wherever they are, so they change no decision). A start that decides by
    its probability goes on to do so.
    """
    if not start.boolean:
        return Above(Probability(formula), 0.5)
    frozen = list(start.decided)
    rule = threshold_rule(formula, 0.5, most_literals + sum(literals(frozen).values()), schema=schema)
    if rule is None:
        return Above(Probability(Or([*frozen, *(part for part in disjuncts(formula) if part not in frozen)])), 0.5)
    terms = () if rule is FALSE else disjuncts(rule)
    parts = [*frozen, *(term for term in terms if not any(_implies(term, known, schema) for known in frozen))]
    return parts[0] if len(parts) == 1 else Or(parts)


def _implies(term: Node, known: Node, schema: Schema) -> bool:
    """Whether a rule holds only where a known one does: on every cell of their columns, or as it is written."""
    if term is known or set(conjuncts(known)) <= set(conjuncts(term)):
        return True
    truths = truths_on_cells(term, known, schema)
    return truths is not None and not bool((truths[0] & ~truths[1]).any())


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

    def node(self, frame: Frame, prefix: str) -> Node:
        """The nested formula of hidden bits."""
        names = bit_names(self.start, len(self.bits), prefix)
        hidden = [
            TRUE if bit.frozen else hidden_bit(frame.columns, bit, name)
            for bit, name in zip(self.bits, names, strict=True)
        ]
        return formula_node(self.tree, hidden, self.start.kept if self.start is not None else None)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The formula, and its Boolean rule where it is decided alone."""
        formula = self.node(frame, prefix)
        return Score(formula, None if frame.kind == "several" or frame.unreported else self._decision(formula, frame))

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


def bit_names(start: Start | None, n_bits: int, prefix: str) -> list[str]:
    """The names of the bits of a formula: the prefix and a number that no frozen bit has; frozen ones keep theirs."""
    if start is None:
        return [f"{prefix}{i + 1}" for i in range(n_bits)]
    taken, names, number = set(start.names.values()), list[str](), 0
    for i in range(n_bits):
        if i in start.names:
            names.append(start.names[i])
            continue
        number += 1
        while f"{prefix}{number}" in taken:
            number += 1
        names.append(f"{prefix}{number}")
    return names


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
