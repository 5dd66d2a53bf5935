"""What a learner's parameters may be: one table per learner, checked before anything is learned."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal

from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import near_names
from rulekit.tables.table import parse_memory


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
    words = f"a whole number from {least} to {most:,}"
    return Allowed(lambda value: is_whole(value) and least <= value <= most, words, optional)


def number(least: float, *, optional: bool = False) -> Allowed:
    """A number (no bool) from `least` to MOST."""
    words = f"a number from {least:g} to {MOST:,}"
    return Allowed(lambda value: is_number(value) and least <= value <= MOST, words, optional)


def one_of(*words: str) -> Allowed:
    """One of some words."""
    return Allowed(lambda value: isinstance(value, str) and value in words, f"one of {', '.join(map(repr, words))}")


def or_automatic(allowed: Allowed) -> Allowed:
    """The word "auto", or what else is allowed."""
    automatic = one_of("auto").holds
    return Allowed(
        lambda value: automatic(value) or allowed.holds(value), f"'auto', or {allowed.words}", allowed.optional
    )


def words_or_list(*words: str) -> Allowed:
    """One of some words, or a list of other texts."""
    said = f"{', '.join(map(repr, words))} or a list of rule ids"
    return Allowed(lambda value: value in words if isinstance(value, str) else _are_texts(value), said)


def is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_text, value))


def _mapping(of: Callable[[Any], bool], key: Callable[[Any], bool] = lambda key: True) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(of, value.values()))


def _any(*tests: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(test(value) for test in tests)


def _is_cost(value: Any) -> bool:
    prices = list(value.values()) if isinstance(value, Mapping) else value
    prices = prices.tolist() if hasattr(prices, "tolist") else prices
    if not isinstance(prices, list | tuple) or not prices:
        return False
    cells = [cell for row in prices for cell in (row if isinstance(row, list | tuple) else [row])]
    return all(is_number(cell) and 0 <= cell <= MOST for cell in cells)


def _is_memory(value: Any) -> bool:
    if not isinstance(value, str) and (not is_number(value) or value <= 0):
        return False
    try:
        return parse_memory(value) > 0
    except InputError:
        return False


_WEIGHTS = _mapping(lambda weight: is_number(weight) and weight > 0)

ANY = Allowed(lambda value: True, "a class", optional=True)
RANKS = Allowed(
    lambda value: hasattr(value, "__array__") or (isinstance(value, Sequence) and not isinstance(value, str | bytes)),
    "a list of the classes, low to high",
    optional=True,
)
WEIGHTS = Allowed(
    _any(one_of("balanced").holds, _WEIGHTS), "'balanced', or a mapping of classes to numbers above 0", optional=True
)
WORDS_BY_COLUMN = Allowed(_mapping(_is_text, _is_text), "a mapping of column names to words", optional=True)
TOKENS = Allowed(
    _any(_are_texts, _mapping(_are_texts, _is_text)),
    "a list of texts, or a mapping of column names to such lists",
    optional=True,
)
VERBOSE = Allowed(lambda value: isinstance(value, bool) or (is_whole(value) and 0 <= value <= 1), "0 or 1")
COST = Allowed(
    _any(_is_text, _is_cost),
    "'FP:FN' or such a pair, a mapping of classes to costs, or a matrix of costs",
    optional=True,
)
RULES = Allowed(lambda value: isinstance(value, RuleGraph), "a RuleGraph", optional=True)
TEXT = Allowed(lambda value: isinstance(value, str) and value != "", "text", optional=True)
SEED = Allowed(
    lambda value: (is_whole(value) and 0 <= value < 2**32) or hasattr(value, "randint"),
    "a whole number from 0 to 4294967295 or a numpy RandomState",
    optional=True,
)
MEMORY = Allowed(_is_memory, "bytes, or an amount such as 500MB", optional=True)
CALLABLE = Allowed(callable, "something to call", optional=True)
TRUTH = Allowed(lambda value: isinstance(value, bool), "True or False")
POINTS = Allowed(_any(TRUTH.holds, whole(1, 1000).holds), f"True, False, or {whole(1, 1000).words}")
TEXTS = Allowed(_are_texts, "a list of texts", optional=True)
GROUPS = Allowed(
    lambda value: isinstance(value, list | tuple) and all(map(_any(_is_text, _are_texts), value)),
    "a list of groups of columns, each a list or a text with commas",
    optional=True,
)
DIRECTED = Allowed(
    _mapping(one_of("increasing", "decreasing").holds),
    "a mapping of columns to 'increasing' or 'decreasing'",
    optional=True,
)


def setting(default: Any, allowed: Allowed, help: str) -> Any:
    """A field of a dataclass of settings: its default, the values that are allowed, and one line of help."""
    return field(default=default, metadata={"allowed": allowed, "help": help})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a learner as its help and its errors describe it; group: the one that holds it, if any."""

    name: str
    default: Any
    allowed: Allowed
    help: str
    group: str = ""


