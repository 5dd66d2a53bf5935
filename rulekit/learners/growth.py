"""Growing a noisy-logical formula bit by bit: add, refit, backfit, and a record of each step (paper, Figs. 3, 4)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from rulekit.learners.formula import Bit, Formula, Problem
from rulekit.learners.read_once import FIRST, Move, ReadOnceTree, growth_moves
from rulekit.learners.search import SearchSettings, Step, best_step, refit

Algorithm = Literal["I", "II", "tree"]
Stopped = Literal["", "interrupted", "time limit", "cancelled"]

_FALL = 1e-9
_MOST_SWEEPS = 20


@dataclass(frozen=True, slots=True)
class GrowthSettings:
    """algorithm I, II or tree; at most n_units bits; refit: sweeps a step; backfit: a sweep every so many bits."""

    search: SearchSettings
    algorithm: Algorithm = "II"
    n_units: int = 20
    refit: int = 0
    backfit: int = 0
    dual: bool = False
    max_features: int | None = None
    seed: int = 0


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
    """The formula with its steps; `path[t]` is the formula of t + 1 bits; `stopped` says what cut the growth short."""

    formula: Formula
    steps: list[GrownStep] = field(default_factory=list)
    path: list[tuple[ReadOnceTree, tuple[Bit, ...]]] = field(default_factory=list)
    stopped: Stopped = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop early: a point of time (time.monotonic) and a callback that returns True to cancel."""

    deadline: float = float("inf")
    progress: Callable[[int, float, float], object] | None = None


def grow(problem: Problem, settings: GrowthSettings, limits: Limits = Limits()) -> Grown:
    """A formula of at most n_units bits; it stops where no step lowers the objective, also after a refit.

    KeyboardInterrupt, the deadline and the callback end the growth with the best formula so far.
    """
    grown = Grown(Formula(problem, ReadOnceTree(dual=settings.dual)))
    rng = np.random.default_rng(settings.seed)
    stuck = False
    try:
        while len(grown.path) < settings.n_units and not grown.stopped:
            if time.monotonic() > limits.deadline:
                grown.stopped = "time limit"
            elif not _grow_one(grown, settings, rng):
                if stuck or not _refit_all(grown, settings.search):
                    break
                stuck = True
            elif limits.progress is not None and limits.progress(
                len(grown.path), grown.steps[-1].after, grown.steps[-1].error
            ):
                grown.stopped = "cancelled"
            else:
                stuck = False
    except KeyboardInterrupt:
        grown.stopped = "interrupted"
        # What was done to a bit that is in no finished formula is no step.
        added = [i for i, step in enumerate(grown.steps) if step.action == "add"]
        del grown.steps[added[len(grown.path)] if len(added) > len(grown.path) else len(grown.steps) :]
    return grown


def _grow_one(grown: Grown, settings: GrowthSettings, rng: np.random.Generator) -> bool:
    formula, objective = grown.formula, settings.search.objective
    moves = growth_moves(formula.tree, settings.algorithm)
    before = formula.measure(objective)[0] if formula.bits else np.inf
    step = best_step(formula, moves, settings.search, _columns(formula, settings, rng), _ridge(formula, settings))
    if step is None or not _worth(step, before, settings):
        return False
    formula.add(step.bit, step.move)
    applied, _ = formula.measure(objective)
    which = len(formula.bits) - 1
    for _ in range(settings.refit):
        if not _sweep(formula, settings.search):
            break
    after, error = formula.measure(objective)
    grown.steps.append(
        GrownStep("add", step.move, which, step.bit, _clause(formula, which), step.objective, applied, after, error)
    )
    if settings.backfit and len(formula.bits) > 1 and len(formula.bits) % settings.backfit == 0:
        _backfit(grown, settings, rng)
    grown.path.append(formula.snapshot())
    return True


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


def _columns(formula: Formula, settings: GrowthSettings, rng: np.random.Generator) -> np.typing.NDArray[np.int64]:
    count = len(formula.problem.columns)
    if settings.max_features is None or settings.max_features >= count:
        return np.arange(count)
    return np.sort(rng.choice(count, settings.max_features, replace=False))


def _sweep(formula: Formula, search: SearchSettings) -> bool:
    """Refit every bit once, in order; says whether anything changed."""
    changed = [refit(formula, which, search) for which in range(len(formula.bits))]
    return any(changed)


def _refit_all(grown: Grown, search: SearchSettings) -> bool:
    """Refit until no sweep helps, where no step does; says whether anything changed.

    A bit joined by and can only lower a probability. A rare class starts with bits far below 1/2, and no clause of
    such bits gets above it while their strengths stay as they were found.
    """
    formula = grown.formula
    if not formula.bits or search.objective.brier == 0.0 or not _sweep(formula, search):
        return False
    for _ in range(_MOST_SWEEPS):
        if not _sweep(formula, search):
            break
    after, error = formula.measure(search.objective)
    grown.steps[-1] = replace(grown.steps[-1], after=after, error=error)
    grown.path[-1] = formula.snapshot()
    return True


def _backfit(grown: Grown, settings: GrowthSettings, rng: np.random.Generator) -> None:
    """Look for a better condition for each bit once, the others staying."""
    formula, objective = grown.formula, settings.search.objective
    for which in range(len(formula.bits)):
        before, _ = formula.measure(objective)
        move = Move("bit", formula.tree.node_of_bit(which)) if len(formula.bits) > 1 else FIRST
        step = best_step(
            formula, [move], settings.search, _columns(formula, settings, rng), _ridge(formula, settings, which)
        )
        if step is None or not step.objective < before - _FALL * (1.0 + abs(before)):
            continue
        formula.replace(which, step.bit)
        applied, _ = formula.measure(objective)
        for _ in range(settings.refit):
            if not _sweep(formula, settings.search):
                break
        after, error = formula.measure(objective)
        grown.steps.append(
            GrownStep("backfit", move, which, step.bit, _clause(formula, which), step.objective, applied, after, error)
        )


def _clause(formula: Formula, which: int) -> int:
    """The number, from 1, of the clause that holds the bit; 0 where it stands outside all clauses (and with all)."""
    node = formula.tree.node_of_bit(which)
    while node >= 0:
        if node in formula.tree.clauses:
            return formula.tree.clauses.index(node) + 1
        node = formula.tree.parent[node]
    return 0
