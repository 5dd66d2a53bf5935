"""Probabilities from totals: the scale and the offset of a logistic function, fitted to many tables of counts at once.

A total t is a whole number; what is reported of it is 1 / (1 + exp(-(scale * t + offset))).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Floats

_HALVINGS = 8
_LARGEST = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Scales, offsets and losses [m] of m tables; a loss is the log loss of all counts together."""

    scale: Floats
    offset: Floats
    loss: Floats

    @classmethod
    def single(cls, scale: float, offset: float) -> Links:
        """One table, whose loss is not known yet."""
        return cls(np.array([scale]), np.array([offset]), np.zeros(1))

    def of(self, place: int) -> Links:
        """One of them."""
        return Links.single(*self.at(place)[:2])

    def at(self, place: int) -> tuple[float, float, float]:
        """The scale, offset and loss of one."""
        return float(self.scale[place]), float(self.offset[place]), float(self.loss[place])


def calibrated(counts: Floats, totals: Floats, at: Links, steps: int, fixed: bool = False) -> Links:
    """Links of less loss after so many Newton steps from others.

    counts [m, T, 2]: the weight of label 0 and 1 by total [T]. at: where it begins, for all tables or one for each.
    fixed: the scale stays as it is.
    """
    begun = [np.broadcast_to(array, len(counts)).astype(np.float64) for array in (at.scale, at.offset)]
    links = _measured(counts, totals, *begun)
    both, positive = counts.sum(axis=2), counts[:, :, 1]
    for _ in range(steps):
        shares = 1.0 / (1.0 + np.exp(-_scores(totals, links.scale, links.offset)))
        each, curved = both * shares - positive, both * (shares * (1.0 - shares))
        slopes = each.sum(axis=1), (each * totals).sum(axis=1)
        bends = curved.sum(axis=1), (curved * totals).sum(axis=1), (curved * totals * totals).sum(axis=1)
        bends = bends[0], bends[1], bends[2] + 1e-9 * (1.0 + bends[0])  # where all rows have one total
        if fixed:
            moves = np.zeros(len(counts)), slopes[0] / np.maximum(bends[0], 1e-9)
        else:
            determinant = np.maximum(bends[0] * bends[2] - bends[1] * bends[1], 1e-300)
            moves = (
                (bends[0] * slopes[1] - bends[1] * slopes[0]) / determinant,
                (bends[2] * slopes[0] - bends[1] * slopes[1]) / determinant,
            )
        better = _shortened(counts, totals, links, moves)
        if bool((links.loss - better.loss <= 1e-12 * (1.0 + links.loss)).all()):
            return better
        links = better
    return links


def _shortened(counts: Floats, totals: Floats, at: Links, moves: tuple[Floats, Floats]) -> Links:
    """After a move, or a half of it, a quarter, ..: of each table the first with less loss, else as it is."""
    found, share = at, 1.0
    for _ in range(_HALVINGS):
        tried = _measured(counts, totals, at.scale - share * moves[0], at.offset - share * moves[1])
        better = (found.loss == at.loss) & (tried.loss < at.loss)
        found = Links(*(np.where(better, new, old) for new, old in zip(_fields(tried), _fields(found), strict=True)))
        if bool((found.loss < at.loss).all()):
            break
        share *= 0.5
    return found


def _fields(links: Links) -> tuple[Floats, Floats, Floats]:
    return links.scale, links.offset, links.loss


def _measured(counts: Floats, totals: Floats, scale: Floats, offset: Floats) -> Links:
    scores = _scores(totals, scale, offset)
    away = np.log1p(np.exp(-np.abs(scores)))
    losses = counts[:, :, 0] * (np.maximum(scores, 0.0) + away) + counts[:, :, 1] * (np.maximum(-scores, 0.0) + away)
    return Links(scale, offset, np.asarray(losses.sum(axis=1)))


def _scores(totals: Floats, scale: Floats, offset: Floats) -> Floats:
    return np.asarray(np.clip(scale[:, None] * totals + offset[:, None], -_LARGEST, _LARGEST))


def smoothed_counts(counts: Floats) -> Floats:
    """Counts [..., T, 2] as if each class had a row more of either label, so that no fit is without end.

    (J. Platt, Probabilistic Outputs for Support Vector Machines, 1999: targets (n + 1) / (n + 2) and 1 / (n + 2).)
    """
    of_class = counts.sum(axis=-2, keepdims=True)
    moved = counts / (of_class + 2.0)
    return np.asarray(counts - moved + moved[..., ::-1])
