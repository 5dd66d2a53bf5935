"""Quantified sentences read off Boolean rules: `exists x: P0(x) and R0(x, a)` of a rule that writes out its objects.

A sentence is derived from the rule itself and compared with it on all truth values, so a file cannot claim a wrong one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache, reduce
from itertools import product
from operator import and_, or_

from rulekit.graph.language.sentences import Sentence, atom, negation, variables
from rulekit.graph.nodes import And, Compare, Constant, IsTrue, Node, Not, Or
from rulekit.graph.traversal import topological
from rulekit.schema import Schema

Fact = tuple[str, tuple[str, ...]]
Literal = tuple[Fact, bool]
Terms = frozenset[frozenset[Literal]]
"""A disjunction of conjunctions of facts and their contraries."""

_MOST_TERMS, _MOST_NODES, _MOST_FACTS, _MOST_TRIES = 512, 4096, 16, 400
_MOST_PRODUCTS = 4096
"""Pairs of terms that are joined for one rule."""
_MOST_LITERALS, _MOST_VARIABLES = 4, 3
_ALWAYS: Terms = frozenset([frozenset()])
_NEVER: Terms = frozenset()


def sentence_of(node: Node, schema: Schema) -> Sentence | None:
    """The sentence with quantifiers that says the same as a Boolean rule about objects; None where none is found.

    Sentences are conjunctions of at most four literals behind at most three `exists`, and their contraries (`forall`).
    """
    return _found(node, schema) if schema.atoms and isinstance(node, And | Or | Not) else None


@lru_cache(maxsize=1024)
def _found(node: Node, schema: Schema) -> Sentence | None:
    objects = tuple(sorted({each for _, named in schema.atoms.values() for each in named}))
    for sign in (True, False):
        terms = _terms(node, sign, schema)
        found = None if terms is None else _generalised(terms, objects, set(schema.atoms.values()))
        if found is not None:
            return found if sign else _contrary(found)
    return None


def _contrary(found: Sentence) -> Sentence:
    if found.word == "exists":
        return Sentence("forall", found.name, parts=(_contrary(found.parts[0]),))
    if found.word == "and":
        return Sentence("or", parts=tuple(negation(part) for part in found.parts))
    return negation(found)


def _generalised(terms: Terms, objects: tuple[str, ...], facts: set[Fact]) -> Sentence | None:
    """Of each term, with variables in some of its places, the first sentence that says the same as all terms."""
    wanted, tried = None, set[Terms]()
    names = variables(objects)[:_MOST_VARIABLES]
    for term in sorted(terms, key=lambda each: (len(each), sorted(each))) if len(terms) > 1 else ():
        for literals in _with_variables(sorted(term), names) if len(term) <= _MOST_LITERALS else ():
            used = [name for name in names if any(name in places for (_, places), _ in literals)]
            if len(objects) ** len(used) > _MOST_TERMS:
                continue
            whole = frozenset(_instances(literals, used, objects, facts))
            if whole in tried:
                continue
            tried.add(whole)
            wanted = wanted or _values(terms)
            if _values(whole) == wanted:
                return _written(literals, used)
            if len(tried) == _MOST_TRIES:
                return None
    return None


def _with_variables(term: list[Literal], names: list[str]) -> Iterator[list[Literal]]:
    """A term with one or more variables in place of objects; a variable stands for one object."""
    objects = [each for (_, places), _ in term for each in places]
    for count in range(1, len(names) + 1):
        for chosen in product([None, *names[:count]], repeat=len(objects)):
            named = {name: {each for each, own in zip(objects, chosen, strict=True) if own == name} for name in names}
            if all(len(named[name]) == (name in names[:count]) for name in names):
                left = iter(each if own is None else own for each, own in zip(objects, chosen, strict=True))
                yield [((name, tuple(next(left) for _ in places)), sign) for (name, places), sign in term]


def _instances(
    literals: Collection[Literal], used: list[str], objects: tuple[str, ...], facts: set[Fact]
) -> Iterator[frozenset[Literal]]:
    """The term about each choice of objects; an atom without a column is false."""
    for chosen in product(objects, repeat=len(used)):
        put = dict(zip(used, chosen, strict=True))
        made = [((name, tuple(put.get(each, each) for each in places)), sign) for (name, places), sign in literals]
        if not any(sign for fact, sign in made if fact not in facts):
            yield frozenset(literal for literal in made if literal[0] in facts)


def _written(literals: Collection[Literal], used: list[str]) -> Sentence:
    signed = ((atom(name, *places), sign) for (name, places), sign in literals)
    parts = tuple(sorted((each if sign else negation(each) for each, sign in signed), key=str))
    found = parts[0] if len(parts) == 1 else Sentence("and", parts=parts)
    for name in reversed(used):
        found = Sentence("exists", name, parts=(found,))
    return found


def _values(terms: Terms) -> tuple[frozenset[Fact], int] | Terms:
    """Equal for equal meanings: the truth values of a disjunction by those of its facts; of many facts its terms."""
    terms = frozenset(
        term for term in _without_longer(terms) if not any((fact, not sign) in term for fact, sign in term)
    )
    facts = sorted({fact for term in terms for fact, _ in term})
    if len(facts) > _MOST_FACTS:
        return terms
    rows = 1 << len(facts)
    everywhere = (1 << rows) - 1
    held = {}
    for k, fact in enumerate(
        facts
    ):  # the rows in which fact k is true: 2^k rows without it, as many with it, and so on
        period = (1 << (2 << k)) - 1
        held[fact] = everywhere // period * (((1 << (1 << k)) - 1) << (1 << k))
    parts = (
        reduce(and_, (held[fact] if sign else everywhere ^ held[fact] for fact, sign in term), everywhere)
        for term in terms
    )
    return frozenset(facts), reduce(or_, parts, 0)


def _without_longer(terms: Collection[frozenset[Literal]]) -> Terms:
    """Without the terms that hold only where a shorter one does."""
    kept: list[frozenset[Literal]] = []
    for term in sorted(terms, key=len):
        if not any(short <= term for short in kept):
            kept.append(term)
    return frozenset(kept)


def _terms(top: Node, sign: bool, schema: Schema) -> Terms | None:
    """A Boolean formula over atoms, or its contrary, as terms; None where it is another formula or a long one."""
    order = topological([top])
    if len(order) > _MOST_NODES:
        return None
    found: dict[tuple[Node, bool], Terms | None] = {}
    left = _MOST_PRODUCTS
    for node in order:
        for own in (True, False):
            if isinstance(node, And if own else Or):
                size = 1
                for child in node.children:
                    size = min(size * max(1, len(found[child, own] or ())), _MOST_TERMS)
                left -= size if size > 1 else 0
            found[node, own] = _terms_of(node, own, schema, found) if left >= 0 else None
    return found[top, sign]


def _terms_of(node: Node, sign: bool, schema: Schema, found: dict[tuple[Node, bool], Terms | None]) -> Terms | None:
    if isinstance(node, Constant):
        return _ALWAYS if node.value == sign else _NEVER
    if isinstance(node, Not):
        return found[node.child, not sign]
    if isinstance(node, IsTrue | Compare):
        fact = schema.atoms.get(node.feature)
        above = isinstance(node, IsTrue) or node.op == ">"
        plain = node.missing != above and (isinstance(node, IsTrue) or 0.0 <= node.value < 1.0)
        return frozenset([frozenset([(fact, above == sign)])]) if fact and plain else None
    parts = [found[child, sign] for child in node.children]
    if not isinstance(node, And | Or) or any(part is None for part in parts):
        return None
    if isinstance(node, Or) == sign:
        joined = frozenset[frozenset[Literal]]().union(*(part for part in parts if part is not None))
        return joined if len(joined) <= _MOST_TERMS else None
    terms = _ALWAYS
    for part in parts:
        if part is None or len(part) * len(terms) > _MOST_TERMS:
            return None
        terms = _without_longer([one | other for one in terms for other in part])
        if len(terms) > _MOST_TERMS:
            return None
    return terms
