"""The learner cnll: compositional noisy-logical learning (Yuille & Zheng, ICML 2009), with moves at every node.

A formula grows bit by bit: add, refit, and look for better conditions of the bits that there are. A move that must lead
beyond a limit of size is not offered; the exact size is known only of the model that is assembled, so the choice from
the path of sizes has the last word. The paper's own algorithms are rulekit.learners.papers.cnll_paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from rulekit.arrays import Ints
from rulekit.errors import InputError
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import FALSE, Above, Node, Or, Probability
from rulekit.graph.rules import conjuncts, disjuncts, literals
from rulekit.learners.cnll.best_step import GrownStep, best_replacements, best_step, sweeps
from rulekit.learners.cnll.formula_on_cells import Formula, GrowthSettings, KnownFormula, allowed_moves
from rulekit.learners.cnll.split_search import LEAST_STRENGTH
from rulekit.learners.contract import NO_LIMITS, Ability, Candidate, Frame, Learning, Question, SizeLimits
from rulekit.learners.data.binning import BinnedColumn, least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import HOLDS, KNOWN, FixedColumn, Problem
from rulekit.learners.models.assembly import Prior
from rulekit.learners.models.noisy_formulas import Move, NoisyBit, NoisyFormula, ReadOnceTree
from rulekit.learners.models.plain import Clause, truths_on_cells
from rulekit.learners.parameters import StartSettings, bins, number, or_automatic, setting, whole
from rulekit.learners.promises.kept import WHERE, rules_of_start
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.choice import Contest
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.schema import Schema

_FALL = 1e-9
_MOST_SWEEPS = 20
_FIRST_BATCH = 4
_LOWER = 1.0 / 3.0
_FIRM = 3.0
_FEWEST_ERRORS = 16.0
_MOST_ROWS = 5000.0


@dataclass(slots=True)
class GrownFormula:
    """A formula with its steps; `path[t]` is its t-th state, `measured[t]` the objective and weighted training error.

    Without a start path[t] has t + 1 bits; with one it begins with that.
    """

    formula: Formula
    steps: list[GrownStep] = field(default_factory=list)
    path: list[KnownFormula] = field(default_factory=list)
    measured: list[tuple[float, float]] = field(default_factory=list)

    @property
    def learned(self) -> int:
        """How many bits were learned or may be changed: all but the frozen ones."""
        return sum(not bit.frozen for bit in self.formula.bits)

    def keep(self, ridge: float, *, anew: bool = False) -> None:
        """The formula as it is now becomes the next state of the path, or (anew) its last one."""
        if anew:
            self.path.pop()
            self.measured.pop()
        self.path.append((self.formula.tree.copy(), tuple(self.formula.bits)))
        self.measured.append(self.formula.measure(ridge))


def grown_freer(grown: GrownFormula, settings: GrowthSettings) -> GrownFormula | None:
    """Grown anew with a third of the ridge, with ridge_by_noise, where that makes far fewer training errors."""
    problem = grown.formula.problem
    errors = grown.formula.measure(0.0)[1]
    if not settings.ridge_by_noise or errors < _FEWEST_ERRORS or problem.total > _MOST_ROWS:
        return None
    freer = begin(problem, settings)
    for _ in states(freer, replace(settings, ridge=_LOWER * settings.ridge)):
        settings.watch.check()
    return None if Contest.of_counts(errors, freer.formula.measure(0.0)[1]).within(_FIRM) else freer


def states(grown: GrownFormula, settings: GrowthSettings) -> Iterator[None]:
    """Grow a formula: after each item its path has a further state, or another last one.

    Where no step helps all strengths are refitted until no sweep does, once. A bit joined by and can only lower a
    probability. A rare class starts with bits far below 1/2, and no clause of such bits gets above it while their
    strengths stay as they were found.
    """
    now, stuck = settings, False
    while grown.learned < settings.n_units:
        now = at_noise(settings, now, grown.formula)
        grew = _grow_one(grown, now)
        if not grew:
            if stuck or not grown.formula.bits or not sweeps(grown.formula, now.ridge, 1 + _MOST_SWEEPS):
                return
            grown.keep(now.ridge, anew=True)
        stuck = not grew
        yield


def at_noise(settings: GrowthSettings, now: GrowthSettings, formula: Formula) -> GrowthSettings:
    """The settings of the next step: with ridge_by_noise the ridge times the root mean squared error over 1/2.

    The stated ridge is for labels that are a coin's; where little is left unexplained, as many rows would hold the
    strengths back from what the rows say. It never rises again, so the objective that is recorded only falls.
    """
    if not settings.ridge_by_noise or settings.ridge == 0.0:
        return settings
    total = formula.problem.total
    if formula.bits:
        noise = formula.measure(0.0)[0] / total
    else:
        share = float(formula.cells.counts[:, 1].sum()) * formula.problem.weight_unit / total
        noise = share * (1.0 - share)
    return replace(now, ridge=min(now.ridge, 2.0 * math.sqrt(noise) * settings.ridge))


def begin(problem: Problem, settings: GrowthSettings) -> GrownFormula:
    """Nothing, or the start with the best strengths of its free bits."""
    if settings.start is None:
        return GrownFormula(Formula(problem, ReadOnceTree()))
    grown = GrownFormula(Formula.of(problem, *settings.start))
    sweeps(grown.formula, settings.ridge, _MOST_SWEEPS)
    grown.keep(settings.ridge)
    return grown


def _grow_one(grown: GrownFormula, settings: GrowthSettings) -> bool:
    formula, ridge = grown.formula, settings.ridge
    moves = allowed_moves(settings.sizes, formula.tree, formula.bits)
    if not moves:
        return False
    before = formula.measure(ridge)[0] if formula.bits else np.inf
    step = best_step(formula, moves, settings, _columns(formula, settings))
    if step is None or not step.claimed < _lower(before):
        return False
    formula.add(step.bit, step.move)
    _note(grown, step, settings)
    if settings.backfit and grown.learned > 1 and grown.learned % settings.backfit == 0:
        _backfit(grown, settings)
    grown.keep(ridge)
    return True


def _lower(objective: float) -> float:
    """Below it another objective is surely lower."""
    return objective - (_FALL * (1.0 + abs(objective)) if np.isfinite(objective) else 0.0)


def _note(grown: GrownFormula, step: GrownStep, settings: GrowthSettings) -> None:
    sweeps(grown.formula, settings.ridge, settings.refit)
    grown.steps.append(replace(step, after=grown.formula.measure(settings.ridge)[0]))


def _columns(formula: Formula, settings: GrowthSettings, without: int = -1) -> Ints:
    """The columns to look at for a new bit, or for another condition of bit `without`."""
    most, pool, columns = settings.sizes.features, settings.columns, formula.problem.columns
    if most is not None:
        read = set[int]()
        for number in (bit.column for i, bit in enumerate(formula.bits) if i != without):
            found = columns[number]
            read.update(found.reads if isinstance(found, FixedColumn) else (number,))
        pool = sorted(read) if len(read) >= most else pool
    return np.asarray(range(len(columns)) if pool is None else pool, dtype=np.int64)


def _backfit(grown: GrownFormula, settings: GrowthSettings) -> None:
    """Look for a better condition for each bit once, the others staying.

    Several bits are looked at in one pass over the rows. Once one of them has changed, what was found for those after
    it no longer holds, and they are looked at again; so the answer is that of one bit after the other.
    """
    formula, at_once = grown.formula, _FIRST_BATCH
    waiting = [i for i, bit in enumerate(formula.bits) if not bit.frozen]
    while waiting:
        together = waiting[:at_once] if settings.sizes.features is None else waiting[:1]
        before, _ = formula.measure(settings.ridge)
        found = best_replacements(formula, together, settings, _columns(formula, settings, together[0]))
        objectives = found.best.objective
        better = np.flatnonzero(objectives.min(axis=0, initial=np.inf) < _lower(before))
        if not len(better):
            waiting, at_once = waiting[len(together) :], max(_FIRST_BATCH, 2 * at_once)
            continue
        at = int(better[0])
        step = replace(found.step(int(objectives[:, at].argmin()), at), replaced=together[at])
        formula.replace(together[at], step.bit)
        _note(grown, step, settings)
        waiting, at_once = waiting[at + 1 :], 1


def shared_columns(
    settings: GrowthSettings, questions: Sequence[Question], nothing: Callable[[Question], Candidate]
) -> tuple[int, ...]:
    """The columns that together lower the objectives of formulas grown without the limit most."""
    most = settings.sizes.features
    assert most is not None
    free = replace(settings, sizes=NO_LIMITS, n_units=min(settings.n_units, 2 * most))
    gain: dict[int, float] = {}
    for question in questions:
        grown = begin(question.problem, free)
        for _ in states(grown, free):
            if question.watch.over:
                break
        if not question.watch.over:
            grown = grown_freer(grown, free) or grown
        before = nothing(question).objective
        for step in grown.steps:
            gain[step.bit.column] = gain.get(step.bit.column, 0.0) + before - step.after
            before = step.after
    return tuple(sorted(sorted(gain, key=lambda column: (-gain[column], column))[:most]))


_ABOVE_HALF = 0.501


def known_formula(
    problem: Problem, kept: Sequence[Clause], begun: Sequence[Clause], n_units: int
) -> KnownFormula | None:
    """The formula of rules that stay and of rules to begin with; None of no rule at all.

    Raises InputError where the rules to begin with have more conditions than `n_units`.
    """
    if not kept and not begun:
        return None
    free = sum(map(len, begun))
    if free > n_units:
        what = f"n_units is {n_units}, and {free} literals of the start are free"
        raise InputError(what, where=WHERE, fix=f"n_units={free} or more, or freeze the rules")
    tree, bits = ReadOnceTree(root=0), list[NoisyBit]()
    tree.add_node("or", -1, -1)

    def hang(column: int, alpha: float, beta: float, rest: float, above: int, frozen: bool) -> None:
        tree.children[above].append(tree.add_node("bit", len(bits), above))
        bits.append(NoisyBit(column, HOLDS, KNOWN, alpha, beta, rest, frozen))

    for (column,) in kept:
        holds = HOLDS[problem.codes[column]]
        # How often the rule is right where it holds; one more row of either label counts.
        right = (problem.weight_of(holds & (problem.labels == 1)) + 1.0) / (problem.weight_of(holds) + 2.0)
        hang(column, min(max(right, _ABOVE_HALF), 1.0 - LEAST_STRENGTH), 0.0, 0.0, tree.root, True)
    for clause in begun:
        above = tree.root
        if len(clause) > 1:
            above = tree.add_node("and", -1, tree.root)
            tree.children[tree.root].append(above)
        for column in clause:
            hang(column, 1.0 - LEAST_STRENGTH, LEAST_STRENGTH, float(len(clause) > 1), above, False)
    return tree, tuple(bits)


@dataclass(frozen=True, slots=True, eq=False)
class ContinuedFormula(NoisyFormula):
    """A formula around frozen rules."""

    def decision(self, formula: Node, frame: Frame) -> Node:
        """[P > 1/2] with its frozen rules first, or beside the formula where the new part is too long to be written."""
        frozen = [bit.node(frame.columns) for bit in self.bits if bit.frozen]
        if not frozen:
            return NoisyFormula.decision(self, formula, frame)
        most = self.most_literals() + sum(literals(frozen).values())
        rule = threshold_rule(formula, 0.5, most, schema=frame.schema)
        if rule is None:
            return Above(Probability(Or([*frozen, *disjuncts(formula)])), 0.5)
        terms = () if rule is FALSE else disjuncts(rule)
        parts = [*frozen, *(term for term in terms if not any(_implies(term, known, frame.schema) for known in frozen))]
        return parts[0] if len(parts) == 1 else Or(parts)


def _implies(term: Node, known: Node, schema: Schema) -> bool:
    """Whether a rule holds only where a known one does: on every cell of their columns, or as it is written."""
    if term is known or set(conjuncts(known)) <= set(conjuncts(term)):
        return True
    truths = truths_on_cells(term, known, schema)
    return truths is not None and not bool((truths[0] & ~truths[1]).any())


@dataclass(frozen=True)
class CNLLSettings(StartSettings):
    """How a formula grows; the defaults were chosen by cross-validation inside training data (docs/cnll-notes.md)."""

    n_units: int = setting(20, whole(1), "most conditions in a formula")
    ridge: float | None = setting(
        None,
        number(0, optional=True),
        "rows that pull every bit towards doing nothing (None: 12, fewer as errors become few)",
    )
    refit: int = setting(1, whole(0), "sweeps over all strengths after each step")
    backfit: int = setting(3, whole(0), "every so many steps, better conditions for all bits (0: never)")
    max_bins: Any = bins(64)
    min_rows: Any = setting(
        "auto", or_automatic(number(0)), "least weight of rows on either side of a condition (auto: 5, or less)"
    )


_RIDGE = 12.0


class CNLL(RuleLearner):
    """Noisy-logical formulas of each class; see CNLLClassifier."""

    word = "cnll"
    estimator = "rulekit.learners.cnll.estimator:CNLLClassifier"
    settings = CNLLSettings
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        ("missing", "categories", "start", "memory", "several", "ranked", "weights")
    )

    def resolve(self, settings: CNLLSettings, rows: float) -> CNLLSettings:
        """What "auto" stands for."""
        least = least_side(rows) if settings.min_rows == "auto" else settings.min_rows
        return replace(settings, min_rows=min(least, rows + 1.0))  # in units of weights a larger one may be no integer

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with rules of a start as further columns, and what each formula begins with."""
        first = questions[0]
        settings: CNLLSettings = first.settings
        growth = GrowthSettings(
            _RIDGE if settings.ridge is None else float(settings.ridge),
            *(settings.n_units, settings.refit, settings.backfit, float(settings.min_rows), first.n_threads),
            sizes=SizeLimits(settings.max_features, settings.max_clauses, settings.max_literals),
            columns=range(len(problem.columns)),
            ridge_by_noise=settings.ridge is None,
        )
        if settings.max_features is not None and len(questions) > 1:
            growth = replace(growth, columns=shared_columns(growth, questions, self.nothing))
        problem, known = rules_of_start(settings, problem, data.table, classes, len(questions), formulas=True)
        own = [replace(problem, labels=question.problem.labels) for question in questions]
        starts = [
            known_formula(rows, kept, begun, settings.n_units) for rows, (kept, begun) in zip(own, known, strict=True)
        ]
        return [
            replace(question, problem=rows, plan=replace(growth, start=start))
            for question, rows, start in zip(questions, own, starts, strict=True)
        ]

    def learn(self, question: Question) -> Learning:
        """The formulas of 1, 2, ... bits; with few rows and many errors those of a second growth with less ridge."""
        settings = replace(question.plan, watch=question.watch)
        grown = begin(question.problem, settings)
        yield from candidates_of(grown, settings)
        freer = grown_freer(grown, settings)
        return None if freer is None else [_candidate(freer, place) for place in range(len(freer.path))]

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows, with its squared error."""
        problem = question.problem
        yes, total = problem.positive, problem.total
        return Candidate(0, yes * (total - yes) / total, min(yes, total - yes), Prior(problem.share))


def candidates_of(grown: GrownFormula, settings: GrowthSettings) -> Iterator[Candidate]:
    """The states of a formula while it grows; one may take the place of the one before, which is as large."""
    if grown.path:
        yield _candidate(grown, 0, start=True)
    for _ in states(grown, settings):
        yield _candidate(grown, len(grown.path) - 1)


def _candidate(grown: GrownFormula, place: int, *, start: bool = False) -> Candidate:
    """A state of the path; `history_` says of it which bit was added last."""
    model = ContinuedFormula(*grown.path[place])
    added = [step for step in grown.steps if step.replaced is None][: len(model.bits)]
    said = said_of(added[-1].bit, added[-1].move, grown.formula.problem.columns) if added else {}
    size = sum(not bit.frozen for bit in model.bits)
    return Candidate(size, *grown.measured[place], model, start, said=said)


def said_of(bit: NoisyBit, move: Move, columns: Sequence[BinnedColumn], **further: Any) -> Mapping[str, Any]:
    """What `history_` says of a bit that joined."""
    name, known = columns[bit.column].feature.name, {column.feature.name: column.feature for column in columns}
    condition = print_node(bit.node(columns), Schema(tuple(known.values())))
    strengths = {"alpha": bit.alpha, "beta": bit.beta}
    return {"feature": name, "condition": condition, "move": move.operator, **further, **strengths}
