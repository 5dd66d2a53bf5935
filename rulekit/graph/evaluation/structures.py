"""Sentences on many structures at once: 64 structures a word, an axis for each variable, quantifiers as reductions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.language.sentences import Sentence, atom

Words = npt.NDArray[np.uint64]

_ALL = np.uint64(2**64 - 1)
_MOST_WORDS = 2**21
"""Words of one intermediate array; more structures are taken in blocks."""


def packed(truth: npt.NDArray[np.bool_]) -> Words:
    """Truth values [..., structures] as words [..., structures / 64]; bits beyond the last structure are 0."""
    room = [(0, 0)] * (truth.ndim - 1) + [(0, -truth.shape[-1] % 64)]
    return np.packbits(np.pad(truth, room), axis=-1, bitorder="little").view(np.uint64)


def unpacked(words: Words, n: int) -> npt.NDArray[np.bool_]:
    """The first n truth values of words."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1, bitorder="little")[..., :n].astype(bool)


@dataclass(frozen=True, slots=True)
class Relations:
    """What holds of relations in every structure: R(y, x) where R(x, y) (symmetric), and no R(x, x) (irreflexive)."""

    symmetric: frozenset[str] = frozenset()
    irreflexive: frozenset[str] = frozenset()


ANY_RELATIONS = Relations()


def graphs(*names: str) -> Relations:
    """Relations that are the edges of graphs."""
    return Relations(frozenset(names), frozenset(names))


@dataclass(frozen=True, slots=True, eq=False)
class Structures:
    """n structures over the same objects.

    atoms: by predicate, words [objects, ..., words]: an axis for each of its places.
    """

    objects: tuple[str, ...]
    n: int
    atoms: Mapping[str, Words]

    def columns(self) -> dict[str, npt.NDArray[np.bool_]]:
        """The truth values [n] of each atom, by its name: `R0(a, b)`."""
        return {
            str(atom(name, *(self.objects[place] for place in places))): unpacked(words[places], self.n)
            for name, words in self.atoms.items()
            for places in np.ndindex(words.shape[:-1])
        }

    def holds(self, formula: Sentence) -> Words:
        """In which structures a closed formula is true: words [structures / 64].

        An atom of a predicate that the structures lack is false.
        """
        n_words = -(-self.n // 64)
        step = max(1, _MOST_WORDS // len(self.objects) ** formula.depth)
        found = np.zeros(n_words, dtype=np.uint64)
        for start in range(0, n_words, step):
            found[start : start + step] = self._values(formula, (), slice(start, start + step))
        if self.n % 64:
            found[-1] &= np.uint64((1 << self.n % 64) - 1)
        return found

    def _values(self, formula: Sentence, order: tuple[str, ...], block: slice) -> Words:
        """Words [objects or 1, ..., words]: an axis for each variable of `order`, which are bound from outside in."""
        word = formula.word
        if word in ("atom", "same"):
            places = [self._places(term, order) for term in formula.terms]
            if word == "same":
                return np.where((places[0] == places[1])[..., None], _ALL, np.uint64(0))
            known = self.atoms.get(formula.name)
            if known is None:
                return np.zeros((1,) * (len(order) + 1), dtype=np.uint64)
            index: tuple[Any, ...] = (*places, block)
            return np.asarray(known[index])
        if word in ("exists", "forall"):
            inside = self._values(formula.parts[0], (*order, formula.name), block)
            joined = np.bitwise_or if word == "exists" else np.bitwise_and
            return np.asarray(joined.reduce(inside, axis=-2))
        parts = [self._values(part, order, block) for part in formula.parts]
        if word == "not":
            return ~parts[0]
        found = np.full((1,) * (len(order) + 1), _ALL if word == "and" else np.uint64(0))
        for part in parts:
            found = found & part if word == "and" else found | part
        return found

    def _places(self, term: str, order: tuple[str, ...]) -> npt.NDArray[np.intp]:
        shape = [1] * len(order)
        bound = [axis for axis, name in enumerate(order) if name == term]
        if not bound:
            return np.full(shape, self.objects.index(term))
        shape[bound[-1]] = len(self.objects)
        return np.arange(len(self.objects)).reshape(shape)


def random_structures(
    arities: Mapping[str, int],
    objects: tuple[str, ...],
    n: int,
    *,
    p: float = 0.5,
    seed: int = 0,
    relations: Relations = ANY_RELATIONS,
) -> Structures:
    """Draw n structures whose atoms are true with probability p, independently of each other.

    arities: the number of places of each predicate.
    """
    rng, size, atoms = np.random.default_rng(seed), len(objects), {}
    for name, arity in arities.items():
        truth = rng.random((size,) * arity + (n,)) < p
        if name in relations.symmetric:
            truth = np.where(np.tri(size, dtype=bool)[..., None], truth, truth.swapaxes(0, 1))
        if name in relations.irreflexive:
            truth[np.arange(size), np.arange(size)] = False
        atoms[name] = packed(truth)
    return Structures(objects, n, atoms)
