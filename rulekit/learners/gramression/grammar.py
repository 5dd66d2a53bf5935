"""Grammars, the features that their rules make from others, and the features that were offered for a table.

A feature is a sentence whose atoms are what the rows say: P0(a) where a column is named so, else a condition on a
column. A rule takes one or two features and returns new ones. Equal and contrary features are known once, by what they
say of the training rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations, product
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.evaluation.structures import Structures, Words, packed, unpacked
from rulekit.graph.language.sentences import FALSE as CONTRADICTION
from rulekit.graph.language.sentences import Sentence, atom, negation, variables
from rulekit.graph.language.text import print_node
from rulekit.graph.leaves import negate
from rulekit.graph.nodes import FALSE, TRUE, And, Node, Or
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.problem import HOLDS, Problem, condition_node, cut_of, simple_conditions
from rulekit.learners.sums_of_rows.kernels import compiled
from rulekit.simplification.rewriting import joined


@dataclass(frozen=True)
class Language:
    """What sentences may speak of. arities: the places of each predicate; objects: the constants.

    longest: the most atoms of a feature.
    """

    arities: Mapping[str, int]
    objects: tuple[str, ...] = ()
    longest: int = 3

    @cached_property
    def variables(self) -> list[str]:
        return variables(self.objects)

    def atoms(self, *variables: str) -> Iterator[Sentence]:
        """Every atom over the objects and these variables; with variables, only those that have one of them."""
        for name, places in self.arities.items():
            for terms in product((*variables, *self.objects), repeat=places):
                if not variables or any(term in variables for term in terms):
                    yield atom(name, *terms)


Rule = Callable[[Sentence, Language], Iterable[Sentence]]
PairRule = Callable[[Sentence, Sentence, Language], Iterable[Sentence]]


@dataclass(frozen=True, slots=True)
class Grammar:
    """Seeds, rules of one feature and rules of two, by name."""

    seeds: Callable[[Language], Iterable[Sentence]]
    rules: Mapping[str, Rule] = field(default_factory=dict)
    pairs: Mapping[str, PairRule] = field(default_factory=dict)


def next_property(feature: Sentence, language: Language) -> Iterator[Sentence]:
    """P_i(x) -> P_(i+1)(x), the rule of the source."""
    stem = feature.name.rstrip("0123456789")
    if feature.word == "atom" and stem != feature.name:
        name = f"{stem}{int(feature.name[len(stem) :]) + 1}"
        if language.arities.get(name) == len(feature.terms):
            yield replace(feature, name=name)


CHAIN = Grammar(lambda language: (each for each in language.atoms() if each.name == "P0"), {"next": next_property})
"""The grammar of the source's experiment."""


def with_literal(feature: Sentence, language: Language) -> Iterator[Sentence]:
    """F -> f and l, for each literal l; under quantifiers the literal may speak of their variables."""
    bound, body = opened(feature)
    if len(body) >= language.longest:
        return
    for variable in (None, *bound):
        for each in language.atoms(*([variable] if variable else [])):
            for literal in (each, negation(each)):
                yield closed(language, bound, (*body, literal))
    if len(bound) > 1:
        for name, places in language.arities.items():
            for terms in permutations(bound, places) if places > 1 else ():
                for literal in (atom(name, *terms), negation(atom(name, *terms))):
                    yield closed(language, bound, (*body, literal))


def with_variable(feature: Sentence, language: Language) -> Iterator[Sentence]:
    """f(c) -> exists x: f(x), for each object that the feature names, and for each set of places where it does."""
    bound, body = opened(feature)
    fresh = language.variables[len(bound)]
    for constant in feature.free:
        named = tuple(part.put({constant: fresh}) for part in body)
        yield closed(language, (*bound, fresh), named)
        if len(named) == 1:
            yield closed(language, (*bound, fresh), (negation(named[0]),))


def both(first: Sentence, second: Sentence, language: Language) -> Iterator[Sentence]:
    """f, g -> f and g, and the same with one variable for both where each has one."""
    names, body = opened(first)
    others, more = opened(second)
    if not names or not others:
        yield closed(language, (*names, *others), (*body, *more))
    else:
        spare = [name for name in language.variables if name not in names]
        for mine, theirs in product(names, others):
            moved = {
                theirs: mine,
                **{other: name for name, other in zip(spare, others, strict=False) if other != theirs},
            }
            kept = [moved[other] for other in others if other != theirs]
            yield closed(language, (*names, *kept), (*body, *(part.put(moved) for part in more)))


def without_literal(feature: Sentence, language: Language) -> Iterator[Sentence]:
    """F and l -> f, and l, for each literal l."""
    bound, body = opened(feature)
    for place, literal in enumerate(body) if len(body) > 1 else ():
        yield closed(language, bound, (*body[:place], *body[place + 1 :]))
        yield closed(language, bound, (literal,))


