"""What a learner's parameters may be: one table per learner, checked before anything is learned."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Any, Protocol

from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import near_names
from rulekit.tables.budget import parse_memory


@dataclass(frozen=True, slots=True)
class Allowed:
    """A test of a parameter's value, and what passes it in words; optional: None passes too."""

    holds: Callable[[Any], bool]
    words: str
    optional: bool = False


MOST = 10**9
"""No number that is a parameter is larger: of rows, units, seconds."""


def whole(least: int, most: int = MOST, *, optional: bool = False) -> Allowed:
    """A whole number (no bool) from `least` to `most`."""
    words = _range("whole number", least, most)
    return Allowed(lambda value: is_whole(value) and least <= value <= most, words, optional)


def number(least: float, *, optional: bool = False) -> Allowed:
    """A number (no bool) from `least` to MOST."""
    return Allowed(lambda value: is_number(value) and least <= value <= MOST, _range("number", least), optional)


def _range(what: str, least: float, most: int = MOST) -> str:
    return f"a {what} from {least:g} to {most:,}"


def or_automatic(allowed: Allowed) -> Allowed:
    """The word "auto", or what else is allowed."""
    return Allowed(
        lambda value: (isinstance(value, str) and value == "auto") or allowed.holds(value),
        f"'auto', or {allowed.words}",
        allowed.optional,
    )


def or_true(allowed: Allowed) -> Allowed:
    """True or False, or what else is allowed."""
    return Allowed(lambda value: isinstance(value, bool) or allowed.holds(value), f"True, False, or {allowed.words}")


def one_of(*words: str) -> Allowed:
    """One of some words."""
    return Allowed(lambda value: isinstance(value, str) and value in words, f"one of {', '.join(map(repr, words))}")


def count_or_share() -> Allowed:
    """None, a whole number from 1 on, or a float above 0 and at most 1."""

    def holds(value: Any) -> bool:
        return whole(1).holds(value) if is_whole(value) else is_number(value) and 0 < value <= 1

    return Allowed(holds, f"{whole(1).words}, or a share above 0 and at most 1.0", optional=True)


def sequence() -> Allowed:
    """None, or a sequence that is no text."""

    def holds(value: Any) -> bool:
        return hasattr(value, "__array__") or (isinstance(value, Sequence) and not isinstance(value, str | bytes))

    return Allowed(holds, "a list of the classes, low to high", optional=True)


def word_or_mapping(word: str) -> Allowed:
    """None, one word, or a mapping of classes to numbers above 0."""

    def holds(value: Any) -> bool:
        if isinstance(value, Mapping):
            return all(is_number(weight) and weight > 0 for weight in value.values())
        return isinstance(value, str) and value == word

    return Allowed(holds, f"{word!r}, or a mapping of classes to numbers above 0", optional=True)


def words_or_list(*words: str) -> Allowed:
    """One of some words, or a list of other texts."""

    def holds(value: Any) -> bool:
        if isinstance(value, str):
            return value in words
        return isinstance(value, Sequence) and all(isinstance(item, str) for item in value)

    return Allowed(holds, f"{', '.join(map(repr, words))} or a list of rule ids")


def _is_mapping_of_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(text, str) for item in value.items() for text in item)


def _are_tokens(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _are_texts(tokens) for name, tokens in value.items())
    return _are_texts(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(item, str) for item in value)


def _are_groups(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(group, str) or _are_texts(group) for group in value)


def _is_directed(value: Any) -> bool:
    return isinstance(value, Mapping) and all(way in ("increasing", "decreasing") for way in value.values())


def _is_cost(value: Any) -> bool:
    if isinstance(value, str):
        return True
    prices = list(value.values()) if isinstance(value, Mapping) else value
    if hasattr(prices, "tolist"):
        prices = prices.tolist()
    if not isinstance(prices, list | tuple) or not prices:
        return False
    cells = [cell for row in prices for cell in (row if isinstance(row, list | tuple) else [row])]
    return all(is_number(cell) and 0 <= cell <= MOST for cell in cells)


