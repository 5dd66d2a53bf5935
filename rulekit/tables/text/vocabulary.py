"""The vocabulary of a text column, found in one pass over its rows.

Tokens are numbered in the order in which they come; at the end the vocabulary is sorted, without function words and
without tokens of one row only, which no rule could be learned from.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rulekit.errors import InputError
from rulekit.tables.kinds.builders import TextAllowance
from rulekit.tables.mixing import hashes_of_words
from rulekit.tables.raw.columns import column_place
from rulekit.tables.text.token_sets import TokenSets, distinct_words, joined, token_sets, tokenised

if TYPE_CHECKING:
    import polars as pl

FEWEST_ROWS = 2
_PIECE = 1 << 22  # bytes of texts whose words are looked at together
_WORD_BYTES = 120  # what a word takes beside its letters
FUNCTION_WORDS = frozenset(
    (
        # articles and determiners
        *("an", "the", "this", "that", "these", "those", "such", "each", "every", "any", "some", "both", "either"),
        # pronouns
        *("he", "she", "it", "we", "you", "they", "him", "her", "us", "them", "me", "my", "your", "his", "its", "our"),
        *("their", "mine", "yours", "hers", "ours", "theirs", "who", "whom", "whose", "which", "what", "itself"),
        *("myself", "yourself", "himself", "herself", "ourselves", "themselves"),
        # prepositions
        *("of", "in", "on", "at", "to", "for", "from", "by", "with", "about", "into", "onto", "upon", "as", "than"),
        *("through", "during", "between", "among", "via", "per"),
        # conjunctions and adverbs of place and time that join sentences
        *("and", "or", "but", "if", "so", "because", "while", "when", "where", "how", "why", "whether", "then"),
        *("there", "here", "also", "too", "very", "just"),
        # auxiliary verbs
        *("am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "doing", "done", "has", "have"),
        *("had", "having", "will", "would", "shall", "should", "can", "could", "may", "might", "must"),
        # ends behind an apostrophe
        *("ll", "re", "ve", "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "won"),
    )
)
"""Articles, pronouns, prepositions, conjunctions and auxiliary verbs; negations and numbers are no part of them."""


@dataclass(slots=True, eq=False)
class TextBuilder:
    """A text column while its rows come."""

    name: str
    source: str
    allowance: TextAllowance
    number_of: dict[str, int] = field(default_factory=dict)
    parts: list[TokenSets] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(map(len, self.parts))

    def add(self, texts: pl.Series) -> None:
        """The next texts; null is missing. Raises InputError where their words do not fit into the allowed memory."""
        step = max(1, len(texts) * _PIECE // max(1, int(texts.str.len_bytes().sum())))
        for start in range(0, max(1, len(texts)), step):
            self._add(texts[start : start + step])

    def _add(self, texts: pl.Series) -> None:
        words, lengths = tokenised(texts)
        keys, codes = distinct_words(words)
        fresh = [key for key in keys if key not in self.number_of]
        self.allowance.left -= sum(map(len, fresh)) + _WORD_BYTES * len(fresh)
        for key in fresh:
            self.number_of[key] = len(self.number_of)
        lookup = np.array([self.number_of[key] for key in keys], dtype=np.int64)
        rows = np.repeat(np.arange(len(texts)), lengths)
        part = token_sets(rows, lookup[codes], texts.is_null().to_numpy(), len(self.number_of))
        self._keep(part)

    def add_missing(self, n_rows: int) -> None:
        """So many rows without a text."""
        starts, missing = np.zeros(n_rows + 1, np.int64), np.ones(n_rows, dtype=bool)
        self._keep(TokenSets(starts, np.zeros(0, np.int32), len(self.number_of), missing))

    def _keep(self, part: TokenSets) -> None:
        self.allowance.left -= part.nbytes
        if self.allowance.left < 0:
            where, fix = column_place(self.source, self.name), "ignore the column, or allow more memory"
            raise InputError("the words of its texts do not fit into the allowed memory", where=where, fix=fix)
        self.parts.append(part)

    def built(self) -> tuple[tuple[str, ...], TokenSets]:
        """The vocabulary, sorted, and the sets over it."""
        return with_vocabulary(list(self.number_of), self.sets())

    def sets(self) -> TokenSets:
        """The sets over all words, in the order in which these came."""
        return joined(self.parts, len(self.number_of))


@dataclass(slots=True, eq=False)
class KnownWords:
    """A column of sets over words that are known, while its rows come; each word of it may be named by a rule."""

    words: tuple[str, ...]
    parts: list[TokenSets] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(map(len, self.parts))

    def add(self, sets: TokenSets) -> None:
        """The next rows."""
        self.parts.append(sets)

    def column(self) -> TokenSets:
        """The sets of all rows."""
        return joined(self.parts, len(self.words))

    def built(self) -> tuple[tuple[str, ...], TokenSets]:
        """The words and the sets over them."""
        return self.words, self.column()


def with_vocabulary(words: list[str], sets: TokenSets) -> tuple[tuple[str, ...], TokenSets]:
    """The words that a rule may name, sorted, and the sets over them alone, which keep the hashes of all words."""
    sets = replace(sets, all_words=sets.hashes_of_all_words(hashes_of_words(words)))
    rows_with = sets.rows_with()
    kept = sorted(
        word for word, rows in zip(words, rows_with, strict=True) if rows >= FEWEST_ROWS and word not in FUNCTION_WORDS
    )
    place = {word: number for number, word in enumerate(kept)}
    lookup = np.array([place.get(word, -1) for word in words], dtype=np.int64)
    return tuple(kept), sets.renumbered(lookup, len(kept))