def groups_of(settings: type) -> dict[str, type]:
    """The groups of shared parameters that a dataclass of settings derives from, by name."""
    return {vars(base)["group"]: base for base in reversed(settings.__mro__) if "group" in vars(base)}


def parameters_of(settings: type) -> dict[str, Parameter]:
    """The parameters that a dataclass of settings declares, by name; its own come first, then those that it shares."""
    group_of = {item.name: group for group, base in groups_of(settings).items() for item in fields(base)}
    own = list(inspect.get_annotations(settings))
    place = {name: i - len(own) for i, name in enumerate(own)}
    declared = sorted(fields(settings), key=lambda item: place.get(item.name, 0))
    for item in declared:
        if item.default is MISSING or "allowed" not in item.metadata:
            raise TypeError(f"{settings.__name__}.{item.name} is not made by setting()")
    return {
        item.name: Parameter(
            item.name, item.default, item.metadata["allowed"], item.metadata["help"], group_of.get(item.name, "")
        )
        for item in declared
    }


def check_parameters(learner: str, values: Mapping[str, Any], table: Mapping[str, Parameter]) -> None:
    """Raises InputError that names the first parameter whose value the table does not allow, and what it does."""
    for name, parameter in table.items():
        value, allowed = values[name], parameter.allowed
        if value is None and allowed.optional:
            continue
        if value is None or not allowed.holds(value):
            none = "None, or " if allowed.optional else ""
            raise InputError(f"{name} is {_shown(value)}", where=learner, fix=f"{none}{allowed.words}", field=name)


def within_group(learner: str, group: str, kind: type, value: Any) -> dict[str, Any]:
    """What a group of parameters sets, by name: an instance of its dataclass, a mapping, or None.

    Raises InputError for anything else, and for a name that is none of the group.
    """
    known = {item.name: item.default for item in fields(kind)}
    if isinstance(value, kind):
        return {name: own for name, default in known.items() if (own := getattr(value, name)) is not default}
    if value is not None and not isinstance(value, Mapping):
        fix = f"None, {kind.__name__}(...), or a mapping of {', '.join(known)}"
        raise InputError(f"{group} is {_shown(value)}", where=learner, fix=fix, field=group)
    for name in value or ():
        if name not in known:
            near = near_names(str(name), list(known))
            fix = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
            raise InputError(f"{group} has no parameter {name!r}", where=learner, fix=fix, field=group)
    return dict(value or {})


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def value_for(parameter: Parameter | None, text: str) -> Any:
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


@dataclass(frozen=True)
class ReadingSettings:
    """How columns are read; named as in rulekit.tables.options.ReadingOptions."""

    group = "reading"

    types: Mapping[str, str] | None = setting(
        None, WORDS_BY_COLUMN, "column to its kind: numeric, categorical, date, ordered:LOW,...,HIGH, ignore"
    )
    missing: Sequence[str] | Mapping[str, Sequence[str]] | None = setting(
        None, TOKENS, "cells that mean missing: '?' or 'COLUMN=?', or column to such cells"
    )
    units: Mapping[str, str] | None = setting(None, WORDS_BY_COLUMN, "column to the unit of its numbers: EUR, %")
    roles: Mapping[str, str] | None = setting(
        None, WORDS_BY_COLUMN, "column to use, audit (kept for reports) or forbidden: in no rule"
    )
    unseen: Mapping[str, str] | None = setting(
        None, WORDS_BY_COLUMN, "column to what a level that training never saw is: unseen, missing or error"
    )
    precision: Mapping[str, str] | None = setting(
        None, WORDS_BY_COLUMN, "column to float32 or float64, the width in which it is compared"
    )


