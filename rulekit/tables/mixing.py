"""Numbers of 64 bits that stand for others, the same on every machine and in every version of Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
_PIECE = 1 << 16  # words that are hashed together


def mixed(values: Hashes) -> Hashes:
    """The finalizer of SplitMix64 (G. Steele et al., Fast splittable pseudorandom number generators, 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


def sums_of_runs(values: Hashes, starts: npt.NDArray[np.int64]) -> Hashes:
    """The sum [n] of each run of values modulo 2^64; starts [n + 1]: where the runs begin."""
    below = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.asarray(below[starts[1:]] - below[starts[:-1]])


def hashes_of_words(words: Sequence[str]) -> Hashes:
    """A hash of each word [n], of its bytes with their places."""
    pieces = [_of_words(words[start : start + _PIECE]) for start in range(0, len(words), _PIECE)]
    return np.concatenate([np.zeros(0, dtype=np.uint64), *pieces])


def _of_words(words: Sequence[str]) -> Hashes:
    content = [word.encode("utf-8", "surrogatepass") for word in words]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(one) for one in content], dtype=np.int64)])
    letters = np.frombuffer(b"".join(content), dtype=np.uint8).astype(np.uint64)
    places = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
    return mixed(sums_of_runs(mixed(letters | places.astype(np.uint64) << np.uint64(8)), starts))
