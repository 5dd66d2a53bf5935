"""Growing a noisy-logical formula bit by bit: add, refit, backfit, and a record of each step (paper, Figs. 3, 4).

A move that must lead beyond a limit of size is not offered; the exact size is known only of the model that is
assembled, so the choice from the path of sizes has the last word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from rulekit.learners.cnll.formula.noisy_formula import Bit, Formula
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.formula.read_once import FIRST, Move, ReadOnceTree, growth_moves
from rulekit.learners.cnll.search.best_step import SearchSettings, Step, best_replacements, best_step
from rulekit.learners.cnll.search.pair_search import best_with_pairs
from rulekit.learners.cnll.search.refitting import sweep
from rulekit.learners.cnll.start.first_formula import Start
from rulekit.learners.contract import Candidate, Question
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.problem import FixedColumn, Problem
from rulekit.learners.sizes.contest import Contest
from rulekit.learners.sizes.limits import NO_LIMITS, SizeLimits


def allowed_moves(limits: SizeLimits, tree: ReadOnceTree, moves: list[Move]) -> list[Move]:
    """The moves after which some printed form may still keep to the limits.

    A bit is one literal of the nested form, at least. Its rules are the children of the outermost connective; in
    the disjunctive normal form they are at least as many as the branches below the alternatives of the root.
    """
    if limits.literals is not None and sum(bit >= 0 for bit in tree.bit) >= limits.literals:
        return []
    if limits.clauses is None or tree.root < 0:
        return moves
    return [move for move in moves if _least_rules(tree, move) <= limits.clauses]


def _least_rules(tree: ReadOnceTree, move: Move) -> int:
    """The rules after a move: of the nested form or of the plain disjunctive normal form, whichever has fewer."""
    after = tree.copy()
    after.join(move, sum(bit >= 0 for bit in tree.bit))
    nested = max(1, len(after.children[after.root]))
    clauses: dict[int, int] = {}
    for node in reversed(after.order()):
        below = [clauses[child] for child in after.children[node]]
        if after.bit[node] >= 0:
            clauses[node] = 1
        elif after.operator[node] == "or":
            clauses[node] = sum(below)
        else:
            product = 1
            for count in below:
                product *= count
            clauses[node] = product
    return min(nested, clauses[after.root])


Algorithm = Literal["I", "II", "tree"]

_FALL = 1e-9
_MOST_SWEEPS = 20
_FIRST_BATCH = 4
_LOWER = 1.0 / 3.0
_FIRM = 3.0
_FEWEST_ERRORS = 16.0
_MOST_ROWS = 5000.0


@dataclass(frozen=True, slots=True)
class GrowthSettings:
    """algorithm I, II or tree; at most n_units bits; refit: sweeps a step; backfit: a sweep every so many bits.

    column_sample: how many columns, drawn by `seed`, a step looks at; sizes: limits on the model; columns: those that
    may be used (None: all of the problem); start: the formula to go on from, whose free bits count among n_units.
    """

    search: SearchSettings
    algorithm: Algorithm = "II"
    n_units: int = 20
    refit: int = 0
    backfit: int = 0
    dual: bool = False
    column_sample: int | None = None
    seed: int = 0
    sizes: SizeLimits = NO_LIMITS
    columns: Sequence[int] | None = None
    start: Start | None = None
    ridge_by_noise: bool = False


Snapshot = tuple[ReadOnceTree, tuple[Bit, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class GrownStep:
    """What one step did: the move, the bit as it was added, the objective it claimed and the one measured after it.

    `after` and `error` are the objective and the weighted training error once refit and backfit are done.
    """

    action: Literal["add", "backfit"]
    move: Move
    which: int
    bit: Bit
    clause: int
    claimed: float
    applied: float
    after: float
    error: float


@dataclass(slots=True)
class Grown:
    """A formula with its steps; `path[t]` is its t-th state, `measured[t]` the objective and weighted training error.

    Without a start path[t] has t + 1 bits; with one it begins with that.
    """

    formula: Formula
    steps: list[GrownStep] = field(default_factory=list)
    path: list[Snapshot] = field(default_factory=list)
    measured: list[tuple[float, float]] = field(default_factory=list)

    @property
    def learned(self) -> int:
        """How many bits were learned or may be changed: all but the frozen ones."""
        return sum(not bit.frozen for bit in self.formula.bits)

    def keep(self, after: float, error: float) -> None:
        """The formula as it is now becomes the next state of the path."""
        self.path.append(self.formula.snapshot())
        self.measured.append((after, error))

    def set_after(self, after: float, error: float) -> None:
        """The last state of the path becomes the formula as it is now."""
        if self.steps:
            self.steps[-1] = replace(self.steps[-1], after=after, error=error)
        self.path[-1], self.measured[-1] = self.formula.snapshot(), (after, error)


def grown_freer(grown: Grown, settings: GrowthSettings) -> Grown | None:
    """Grown anew with a third of the ridge, with ridge_by_noise, where that makes far fewer training errors."""
    problem, objective = grown.formula.problem, settings.search.objective
    errors = grown.formula.measure(objective)[1]
    if not settings.ridge_by_noise or errors < _FEWEST_ERRORS or problem.total > _MOST_ROWS:
        return None
    freer, own = begin(problem, settings), _with_ridge(settings, _LOWER * objective.ridge)
    for _ in states(freer, own):
        settings.search.watch.check()
    fewer = freer.formula.measure(objective)[1]
    return None if Contest.of_counts(errors, fewer).within(_FIRM) else freer


def _with_ridge(settings: GrowthSettings, ridge: float) -> GrowthSettings:
    objective = replace(settings.search.objective, ridge=ridge)
    return replace(settings, search=replace(settings.search, objective=objective))


def states(grown: Grown, settings: GrowthSettings) -> Iterator[None]:
    """Grow a formula: after each item its path has a further state, or another last one."""
    rng = np.random.default_rng(settings.seed)
    now = settings
    stuck = False
    while grown.learned < settings.n_units:
        now = at_noise(settings, now, grown.formula)
        if _grow_one(grown, now, rng):
            stuck = False
        elif stuck or not _refit_all(grown, now.search):
            break
        else:
            stuck = True
        yield


def at_noise(settings: GrowthSettings, now: GrowthSettings, formula: Formula) -> GrowthSettings:
    """The settings of the next step: with ridge_by_noise the ridge times the root mean squared error over 1/2.

    The stated ridge is for labels that are a coin's; where little is left unexplained, as many rows would hold the
    strengths back from what the rows say. It never rises again, so the objective that is recorded only falls.
    """
    if not settings.ridge_by_noise or settings.search.objective.ridge == 0.0:
        return settings
    total = formula.problem.total
    if formula.bits:
        noise = formula.measure(Objective(0.0, 1.0, 0.0))[0] / total
    else:
        share = float(formula.counts[:, 1].sum()) * formula.problem.weight_unit / total
        noise = share * (1.0 - share)
    ridge = min(now.search.objective.ridge, 2.0 * math.sqrt(noise) * settings.search.objective.ridge)
    return _with_ridge(now, ridge)


def begin(problem: Problem, settings: GrowthSettings) -> Grown:
    """Nothing, or the start with the best strengths of its free bits."""
    start, objective = settings.start, settings.search.objective
    if start is None or start.tree.root < 0:
        return Grown(Formula(problem, ReadOnceTree(dual=settings.dual)))
    formula = Formula.of(problem, start.tree, start.bits)
    _sweeps(formula, settings.search, _MOST_SWEEPS if start.learned else 0)
    grown = Grown(formula)
    grown.keep(*formula.measure(objective))
    return grown


def _grow_one(grown: Grown, settings: GrowthSettings, rng: np.random.Generator) -> bool:
    formula, objective = grown.formula, settings.search.objective
    moves = allowed_moves(settings.sizes, formula.tree, growth_moves(formula.tree, settings.algorithm))
    if settings.start is not None:
        moves = settings.start.allowed(formula.tree, moves)
    if not moves:
        return False
    before = formula.measure(objective)[0] if formula.bits else np.inf
    step = _best_step(formula, moves, settings, _columns(formula, settings, rng))
    if step is None or not _worth(step, before, settings):
        return False
    formula.add(step.bit, step.move)
    _note(grown, "add", step, len(formula.bits) - 1, settings)
    if settings.backfit and grown.learned > 1 and grown.learned % settings.backfit == 0:
        _backfit(grown, settings, rng)
    grown.keep(grown.steps[-1].after, grown.steps[-1].error)
    return True


def _sweeps(formula: Formula, search: SearchSettings, most: int) -> bool:
    """At most so many sweeps over all strengths, until none helps; says whether one did."""
    done = 0
    while done < most and sweep(formula, search):
        done += 1
    return done > 0


def _note(grown: Grown, action: Literal["add", "backfit"], step: Step, which: int, settings: GrowthSettings) -> None:
    """Refit the formula after a step that is made, and add the step to the record."""
    formula, objective = grown.formula, settings.search.objective
    applied, _ = formula.measure(objective)
    _sweeps(formula, settings.search, settings.refit)
    made = step.move, which, step.bit, _clause(formula, which), step.objective, applied
    grown.steps.append(GrownStep(action, *made, *formula.measure(objective)))


def _best_step(
    formula: Formula, moves: list[Move], settings: GrowthSettings, columns: np.typing.NDArray[np.int64]
) -> Step | None:
    """The best step for a new bit, whose condition may join two where weak="pairs"."""
    ridge = _ridge(formula, settings)
    if settings.search.weak != "pairs":
        return best_step(formula, moves, settings.search, columns, ridge)
    return best_with_pairs(formula, moves, settings.search, columns, ridge, _last_columns(formula, settings))


def _last_columns(formula: Formula, settings: GrowthSettings, without: int = -1) -> set[int] | None:
    """The columns in use where the limits leave room for one more; None where they do not matter to a pair."""
    if settings.sizes.features is None:
        return None
    used = _used(formula, without)
    return used if settings.sizes.features == len(used) + 1 else None


def _columns_read(columns: Sequence[BinnedColumn], bit: Bit) -> set[int]:
    """The columns of the table that the condition of a bit reads."""
    read: set[int] = set()
    for column in bit.columns:
        found = columns[column]
        read.update(found.reads if isinstance(found, FixedColumn) else (column,))
    return read


def _used(formula: Formula, without: int = -1) -> set[int]:
    """The columns of the table that the bits read."""
    bits = (bit for i, bit in enumerate(formula.bits) if i != without)
    return {column for bit in bits for column in _columns_read(formula.problem.columns, bit)}


def _worth(step: Step, before: float, settings: GrowthSettings) -> bool:
    """Whether a step goes down; plain errors may also stay level, as in the paper, unless there are none left."""
    slack = _FALL * (1.0 + abs(before)) if np.isfinite(before) else 0.0
    if settings.search.objective.brier == 0.0:
        return step.objective <= before + slack and before > slack
    return step.objective < before - slack


def _ridge(formula: Formula, settings: GrowthSettings, without: int = -1) -> float:
    bits = (bit for i, bit in enumerate(formula.bits) if i != without)
    kappa = settings.search.objective.ridge
    return kappa * sum((bit.alpha - bit.rest) ** 2 + (bit.beta - bit.rest) ** 2 for bit in bits)


def _columns(
    formula: Formula, settings: GrowthSettings, rng: np.random.Generator, without: int = -1
) -> np.typing.NDArray[np.int64]:
    """The columns to look at for a new bit, or for another condition of bit `without`."""
    columns, most = formula.problem.columns, settings.sizes.features
    pool = np.asarray(range(len(columns)) if settings.columns is None else settings.columns, dtype=np.int64)
    if most is not None and len(used := _used(formula, without)) >= most:
        pool = np.array(sorted(used), dtype=np.int64)
    if settings.column_sample is None or settings.column_sample >= len(pool):
        return pool
    return np.sort(rng.choice(pool, settings.column_sample, replace=False))


def _refit_all(grown: Grown, search: SearchSettings) -> bool:
    """Refit until no sweep helps, where no step does; says whether anything changed.

    A bit joined by and can only lower a probability. A rare class starts with bits far below 1/2, and no clause of
    such bits gets above it while their strengths stay as they were found.
    """
    formula = grown.formula
    if not formula.bits or search.objective.brier == 0.0 or not _sweeps(formula, search, 1 + _MOST_SWEEPS):
        return False
    grown.set_after(*formula.measure(search.objective))
    return True


def _backfit(grown: Grown, settings: GrowthSettings, rng: np.random.Generator) -> None:
    """Look for a better condition for each bit once, the others staying.

    Several bits are looked at in one pass over the rows. Once one of them has changed, what was found for those after
    it no longer holds, and they are looked at again; so the answer is that of one bit after the other.
    """
    formula, objective = grown.formula, settings.search.objective
    waiting = [i for i, bit in enumerate(formula.bits) if not bit.frozen]
    pairs = settings.search.weak == "pairs"
    same_columns = settings.column_sample is None and settings.sizes.features is None and not pairs
    at_once = _FIRST_BATCH
    while waiting:
        together = waiting[:at_once] if same_columns else waiting[:1]
        before, _ = formula.measure(objective)
        columns = _columns(formula, settings, rng, together[0])
        ridges = np.array([_ridge(formula, settings, which) for which in together])
        step: Step | None
        if pairs:
            step = _best_pair_instead(formula, together[0], settings, columns, float(ridges[0]))
            objectives = np.array([np.inf if step is None else step.objective])
        else:
            found = best_replacements(formula, together, settings.search, columns, ridges)
            objectives = found.least()
        worth = objectives < before - _FALL * (1.0 + abs(before))
        at = int(np.argmax(worth)) if worth.any() else len(together)
        waiting = waiting[at + 1 :] if worth.any() else waiting[at:]
        at_once = 1 if worth.any() else max(_FIRST_BATCH, 2 * at_once)
        if not worth.any():
            continue
        step = step if pairs else found.step_of(at)
        assert step is not None
        formula.replace(together[at], step.bit)
        _note(grown, "backfit", step, together[at], settings)


def _best_pair_instead(
    formula: Formula, which: int, settings: GrowthSettings, columns: np.typing.NDArray[np.int64], ridge: float
) -> Step | None:
    """The best condition, single or a pair, in the place of a bit."""
    move = Move("bit", formula.tree.node_of_bit(which)) if len(formula.bits) > 1 else FIRST
    return best_with_pairs(formula, [move], settings.search, columns, ridge, _last_columns(formula, settings, which))


def _clause(formula: Formula, which: int) -> int:
    """The number, from 1, of the clause that holds the bit; 0 where it stands outside all clauses (and with all)."""
    node = formula.tree.node_of_bit(which)
    while node >= 0:
        if node in formula.tree.clauses:
            return formula.tree.clauses.index(node) + 1
        node = formula.tree.parent[node]
    return 0


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
            for column in step.bit.columns:
                gain[column] = gain.get(column, 0.0) + before - step.after
            before = step.after
    return tuple(sorted(sorted(gain, key=lambda column: (-gain[column], column))[:most]))
