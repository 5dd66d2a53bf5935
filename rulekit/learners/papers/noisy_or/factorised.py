"""Any model of independent causal influence through a hidden variable B (J. Vomlel, Noisy-or classifier, section 2.1).

C = f(A'_1, ..., A'_k), where A'_j depends on the attribute A_j alone. P(c, a' | a) is a sum over B of products of
two-dimensional potentials (equation 3), so that the E-step (lemma 1) is linear in k: its products over all attributes
but one are products of a prefix and a suffix, never quotients, as a factor may be 0.

This is the general form, in the linear domain, for models of few attributes: what noisy-ors, noisy-maxes and their
like are fitted with elsewhere is compared with it. By `by_table` any f at all can be had, at the cost of a state of B
for each of the K^k combinations.

Shapes: n rows, k attributes of at most L levels, K values of each A', M values of C, B states of the hidden variable.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Floats, Ints

Potentials = npt.NDArray[np.complex128] | Floats

UNKNOWN = -1  # the code of an attribute that is missing

_MOST_STATES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Factorisation:
    """psi [k, K, B] and phi [B, M], by which sum over b of phi(b, c) prod_j psi_j(a'_j, b) is 1 iff c = f(a')."""

    psi: Potentials
    phi: Potentials

    @property
    def n_classes(self) -> int:
        return int(self.phi.shape[1])


def by_max(k: int, values: int) -> Factorisation:
    """C is the largest A' (of two values: a noisy-or); section 2.1, equations 4 and 5."""
    a, b = np.arange(values)[:, None], np.arange(values)
    phi = np.eye(values) - np.eye(values, k=1)
    return Factorisation(_each(k, (a <= b).astype(np.float64)), phi)


def by_min(k: int, values: int) -> Factorisation:
    """C is the least A' (of two values: a noisy-and)."""
    a, b = np.arange(values)[:, None], np.arange(values)
    phi = np.eye(values) - np.eye(values, k=-1)
    return Factorisation(_each(k, (a >= b).astype(np.float64)), phi)


def by_sum(k: int, values: int) -> Factorisation:
    """C is the sum of all A', by a discrete Fourier transform over its k (K - 1) + 1 values."""
    m = k * (values - 1) + 1
    root = np.exp(-2j * np.pi / m)
    a, b = np.arange(values)[:, None], np.arange(m)
    return Factorisation(_each(k, root ** (a * b % m)), root ** (-(np.arange(m)[:, None] * b) % m) / m)


def by_parity(k: int) -> Factorisation:
    """C is 1 where an odd number of the binary A' are."""
    signs = np.array([[1.0, 1.0], [1.0, -1.0]])
    return Factorisation(_each(k, signs), signs / 2.0)


def by_table(k: int, values: int, classes: int, f: Callable[[Sequence[int]], int]) -> Factorisation:
    """C is f of all A', whatever f is: B is the combination of all of them.

    Raises ValueError where there are more than 2^20 combinations.
    """
    if values**k > _MOST_STATES:
        raise ValueError(f"{values}^{k} combinations are too many to be listed")
    states = np.array(list(itertools.product(range(values), repeat=k)), dtype=np.int64).reshape(-1, k)
    psi = (states.T[:, None, :] == np.arange(values)[None, :, None]).astype(np.float64)
    phi = np.zeros((len(states), classes))
    phi[np.arange(len(states)), [f(state) for state in states.tolist()]] = 1.0
    return Factorisation(psi, phi)