def quantified(language: Language) -> Iterator[Sentence]:
    """Every atom over the objects, and every literal behind one quantifier."""
    yield from language.atoms()
    x = language.variables[0]
    for each in language.atoms(x):
        yield closed(language, (x,), (each,))
        yield closed(language, (x,), (negation(each),))


STRUCTURES = Grammar(
    quantified, {"literal": with_literal, "exists": with_variable, "without": without_literal}, {"and": both}
)
"""Existentially closed conjunctions of literals. Their contraries are forall and or: a weight of the other sign."""


TABLES = Grammar(
    lambda language: language.atoms(), {"literal": with_literal, "without": without_literal}, {"and": both}
)
"""Conjunctions of conditions on columns."""

GRAMMARS = {"chain": CHAIN, "structures": STRUCTURES, "tables": TABLES}


def opened(feature: Sentence) -> tuple[tuple[str, ...], tuple[Sentence, ...]]:
    """The variables that stand before a feature, and the parts of the conjunction behind them."""
    bound = []
    while feature.word == "exists":
        bound.append(feature.name)
        feature = feature.parts[0]
    return tuple(bound), feature.parts if feature.word == "and" else (feature,)


def closed(language: Language, bound: Iterable[str], parts: Iterable[Sentence]) -> Sentence:
    """The conjunction behind its variables, written in one way for all orders and names.

    CONTRADICTION of one, and where its variables fall into groups that no literal joins: those are two features.
    """
    literals = set(parts)
    if any(negation(part) in literals for part in literals):
        return CONTRADICTION
    used = [name for name in bound if any(name in part.free for part in literals)]
    if len(used) > 1 and not _connected(used, literals):
        return CONTRADICTION
    orders = permutations(language.variables[: len(used)])
    renamed = ([part.put(dict(zip(used, order, strict=True))) for part in literals] for order in orders)
    written = ({str(part): part for part in parts} for parts in renamed)
    texts, named = min(((sorted(each), each) for each in written), key=lambda pair: pair[0])
    chosen = [named[text] for text in texts]
    found = chosen[0] if len(chosen) == 1 else Sentence("and", parts=tuple(chosen))
    for name in reversed(language.variables[: len(used)]):
        found = Sentence("exists", name, parts=(found,))
    return found


def _connected(bound: list[str], literals: Iterable[Sentence]) -> bool:
    reached = set(bound[:1])
    spoken = [set(part.free).intersection(bound) for part in literals]
    for _ in bound:
        reached.update(*(names for names in spoken if names & reached))
    return len(reached) == len(bound)


MOST_FEATURES = 20_000
MOST_BYTES = 2**29
_BYTES = 64  # bytes of a feature whose sums are looked up in tables that fit the cache together


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
    return fatal if fatal in nodes else joined(And if every else Or, (node for node in nodes if node is not neutral))


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
            literals = sum(1 for _ in formula.atoms())
            odd = formula == CONTRADICTION or literals > self.language.longest
            place = self._seen[formula] = -1 if odd else self._place_of(formula, literals, rule)
        return place

    def _place_of(self, formula: Sentence, literals: int, rule: str) -> int:
        own = self.rows.holds(formula)
        truth = unpacked(own, self.rows.n)
        held = float(self.weights[truth].sum())
        if min(held, float(self.weights.sum()) - held) < self.least:
            return -1
        alike = ~own if truth[0] else own  # equal for equal and for contrary extensions
        if truth[0] and self.rows.n % 64:
            alike[-1] &= np.uint64((1 << self.rows.n % 64) - 1)
        key = alike.tobytes()
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

    def grow(self, *features: int) -> None:
        """Apply the rules of one feature, or those of two, once."""
        if features in self._fired:
            return
        self._fired.add(features)
        rules = dict[str, Callable[..., Iterable[Sentence]]](
            self.grammar.rules if len(features) == 1 else self.grammar.pairs
        )
        for name, rule in rules.items():
            for made in rule(*(self.formulas[feature] for feature in features), self.language):
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
                # The sum of each choice of eight values in a row: [n / 8, 256].
                sums = np.zeros((len(part) // 8, 1), dtype=np.int64)
                for bit in range(8):
                    sums = np.concatenate([sums, sums + part[bit::8, column, None]], axis=1)
                _add_by_byte(own, sums, found[:, column])
        return found


@compiled
def _add_by_byte(own: Any, sums: Any, found: Any) -> None:
    for feature in range(own.shape[0]):
        total = found[feature]
        for place in range(own.shape[1]):
            total += sums[place, own[feature, place]]
        found[feature] = total
