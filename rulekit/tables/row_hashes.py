"""Hashes of labelled rows: by a bounded sample of them a model knows the rows that trained it when it meets them again.

A row's hash is a number of 64 bits made of the names of its columns, its encoded cells and its label; the order of
columns and rows, weights and groups do not enter. A text counts as the set of all its words. Kept are the hashes below
a limit, halved until few enough are left (the sample of the smallest hashes, Z. Bar-Yossef et al., Counting distinct
elements in a data stream, 2002). The rows of another table whose hashes lie below the same limit are a sample of it,
and all that both share is among them.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.errors import FormatError
from rulekit.tables.labels import LabelledTable, canonical_numbers
from rulekit.tables.table import Table
from rulekit.tables.token_sets import Hashes, TokenSets, hashes_of_words, mixed

MOST_HASHES = 2048
_BLOCK = 1 << 13
"""Rows that are hashed together, few enough to stay in the processor's cache."""
_ALL = 64


@dataclass(frozen=True, slots=True, eq=False)
class RowHashes:
    """A sample of the hashes of some rows: all that lie below 2^bits.

    hashes: uint64 [m <= MOST_HASHES], ascending, each once.
    """

    hashes: Hashes
    bits: int = _ALL

    @property
    def share(self) -> float:
        """The share of all rows that are sampled."""
        return 2.0 ** (self.bits - _ALL)

    def sampled(self, hashes: Hashes) -> Hashes:
        """The hashes that lie below the limit."""
        return hashes if self.bits == _ALL else hashes[hashes < np.uint64(1 << self.bits)]

    def as_json(self) -> dict[str, Any]:
        """As a model's provenance holds it."""
        return {"bits": self.bits, "hashes": base64.b64encode(self.hashes.astype("<u8").tobytes()).decode("ascii")}


def hashes_from_json(value: Mapping[str, Any]) -> RowHashes:
    """The sample that a provenance holds; raises FormatError where it is none."""
    bits, text = value.get("bits"), value.get("hashes")
    try:
        if type(bits) is not int or not 0 < bits <= _ALL or not isinstance(text, str):
            raise ValueError
        found = np.frombuffer(base64.b64decode(text, validate=True), dtype="<u8").astype(np.uint64)
    except (ValueError, binascii.Error):
        raise FormatError("these are no hashes of rows", where="provenance, row_hashes") from None
    return RowHashes(np.unique(found), bits)


