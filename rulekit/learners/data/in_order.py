"""The time of each row, in the place of groups: folds are then blocks in the order of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rulekit.arrays import Array, Ints
from rulekit.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class InOrder:
    """The rank [n] of the moment of each row; rows of one moment share a fold."""

    moment: Ints

    @classmethod
    def of(cls, time: Any, n_rows: int) -> Self:
        """Of numbers, dates, moments, or their ISO texts; raises InputError for what is none of these, or missing."""
        values = np.asarray(time)
        try:
            dated = values.dtype.kind in "OUM" and not all(isinstance(v, int | float) for v in values.tolist())
            values = values.astype("datetime64[us]" if dated else np.float64)
        except (TypeError, ValueError):
            raise InputError("these are no times", where="time", fix="give numbers, dates or ISO texts") from None
        if values.shape != (n_rows,):
            raise InputError(f"times of shape {values.shape} for {n_rows} rows", where="time", fix="give one a row")
        if (missing := np.isnat(values) if values.dtype.kind == "M" else np.isnan(values)).any():
            raise InputError(f"the time of row {int(np.argmax(missing))} is missing", where="time", fix="fill it in")
        return cls(np.unique(values, return_inverse=True)[1].astype(np.int64))

    def __getitem__(self, rows: Any) -> InOrder:
        return InOrder(self.moment[rows])

    def folds(self, weights: Array, n_folds: int) -> Ints:
        """The fold [n] of each row of these weights [n]: blocks of about the same weight, the earliest first."""
        mass = np.bincount(self.moment, weights)
        middle = (np.cumsum(mass) - mass / 2.0) / max(float(mass.sum()), 1e-300)
        block = np.minimum((middle * n_folds).astype(np.int64), n_folds - 1)[self.moment]
        return np.unique(block, return_inverse=True)[1].astype(np.int64)
