"""The types of arrays, distinct rows of an array, which numpy finds slowly, and polars, imported at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        """Much of rulekit, such as a prediction for an array, works without polars, which takes long to import."""

        def __getattr__(self, name: str) -> Any:
            import polars

            return getattr(polars, name)

    pl = _Polars()

__all__ = ["Array", "Bools", "Floats", "Hashes", "Ints", "Places", "distinct_rows", "mixed", "pl"]

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

_WORD = 8


def distinct_rows(matrix: npt.NDArray[np.bool_] | npt.NDArray[np.uint8]) -> tuple[Places, Places]:
    """The first row of each kind [kinds], in the order of the kinds, and the kind of each row [n].

    matrix [n, k]: truth values, or bytes. Rows are compared as whole words: np.unique with an axis takes twelve times
    as long.
    """
    packed = np.packbits(matrix, axis=1) if matrix.dtype == bool else matrix
    width = max(1, -(-packed.shape[1] // _WORD)) * _WORD
    padded = np.zeros((len(packed), width), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    # The first byte has the most weight, in a number as in the order of rows.
    words = padded.view(">u8").astype(np.uint64) if width == _WORD else padded.view(np.dtype((np.void, width)))
    _, first, kind = np.unique(words.ravel(), return_index=True, return_inverse=True)
    return first, kind


def mixed(values: Hashes) -> Hashes:
    """The finalizer of SplitMix64 (G. Steele et al., Fast splittable pseudorandom number generators, 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values ^= values >> np.uint64(30)  # in place, where the numbers are in the processor's cache
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return np.asarray(values)
