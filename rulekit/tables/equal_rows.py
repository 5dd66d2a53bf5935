"""Equal rows, which stay on one side where rows are held out, and hashes, by which a model knows what trained it.

Held out: identical rows and rows of one group stay on one side, the classes are spread evenly. Only where there are few
kinds of rows, of a hundred or more each, those of one kind go to both sides: held-out rows without some of the kinds
would say nothing about these.

Hashes: that of a row is a number of 64 bits made of the names of its columns, its encoded cells and its label; the
order of columns and rows, weights and groups do not enter. A text counts as the set of all its words. Kept are the
hashes below a limit, halved until few enough are left (the sample of the smallest hashes, Z. Bar-Yossef et al.,
Counting distinct elements in a data stream, 2002). The rows of another table whose hashes lie below the same limit are
a sample of it, and all that both share is among them.

Data are known by sums of such hashes, into which weights, groups and times enter, too: sums of parts of the rows add up
to those of all, in any order. They tell whether data are the same. They are no proof against someone who crafts data:
rows with the sums of other rows can be worked out.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Hashes, Ints, mixed
from rulekit.errors import FormatError, InputError
from rulekit.schema import Feature
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import Array, Table
from rulekit.tables.token_sets import TokenSets, hashes_of_words

SPLIT_BYTES = 60
"""What a row takes while equal rows are looked for."""
_TOLERANCE = 0.005
_PIECES = 30
FEW_KINDS, _MANY_ROWS = 60, 100
"""Where there are more kinds, and of those of fewer rows, none is in pieces."""


def held_out(
    table: Table,
    y: Ints,
    share: float,
    *,
    group: npt.NDArray[Any] | None = None,
    time: npt.NDArray[Any] | None = None,
    seed: int = 0,
) -> Bools:
    """True [n] for `share` of the rows of each class y [n], drawn by `seed`; see `share_note` where that cannot be.

    time [n]: the last rows are held out, of whichever class; rows of one moment stay on one side.

    What one class has too few or too many is made up for by the next larger one, so that the share of all is right; a
    class that then has no row there gets the smallest set that holds one. Of a class in one set alone all rows are for
    training. Raises InputError where the training rows would lack a class.
    """
    if time is not None:
        moments, moment = np.unique(time, return_inverse=True)
        if len(moments) < 2:
            raise InputError("all rows are of one time", where="--time", fix="name a column that tells them apart")
        after = len(time) - np.cumsum(np.bincount(moment))[:-1]  # rows later than each moment but the last
        return _complete(np.asarray(moment > int(np.argmin(np.abs(after - share * len(time))))), y)
    number = _sets(table, y, group)
    sizes = np.bincount(number)
    draws = np.random.default_rng(seed).random(len(sizes))
    first = np.full(len(sizes), len(y), dtype=np.int64)
    np.minimum.at(first, number, np.arange(len(y)))
    label = y[first]  # a set is counted with the class of its first row
    sets = np.zeros(len(sizes), dtype=bool)
    owed = 0.0
    for k in np.argsort(np.bincount(label, sizes), kind="stable"):
        of_class = np.flatnonzero(label == k)
        if not len(of_class):
            continue
        order = of_class[np.argsort(draws[of_class], kind="stable")]
        owed += share * int(sizes[order].sum())
        taken = order[_filling(sizes[order], round(owed))]
        owed -= int(sizes[taken].sum())
        sets[taken] = True
    alone = list[int]()
    for k in np.unique(y):
        holding = np.unique(number[y == k])
        if len(holding) == 1:
            alone.append(int(holding[0]))
        elif not sets[holding].any():
            sets[holding[np.lexsort((draws[holding], sizes[holding]))[0]]] = True
    sets[alone] = False
    return _complete(sets[number], y)


def _complete(chosen: Bools, y: Ints) -> Bools:
    """The rows held out [n], if those left for training have every class and some are held out."""
    if len(np.unique(y[~chosen])) < len(np.unique(y)):
        raise InputError("the training rows would lack a class", fix="give more rows or a smaller --holdout")
    if not chosen.any():
        raise InputError("no row can be held out without the last of a class", fix="give more rows")
    return chosen


def lacking(chosen: Bools, y: Ints) -> list[int]:
    """The classes y [n] that none of the rows held out [n] has."""
    return [int(k) for k in np.setdiff1d(y, y[chosen])]


def rows_together(table: Table, y: Ints, group: npt.NDArray[Any] | None = None) -> float:
    """How many rows go one way with a row [n] when rows are held out, itself among them, on average over the rows.

    So many rows that are held out say about as much of shares as one row that is drawn by itself (L. Kish's design
    effect of clusters, 1965, of rows in a cluster that are alike).
    """
    sizes = np.bincount(_sets(table, y, group)).astype(np.float64)
    return float((sizes**2).sum() / sizes.sum())


def _sets(table: Table, y: Ints, group: npt.NDArray[Any] | None) -> Ints:
    """The set of each row [n]: a draw belongs to equal rows, or a group, and not to a row, so that these go one way."""
    if group is not None:
        return np.asarray(np.unique(group, return_inverse=True)[1], dtype=np.int64)
    unit = np.zeros(table.n_rows, dtype=np.int64)
    for array in table.arrays:
        known = array.hashes() if isinstance(array, TokenSets) else array
        values = np.unique(known, return_inverse=True)[1].astype(np.int64)
        unit = np.unique(unit * (int(values.max(initial=0)) + 1) + values, return_inverse=True)[1].astype(np.int64)
    return in_pieces(unit, y, np.ones(len(y), dtype=np.int64), _PIECES)


def in_pieces(unit: Ints, labels: npt.NDArray[Any], weights: Ints, pieces: int) -> Ints:
    """Units [n] of equal rows, numbered from 0, those of many rows in so many pieces where units are few.

    The pieces of a unit have the same rows but for one, and stand where it stood.
    """
    sizes = np.bincount(unit)
    rows = np.flatnonzero((sizes >= _MANY_ROWS)[unit])
    if len(sizes) > FEW_KINDS or not len(rows):
        return unit
    order = rows[np.lexsort((weights[rows], labels[rows], unit[rows]))]
    piece = np.zeros(len(unit), dtype=np.int64)
    piece[order] = (np.arange(len(order)) - np.searchsorted(unit[order], unit[order])) % pieces
    return np.asarray(np.unique(unit * pieces + piece, return_inverse=True)[1], dtype=np.int64)


def share_note(chosen: Bools, share: float, grouped: bool = False, timed: bool = False) -> str | None:
    """One line where the rows held out [n] are not the share that was asked for, else None."""
    actual = float(chosen.mean())
    if abs(actual - share) <= max(_TOLERANCE, 2 / len(chosen)):
        return None
    together = "rows of one group" if grouped else "rows of one time" if timed else "equal rows"
    why = f"{together} stay on one side"
    if actual > share and not timed:  # what is drawn stays below the share
        why += ", and every class needs one there"
    return f"{actual:.1%} of the rows are held out in place of {share:.1%}, since {why}"


def _filling(sizes: Ints, wanted: int) -> Ints:
    """The places of sets, the first ones that together have at most `wanted` rows."""
    taken, left = [np.zeros(0, dtype=np.int64)], np.arange(len(sizes))
    while len(left := left[sizes[left] <= wanted]):
        fitting = int(np.searchsorted(np.cumsum(sizes[left]), wanted, side="right"))
        taken.append(left[:fitting])
        wanted -= int(sizes[left[:fitting]].sum())
        left = left[fitting:]
    return np.concatenate(taken)


MOST_HASHES = 2048
_BLOCK = 1 << 15
"""Rows that are hashed together, few enough to stay in the processor's cache."""
_ALL = 64
_MIXES = np.arange(1, 5, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95)  # numbers that differ in many bits


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

    def with_(self, other: RowHashes) -> RowHashes:
        """The sample of the rows of both."""
        limit = RowHashes(self.hashes, min(self.bits, other.bits))
        kept = replace(limit, hashes=np.union1d(limit.sampled(self.hashes), limit.sampled(other.hashes)))
        while len(kept.hashes) > MOST_HASHES:
            limit = replace(kept, bits=kept.bits - 1)
            kept = replace(limit, hashes=limit.sampled(kept.hashes))
        return kept

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