def _each(k: int, psi: Potentials) -> Potentials:
    found: Potentials = np.broadcast_to(psi, (k, *psi.shape))  # type: ignore[assignment]
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Influences:
    """A model: P(A'_j = a' | A_j = v) [k, L, K], and P(A_j = v) [k, L], which a missing attribute is summed out by."""

    family: Factorisation
    tables: Floats
    priors: Floats

    @classmethod
    def of(cls, family: Factorisation, tables: Floats, priors: Floats | None = None) -> Self:
        """The model with these tables; by default all levels are equally likely."""
        k, levels, _ = tables.shape
        return cls(family, tables, np.full((k, levels), 1.0 / levels) if priors is None else priors)

    def given(self, codes: Ints) -> tuple[Floats, Potentials]:
        """P(A'_j = a' | the row) [n, k, K], of a missing attribute by its prior.

        And m_j(b) [n, k, B]: the sum over a' of psi_j(a', b) P(a' | the row).
        """
        k = np.arange(self.tables.shape[0])
        unknown = np.einsum("jv,jva->ja", self.priors, self.tables)
        given = np.where((codes == UNKNOWN)[:, :, None], unknown, self.tables[k, codes])
        return given, np.einsum("nka,kab->nkb", given, self.family.psi)

    def probabilities(self, codes: Ints) -> Floats:
        return _real(np.prod(self.given(codes)[1], axis=1) @ self.family.phi)

    def log_likelihood(self, codes: Ints, labels: Ints, weights: Floats | None = None) -> float:
        """The conditional log-likelihood in nats (equation 2)."""
        each = np.log(self.probabilities(codes)[np.arange(len(labels)), labels])
        return float(each.sum() if weights is None else weights @ each)

    def posteriors(self, codes: Ints, labels: Ints) -> tuple[Floats, Floats]:
        """P(A'_j = a' | the row and its class) [n, k, K] by lemma 1, and P(C = c | the row) [n] of its class."""
        given, messages = self.given(codes)
        ones = np.ones_like(messages[:, :1])
        prefix = np.cumprod(np.concatenate([ones, messages[:, :-1]], axis=1), axis=1)
        suffix = np.cumprod(np.concatenate([ones, messages[:, :0:-1]], axis=1), axis=1)[:, ::-1]
        phi = self.family.phi[:, labels].T[:, None, :]
        joint = np.maximum(given * _real(np.einsum("nkb,kab->nka", phi * prefix * suffix, self.family.psi)), 0.0)
        likely = _real((np.prod(messages, axis=1) * phi[:, 0]).sum(axis=1))
        return joint / joint.sum(axis=2, keepdims=True), likely


def _real(values: Potentials) -> Floats:
    return np.asarray(np.real(values), dtype=np.float64)


def em_step(model: Influences, codes: Ints, labels: Ints, weights: Floats | None = None) -> Influences:
    """The model after one iteration of EM (section 2.2).

    codes [n, k]: the level of each attribute, UNKNOWN where it is missing; labels, weights [n]: of the rows. A level
    that no row has keeps its table.
    """
    weighted, _ = model.posteriors(codes, labels)
    if weights is not None:
        weighted = weighted * weights[:, None, None]
    held = np.where((codes == UNKNOWN)[:, :, None], 0.0, codes[:, :, None] == np.arange(model.tables.shape[1]))
    counts = np.einsum("nkv,nka->kva", held, weighted)
    # P(A_j = v, A'_j = a' | the row) of a missing attribute is P(v | a') P(a' | the row): A_j acts through A'_j alone.
    joint = model.priors[:, :, None] * model.tables
    unknown = np.einsum("nk,nka->ka", (codes == UNKNOWN).astype(np.float64), weighted)
    with np.errstate(invalid="ignore", divide="ignore"):
        counts += np.nan_to_num(joint / joint.sum(axis=1, keepdims=True)) * unknown[:, None, :]
        totals = counts.sum(axis=2)
        tables = np.where((totals > 0.0)[:, :, None], counts / totals[:, :, None], model.tables)
    return replace(model, tables=tables, priors=totals / totals.sum(axis=1, keepdims=True))


def expectation_maximisation(
    model: Influences, codes: Ints, labels: Ints, n_iter: int, weights: Floats | None = None
) -> tuple[Influences, list[float]]:
    """The model after n_iter iterations, and the conditional log-likelihood before the first and after each."""
    history = [model.log_likelihood(codes, labels, weights)]
    for _ in range(n_iter):
        model = em_step(model, codes, labels, weights)
        history.append(model.log_likelihood(codes, labels, weights))
    return model, history
