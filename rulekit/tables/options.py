"""Reading options: all that a user may say of a table, how it is written, what its columns mean, which are labels."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from rulekit.errors import InputError
from rulekit.schema import Feature, Precision, Role, Unseen, require_column
from rulekit.tables.kinds.classes import Label
from rulekit.tables.kinds.forms import form_of
from rulekit.tables.raw.columns import column_place

KINDS = ("numeric", "boolean", "categorical", "text", "date", "datetime", "money", "ordered:LOW,...,HIGH", "ignore")
OF_TEXT_FILES = ("delimiter", "decimal", "encoding", "header", "names", "comment", "quote", "trim")
"""The options that say how a text file is written."""
_DROPPED = frozenset({"ignore", "id"})
_FORMED = frozenset({"numeric", "money", "date", "datetime"})
ROW_ORDER = "rows"
"""As the column of time: the rows are in its order."""


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How a table is read. Every reader takes the same options and uses those that concern it.

    Parameters
    ----------
    target : str or None
        The label column.
    positive : label or None
        The class that rules describe, by default the rarer of two.
    ordered : sequence of labels
        The classes from low to high.
    label_separator : str or None
        What stands between the labels of a cell that holds several; `positive` is then the label that is asked for, and
        a row without it, or without any, is of the other class.
    missing_target : "error" or "drop"
        Whether rows without a label are refused or left out.
    weight : str or None
        Column of row weights.
    group : str or None
        Column of rows that belong together.
    time : str or None
        Column of the time of each row, dates or numbers; "rows": they are in its order. It is no feature.
    cost : "FP:FN", a pair of positive numbers, or None
        Of a false positive and of a false negative.
    types : mapping
        Column to one of `KINDS` (`id` is `ignore`). An example of a cell may stand behind numeric, money, date and
        datetime: "numeric:1.234,50 €", "date:31-Dec-99".
    missing : sequence of str, or mapping
        Tokens that mean missing, for every column, or "COL=TOKEN" where COL is a column; or column to tokens.
    ignore : sequence of str
        Columns to leave out.
    precision : mapping
        Column to float32 or float64.
    unseen : mapping
        Column to what a level never seen is taken for: unseen, missing, error.
    units : mapping
        Column to the unit of its numbers (a currency makes them money).
    roles : mapping
        Column to use, audit, forbidden.
    delimiter : str or None
        Of a text file; detected where it is None, like the next two.
    decimal : str or None
        The decimal sign.
    encoding : str or None
        The encoding.
    header : str or None
        The line of the header ("3"), its lines ("1-3", names in the first), or "none".
    names : sequence of str
        Names of the columns, in the place of the header's.
    comment : sequence of str
        Lines that begin with one of these are left out.
    quote : str or None
        The sign around cells, `"` by default, or "none".
    trim : bool
        Whether text cells of a text file lose the blanks around them, which count otherwise.

    """

    target: str | None = None
    positive: Label | None = None
    ordered: Sequence[Label] = ()
    label_separator: str | None = None
    missing_target: str = "error"
    weight: str | None = None
    group: str | None = None
    time: str | None = None
    cost: str | tuple[float, float] | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[str] | Mapping[str, Sequence[str]] = ()
    ignore: Sequence[str] = ()
    precision: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: str | None = None
    names: Sequence[str] = ()
    comment: Sequence[str] = ()
    quote: str | None = None
    trim: bool = False

    def over(self, declared: ReadingOptions) -> ReadingOptions:
        """These options, and what others declare of columns of which these say nothing.

        What they declare of the label, weight and group columns is left out but for missing tokens and forms, since
        those are no features; that the label is categorical stays, which keeps its texts.
        """
        labels = self.label_columns()

        def beside(theirs: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
            return {n: v for n, v in theirs.items() if n not in labels} | dict(own)

        types = beside(declared.types, self.types)
        for name, kind in declared.types.items():
            if name in labels and (form_declared(kind) or (name == self.target and kind == "categorical")):
                types.setdefault(name, kind)
        tokens = declared.missing.items() if isinstance(declared.missing, Mapping) else ()
        own = self.missing.items() if isinstance(self.missing, Mapping) else ()
        theirs = [f"{n}={t}" for n, texts in (*tokens, *own) for t in texts]
        return replace(
            self,
            types=types,
            missing=[*theirs, *(() if isinstance(self.missing, Mapping) else self.missing)],
            precision=beside(declared.precision, self.precision),
            unseen=beside(declared.unseen, self.unseen),
            units=beside(declared.units, self.units),
            roles=beside(declared.roles, self.roles),
        )

    def dropped(self) -> frozenset[str]:
        """The columns that are left out."""
        return frozenset(self.ignore) | {name for name, kind in self.types.items() if kind in _DROPPED}

    def categories(self) -> frozenset[str]:
        """The columns declared to be categories, ordered or not."""
        return frozenset(n for n, kind in self.types.items() if kind == "categorical" or kind.startswith("ordered:"))

    def kept_texts(self) -> frozenset[str]:
        """The columns whose cells stay as they are written: categories, texts and numbers in a form."""
        return self.categories() | {name for name, kind in self.types.items() if kind == "text" or form_declared(kind)}

    def says(self, name: str) -> bool:
        """Whether the column of a name is declared to be of a kind, left out, or no feature."""
        return name in self.types or name in self.ignore or name in self.label_columns()

    def label_columns(self) -> dict[str, str]:
        """The columns that are no features, and what each is."""
        time = None if self.time == ROW_ORDER else self.time
        named = ((self.group, "group"), (time, "time"), (self.weight, "weight"), (self.target, "target"))
        return {name: what for name, what in named if name is not None}

    def features(self, names: Sequence[str]) -> dict[str, Feature]:
        """What is declared of each column, before its cells are looked at."""
        tokens = self.missing_tokens(names)
        forms = {name: form_declared(self.types.get(name, "")) for name in names}
        return {
            name: Feature(
                name,
                unit=self.units.get(name, "").strip() or _unit_of(self.types.get(name, "")),
                form=forms[name],
                missing_tokens=tokens.get(name, ()),
                unseen=self.unseen.get(name, "unseen"),  # type: ignore[arg-type]
                role=self.roles.get(name, "use"),  # type: ignore[arg-type]
            )
            for name in names
        }

    def missing_tokens(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """The missing tokens of each column that has some, in the order declared."""
        if isinstance(self.missing, Mapping):
            declared = [(name, token) for name, tokens in self.missing.items() for token in tokens]
        else:
            declared = [pair for item in self.missing for pair in _owned(item, frozenset(names))]
        tokens: dict[str, dict[str, None]] = {}
        for name, token in declared:
            if token:
                tokens.setdefault(name, {})[token] = None
        return {name: tuple(found) for name, found in tokens.items()}

    def check(self, names: Collection[str], source: str) -> None:
        """Raises InputError where an option names no column, or asks for what makes no sense."""
        known = frozenset(names)
        for name, what in self.label_columns().items():
            if name not in known:
                require_column(name, names, source, f"{what} column")
        named = [*self.types, *self.ignore, *self.precision, *self.unseen, *self.units, *self.roles]
        named += self.missing if isinstance(self.missing, Mapping) else []
        for name in named:
            if name not in known:
                require_column(name, names, source)
        if not isinstance(self.missing, Mapping):
            for item in self.missing:
                # a COL=TOKEN without such a column would be a token that no cell holds: a slip that nobody would see
                name, equals, _ = item.partition("=")
                if name and equals and not _owner(item, known):
                    require_column(name, names, source, "column of missing token")
        self._check_values()
        self._check_labels(source)

    def _check_values(self) -> None:
        for name, kind in self.types.items():
            form, where = form_declared(kind), f"type of column {name!r}"
            if form:
                form_of(base_kind(kind), form, where)
            elif kind not in KINDS and kind not in _DROPPED and not kind.startswith("ordered:"):
                raise InputError(f"no kind {kind!r}", where=where, fix=f"one of {', '.join(KINDS)}")
        for what, declared, allowed in (
            ("precision", self.precision, get_args(Precision)),
            ("unseen", self.unseen, get_args(Unseen)),
            ("role", self.roles, get_args(Role)),
        ):
            for name, value in declared.items():
                if value not in allowed:
                    fix = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
                    raise InputError(f"{what} {value!r}", where=f"column {name!r}", fix=fix)
        for name, precision in self.precision.items():
            if precision == "float32" and base_kind(self.types.get(name, "")) == "datetime":
                raise InputError("float32 cannot tell seconds apart", where=f"column {name!r}", fix="use float64")
        for name, unit in self.units.items():
            if not unit.strip() or not unit.isprintable():
                raise InputError(f"unit {unit!r}", where=f"column {name!r}", fix="write it as people say it, EUR or %")

    def _check_labels(self, source: str) -> None:
        """Declarations of labels, weights and groups that would do nothing, or give the answer away."""
        if self.missing_target not in ("error", "drop"):
            raise InputError(f"{self.missing_target!r}", where="missing_target", fix="error or drop")
        if self.target is None:
            return
        where = column_place(source, self.target)
        if self.label_separator is not None:
            if not self.label_separator.strip():
                why = "labels may have spaces in them, so that a space cannot stand between two"
                raise InputError(why, where="label separator", fix="give another sign, ; or |")
            if self.ordered:
                raise InputError("a cell with several labels has no rank", where=where, fix="leave out the order")
        for other, what in ((self.weight, "weight"), (self.group, "group"), (self.time, "time")):
            if other == self.target:
                raise InputError(f"the target is the {what} column too", where=where, fix="name another column")
        if self.time is not None and self.group is not None:
            fix = "give one: the last rows are held out, or whole groups"
            raise InputError("time and group both say which rows stay together", where=where, fix=fix)
        if self.target in self.dropped():
            raise InputError("the target cannot be ignored", where=where, fix="name another target")
        for what, declared in (
            ("unit", self.units),
            ("role", self.roles),
            ("precision", self.precision),
            ("treatment of unseen levels", self.unseen),
        ):
            for name in self.label_columns():
                if name in declared:
                    raise InputError(f"the {what} of a column that is no feature", where=column_place(source, name))
        kind = self.types.get(self.target, "categorical")
        if kind != "categorical":
            raise InputError(
                f"a target is not declared {kind}",
                where=where,
                fix="declare it categorical to keep its labels as text; --ordered says that classes are ranks",
            )


DEFAULT_OPTIONS = ReadingOptions()


def ordered_kind(levels: Sequence[str]) -> str:
    """The kind of a category with these levels from low to high; as a list of JSON where a level has a comma."""
    plain = all(level == level.strip() and "," not in level for level in levels) and not levels[0].startswith("[")
    return "ordered:" + (",".join(levels) if plain else json.dumps(levels))


def levels_declared(kind: str) -> tuple[str, ...]:
    """The levels of a kind `ordered:low,mid,high` or `ordered:["0,5", "5,7"]`, from low to high."""
    text = kind.removeprefix("ordered:")
    if text.startswith('["'):
        try:
            levels = json.loads(text)
        except (ValueError, RecursionError):
            levels = ()
        if isinstance(levels, list) and all(isinstance(level, str) for level in levels):
            return tuple(levels)
    return tuple(level.strip() for level in text.split(","))


def base_kind(kind: str) -> str:
    """A declared kind without the example of its form."""
    base, colon, _ = kind.partition(":")
    return base if colon and base in _FORMED else kind


def form_declared(kind: str) -> str:
    """The example of a declared kind such as `numeric:1.234,5 kg`, "" where it has none."""
    return kind.partition(":")[2].strip() if base_kind(kind) != kind else ""


def _unit_of(kind: str) -> str:
    form = form_declared(kind)
    return form_of(base_kind(kind), form).unit if form else ""


def _owner(item: str, names: frozenset[str]) -> str:
    """The column that a COL=TOKEN names, "" if none; a name may hold "=" itself, so the longest that fits is meant."""
    ends = [i for i, sign in enumerate(item) if sign == "="]
    return next((item[:end] for end in reversed(ends) if item[:end] in names), "")


def _owned(item: str, names: frozenset[str]) -> list[tuple[str, str]]:
    """The columns of a missing token, and the token: one column, or all of them."""
    owner = _owner(item, names)
    return [(owner, item[len(owner) + 1 :])] if owner else [(name, item) for name in names]
