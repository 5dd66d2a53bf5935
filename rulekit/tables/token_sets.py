"""The tokens of the rows of a text column, as compressed sparse rows, and hashes of 64 bits of them and of words.

A row is a set: which tokens of a vocabulary its text has, and not how often. Texts are tokenised by polars, with the
pattern and the lower case of `rulekit.tokens`, each distinct text once. Hashes are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Hashes, Ints, mixed, pl
from rulekit.tokens import SMALL_LETTERS, TOKEN_PATTERN

Ids = npt.NDArray[np.int32]

TEXT_DTYPE: np.dtype[Any] = np.dtype([("tokens", np.int32)])
"""What stands for the dtype of a text column among those of arrays."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenSets:
    """n rows of sets of tokens; it stands where other columns of a Table are arrays, and is taken from as they are.

    starts: int64 [n + 1], where the tokens of each row begin among `ids`: int32, ascending within a row, positions in
    a vocabulary of `size` tokens. missing: bool [n]; a missing row has no token. all_words: a hash [n] of all tokens of
    each text, those outside the vocabulary too; None where that is not known, or the vocabulary has all.
    """

    starts: Ints
    ids: Ids
    size: int
    missing: Bools
    all_words: Hashes | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return TEXT_DTYPE

    @property
    def shape(self) -> tuple[int]:
        return (len(self.missing),)

    @property
    def nbytes(self) -> int:
        return self.starts.nbytes + self.ids.nbytes + self.missing.nbytes

    def __len__(self) -> int:
        return len(self.missing)

    def __getitem__(self, rows: Any) -> TokenSets:
        """The rows of a slice, a Boolean mask or row numbers."""
        words = None if self.all_words is None else self.all_words[rows]
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                stop = max(start, stop)
                begun = self.starts[start : stop + 1]
                ids = self.ids[begun[0] : begun[-1]]
                return TokenSets(begun - begun[0], ids, self.size, self.missing[start:stop], words)
            rows = np.arange(start, stop, step)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        lengths = (self.starts[1:] - self.starts[:-1])[rows]
        starts = _starts(lengths)
        # the position of each token: where its row began, and how far it stands from there
        place = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], lengths)
        return TokenSets(starts, self.ids[place], self.size, self.missing[rows], words)

    def tobytes(self) -> bytes:
        """The sets as little-endian bytes, the same on every machine."""
        lengths = np.diff(self.starts).astype("<i8").tobytes()
        return lengths + self.ids.astype("<i4").tobytes() + self.missing.tobytes()

    @property
    def rows(self) -> Ints:
        """The row of each token."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def contains(self, ids: Sequence[int]) -> Bools:
        """Whether each row [n] has at least one of these tokens; False where it is missing."""
        found = np.zeros(len(self), dtype=bool)
        wanted = np.zeros(self.size + 1, dtype=bool)
        wanted[list(ids)] = True
        found[np.searchsorted(self.starts, np.flatnonzero(wanted[self.ids]), side="right") - 1] = True
        return found

    def hashes(self) -> npt.NDArray[np.uint64]:
        """A hash [n] of each row's set, by the numbers of its tokens; 1 where the row is missing."""
        number = self.ids.astype(np.uint64) + np.uint64(1)
        for shift, factor in ((29, 0xBF58476D1CE4E5B9), (32, 0x94D049BB133111EB)):
            number *= np.uint64(factor)
            number ^= number >> np.uint64(shift)
        return sums_of_runs(number, self.starts) + self.missing.astype(np.uint64)

    def hashes_of_all_words(self, words: Hashes) -> Hashes:
        """A hash [n] of the set of all words of each text; words: those of the vocabulary [size], where it has all."""
        return sums_of_runs(words[self.ids], self.starts) if self.all_words is None else self.all_words

    def rows_with(self) -> Ints:
        """In how many rows each token [size] stands."""
        return np.bincount(self.ids, minlength=self.size)

    def by_token(self) -> tuple[Ints, Ints]:
        """Where the rows of each token [size + 1] begin, and these rows, ascending for each token."""
        order = np.argsort(self.ids, kind="stable")
        return _starts(self.rows_with()), self.rows[order]

    def renumbered(self, lookup: Ints, size: int) -> TokenSets:
        """The sets over another vocabulary: lookup [old size] has the new number of each token, -1 where it falls away.

        Tokens of one new number become one.
        """
        if len(self.ids) > _PIECE and len(self) > 1:  # a few rows at a time
            step = max(1, len(self) * _PIECE // len(self.ids))
            parts = [self[start : start + step].renumbered(lookup, size) for start in range(0, len(self), step)]
            return joined(parts)
        ids = lookup[self.ids]
        kept = ids >= 0
        return token_sets(self.rows[kept], ids[kept], self.missing, size, self.all_words)


_PIECE = 1 << 20


def token_sets(
    rows: Ints, ids: npt.NDArray[Any], missing: Bools, size: int, all_words: Hashes | None = None
) -> TokenSets:
    """Sets from pairs of a row and a token, in any order and any number of times; rows that are missing have none."""
    keys = rows * np.int64(max(size, 1)) + ids
    if not (keys[1:] > keys[:-1]).all():
        keys = np.sort(keys)
        keys = keys[np.concatenate([np.ones(min(1, len(keys)), dtype=bool), keys[1:] != keys[:-1]])]
        rows, ids = np.divmod(keys, max(size, 1))
    present = ~missing[rows]
    lengths = np.bincount(rows[present], minlength=len(missing))
    return TokenSets(_starts(lengths), ids[present].astype(np.int32), size, missing, all_words)


def no_tokens(n_rows: int, size: int) -> TokenSets:
    """Missing rows."""
    return TokenSets(np.zeros(n_rows + 1, np.int64), np.zeros(0, np.int32), size, np.ones(n_rows, dtype=bool))


def joined(parts: Sequence[TokenSets]) -> TokenSets:
    """The rows of several parts over the vocabulary of the last, of which each other has the first tokens."""
    lengths = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.starts) for part in parts)])
    ids = np.concatenate([np.zeros(0, np.int32), *(part.ids for part in parts)])
    missing = np.concatenate([np.zeros(0, dtype=bool), *(part.missing for part in parts)])
    words = [part.all_words for part in parts if part.all_words is not None]
    known = bool(parts) and len(words) == len(parts)
    size = parts[-1].size if parts else 0
    return TokenSets(_starts(lengths), ids, size, missing, np.concatenate(words) if known else None)


