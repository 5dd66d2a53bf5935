"""EM with missing cells summed out: a column that is missing may have any of its values.

All causes on one column belong together, as they hold or not by the one value v that the column has. With pi_v how
often it has it and q_v = exp(-the strengths of the causes that hold at v), a missing column leaves the class without a
cause with probability q = sum_v pi_v q_v. So its activation is -log q, and a row of class 0 says that value v is there
with probability pi_v q_v / q. Expected counts are those of EM for the joint model (J. Vomlel, Noisy-or classifier,
section 2.2), whose likelihood of the class and of the known cells never falls; pi stays as counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.noisy_or.likelihood import STRONGEST, Incidence, Strengths
from rulekit.learners.papers.noisy_or.em import LARGEST

_SETTLED = 1e-4
"""Nats by which an iteration must raise the objective."""


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """Which causes depend on which missing column.

    columns: those that causes read and that may be missing; place [k]: of each cause that of its column among them, -1
    for none; holds: by such a column at which values its causes hold [n_causes, n_values], with the numbers of these
    causes, and how often the column has each value [n_values].
    """

    columns: tuple[int, ...]
    place: Ints
    holds: tuple[tuple[Ints, Bools, Floats], ...]

    @classmethod
    def of(cls, causes: Sequence[Any], shares: Mapping[int, Floats]) -> Self:
        """causes: on one column each; shares: of the columns that may be missing how often they have each value."""
        columns = tuple(sorted({cause.column for cause in causes} & set(shares)))
        place = np.array([columns.index(c.column) if c.column in columns else -1 for c in causes], dtype=np.int64)
        holds = []
        for j, column in enumerate(columns):
            own = np.flatnonzero(place == j)
            holds.append((own, np.array([causes[k].condition for k in own.tolist()]), shares[column]))
        return cls(columns, place, tuple(holds))

    def strengths(self, present: Floats) -> Floats:
        """-log q of each missing column, for these strengths of the causes [k]."""
        # By what the causes take off: shares add up to 1 but for rounding, and no strength may be below 0.
        return np.array([-np.log1p(share @ np.expm1(-(present[own] @ at))) for own, at, share in self.holds])

    def of_causes(self, present: Floats) -> tuple[Floats, Floats]:
        """By cause [k] how often it holds at an unknown value, and how often where that has caused nothing."""
        often, innocent = np.zeros(len(present)), np.zeros(len(present))
        for own, at, share in self.holds:
            left = share * np.exp(-(present[own] @ at))
            often[own], innocent[own] = at @ share, at @ left / left.sum()
        return often, innocent


def summed_out(
    incidence: Incidence,
    unknown: Unknown,
    start: Strengths,
    prior: float,
    iterations: int,
    check: Callable[[], None] | None = None,
) -> Strengths:
    """The strengths of the causes, and behind them those of the missing columns, after EM.

    Parameters
    ----------
    incidence : Incidence
        Its cells are the causes, and then the columns that are missing.
    unknown : Unknown
        Which causes depend on which missing column.
    start : Strengths
        Above 0; what it says of missing columns is not used.
    prior : float
        Beta(1, 1 + prior) on the probability of every cause.
    iterations : int
        At most.
    check : callable, optional
        Called before each iteration; it raises to stop.

    """
    k = len(unknown.place)
    at = _tied(np.maximum(start.cells[:k], 1e-6), max(start.leak, 1e-6), unknown)
    known = incidence.of_positive[:k] + incidence.of_negative[:k]
    before = -np.inf
    for _ in range(iterations):
        if check is not None:
            check()
        s = at.activations(incidence.rows)
        reached = incidence.likelihood(at, s) - prior * float(at.cells[:k].sum())
        if reached - before <= _SETTLED:
            break
        before = reached
        each = incidence.weights / -np.expm1(-s)
        acted, total = incidence.rows.T @ each, float(each.sum())
        often, innocent = unknown.of_causes(at.cells[:k])

        def of_cause(by_column: Floats) -> Floats:
            return np.where(unknown.place >= 0, np.append(by_column[k:], 0.0)[unknown.place], 0.0)

        missed = of_cause(acted)
        # Where the class is 1, Q / (1 - Q) = 1 / (1 - Q) - 1 of the rows have caused it elsewhere.
        elsewhere = missed - of_cause(incidence.of_positive)
        held = known + prior + of_cause(incidence.of_negative) * innocent + often * missed - innocent * elsewhere
        with np.errstate(invalid="ignore", divide="ignore"):
            p = -np.expm1(-at.cells[:k]) * (acted[:k] + often * missed) / held
        p = np.where(held > 0.0, np.clip(p, 0.0, LARGEST), 0.0)
        leak = -np.expm1(-at.leak) * total / incidence.total
        at = _tied(np.minimum(-np.log1p(-p), STRONGEST), float(-np.log1p(-min(leak, LARGEST))), unknown)
    return at


def _tied(present: Floats, leak: float, unknown: Unknown) -> Strengths:
    return Strengths(np.append(present, unknown.strengths(present)), leak)