def row_hashes(rows: LabelledTable) -> RowHashes:
    """A sample of at most MOST_HASHES of the rows; the same for every order of rows and columns, in memory or not."""
    kept = RowHashes(np.zeros(0, dtype=np.uint64))
    for hashes in _hashes(rows):
        found = np.unique(np.concatenate([kept.hashes, kept.sampled(hashes)]))
        kept = RowHashes(found, kept.bits)
        while len(kept.hashes) > MOST_HASHES:
            fewer = RowHashes(found, kept.bits - 1)
            kept = RowHashes(fewer.sampled(kept.hashes), fewer.bits)
    return kept


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many rows of a table equal rows that trained a model, and how many of those it holds.

    n_rows: of the table; sampled: those that were compared; seen: how many of these equal a training row. known:
    training rows that were compared (equal ones once); found: how many of these the table holds. share: of the rows
    that are compared; 1.0: all of them. error: standard error of `rows`, which counts equal rows as one draw.
    """

    n_rows: int
    sampled: int
    seen: int
    known: int
    found: int
    share: float
    error: float = 0.0

    @property
    def rows(self) -> int | None:
        """How many rows of the table equal a training row, estimated where they are sampled; None where none is."""
        return round(self.n_rows * self.seen / self.sampled) if self.sampled else None

    def __str__(self) -> str:
        """One sentence for people."""
        sample = "" if self.share == 1.0 else f", by a sample of {self.sampled} rows"
        if not self.sampled:
            return f"whether any of these {self.n_rows} rows equals a training row is not known: the sample holds none"
        if not self.seen:
            return f"none of these {self.n_rows} rows is equal to a training row{sample}"
        if self.seen == self.sampled:
            whole = "" if self.found == self.known else f" ({self.found / self.known:.0%} of these)"
            return f"all of these {self.n_rows} rows are equal to training rows{whole}{sample}, so the figures flatter"
        about = f"{self.rows}" if self.share == 1.0 else f"about {self.rows} (± {self.error:.0f})"
        return f"{about} of these {self.n_rows} rows are equal to training rows{sample}, so the figures flatter"


def overlap(known: RowHashes, rows: LabelledTable) -> Overlap:
    """How the rows overlap with those of which hashes are known."""
    sampled = np.concatenate([known.sampled(hashes) for hashes in _hashes(rows)])
    seen = int(np.isin(sampled, known.hashes).sum())
    found = int(np.isin(known.hashes, sampled).sum())
    return Overlap(
        len(rows), len(sampled), seen, len(known.hashes), found, known.share, _error(known, sampled, len(rows))
    )


def _error(known: RowHashes, sampled: Hashes, n_rows: int) -> float:
    """The standard error of the number of equal rows: of a ratio of clusters, which are rows that are equal.

    W. Cochran, Sampling Techniques, 1977, section 9A.3. The hashes draw a set of equal rows or leave it out.
    """
    kinds, rows = np.unique(sampled, return_counts=True)
    if known.share == 1.0 or len(kinds) < 2:
        return 0.0
    equal = np.isin(kinds, known.hashes)
    residuals = rows * (equal - rows[equal].sum() / rows.sum())
    variance = (1.0 - known.share) * len(kinds) / (len(kinds) - 1.0) * float((residuals**2).sum())
    return n_rows * float(np.sqrt(variance)) / float(rows.sum())


# Hashes of single rows -----------------------------------------------------------------------------------------------


def _hashes(rows: LabelledTable) -> Iterator[Hashes]:
    labels = np.array([_key("label", type(_plain(c)).__name__, str(c)) for c in rows.classes], dtype=np.uint64)
    levels = {f.name: _level_keys(f.name, f.levels) for f in rows.table.features if f.kind == "categorical"}
    levels |= {f.name: hashes_of_words(f.levels) for f in rows.table.features if f.kind == "text"}
    keys = {f.name: np.uint64(_key("column", f.name)) for f in rows.table.features} | levels
    start = 0
    for table in rows.table.blocks():
        for first in range(0, table.n_rows, _BLOCK):
            last = min(first + _BLOCK, table.n_rows)
            yield mixed(_of_cells(table, first, last, keys) + labels[rows.y[start + first : start + last]])
        start += table.n_rows


def _of_cells(table: Table, first: int, last: int, keys: Mapping[str, Any]) -> Hashes:
    total = np.zeros(last - first, dtype=np.uint64)
    for feature, array in zip(table.features, table.arrays, strict=True):
        cells = array[first:last]
        if feature.kind == "categorical":
            total += keys[feature.name][cells]
            continue
        if isinstance(cells, TokenSets):
            words = cells.hashes_of_all_words(keys[feature.name])
            known = mixed(words ^ np.uint64(_key("text", feature.name)))
            total += np.where(cells.missing, np.uint64(_key("missing", feature.name)), known)
            continue
        numbers = canonical_numbers(cells)
        bits = numbers.view(np.uint32 if numbers.dtype == np.float32 else np.uint64)
        total += mixed(np.bitwise_xor(bits, keys[feature.name], dtype=np.uint64))  # numpy 1 took narrower ones
    return total


def _level_keys(column: str, levels: tuple[str, ...]) -> Hashes:
    """By code: missing, a level that training never saw, and each level."""
    codes = [_key("missing", column), _key("unseen", column), *(_key("level", column, level) for level in levels)]
    return np.array(codes, dtype=np.uint64)


def _key(*texts: str) -> int:
    content = "".join(f"{len(text)}:{text}" for text in texts)
    return int.from_bytes(hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
