"""EM for the noisy-or (Vomlel 2003, sections 2.2 and 3.1), all attributes at once and by the positive rows alone.

By lemma 2 a hidden cause of a negative row never acts, and that of a positive row acts with probability p / (1 - Q),
where Q = P(C = 0 | a). The M-step divides by what all rows with the cell weigh, which is counted once. Q is exp(-s) and
s a sum of strengths >= 0, so that thousands of attributes underflow nowhere. In the general noisy-or an attribute that
is absent may be a cause as well: it is a cell of its own. In the restricted one it has no cell.

Missing cells are summed out: a column that is missing may have any of its values. All causes on one column belong
together, as they hold or not by the one value v that the column has. With pi_v how often it has it and q_v = exp(-the
strengths of the causes that hold at v), a missing column leaves the class without a cause with probability
q = sum_v pi_v q_v. So its activation is -log q, and a row of class 0 says that value v is there with probability
pi_v q_v / q. Expected counts are those of EM for the joint model (section 2.2), whose likelihood of the class and of
the known cells never falls; pi stays as counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths

LARGEST = 1.0 - 1e-12  # no probability is above it, as no strength is above STRONGEST


@dataclass(frozen=True, slots=True, eq=False)
class Maximised:
    """Strengths, and the conditional log-likelihood and the objective at the start and after every iteration."""

    strengths: Strengths
    likelihoods: Floats
    objectives: Floats


def start_of(incidence: Incidence, *, probability: float = 0.1, seed: int | None = None) -> Strengths:
    """Strengths to start from: every cause acts with one probability, and so does something that is always there.

    The paper has no such leak, and then a positive row without a cause has no likelihood. seed: for probabilities drawn
    between 0 and twice the given one.
    """
    k = incidence.n_cells + 1
    drawn = np.ones(k) if seed is None else 2.0 * (1.0 - np.random.default_rng(seed).random(k))
    strengths = -np.log1p(-probability * drawn)
    return Strengths(strengths[:-1], float(strengths[-1]))


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

    def expected(self, incidence: Incidence, acted: Floats, known: Floats, present: Floats) -> tuple[Floats, Floats]:
        """The E-step of the causes [k]: how often each acts, but for its own probability, and how often each holds.

        acted: by cell of the positive rows; known [k]: the weight of the rows on which each cause holds, and the prior.
        """
        k = len(present)
        # By cause how often it holds at an unknown value, and how often where that has caused nothing.
        often, innocent = np.zeros(k), np.zeros(k)
        for own, at, share in self.holds:
            left = share * np.exp(-(present[own] @ at))
            often[own], innocent[own] = at @ share, at @ left / left.sum()

        def of_cause(by_column: Floats) -> Floats:
            return np.where(self.place >= 0, np.append(by_column[k:], 0.0)[self.place], 0.0)

        missed = of_cause(acted)
        # Where the class is 1, Q / (1 - Q) = 1 / (1 - Q) - 1 of the rows have caused it elsewhere.
        elsewhere = missed - of_cause(incidence.of_positive)
        held = known + of_cause(incidence.of_negative) * innocent + often * missed - innocent * elsewhere
        return acted[:k] + often * missed, held


def expectation_maximisation(
    incidence: Incidence,
    start: Strengths | None = None,
    *,
    unknown: Unknown | None = None,
    prior: float = 0.0,
    iterations: int = 50,
    tolerance: float = 0.0,
    check: Callable[[], None] = lambda: None,
) -> Maximised:
    """The strengths after so many iterations of EM (50 are the paper's); the objective never falls.

    start: `start_of(incidence)` by default; what is 0 stays 0. unknown: the cells are the causes, and then the columns
    that are missing, whose strengths follow from those of the causes. prior: Beta(1, 1 + prior) on the probability of
    every cause but the leak, so that so much is added to the rows in which the cause did not act. tolerance: EM ends
    after an iteration that raises the objective by no more nats, where it is not 0. check: called before each
    iteration, may raise.
    """
    at = start_of(incidence) if start is None else start
    k = incidence.n_cells if unknown is None else len(unknown.place)

    def tied(cells: Floats, leak: float) -> Strengths:
        return Strengths(cells if unknown is None else np.append(cells, unknown.strengths(cells)), leak)

    if unknown is not None:
        at = tied(np.maximum(at.cells[:k], 1e-6), max(at.leak, 1e-6))
    s = at.activations(incidence.rows)
    known = incidence.of_positive[:k] + incidence.of_negative[:k] + prior
    p, leak = -np.expm1(-at.cells[:k]), float(-np.expm1(-at.leak))
    likelihoods = [incidence.likelihood(at, s)]
    objectives = [likelihoods[0] - prior * float(at.cells[:k].sum())]
    for _ in range(iterations):
        check()
        each = incidence.weights / -np.expm1(-s)
        acted, held = incidence.rows.T @ each, known
        if unknown is not None:
            acted, held = unknown.expected(incidence, acted, known, at.cells[:k])
        # The M-step: a cell that no row holds keeps its probability.
        p = np.minimum(np.divide(p * acted, held, out=p.copy(), where=held > 0.0), LARGEST)
        leak = min(leak * float(each.sum()) / incidence.total, LARGEST)
        at = tied(-np.log1p(-p), float(-np.log1p(-leak)))
        s = at.activations(incidence.rows)
        likelihoods.append(incidence.likelihood(at, s))
        objectives.append(likelihoods[-1] - prior * float(at.cells[:k].sum()))
        if tolerance and objectives[-1] - objectives[-2] <= tolerance:
            break
    return Maximised(at, np.array(likelihoods), np.array(objectives))