ANY = Allowed(lambda value: True, "a class", optional=True)
WORDS_BY_COLUMN = Allowed(_is_mapping_of_texts, "a mapping of column names to words", optional=True)
TOKENS = Allowed(_are_tokens, "a list of texts, or a mapping of column names to such lists", optional=True)
VERBOSE = Allowed(lambda value: isinstance(value, bool) or (is_whole(value) and 0 <= value <= 1), "0 or 1")
COST = Allowed(_is_cost, "'FP:FN' or such a pair, a mapping of classes to costs, or a matrix of costs", optional=True)
RULES = Allowed(lambda value: isinstance(value, RuleGraph), "a RuleGraph", optional=True)
TEXT = Allowed(lambda value: isinstance(value, str) and value != "", "text", optional=True)
SEED = Allowed(
    lambda value: (is_whole(value) and 0 <= value < 2**32) or hasattr(value, "randint"),
    "a whole number from 0 to 4294967295 or a numpy RandomState",
    optional=True,
)
MEMORY = Allowed(lambda value: _is_memory(value), "bytes, or an amount such as 500MB", optional=True)
CALLABLE = Allowed(callable, "something to call", optional=True)
TRUTH = Allowed(lambda value: isinstance(value, bool), "True or False")
TEXTS = Allowed(_are_texts, "a list of texts", optional=True)
GROUPS = Allowed(_are_groups, "a list of groups of columns, each a list or a text with commas", optional=True)
DIRECTED = Allowed(_is_directed, "a mapping of columns to 'increasing' or 'decreasing'", optional=True)


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_memory(value: Any) -> bool:
    if not isinstance(value, str) and (not is_number(value) or value <= 0):
        return False
    try:
        return parse_memory(value) > 0
    except InputError:
        return False


class Described(Protocol):
    """A parameter, of which is known what it may be."""

    @property
    def allowed(self) -> Allowed: ...

    @property
    def default(self) -> Any: ...


def check_parameters(learner: str, values: Mapping[str, Any], table: Mapping[str, Described]) -> None:
    """Raises InputError that names the first parameter whose value the table does not allow, and what it does."""
    for name, parameter in table.items():
        value, allowed = values[name], parameter.allowed
        if value is None and allowed.optional:
            continue
        if value is None or not allowed.holds(value):
            none = "None, or " if allowed.optional else ""
            raise InputError(f"{name} is {_shown(value)}", where=learner, fix=f"{none}{allowed.words}")


def within_group(learner: str, group: str, kind: type, value: Any) -> dict[str, Any]:
    """What a group of parameters sets, by name: an instance of its dataclass, a mapping, or None.

    Raises InputError for anything else, and for a name that is none of the group.
    """
    known = {item.name: item.default for item in fields(kind)}
    if isinstance(value, kind):
        return {name: own for name, default in known.items() if (own := getattr(value, name)) is not default}
    if value is not None and not isinstance(value, Mapping):
        fix = f"None, {kind.__name__}(...), or a mapping of {', '.join(known)}"
        raise InputError(f"{group} is {_shown(value)}", where=learner, fix=fix)
    for name in value or ():
        if name not in known:
            near = near_names(str(name), list(known))
            fix = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise InputError(f"{group} has no parameter {name!r}", where=learner, fix=fix)
    return dict(value or {})


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def value_for(parameter: Described | None, text: str) -> Any:
    """The value that a text gives a parameter: a word by default takes words, so that `stopping=none` is no null."""
    default = None if parameter is None else parameter.default
    return text if isinstance(default, str) and default != "auto" else value_of(text)


def value_of(text: str) -> Any:
    """A number, true, false, none, a JSON value, or else the text itself."""
    lowered = text.lower()
    if lowered in ("true", "false", "none", "null"):
        return {"true": True, "false": False}.get(lowered)
    try:
        return json.loads(text)
    except ValueError:
        return text
