"""Sentences of first-order logic about the objects of a structure: `exists x: P0(x) and R0(x, a)`.

A name that no quantifier binds is a constant: it names one object. Two constants never name the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from rulekit.errors import FormatError

MAX_CHARACTERS = 4000
MAX_DEPTH = 100

_GRAMMAR = r"""
?start: either
?either: both ("or" both)*
?both: plain ("and" plain)*
?plain: "not" plain -> negation
      | QUANTIFIER NAME ("," NAME)* ":" either -> quantified
      | "(" either ")"
      | "true" -> always
      | "false" -> never
      | NAME "(" NAME ("," NAME)* ")" -> atom
      | NAME "=" NAME -> same
      | NAME "!=" NAME -> different
QUANTIFIER.2: /(exists|forall)\b/
NAME: /[A-Za-z0-9_]+/
%ignore /\s+/
"""

Word = Literal["atom", "same", "not", "and", "or", "exists", "forall"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A formula. name: the predicate of an atom, or the variable of a quantifier; terms: what an atom speaks of."""

    word: Word
    name: str = ""
    terms: tuple[str, ...] = ()
    parts: tuple[Sentence, ...] = ()

    def __str__(self) -> str:
        return _text(self)

    @property
    def free(self) -> tuple[str, ...]:
        """The names that no quantifier binds, sorted: the constants of a closed formula."""
        return tuple(sorted(set(_free(self, frozenset()))))

    @property
    def depth(self) -> int:
        """The deepest nesting of its quantifiers."""
        inside = max((part.depth for part in self.parts), default=0)
        return inside + (self.word in ("exists", "forall"))

    def atoms(self) -> Iterator[Sentence]:
        """Its atoms from left to right, one for each place where one stands."""
        if self.word == "atom":
            yield self
        for part in self.parts:
            yield from part.atoms()

    def put(self, names: Mapping[str, str]) -> Sentence:
        """The formula with other names in place of free ones; a bound variable keeps its name."""
        inside = {old: new for old, new in names.items() if old != self.name or self.word == "atom"}
        if not inside:
            return self
        terms = tuple(inside.get(term, term) for term in self.terms)
        return Sentence(self.word, self.name, terms, tuple(part.put(inside) for part in self.parts))


TRUE, FALSE = Sentence("and"), Sentence("or")


def atom(name: str, *terms: str) -> Sentence:
    """A property of one object or a relation of several."""
    return Sentence("atom", name, terms)


def negation(part: Sentence) -> Sentence:
    """What is true where the part is not."""
    return part.parts[0] if part.word == "not" else Sentence("not", parts=(part,))


def variables(objects: Collection[str]) -> list[str]:
    """Names for variables that no object has: x, y, z, x3, x4 and so on, at least ten of them."""
    names = ["x", "y", "z", *(f"x{k}" for k in range(3, 10 + len(objects)))]
    return [name for name in names if name not in objects]


def _free(formula: Sentence, bound: frozenset[str]) -> Iterator[str]:
    yield from (term for term in formula.terms if term not in bound)
    inside = bound | {formula.name} if formula.word in ("exists", "forall") else bound
    for part in formula.parts:
        yield from _free(part, inside)


def _text(formula: Sentence) -> str:
    word, parts = formula.word, formula.parts
    if word == "atom":
        return f"{formula.name}({', '.join(formula.terms)})" if formula.terms else formula.name
    if word == "same":
        return " = ".join(formula.terms)
    if word == "not":
        return " != ".join(parts[0].terms) if parts[0].word == "same" else f"not {_inside(parts[0])}"
    if word in ("exists", "forall"):
        names = [formula.name]
        while parts[0].word == word:
            names.append(parts[0].name)
            parts = parts[0].parts
        return f"{word} {', '.join(names)}: {_text(parts[0])}"
    if not parts:
        return "true" if word == "and" else "false"
    return f" {word} ".join(_inside(part) for part in parts)


def _inside(part: Sentence) -> str:
    bare = part.word in ("atom", "same", "not") or (part.word in ("and", "or") and not part.parts)
    return _text(part) if bare else f"({_text(part)})"


@lru_cache(maxsize=1)
def _parser() -> Callable[[str], Any]:
    from lark import Lark

    parse: Callable[[str], Any] = Lark(_GRAMMAR, parser="lalr").parse
    return parse


def sentence(text: str) -> Sentence:
    """The sentence that a text says; raises FormatError where the text is none or is too long."""
    from lark.exceptions import UnexpectedInput

    if len(text) > MAX_CHARACTERS:
        raise FormatError(f"a sentence of {len(text):,} characters", fix=f"write at most {MAX_CHARACTERS:,}")
    try:
        tree = _parser()(text)
    except UnexpectedInput as error:
        where = f"column {error.column}" if error.column and error.column > 0 else "its end"
        raise FormatError(
            f"{text!r} is no sentence: it cannot be read at {where}", fix="write as in exists x: P0(x) and R0(x, a)"
        ) from None
    found = _read(tree, 0)
    places: dict[str, int] = {}
    for part in found.atoms():
        if places.setdefault(part.name, len(part.terms)) != len(part.terms):
            raise FormatError(
                f"{part.name} stands with different numbers of names", fix="give it the same number everywhere"
            )
    return found


def _read(tree: Any, depth: int) -> Sentence:
    if depth > MAX_DEPTH:
        raise FormatError(f"a sentence nests deeper than {MAX_DEPTH} levels", fix="write a shorter one")
    kind, children = str(tree.data), tree.children
    if kind in ("always", "never"):
        return TRUE if kind == "always" else FALSE
    if kind in ("atom", "same", "different"):
        names = tuple(str(child) for child in children)
        if kind == "atom":
            return Sentence("atom", names[0], names[1:])
        same = Sentence("same", terms=names)
        return same if kind == "same" else negation(same)
    if kind == "quantified":
        word, *names, body = children
        found = _read(body, depth + 1)
        for name in reversed(names):
            found = Sentence("exists" if word == "exists" else "forall", str(name), parts=(found,))
        return found
    parts = tuple(_read(child, depth + 1) for child in children)
    return negation(parts[0]) if kind == "negation" else Sentence("and" if kind == "both" else "or", parts=parts)
