"""Memory budgets: what a user may say (500MB, 1.5GiB), and whether a table of some size can be learned within it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from rulekit.errors import InputError
from rulekit.tables.table import PART, megabytes

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

# Python with its libraries and the compiled kernels, as measured; pandas, if it is installed, is a third of it.
_PROCESS = 330_000_000
_LEAST_SHARE = 40_000_000
ROW_BYTES = 14
"""What a row takes while it is learned from, folds included: its cell, its labels, columns of bins, as measured."""

WEIGHT_BYTES = 24
"""And where rows have weights: these, the same as whole numbers, and either while the other is made."""
GROUP_BYTES = 100
"""And where groups of rows must stay in one fold: the graph of what belongs together."""


def parse_memory(memory: int | float | str, where: str = "memory") -> int:
    """Bytes from a number of them, or from text such as 500MB, 2GB or 1.5GiB; raises InputError for anything else."""
    if isinstance(memory, str):
        found = _SIZE.fullmatch(memory)
        if found is None:
            raise InputError(f"{memory!r} is no amount of memory", where=where, fix="write 500MB, 2GB or 1.5GiB")
        number, prefix, binary = found.groups()
        size = float(number) * (1024 if binary else 1000) ** _POWER[prefix.lower()]
    else:
        size = float(memory)
    if isinstance(memory, bool) or not 0 < size < float("inf"):
        raise InputError(f"{memory!r} is no amount of memory", where=where, fix="write 500MB, 2GB or 1.5GiB")
    return int(size)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most memory, in bytes, that the whole process should take, Python and its libraries included.

    rows_per_block: rows of one column that are read together; bytes_per_block: of a text file (0: a share of `total`).
    """

    total: int
    rows_per_block: int = 2 * PART
    bytes_per_block: int = 0

    @property
    def _share(self) -> int:
        """What is left beside the process itself."""
        return max(self.total - _PROCESS, _LEAST_SHARE)

    @property
    def block_bytes(self) -> int:
        """How much of a text file is parsed at a time."""
        return self.bytes_per_block or int(min(max(self._share // 16, 1 << 20), 1 << 25))

    @property
    def text_bytes(self) -> int:
        """How much the distinct texts of all columns may take."""
        return self._share // 4

    def require_rows(self, n_rows: int, where: str, bytes_a_row: float = ROW_BYTES) -> None:
        """Raises InputError where n rows of so many bytes in memory each do not fit."""
        needed = _PROCESS + n_rows * bytes_a_row
        if needed > self.total:
            what = f"{n_rows} rows need {megabytes(needed)} MB of memory, {megabytes(self.total)} MB are allowed"
            raise InputError(what, where=where, fix=f"allow {math.ceil(needed * 1.05 / 1e6)}MB")