@dataclass(frozen=True, slots=True, eq=False)
class RowSums:
    """What tells rows apart from others, of each part of them: what parts have adds up in any order.

    sums: over the rows, modulo 2^64, of their hashes, mixed in four ways.
    """

    rows: int = 0
    sums: tuple[int, ...] = (0,) * len(_MIXES)
    sample: RowHashes = field(default_factory=lambda: RowHashes(np.zeros(0, dtype=np.uint64)))

    def __add__(self, other: RowSums) -> RowSums:
        sums = ((a + b) % (1 << _ALL) for a, b in zip(self.sums, other.sums, strict=True))
        return RowSums(self.rows + other.rows, tuple(sums), self.sample.with_(other.sample))


def row_sums(rows: LabelledTable) -> RowSums:
    """The sums of some rows, and a sample of their hashes; the same for every order of rows and columns."""
    beside = [(name, own) for name in ("weight", "group", "time") if (own := getattr(rows, name)) is not None]
    found, sums = RowSums(), np.zeros(len(_MIXES), dtype=np.uint64)
    start, sample = 0, found.sample
    for hashes in _hashes(rows):
        sample = sample.with_(RowHashes(hashes))
        own, start = slice(start, start + len(hashes)), start + len(hashes)
        for name, values in beside:
            cells = values[own].astype(np.int64 if name == "group" else np.float64)  # groups may be in fewer bytes
            hashes = hashes + _of_numbers(cells, np.uint64(_key("beside", name)))
        sums += [mixed(hashes ^ mix).sum() for mix in _MIXES]
    return RowSums(start, tuple(sums.tolist()), sample)


