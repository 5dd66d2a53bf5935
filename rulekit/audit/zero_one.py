"""The zero-one law: the truth of a sentence on random structures tends to 0 or to 1 as they grow (docs/gramression.md).

Atoms are true independently of each other with a fixed probability between 0 and 1. Then each type of a new object over
a few known ones is found in nearly every large structure, so that a sentence is decided by playing its quantifiers
(Kun, "Zero-One Laws for Random Graphs", theorem of first-order logic). With constants it tends to a ground sentence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from rulekit.graph.evaluation.structures import ANY_RELATIONS, Relations, random_structures, unpacked
from rulekit.graph.language.sentences import FALSE, TRUE, Sentence, atom, negation, sentence_of
from rulekit.graph.language.words import percent
from rulekit.graph.rules import rules_of
from rulekit.limits import NO_LIMIT, Deadline

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph

MOST_STEPS = 200_000
_MOST_DIAGRAMS = 12
_MOST_PLACES = 2**17
_QUANTIFIERS = ("exists", "forall")

Fact = tuple[str, tuple[int, ...]]


class _Undecided(Exception):  # noqa: N818 - a signal, not an error
    pass


@dataclass(frozen=True, slots=True)
class Limit:
    """Where the truth of a sentence tends as structures grow.

    outcome: "0", "1", "ground" (it tends to `tends_to`, a sentence about constants alone) or "undecided" (the search
    was longer than its bound).
    """

    outcome: Literal["0", "1", "ground", "undecided"]
    tends_to: Sentence | None = None

    @property
    def text(self) -> str:
        """The limit in words."""
        if self.outcome == "undecided":
            return "undecided: the sentence is too long for the search"
        return f"tends to {self.tends_to if self.outcome == 'ground' else self.outcome}"


def limit_of(sentence: Sentence, relations: Relations = ANY_RELATIONS, most_steps: int = MOST_STEPS) -> Limit:
    """The limit of a sentence's truth, for every fixed probability of its atoms between 0 and 1.

    most_steps: the bound of the search, in subformulas that are looked at.
    """
    game = _Game(relations, most_steps)
    constants = {name: place for place, name in enumerate(sentence.free)}
    try:
        facts = game.facts(sentence, constants, range(len(constants)), None)
        if len(facts) > _MOST_DIAGRAMS:
            raise _Undecided
        truths = [
            game.holds(sentence, constants, len(constants), dict(zip(facts, values, strict=True)))
            for values in product((False, True), repeat=len(facts))
        ]
    except _Undecided:
        return Limit("undecided")
    if len(set(truths)) == 1:
        return Limit("1" if truths[0] else "0")
    names = list(constants)
    atoms = [atom(name, *(names[place] for place in places)) for name, places in facts]
    return Limit("ground", _formula(atoms, np.array(truths).reshape((2,) * len(atoms))))


def _formula(atoms: list[Sentence], table: npt.NDArray[np.bool_]) -> Sentence:
    """A ground sentence with a truth table [2, ..., 2], an axis for each atom."""
    if table.all() or not table.any():
        return TRUE if table.all() else FALSE
    first, *rest = atoms
    without, beside = _formula(rest, table[0]), _formula(rest, table[1])
    if without == beside:
        return without
    if TRUE in (without, beside):
        return _joined("or", first, without) if beside == TRUE else _joined("or", negation(first), beside)
    if FALSE in (without, beside):
        return _joined("and", negation(first), without) if beside == FALSE else _joined("and", first, beside)
    return _joined("or", _joined("and", first, beside), _joined("and", negation(first), without))


def _joined(word: Literal["and", "or"], *parts: Sentence) -> Sentence:
    """The conjunction or disjunction; parts of the same kind are opened, so that true and false vanish."""
    flat = [inner for part in parts for inner in (part.parts if part.word == word else (part,))]
    return flat[0] if len(flat) == 1 else Sentence(word, parts=tuple(flat))


class _Game:
    """Plays the quantifiers of a sentence on the generic structure.

    A new object has any facts beside the objects that were named before, and these are fixed when it is named: fixing
    them later would swap quantifiers.
    """

    def __init__(self, relations: Relations, most: int) -> None:
        self.relations, self.left = relations, most

    def fact(self, name: str, places: tuple[int, ...]) -> Fact | None:
        """The fact that an atom speaks of; None where it is false in every structure."""
        if name in self.relations.irreflexive and len(set(places)) < len(places):
            return None
        return name, tuple(sorted(places)) if name in self.relations.symmetric else places

    def facts(self, formula: Sentence, named: Mapping[str, int], objects: range, new: int | None) -> list[Fact]:
        """The facts about the new object (None: about any) that the formula can ask, whatever its variables name."""
        return sorted({fact for fact in self._asked(formula, named, objects) if new is None or new in fact[1]})

    def _asked(self, formula: Sentence, named: Mapping[str, int], objects: range) -> Iterator[Fact]:
        if formula.word == "atom":
            places = [[named[term]] if term in named else objects for term in formula.terms]
            for chosen in product(*places):
                fact = self.fact(formula.name, chosen)
                if fact is not None:
                    yield fact
        inside = {
            name: place for name, place in named.items() if not (formula.word in _QUANTIFIERS and name == formula.name)
        }
        for part in formula.parts:
            yield from self._asked(part, inside, objects)

    def holds(self, formula: Sentence, named: Mapping[str, int], n: int, known: Mapping[Fact, bool]) -> bool:
        """Whether a formula is true where names stand for some of the n objects with these facts."""
        self.left -= 1
        if self.left < 0:
            raise _Undecided
        word, parts = formula.word, formula.parts
        if word == "atom":
            fact = self.fact(formula.name, tuple(named[term] for term in formula.terms))
            return fact is not None and known[fact]
        if word == "same":
            return named[formula.terms[0]] == named[formula.terms[1]]
        if word == "not":
            return not self.holds(parts[0], named, n, known)
        if word in ("and", "or"):
            return (all if word == "and" else any)(self.holds(part, named, n, known) for part in parts)
        cases = (self.holds(parts[0], *case) for case in self._cases(formula, named, n, known))
        return (any if word == "exists" else all)(cases)

    def _cases(
        self, formula: Sentence, named: Mapping[str, int], n: int, known: Mapping[Fact, bool]
    ) -> Iterator[tuple[Mapping[str, int], int, Mapping[Fact, bool]]]:
        """What a variable may name: an object that is named already, or a new one with any facts."""
        for place in range(n):
            yield {**named, formula.name: place}, n, known
        inside = {**named, formula.name: n}
        facts = self.facts(formula.parts[0], inside, range(n + 1), n)
        if 2 ** len(facts) > self.left:
            raise _Undecided
        for values in product((False, True), repeat=len(facts)):
            yield inside, n + 1, {**known, **dict(zip(facts, values, strict=True))}


def frequencies(
    sentence: Sentence,
    sizes: Collection[int],
    n: int = 1024,
    *,
    p: float = 0.5,
    seed: int = 0,
    relations: Relations = ANY_RELATIONS,
) -> list[float]:
    """How often a sentence is true on n random structures of each size, atoms true with probability p."""
    arities = {part.name: len(part.terms) for part in sentence.atoms()}
    found = []
    for size in sizes:
        objects = (*sentence.free, *(f"#{place}" for place in range(size - len(sentence.free))))
        drawn = random_structures(arities, objects, n, p=p, seed=seed, relations=relations)
        found.append(float(unpacked(drawn.holds(sentence), n).mean()))
    return found


@dataclass(frozen=True, slots=True)
class Tendency:
    """Where the truth of a sentence tends; rule: the id of the rule that says it, "" of none.

    sizes: numbers of objects; shares: of random structures of each size, atoms true with probability 1/2, on which it
    is true.
    """

    sentence: Sentence
    limit: Limit
    sizes: tuple[int, ...]
    shares: tuple[float, ...]
    rule: str = ""

    @classmethod
    def of(cls, sentence: Sentence, objects: int = 3, rule: str = "", relations: Relations = ANY_RELATIONS) -> Tendency:
        """The tendency of a sentence, and its frequencies at 1, 4 and 16 times a number of objects."""
        places = max((len(part.terms) for part in sentence.atoms()), default=0)
        wide = max(sentence.depth, places)
        sizes = tuple(k * objects for k in (1, 4, 16) if (k * objects) ** wide <= _MOST_PLACES)
        shares = [
            frequencies(sentence, [size], min(1024, _MOST_PLACES // size**places), relations=relations)[0]
            for size in sizes
        ]
        return cls(sentence, limit_of(sentence, relations), sizes, tuple(shares), rule)

    @property
    def text(self) -> str:
        """The rule, its limit and the frequencies in one sentence."""
        found = [f"{percent(share)} of {size} objects" for share, size in zip(self.shares, self.sizes, strict=True)]
        where = f"; random structures: true on {', '.join(found)}" if found else ""
        return f"{self.rule} {self.limit.text} as objects are added: {self.sentence}{where}".lstrip()

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        said = {"sentence": str(self.sentence), "outcome": self.limit.outcome, "sizes": list(self.sizes)}
        return {**said, "shares": list(self.shares), "tends_to": str(self.limit.tends_to or "")}


def tendencies(graph: RuleGraph, deadline: Deadline = NO_LIMIT) -> Iterator[Tendency]:
    """The tendency of each rule of a model that says a sentence with quantifiers, until the deadline."""
    objects = {each for _, named in graph.schema.atoms.values() for each in named}
    for rule in {rule.id: rule for rule in rules_of(graph.underlying)}.values():
        if deadline.over:
            return
        found = sentence_of(rule.node, graph.schema) if graph.schema.atoms else None
        if found is not None:
            yield Tendency.of(found, len(objects), rule.id)


def axiom_failure(n: int, k: int, others: int, p: float = 0.5) -> float:
    """A bound on the probability that an extension axiom fails on a random graph of n vertices.

    The axiom: for every k and `others` further vertices, some vertex is joined to the first and to none of the others.
    The exponent of p is k, and of 1 - p the number of others; the source prints k + 1 for p = 1/2, which is wrong.
    """
    if n <= k + others:
        return 1.0
    witness = p**k * (1.0 - p) ** others
    log_bound = math.log(math.comb(n, k)) + math.log(math.comb(n - k, others))
    log_bound += (n - k - others) * math.log1p(-witness)
    return math.exp(min(0.0, log_bound))
