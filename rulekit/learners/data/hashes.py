"""Hashes of rows, by which equal rows are found; the same on every machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array


def first_hash(seed: int) -> int:
    """What the hash of every row begins with."""
    return int((seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % 2**64)


def mix(h: npt.NDArray[np.uint64], codes: Array) -> None:
    """Take another column of codes [n] into the hashes [n], in place."""
    h ^= codes.astype(np.uint64)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0x94D049BB133111EB)
    h ^= h >> np.uint64(32)
