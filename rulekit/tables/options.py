"""Reading options: all that a user may say of a table, how it is written, what its columns mean, which are labels.

Files of types declare the columns of a table, as TOML that people read and edit. One line a column; keys that are left
out are as by default:

    [columns]
    income = { kind = "numeric", unit = "EUR", missing = ["-999"] }
    price = { kind = "numeric", form = "1.234,50 €" }
    education = { kind = "ordered", levels = ["school", "college", "doctorate"] }
    sex = { kind = "categorical", role = "audit" }
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from rulekit.errors import InputError
from rulekit.names import suggestion
from rulekit.schema import Feature, Label, Precision, Role, Unseen, require_column
from rulekit.tables.kinds.forms import form_of
from rulekit.tables.raw.columns import place

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

        def beside(what: str) -> dict[str, str]:
            return {n: v for n, v in getattr(declared, what).items() if n not in labels} | dict(getattr(self, what))

        types = beside("types")
        for name, kind in declared.types.items():
            if name in labels and (form_declared(kind) or (name == self.target and kind == "categorical")):
                types.setdefault(name, kind)
        both = [each.missing.items() if isinstance(each.missing, Mapping) else () for each in (declared, self)]
        tokens = [f"{name}={token}" for name, texts in chain(*both) for token in texts]
        own = () if isinstance(self.missing, Mapping) else self.missing
        others = {what: beside(what) for what in ("precision", "unseen", "units", "roles")}
        return replace(self, types=types, missing=[*tokens, *own], **others)  # type: ignore[arg-type]

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

    @property
    def time_column(self) -> str | None:
        """The column of the time of each row, if there is one."""
        return None if self.time == ROW_ORDER else self.time

    def label_columns(self) -> dict[str, str]:
        """The columns that are no features, and what each is."""
        named = ((self.group, "group"), (self.time_column, "time"), (self.weight, "weight"), (self.target, "target"))
        return {name: what for name, what in named if name is not None}

    def features(self, names: Sequence[str]) -> dict[str, Feature]:
        """What is declared of each column, before its cells are looked at."""
        tokens, found = self.missing_tokens(names), {}
        for name in names:
            kind = self.types.get(name, "")
            form = form_declared(kind)
            found[name] = Feature(
                name,
                unit=self.units.get(name, "").strip() or (form_of(base_kind(kind), form).unit if form else ""),
                form=form,
                missing_tokens=tokens.get(name, ()),
                unseen=self.unseen.get(name, "unseen"),  # type: ignore[arg-type]
                role=self.roles.get(name, "use"),  # type: ignore[arg-type]
            )
        return found

    def missing_tokens(self, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        """The missing tokens of each column that has some, in the order declared."""
        tokens: dict[str, dict[str, None]] = {}
        known = frozenset(names)
        if isinstance(self.missing, Mapping):
            tokens = {name: dict.fromkeys(own) for name, own in self.missing.items()}
        else:
            for item in self.missing:
                owner = _owner(item, known)  # one column, or all of them
                for name in (owner,) if owner else names:
                    tokens.setdefault(name, {})[item[len(owner) + 1 :] if owner else item] = None
        return {name: found for name, own in tokens.items() if (found := tuple(filter(None, own)))}

    def check(self, names: Collection[str], source: str) -> None:
        """Raises InputError where an option names no column, or asks for what makes no sense."""
        known = frozenset(names)
        for name, what in self.label_columns().items():
            if name not in known:
                require_column(name, names, source, f"{what} column")
        named = [*self.types, *self.ignore, *self.precision, *self.unseen, *self.units, *self.roles]
        for name in (*named, *(self.missing if isinstance(self.missing, Mapping) else ())):
            if name not in known:
                require_column(name, names, source)
        for item in () if isinstance(self.missing, Mapping) else self.missing:
            # a COL=TOKEN without such a column would be a token that no cell holds: a slip that nobody would see
            name, equals, _ = item.partition("=")
            if name and equals and not _owner(item, known):
                require_column(name, names, source, "column of missing token")
        self._check_values()
        if self.missing_target not in ("error", "drop"):
            raise InputError(f"{self.missing_target!r}", where="missing_target", fix="error or drop")
        if self.target is not None:
            self._check_labels(self.target, source)

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
                    raise InputError(f"{what} {value!r}", where=f"column {name!r}", fix=fix, field=what)
                if value == "float32" and base_kind(self.types.get(name, "")) == "datetime":
                    why = "float32 cannot tell seconds apart"
                    raise InputError(why, where=f"column {name!r}", fix="use float64", field=what)
        for name, unit in self.units.items():
            if not unit.strip() or not unit.isprintable():
                fix = "write it as people say it, EUR or %"
                raise InputError(f"unit {unit!r}", where=f"column {name!r}", fix=fix, field="units")

    def _check_labels(self, target: str, source: str) -> None:
        """Declarations of labels, weights and groups that would do nothing, or give the answer away."""
        where = place(source, target)
        if self.label_separator is not None:
            if not self.label_separator.strip():
                why = "labels may have spaces in them, so that a space cannot stand between two"
                raise InputError(why, where="label separator", fix="give another sign, ; or |", field="label_separator")
            if self.ordered:
                raise InputError("a cell with several labels has no rank", where=where, fix="leave out the order")
        for other, what in ((self.weight, "weight"), (self.group, "group"), (self.time, "time")):
            if other == target:
                raise InputError(f"the target is the {what} column too", where=where, fix="name another column")
        if self.time is not None and self.group is not None:
            fix = "give one: the last rows are held out, or whole groups"
            raise InputError("time and group both say which rows stay together", where=where, fix=fix)
        if target in self.dropped():
            raise InputError("the target cannot be ignored", where=where, fix="name another target")
        treated = ("treatment of unseen levels", self.unseen)
        for what, declared in (("unit", self.units), ("role", self.roles), ("precision", self.precision), treated):
            for name in self.label_columns():
                if name in declared:
                    raise InputError(f"the {what} of a column that is no feature", where=place(source, name))
        kind = self.types.get(target, "categorical")
        if kind != "categorical":
            fix = "declare it categorical to keep its labels as text; --ordered says that classes are ranks"
            raise InputError(f"a target is not declared {kind}", where=where, fix=fix)


DEFAULT_OPTIONS = ReadingOptions()


def ordered_kind(levels: Sequence[str]) -> str:
    """The kind of a category with these levels from low to high; as a list of JSON where a level has a comma."""
    plain = all(level == level.strip() and "," not in level for level in levels) and not levels[0].startswith("[")
    return "ordered:" + (",".join(levels) if plain else json.dumps(levels))


def levels_declared(kind: str) -> tuple[str, ...]:
    """The levels of a kind `ordered:low,mid,high` or `ordered:["0,5", "5,7"]`, from low to high."""
    text = kind.removeprefix("ordered:")
    with suppress(ValueError, RecursionError):
        levels = json.loads(text) if text.startswith('["') else ()
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


def _owner(item: str, names: frozenset[str]) -> str:
    """The column that a COL=TOKEN names, "" if none; a name may hold "=" itself, so the longest that fits is meant."""
    ends = [i for i, sign in enumerate(item) if sign == "="]
    return next((item[:end] for end in reversed(ends) if item[:end] in names), "")


MAX_BYTES = 16 * 2**20
_FIX = "rulekit describe DATA --types-out FILE writes such a file"
_KINDS = (*(kind for kind in KINDS if not kind.startswith("ordered:")), "ordered", "id")
_TEXTS = ("kind", "form", "unit", "role", "unseen", "precision")
_LISTS = ("levels", "missing")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def kind_of(feature: Feature) -> str:
    """The kind of a column as a user declares it."""
    if feature.ordered:
        return "ordered"
    return feature.display if feature.dated or feature.display == "money" else feature.kind


def types_text(features: Sequence[Feature], remarks: Mapping[str, str], likely: Mapping[str, str]) -> str:
    """The file of the types of some columns.

    remarks: of a column, behind its line. likely: another declaration that it may deserve, as a comment below it.
    """
    lines = ["# One line a column; edit it, and give it with --types. Left out: as the table is read by default."]
    lines += ["", "[columns]"]
    for feature in features:
        remark = remarks.get(feature.name, "")
        lines.append(declaration(feature) + (f"  # {remark}" if remark else ""))
        lines += [f"# {likely[feature.name]}"] if feature.name in likely else []
    return "\n".join(lines) + "\n"


def declaration(feature: Feature, kind: str = "", levels: Sequence[str] = (), missing: Sequence[str] = ()) -> str:
    """The line that declares a column as it is, or of another kind with some of its levels, the rest missing.

    missing: further cells that mean missing. kind: with the example of a form, if it has one.
    """
    base = base_kind(kind or kind_of(feature))
    said: dict[str, Any] = {"kind": base}
    form = form_declared(kind) or feature.form
    if form:
        said["form"] = form
    missing = [*feature.missing_tokens, *missing]
    if said["kind"] == "ordered":
        said["levels"] = list(levels or feature.levels)
        missing += [level for level in feature.levels if level not in said["levels"]]
    told = (
        ("unit", feature.unit, not feature.unit or (form and form_of(base, form).unit == feature.unit)),
        ("missing", missing, not missing),
        ("role", feature.role, feature.role == "use"),
        ("unseen", feature.unseen, feature.unseen == "unseen"),
        ("precision", feature.precision, feature.precision == "float32" or feature.dated),
    )
    said |= {key: value for key, value, is_usual in told if not is_usual}
    name = feature.name if _BARE.fullmatch(feature.name) else _toml(feature.name)
    return f"{name} = {{ {', '.join(f'{key} = {_toml(value)}' for key, value in said.items())} }}"


def _toml(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    escaped = {c: json.dumps(c)[1:-1] if c in '\b\t\n\f\r"\\' else f"\\U{ord(c):08x}" for c in set(value)}
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else escaped[c] for c in value) + '"'


def read_types(path: str | os.PathLike[str]) -> ReadingOptions:
    """What a file of types declares; raises InputError for a file that is none, and where it contradicts itself.

    Whether its columns and its words are known is said when a table is read by it.
    """
    where = os.fspath(path)
    with Path(path).open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise InputError(f"more than {MAX_BYTES >> 20} MB", where=where, fix=_FIX)
    try:
        read = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 at byte {error.start}", where=where, fix=_FIX) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=where, fix=_FIX) from None
    except (RecursionError, ValueError):
        raise InputError("not TOML: nested too deeply, or a number that is too long", where=where, fix=_FIX) from None
    for key in read:
        if key != "columns":
            raise InputError(f"a section {key[:40]!r}", where=where, fix="there is one section, [columns]")
    columns = read.get("columns")
    if not isinstance(columns, dict):
        raise InputError("no section [columns]", where=where, fix=_FIX)
    entries = {name: _checked(entry, f"{where}, column {name[:80]!r}") for name, entry in columns.items()}
    keys = ("kind", "form", "levels", "missing", "precision", "unseen", "unit", "role")
    of = {key: {name: entry[key] for name, entry in entries.items() if key in entry} for key in keys}
    types = of["kind"] | {name: f"{of['kind'].get(name, 'numeric')}:{form}" for name, form in of["form"].items()}
    types |= {name: ordered_kind(levels) for name, levels in of["levels"].items()}
    others = {"precision": of["precision"], "unseen": of["unseen"], "units": of["unit"], "roles": of["role"]}
    return replace(DEFAULT_OPTIONS, types=types, missing=of["missing"], **others)  # type: ignore[arg-type]


def _checked(entry: object, where: str) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise InputError("no list of declarations", where=where, fix='write COLUMN = { kind = "numeric" }')
    for key, value in entry.items():
        if key in _TEXTS:
            if not isinstance(value, str):
                raise InputError(f"{key} is no text", where=where, fix=f'write {key} = "..."')
        elif key not in _LISTS:
            raise InputError(f"no key {key[:40]!r}", where=where, fix=suggestion(key, (*_TEXTS, *_LISTS), "keys"))
        elif not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise InputError(f"{key} is no list of texts", where=where, fix=f'write {key} = ["...", "..."]')
    kind = entry.get("kind")
    if kind is not None and kind not in _KINDS:
        raise InputError(f"no kind {kind[:40]!r}", where=where, fix=f"one of {', '.join(_KINDS[:-1])}")
    levels = entry.get("levels", ())
    if (kind == "ordered") != bool(levels) or len(set(levels)) < len(levels):
        fix = 'write kind = "ordered", levels = ["low", "mid", "high"], each level once'
        raise InputError("an ordered column has levels, and no other has", where=where, fix=fix)
    return entry