@dataclass(frozen=True)
class LabelSettings:
    """What the classes are, and what an error costs."""

    group = "labels"

    target: str | None = setting(None, TEXT, "name of the label in rules and files (None: that of y, or target)")
    positive: Any = setting(None, ANY, "the positive one of two classes (None: the rarer; of equals the second)")
    default: Any = setting(
        None, ANY, "of more than two classes the one that is decided where no rule speaks (None: the most frequent)"
    )
    ordered: Sequence[Any] | None = setting(None, RANKS, "the classes as ranks, low to high")
    cost: Any = setting(
        None, COST, "of errors: 'FP:FN', class to the cost of an error on its rows, or a matrix (true class, decided)"
    )


@dataclass(frozen=True)
class LimitSettings:
    """How large the model may be."""

    group = "limits"

    max_features: int | None = setting(None, whole(1, optional=True), "most distinct columns of the whole model")
    max_clauses: int | None = setting(None, whole(1, optional=True), "most rules of a class")
    max_literals: int | None = setting(None, whole(1, optional=True), "most literals of a class")
    max_total_clauses: int | None = setting(None, whole(1, optional=True), "most rules of the whole model")
    max_total_literals: int | None = setting(None, whole(1, optional=True), "most literals of the whole model")


@dataclass(frozen=True)
class PromiseSettings:
    """What the model promises to decide."""

    group = "promises"

    monotone: Mapping[str, str] | None = setting(
        None, DIRECTED, "column to increasing or decreasing: the decision for the positive class may go that way only"
    )
    forbid: Sequence[Any] | None = setting(None, GROUPS, "groups of columns; no rule reads two of one group")
    require: Sequence[str] | None = setting(None, TEXTS, "decisions to keep to, each as in `amount > 9000 -> yes`")
    missing_never_helps: bool = setting(False, TRUTH, "no rule is satisfied by a missing value or a level never seen")


@dataclass(frozen=True)
class RunSettings:
    """What the work may take, and what is seen of it; the model depends on `time_limit` alone."""

    group = "run"

    n_threads: int | None = setting(None, whole(1, optional=True), "cores to work on; the model does not depend on it")
    memory: int | str | None = setting(
        None, MEMORY, "most memory of the whole process, as 500MB; the columns are then kept on disk"
    )
    time_limit: float | None = setting(
        None, number(0, optional=True), "seconds; then the best model that could be checked is kept"
    )
    verbose: bool | int = setting(0, VERBOSE, "1: a bar while it learns, in a notebook or on a terminal")
    callback: Callable[[Mapping[str, Any]], object] | None = setting(
        None, CALLABLE, "called after each unit and fold with a mapping; a true answer cancels"
    )


def bins(default: int | None) -> Any:
    """The parameter max_bins: a learner that compares many sets of conditions, or whose cells grow, takes fewer."""
    return setting(default, whole(2, optional=True), "bins of a numeric column (None: one for each value)")


@dataclass(frozen=True)
class Settings(RunSettings, PromiseSettings, LabelSettings, ReadingSettings):
    """What every learner takes."""

    max_bins: Any = bins(255)
    min_level_rows: float | None = setting(
        None, number(0, optional=True), "rarer levels are one bin (None: 10 rows, or a hundredth of them, but 2)"
    )
    class_weight: Mapping[Any, float] | str | None = setting(None, WEIGHTS, "class to weight, or balanced")
    random_state: Any = setting(None, SEED, "seed of every random choice")


@dataclass(frozen=True)
class SizeSettings(Settings, LimitSettings):
    """How the size of the model is chosen."""

    stopping: Literal["cv", "none"] = setting(
        "cv", one_of("cv", "none"), "what chooses the size: cross-validation (cv), or the learner alone (none)"
    )
    n_folds: int = setting(5, whole(2), "folds of the cross-validation that chooses the size, inside the training rows")
    parsimony: float = setting(
        0.0, number(0), "standard errors by which a smaller model may be worse; 1: the smallest within one of the best"
    )
    size: int | None = setting(
        None, whole(1, optional=True), "row of the ladder: at most so many units a class (None: as stopping says)"
    )


@dataclass(frozen=True)
class PointSettings(SizeSettings):
    """Whether sums are of whole points."""

    points: bool | int = setting(
        False, POINTS, "whole points in sums: the largest in size (True: 10; False: weights as learned)"
    )


@dataclass(frozen=True)
class StartSettings(SizeSettings):
    """Which rules learning goes on from."""

    start: RuleGraph | None = setting(
        None, RULES, "a RuleGraph to start from, learned elsewhere or written by an expert"
    )
    freeze: str | Sequence[str] = setting(
        "all", words_or_list("all", "none"), "which of its rules stay as they are: all, none, or their ids"
    )
