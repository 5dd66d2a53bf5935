"""Schema: what each column of a table means to a model.

Shapes and conventions: a schema has d features in column order; arrays that follow a schema ("encoded" arrays) are
one [n] array per feature: float32 or float64 with NaN for missing (numeric, Boolean: 0, 1), int32 codes for
categories (0 missing, 1 a level never seen in training, 2.. the levels in order), sets of tokens for texts
(`rulekit.tables.token_sets`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from rulekit.errors import InputError
from rulekit.names import suggestion

Kind = Literal["numeric", "boolean", "categorical", "text"]
Precision = Literal["float32", "float64"]
Display = Literal["plain", "integer", "count", "date", "datetime", "money"]
Unseen = Literal["unseen", "missing", "error"]
Role = Literal["use", "audit", "forbidden"]
Label = str | int | float | bool
"""The name of a class."""

MISSING_CODE = 0
UNSEEN_CODE = 1
FIRST_LEVEL_CODE = 2

_ATOM = re.compile(r"([A-Za-z_]\w*)\((\w+(?:, ?\w+)*)\)", re.ASCII)
_BETWEEN_OBJECTS = re.compile(", ?")


# By field of a Feature what it may be; looked up once, since a wide table makes many.
_ALLOWED = tuple(
    (what, get_args(kind))
    for what, kind in (
        *(("kind", Kind), ("precision", Precision), ("display", Display), ("unseen", Unseen), ("role", Role)),
        ("monotone", Literal[-1, 0, 1]),
    )
)


@dataclass(frozen=True, slots=True)
class Feature:
    """One input column: its kind, how its cells are read and how its values are shown.

    Raises InputError where the fields contradict each other.

    Parameters
    ----------
    name : str
        The name of the column.
    kind : "numeric", "boolean", "categorical" or "text"
        What its cells are; dates are numeric, a text is a set of tokens (`rulekit.tokens`).
    levels : tuple of str
        The known levels of a category, in code order (the rank order if `ordered`). The vocabulary of a text: of a
        table the tokens that a rule may be learned from, of a model those that its nodes name.
    ordered : bool
        Whether the levels are ranks, from low to high.
    precision : "float32" or "float64"
        The width in which a numeric value is compared (docs/numbers.md).
    display : "plain", "integer", "count", "date", "datetime" or "money"
        How numbers are shown; a count is a whole number from 0 on, a date a number of days since 1970-01-01, a datetime
        of seconds.
    unit : str
        The unit of the numbers, where people read them: EUR, %, years.
    form : str
        A cell that shows how a file writes the numbers or dates, `1.234,50 €`; "" where it writes them plainly.
    missing_tokens : tuple of str
        Cells, beside the empty one, that mean missing.
    unseen : "unseen", "missing" or "error"
        What a level that training never saw is taken for.
    monotone : +1, -1 or 0
        The direction in which the column may move the decision; a learner honours it or refuses it by name.
    role : "use", "audit" or "forbidden"
        Audit columns are kept for reports, forbidden ones refused; a learner uses neither.
    """

    name: str
    kind: Kind = "numeric"
    levels: tuple[str, ...] = ()
    ordered: bool = False
    precision: Precision = "float32"
    display: Display = "plain"
    unit: str = ""
    form: str = ""
    missing_tokens: tuple[str, ...] = ()
    unseen: Unseen = "unseen"
    monotone: Literal[-1, 0, 1] = 0
    role: Role = "use"

    def __post_init__(self) -> None:
        for what, allowed in _ALLOWED:
            value = getattr(self, what)
            if value not in allowed:
                fix = f"one of {', '.join(map(str, allowed))}"
                raise InputError(f"{what} is {value!r}", where=f"column {self.name!r}", fix=fix)
        if len(set(self.levels)) != len(self.levels):
            raise InputError("a level is listed twice", where=f"column {self.name!r}")
        if self.levels and not self.has_text_cells:
            raise InputError(f"a {self.kind} column has no levels", where=f"column {self.name!r}")
        if self.form and self.kind != "numeric":
            raise InputError(f"a {self.kind} column has no form of numbers", where=f"column {self.name!r}")

    @property
    def has_text_cells(self) -> bool:
        """Whether the cells are texts as they are written, such as `007`: of categories and texts."""
        return self.kind in ("categorical", "text")

    @property
    def reads_text(self) -> bool:
        """Whether a reader must keep the cells as they are written: of categories, texts and numbers in a form."""
        return self.has_text_cells or bool(self.form)

    @property
    def atom(self) -> tuple[str, tuple[str, ...]] | None:
        """Of a column that is named as an atom of a structure, `R0(a, b)`, and holds 0 and 1: predicate and objects."""
        found = _ATOM.fullmatch(self.name) if self.kind in ("boolean", "numeric") else None
        return found and (found[1], tuple(_BETWEEN_OBJECTS.split(found[2])))

    @property
    def dated(self) -> bool:
        """Whether the numbers of a column are shown as dates."""
        return self.kind == "numeric" and self.display in ("date", "datetime")

    @property
    def missing_numbers(self) -> tuple[float, ...]:
        """The numbers that the missing tokens of a numeric or Boolean column write, such as -999."""
        found: dict[float, None] = {}
        for token in self.missing_tokens:
            with suppress(ValueError):
                found[float(token)] = None
        return tuple(value for value in found if value == value)

    @property
    def codes_of_texts(self) -> dict[str, int]:
        """Texts of a category and their codes: the empty text, missing tokens, levels, then the levels' look-alikes.

        An earlier text wins; look-alikes are those of docs/numbers.md, Texts and truth values.
        """
        codes = dict.fromkeys(("", *self.missing_tokens), MISSING_CODE)
        levels = dict(zip(self.levels, range(FIRST_LEVEL_CODE, FIRST_LEVEL_CODE + len(self.levels)), strict=True))
        alike = {text: code for level, code in levels.items() for text in look_alikes(level) if text not in levels}
        for text, code in (levels | alike).items():
            codes.setdefault(text, code)
        return codes


def look_alikes(level: str) -> tuple[str, ...]:
    """The texts that mean a level unless they are levels themselves: `3.0` for `3`, `True` and `TRUE` for `true`."""
    if level in ("true", "false"):
        return level.capitalize(), level.upper()
    digits = level.removeprefix("-")
    return (f"{level}.0",) if digits.isascii() and digits.isdigit() else ()


@dataclass(frozen=True, slots=True)
class Constraints:
    """What rules may say, beside the directions and roles of single columns (`Feature`); docs/check.md defines each.

    together: groups of column names that may stand in one rule; empty: all may. apart: groups of which no two columns
    stand in one rule. missing_never_helps: no rule is satisfied by a missing value or a level never seen, and none
    turns the decision to the positive class.
    """

    together: tuple[tuple[str, ...], ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()
    missing_never_helps: bool = False

    def allow(self, columns: Collection[str]) -> bool:
        """Whether these columns may stand in one rule."""
        names = set(columns)
        if any(len(names.intersection(group)) > 1 for group in self.apart):
            return False
        return len(names) < 2 or not self.together or any(names <= set(group) for group in self.together)

    def unknown(self, names: Collection[str]) -> str | None:
        """The first column that a group names and that is none of `names`."""
        return next((name for group in (*self.together, *self.apart) for name in group if name not in names), None)


FREE = Constraints()


@dataclass(frozen=True)
class Schema:
    """The features of a model in column order, and the name of the label column.

    Raises InputError where two features share a name.

    Parameters
    ----------
    features : tuple of Feature
        The columns.
    target : str
        The name of the label column.
    ordered_classes : bool
        Whether the classes are ranks, from low to high.
    constraints : Constraints
        Which columns may meet in a rule, and whether a missing value may help.
    """

    features: tuple[Feature, ...]
    target: str = "target"
    ordered_classes: bool = False
    constraints: Constraints = FREE

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for feature in self.features:
            if feature.name in seen:
                raise InputError("two columns have this name", where=f"column {feature.name!r}", fix="rename one")
            seen.add(feature.name)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Column index by name."""
        return {feature.name: i for i, feature in enumerate(self.features)}

    @cached_property
    def atoms(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """The predicate and objects of each column that is named as an atom, `R0(a, b)`, and says yes or no."""
        return {feature.name: found for feature in self.features if (found := feature.atom)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __contains__(self, name: object) -> bool:
        return name in self.positions

    def __getitem__(self, name: str) -> Feature:
        """The feature called `name`; raises InputError if there is none."""
        if name not in self.positions:
            raise InputError(f"no column {name!r}", where="schema", fix=suggestion(name, self.names))
        return self.features[self.positions[name]]


def require_column(name: str, names: Collection[str], source: str, what: str = "column") -> None:
    """Raises InputError, with near names, unless `name` is a column."""
    if name not in names:
        fix = suggestion(name, names)
        if any(known.replace(".", "", 1).lstrip("-").isdigit() for known in names):
            fix += "; --header none, if the first line is a row"
        raise InputError(f"no {what} {name!r}", where=source or "table", fix=fix, field=what.rpartition(" column")[0])


# Units that make a number money; a column in another currency is declared `money`.
CURRENCIES = frozenset(
    (
        *("€", "$", "£", "¥", "₹", "₩", "₽", "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD"),
        *("HUF", "IDR", "ILS", "INR", "JPY", "KRW", "MXN", "NOK", "NZD", "PLN", "RON", "RUB", "SEK", "SGD", "THB"),
        *("TRY", "TWD", "USD", "ZAR", "US$", "R$", "kr", "kr.", "zł", "Kč", "Ft", "Rs", "Rs.", "Fr."),
    )
)


def is_currency(text: str) -> bool:
    """Whether a text stands for a currency: by name, or by a sign such as that of A$."""
    return text in CURRENCIES or (text != "" and unicodedata.category(text[-1]) == "Sc")
