"""Growing a noisy-logical formula bit by bit: add, refit, and look for better conditions of the bits that there are.

A move that must lead beyond a limit of size is not offered; the exact size is known only of the model that is
assembled, so the choice from the path of sizes has the last word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rulekit.arrays import Ints
from rulekit.learners.cnll.best_step import NextBit, SearchSettings, best_replacements, best_step, sweeps
from rulekit.learners.cnll.formula_on_cells import Formula, KnownFormula, allowed_moves, growth_moves
from rulekit.learners.contract import NO_LIMITS, Candidate, Question, SizeLimits
from rulekit.learners.data.problem import FixedColumn, Problem
from rulekit.learners.models.noisy_formulas import Move, NoisyBit, ReadOnceTree
from rulekit.learners.sizes.choice import Contest

_FALL = 1e-9
_MOST_SWEEPS = 20
_FIRST_BATCH = 4
_LOWER = 1.0 / 3.0
_FIRM = 3.0
_FEWEST_ERRORS = 16.0
_MOST_ROWS = 5000.0


@dataclass(frozen=True, slots=True)
class GrowthSettings:
    """At most n_units bits; refit: sweeps a step; backfit: other conditions are looked for every so many bits.

    sizes: limits on the model; columns: those that may be used (None: all of the problem); start: the formula to go on
    from, whose free bits count among n_units; ridge_by_noise: the ridge falls with what is left unexplained.
    """

    search: SearchSettings
    n_units: int = 20
    refit: int = 1
    backfit: int = 0
    sizes: SizeLimits = NO_LIMITS
    columns: Sequence[int] | None = None
    start: KnownFormula | None = None
    ridge_by_noise: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class GrownStep:
    """What one step did: the bit as it was added or changed, the objective it claimed and the one measured after it.

    replaced: the place of the bit that has another condition (None: the bit was added). `after` and `error` are the
    objective and the weighted training error once the strengths are refitted.
    """

    move: Move
    bit: NoisyBit
    replaced: int | None
    claimed: float
    applied: float
    after: float
    error: float


@dataclass(slots=True)
class GrownFormula:
    """A formula with its steps; `path[t]` is its t-th state, `measured[t]` the objective and weighted training error.

    Without a start path[t] has t + 1 bits; with one it begins with that.
    """

    formula: Formula
    steps: list[GrownStep] = field(default_factory=list)
    path: list[tuple[ReadOnceTree, tuple[NoisyBit, ...]]] = field(default_factory=list)
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
        self.path.append(self.formula.snapshot())
        self.measured.append(self.formula.measure(ridge))


def grown_freer(grown: GrownFormula, settings: GrowthSettings) -> GrownFormula | None:
    """Grown anew with a third of the ridge, with ridge_by_noise, where that makes far fewer training errors."""
    problem, ridge = grown.formula.problem, settings.search.ridge
    errors = grown.formula.measure(ridge)[1]
    if not settings.ridge_by_noise or errors < _FEWEST_ERRORS or problem.total > _MOST_ROWS:
        return None
    freer, own = begin(problem, settings), _with_ridge(settings, _LOWER * ridge)
    for _ in states(freer, own):
        settings.search.watch.check()
    fewer = freer.formula.measure(ridge)[1]
    return None if Contest.of_counts(errors, fewer).within(_FIRM) else freer


def _with_ridge(settings: GrowthSettings, ridge: float) -> GrowthSettings:
    return replace(settings, search=replace(settings.search, ridge=ridge))


def states(grown: GrownFormula, settings: GrowthSettings) -> Iterator[None]:
    """Grow a formula: after each item its path has a further state, or another last one."""
    now = settings
    stuck = False
    while grown.learned < settings.n_units:
        now = at_noise(settings, now, grown.formula)
        if _grow_one(grown, now):
            stuck = False
        elif stuck or not _refit_all(grown, now.search.ridge):
            break
        else:
            stuck = True
        yield


def at_noise(settings: GrowthSettings, now: GrowthSettings, formula: Formula) -> GrowthSettings:
    """The settings of the next step: with ridge_by_noise the ridge times the root mean squared error over 1/2.

    The stated ridge is for labels that are a coin's; where little is left unexplained, as many rows would hold the
    strengths back from what the rows say. It never rises again, so the objective that is recorded only falls.
    """
    if not settings.ridge_by_noise or settings.search.ridge == 0.0:
        return settings
    total = formula.problem.total
    if formula.bits:
        noise = formula.squares() / total
    else:
        share = float(formula.counts[:, 1].sum()) * formula.problem.weight_unit / total
        noise = share * (1.0 - share)
    return _with_ridge(now, min(now.search.ridge, 2.0 * math.sqrt(noise) * settings.search.ridge))


def begin(problem: Problem, settings: GrowthSettings) -> GrownFormula:
    """Nothing, or the start with the best strengths of its free bits."""
    start, ridge = settings.start, settings.search.ridge
    if start is None:
        return GrownFormula(Formula(problem, ReadOnceTree()))
    formula = Formula.of(problem, start.tree, start.bits)
    sweeps(formula, ridge, _MOST_SWEEPS)
    grown = GrownFormula(formula)
    grown.keep(ridge)
    return grown


def _grow_one(grown: GrownFormula, settings: GrowthSettings) -> bool:
    formula, ridge = grown.formula, settings.search.ridge
    moves = allowed_moves(settings.sizes, formula.tree, growth_moves(formula.tree))
    if settings.start is not None:
        moves = settings.start.allowed(formula.tree, moves)
    if not moves:
        return False
    before = formula.measure(ridge)[0] if formula.bits else np.inf
    step = best_step(formula, moves, settings.search, _columns(formula, settings))
    if step is None or not _falls(step.objective, before):
        return False
    formula.add(step.bit, step.move)
    _note(grown, step, None, settings)
    if settings.backfit and grown.learned > 1 and grown.learned % settings.backfit == 0:
        _backfit(grown, settings)
    grown.keep(ridge)
    return True


def _falls(objective: float, before: float) -> bool:
    return objective < before - (_FALL * (1.0 + abs(before)) if np.isfinite(before) else 0.0)


def _note(grown: GrownFormula, step: NextBit, replaced: int | None, settings: GrowthSettings) -> None:
    formula, ridge = grown.formula, settings.search.ridge
    applied, _ = formula.measure(ridge)
    sweeps(formula, ridge, settings.refit)
    made = step.move, step.bit, replaced, step.objective, applied
    grown.steps.append(GrownStep(*made, *formula.measure(ridge)))


def _columns_read(formula: Formula, without: int = -1) -> set[int]:
    read: set[int] = set()
    for i, bit in enumerate(formula.bits):
        if i != without:
            found = formula.problem.columns[bit.column]
            read.update(found.reads if isinstance(found, FixedColumn) else (bit.column,))
    return read


def _columns(formula: Formula, settings: GrowthSettings, without: int = -1) -> Ints:
    """The columns to look at for a new bit, or for another condition of bit `without`."""
    most, pool = settings.sizes.features, settings.columns
    if most is not None and len(read := _columns_read(formula, without)) >= most:
        pool = sorted(read)
    return np.asarray(range(len(formula.problem.columns)) if pool is None else pool, dtype=np.int64)


def _refit_all(grown: GrownFormula, ridge: float) -> bool:
    """Refit until no sweep helps, where no step does; says whether anything changed.

    A bit joined by and can only lower a probability. A rare class starts with bits far below 1/2, and no clause of
    such bits gets above it while their strengths stay as they were found.
    """
    if not grown.formula.bits or not sweeps(grown.formula, ridge, 1 + _MOST_SWEEPS):
        return False
    grown.keep(ridge, anew=True)
    return True


def _backfit(grown: GrownFormula, settings: GrowthSettings) -> None:
    """Look for a better condition for each bit once, the others staying.

    Several bits are looked at in one pass over the rows. Once one of them has changed, what was found for those after
    it no longer holds, and they are looked at again; so the answer is that of one bit after the other.
    """
    formula, ridge = grown.formula, settings.search.ridge
    waiting = [i for i, bit in enumerate(formula.bits) if not bit.frozen]
    at_once = _FIRST_BATCH
    while waiting:
        together = waiting[:at_once] if settings.sizes.features is None else waiting[:1]
        before, _ = formula.measure(ridge)
        found = best_replacements(formula, together, settings.search, _columns(formula, settings, together[0]))
        worth = found.least() < before - _FALL * (1.0 + abs(before))
        at = int(np.argmax(worth)) if worth.any() else len(together)
        waiting = waiting[at + 1 :] if worth.any() else waiting[at:]
        at_once = 1 if worth.any() else max(_FIRST_BATCH, 2 * at_once)
        if worth.any():
            step = found.step_of(at)
            formula.replace(together[at], step.bit)
            _note(grown, step, together[at], settings)


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
