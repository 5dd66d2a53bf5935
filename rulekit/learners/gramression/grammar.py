"""Grammars: the features to begin with, and the rules that make features from others.

A feature is a sentence whose atoms are what the rows say. A rule takes one or two features and returns new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations, product

from rulekit.graph.language.sentences import FALSE, Sentence, atom, negation, variables


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


def opened(feature: Sentence) -> tuple[tuple[str, ...], tuple[Sentence, ...]]:
    """The variables that stand before a feature, and the parts of the conjunction behind them."""
    bound = []
    while feature.word == "exists":
        bound.append(feature.name)
        feature = feature.parts[0]
    return tuple(bound), feature.parts if feature.word == "and" else (feature,)


def closed(language: Language, bound: Iterable[str], parts: Iterable[Sentence]) -> Sentence:
    """The conjunction behind its variables, written in one way for all orders and names.

    FALSE of a contradiction, and where its variables fall into groups that no literal joins: those are two features.
    """
    literals = set(parts)
    if any(negation(part) in literals for part in literals):
        return FALSE
    used = [name for name in bound if any(name in part.free for part in literals)]
    if len(used) > 1 and not _connected(used, literals):
        return FALSE
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
