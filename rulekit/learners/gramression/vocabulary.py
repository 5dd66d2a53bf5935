"""The atoms of a table, and the features that were offered, by what they say of the training rows.

An atom is P0(a) where a column is named so, else a condition on a column. Equal and contrary features are known once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.evaluation.structures import Structures, Words, packed, unpacked
from rulekit.graph.language.sentences import FALSE as CONTRADICTION
from rulekit.graph.language.sentences import Sentence
from rulekit.graph.language.text import print_node
from rulekit.graph.leaves import negate
from rulekit.graph.nodes import FALSE, TRUE, And, Node, Or
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.problem import HOLDS, Problem, condition_node, cut_of, simple_conditions
from rulekit.learners.gramression.grammar import Grammar, Language
from rulekit.learners.sums_of_rows.kernels import compiled

MOST_FEATURES = 20_000
MOST_BYTES = 2**29
_BYTES = 64
"""Bytes of a feature whose sums are looked up in tables that fit the cache together."""


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The atoms of a table. columns: by predicate and objects the number of a Boolean column, true at code 2.

    conditions: by name, of atoms without objects, a column and the codes [n_codes] at which it is true.
    """

    language: Language
    columns: Mapping[tuple[str, tuple[str, ...]], int]
    conditions: Mapping[str, tuple[int, Bools]]

    @classmethod
    def of(cls, problem: Problem, longest: int) -> Atoms:
        """The atoms of the columns of a problem; conditions are taken from the quantiles of its rows.

        longest: the most atoms of a feature.
        """
        structured, conditions = dict[tuple[str, tuple[str, ...]], int](), dict[str, tuple[int, Bools]]()
        arities: dict[str, int] = {}
        for j, column in enumerate(problem.columns):
            found, two = column.feature.atom, column.n_codes == 3
            says = two and (column.feature.kind == "boolean" or (found is not None and 0.0 <= cut_of(column, 1) < 1.0))
            if found is not None and says and arities.setdefault(found[0], len(found[1])) == len(found[1]):
                structured[found] = j
            else:
                for condition in simple_conditions(problem, j):
                    said = print_node(condition_node(column, condition))
                    conditions[said if said not in conditions else f"{said} #{len(conditions)}"] = j, condition
        objects = sorted({each for _, objects in structured for each in objects})
        language = Language({**arities, **dict.fromkeys(conditions, 0)}, tuple(objects), longest)
        return cls(language, structured, conditions)

    def structures(self, codes: Codes, n_rows: int) -> Structures:
        place = {name: k for k, name in enumerate(self.language.objects)}
        atoms = {name: packed(holds[codes[j]]) for name, (j, holds) in self.conditions.items()}
        size, n_words = len(place), -(-n_rows // 64)
        for name, arity in self.language.arities.items():
            if name not in atoms:
                atoms[name] = np.zeros((size,) * arity + (n_words,), dtype=np.uint64)
        for (name, objects), j in self.columns.items():
            atoms[name][tuple(place[each] for each in objects)] = packed(HOLDS[codes[j]])
        return Structures(self.language.objects, n_rows, atoms)

    def node(self, feature: Sentence, columns: Sequence[BinnedColumn]) -> Node:
        """The Boolean node of a closed sentence: its quantifiers are written out over the objects."""
        word, parts = feature.word, feature.parts
        if word == "atom":
            if feature.name in self.conditions:
                j, holds = self.conditions[feature.name]
                return condition_node(columns[j], holds)
            known = self.columns.get((feature.name, feature.terms))
            return FALSE if known is None else condition_node(columns[known], HOLDS)
        if word == "same":
            return TRUE if feature.terms[0] == feature.terms[1] else FALSE
        if word == "not":
            return negate(self.node(parts[0], columns), None)
        if word in ("and", "or"):
            nodes = [self.node(part, columns) for part in parts]
            return _joined(word == "and", nodes)
        named = (parts[0].put({feature.name: each}) for each in self.language.objects)
        return _joined(word == "forall", [self.node(each, columns) for each in named])


def _joined(every: bool, nodes: list[Node]) -> Node:
    neutral, fatal = (TRUE, FALSE) if every else (FALSE, TRUE)
    kept = list(dict.fromkeys(node for node in nodes if node != neutral))
    if fatal in kept:
        return fatal
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return And(kept) if every else Or(kept)


def literals_of(formula: Sentence) -> int:
    return sum(1 for _ in formula.atoms())


@dataclass(slots=True)
class Vocabulary:
    """Features with their words [m, words] over the rows.

    lengths and rules [m]: how many atoms each has, and which rule made it; offered: how many features each rule made.
    weights [n]: of the rows; least: the weight that a feature needs on both sides; most: how many features there may
    be. full: the bound was reached.
    """

    language: Language
    rows: Structures
    weights: Floats
    grammar: Grammar
    least: float = 5.0
    most: int = MOST_FEATURES
    formulas: list[Sentence] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    offered: Counter[str] = field(default_factory=Counter)
    full: bool = False
    _words: Any = None
    _places: dict[bytes, int] = field(default_factory=dict)
    _seen: dict[Sentence, int] = field(default_factory=dict)
    _fired: set[tuple[int, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._words = np.empty((min(64, self.most), -(-self.rows.n // 64)), dtype=np.uint64)
        for each in self.grammar.seeds(self.language):
            self.offer(each, "seeds")

    def __len__(self) -> int:
        return len(self.formulas)

    @property
    def words(self) -> Words:
        """The rows [m, words] on which each feature is true."""
        found: Words = self._words[: len(self.formulas)]
        return found

    def offer(self, formula: Sentence, rule: str) -> int:
        """The place of a feature, or of the one that is equal or contrary on all rows; -1 where it has none."""
        self.offered[rule] += 1
        place = self._seen.get(formula)
        if place is None:
            literals = literals_of(formula)
            odd = formula == CONTRADICTION or literals > self.language.longest
            place = self._seen[formula] = -1 if odd else self._place_of(formula, literals, rule)
        return place

    def _place_of(self, formula: Sentence, literals: int, rule: str) -> int:
        own = self.rows.holds(formula)
        truth = unpacked(own, self.rows.n)
        held = float(self.weights[truth].sum())
        if min(held, float(self.weights.sum()) - held) < self.least:
            return -1
        key = _key(own, truth[0], self.rows.n)
        place = self._places.get(key)
        if place is not None:
            if literals < self.lengths[place]:
                self.formulas[place], self._words[place], self.lengths[place] = formula, own, literals
            return place
        if len(self.formulas) >= self.most:
            self.full = True
            return -1
        place = self._places[key] = len(self.formulas)
        if place == len(self._words):
            room = np.empty((min(place, self.most - place), self._words.shape[1]), dtype=np.uint64)
            self._words = np.concatenate([self._words, room])
        self._words[place] = own
        self.formulas.append(formula)
        self.lengths.append(literals)
        self.rules.append(rule)
        return place

    def grow(self, feature: int) -> None:
        """Apply the rules of one feature, once."""
        if (feature,) in self._fired:
            return
        self._fired.add((feature,))
        for name, rule in self.grammar.rules.items():
            for made in rule(self.formulas[feature], self.language):
                self.offer(made, name)

    def pair(self, first: int, second: int) -> None:
        """Apply the rules of two features, once."""
        if (first, second) in self._fired:
            return
        self._fired.add((first, second))
        for name, rule in self.grammar.pairs.items():
            for made in rule(self.formulas[first], self.formulas[second], self.language):
                self.offer(made, name)

    def columns(self, places: Sequence[int] | None = None) -> Bools:
        words = self.words if places is None else self.words[list(places)]
        return unpacked(words, self.rows.n).T

    def sums(self, values: Ints) -> Ints:
        """The sums [m, k] of whole numbers [n, k] over the rows of each feature."""
        rows = np.zeros((self._words.shape[1] * 64, values.shape[1]), dtype=np.int64)
        rows[: len(values)] = values
        found = np.zeros((len(self.formulas), values.shape[1]), dtype=np.int64)
        for first in range(0, len(rows), 8 * _BYTES):
            part = rows[first : first + 8 * _BYTES]
            own = self.words.view(np.uint8)[:, first // 8 : (first + len(part)) // 8]
            for column in range(values.shape[1]):
                _add_by_byte(own, _by_byte(part[:, column]), found[:, column])
        return found


def _by_byte(values: Ints) -> Ints:
    """The sum of each choice of eight values in a row: [n / 8, 256]."""
    found = np.zeros((len(values) // 8, 1), dtype=np.int64)
    for bit in range(8):
        found = np.concatenate([found, found + values[bit::8, None]], axis=1)
    return found


def _key(words: Words, flipped: bool, n: int) -> bytes:
    """Equal for equal and for contrary extensions."""
    if flipped:
        words = ~words
        if n % 64:
            words[-1] &= np.uint64((1 << n % 64) - 1)
    return words.tobytes()


@compiled
def _add_by_byte(own: Any, sums: Any, found: Any) -> None:
    for feature in range(own.shape[0]):
        total = found[feature]
        for place in range(own.shape[1]):
            total += sums[place, own[feature, place]]
        found[feature] = total