def data_hash(rows: LabelledTable, known: RowSums | None = None) -> str:
    """A hash (64 hex digits) of features, cells, labels, weights, groups and times; the same on every machine.

    Neither the order of the rows nor source, notes and memory layout enter; every NaN is the same. It tells whether
    data are the same, and is no proof against someone who crafts data. known: the sums of the rows, which need not be
    in one place: of `rows` what stands beside its rows is enough.
    """
    known = known or row_sums(rows)
    # asdict would copy every value, which takes as long as to learn; how a file wrote its numbers is none of the table
    names = [each.name for each in fields(Feature) if each.name != "form"]
    header: list[object] = [[{name: getattr(each, name) for name in names} for each in rows.table.features]]
    header += [known.rows, rows.target, [[type(label).__name__, label] for label in rows.classes], rows.ordered]
    header += [rows.cost, *(getattr(rows, name) is not None for name in ("weight", "group", "time")), known.sums]
    return hashlib.sha256(json.dumps(header, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


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
    """How the rows overlap with those of which hashes are known.

    The standard error is that of a ratio of clusters, which are rows that are equal (W. Cochran, Sampling Techniques,
    1977, section 9A.3): the hashes draw a set of equal rows or leave it out.
    """
    sampled = np.concatenate([known.sampled(hashes) for hashes in _hashes(rows)])
    seen, found = int(np.isin(sampled, known.hashes).sum()), int(np.isin(known.hashes, sampled).sum())
    kinds, own = np.unique(sampled, return_counts=True)
    error = 0.0
    if known.share < 1.0 and len(kinds) > 1:
        equal = np.isin(kinds, known.hashes)
        residuals = own * (equal - own[equal].sum() / own.sum())
        variance = (1.0 - known.share) * len(kinds) / (len(kinds) - 1.0) * float((residuals**2).sum())
        error = len(rows) * float(np.sqrt(variance)) / float(own.sum())
    return Overlap(len(rows), len(sampled), seen, len(known.hashes), found, known.share, error)


def _hashes(rows: LabelledTable) -> Iterator[Hashes]:
    """The hashes of the rows in their order, some at a time."""
    plain = [c.item() if isinstance(c, np.generic) else c for c in rows.classes]
    labels = np.array([_key("label", type(c).__name__, str(c)) for c in plain], dtype=np.uint64)
    keys: dict[str, Any] = {}
    for f in rows.table.features:
        keys[f.name] = np.uint64(_key("column", f.name))
        if f.kind == "text":
            keys[f.name] = hashes_of_words(f.levels)
        elif f.kind == "categorical":  # by code: missing, a level that training never saw, and each level
            codes = [_key("missing", f.name), _key("unseen", f.name), *(_key("level", f.name, x) for x in f.levels)]
            keys[f.name] = np.array(codes, dtype=np.uint64)
    start = 0
    for table in rows.table.blocks():
        for first in range(0, table.n_rows, _BLOCK):
            last = min(first + _BLOCK, table.n_rows)
            total = labels[rows.y[start + first : start + last]]
            for feature, array in zip(table.features, table.arrays, strict=True):
                total += _of_cells(feature, array[first:last], keys[feature.name])
            yield mixed(total)
        start += table.n_rows


def _of_cells(feature: Feature, cells: Array | TokenSets, key: Any) -> Hashes:
    """The hash [n] of each cell; key: of the column, by code or of the words."""
    if isinstance(cells, TokenSets):
        known = mixed(cells.hashes_of_all_words(key) ^ np.uint64(_key("text", feature.name)))
        return np.where(cells.missing, np.uint64(_key("missing", feature.name)), known)
    if feature.kind == "categorical":
        return np.asarray(key[cells])
    return _of_numbers(cells, key)


def _of_numbers(numbers: Array, key: Any) -> Hashes:
    """The hash [n] of each number: one zero and one NaN have one."""
    if numbers.dtype.kind == "f":
        numbers = np.ascontiguousarray(numbers) + numbers.dtype.type(0)
        np.copyto(numbers, np.nan, where=np.isnan(numbers))
    bits = numbers.view(np.uint32 if numbers.dtype == np.float32 else np.uint64)
    return mixed(np.bitwise_xor(bits, key, dtype=np.uint64))  # numpy 1 took narrower ones


def _key(*texts: str) -> int:
    content = "".join(f"{len(text)}:{text}" for text in texts)
    return int.from_bytes(hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