def _starts(lengths: npt.NDArray[Any]) -> Ints:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def tokenised(texts: pl.Series) -> tuple[pl.Series, Ints]:
    """The tokens of all texts [n] one after the other, and how many each text has; none where a text is null."""
    if (texts.str.len_bytes() == texts.str.len_chars()).all():
        small = texts.str.to_lowercase()
    else:
        capitals, smalls = map(chr, SMALL_LETTERS), map(chr, SMALL_LETTERS.values())
        small = texts.str.replace_many(list(capitals), list(smalls))
    found = small.str.extract_all(TOKEN_PATTERN)
    lengths = found.list.len().fill_null(0).to_numpy().astype(np.int64)
    return found.filter(pl.Series(lengths > 0)).explode(), lengths


def sets_of_texts(texts: pl.Series, vocabulary: Mapping[str, int], all_words: bool = False) -> TokenSets:
    """Which tokens of a vocabulary each text [n] has; null is missing, a token that is not in it is dropped.

    all_words: the sets hold the hashes of all tokens of each text.
    """
    words, lengths = tokenised(texts)
    keys, codes = distinct_words(words)
    lookup = np.array([vocabulary.get(key, -1) for key in keys], dtype=np.int64)
    ids = lookup[codes] if len(codes) else np.zeros(0, np.int64)
    rows, missing = np.repeat(np.arange(len(texts)), lengths), texts.is_null().to_numpy()
    hashes = None
    if all_words:
        hashes = token_sets(rows, codes, missing, len(keys)).hashes_of_all_words(hashes_of_words(keys))
    return token_sets(rows[ids >= 0], ids[ids >= 0], missing, len(vocabulary), hashes)


def distinct_words(words: pl.Series) -> tuple[list[str], Ints]:
    """The distinct words of a series, and the number of each word's own."""
    if not len(words):
        return [], np.zeros(0, np.int64)
    # categories are numbered by first use, in some versions of polars over all columns of the process
    numbers = words.cast(pl.Categorical).to_physical().to_numpy()
    first = np.full(int(numbers.max()) + 1, -1, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    used = first >= 0
    codes = (np.cumsum(used) - 1)[numbers]
    return words.gather(first[used]).to_list(), codes


_WORDS_TOGETHER = 1 << 16  # words that are hashed together


def sums_of_runs(values: Hashes, starts: Ints) -> Hashes:
    """The sum [n] of each run of values modulo 2^64; starts [n + 1]: where the runs begin."""
    below = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    return np.asarray(below[starts[1:]] - below[starts[:-1]])


def hashes_of_words(words: Sequence[str]) -> Hashes:
    """A hash of each word [n], of its bytes with their places."""
    found = [np.zeros(0, dtype=np.uint64)]
    for begin in range(0, len(words), _WORDS_TOGETHER):
        content = [word.encode("utf-8", "surrogatepass") for word in words[begin : begin + _WORDS_TOGETHER]]
        starts = _starts(np.array([len(one) for one in content]))
        letters = np.frombuffer(b"".join(content), dtype=np.uint8).astype(np.uint64)
        places = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
        found.append(mixed(sums_of_runs(mixed(letters | places.astype(np.uint64) << np.uint64(8)), starts)))
    return np.concatenate(found)
