"""Declarations: what a user says about columns before anything is inferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_args

from rulekit.errors import InputError
from rulekit.names import near_names
from rulekit.schema import Feature, Precision, Role, Unseen

KINDS = ("numeric", "boolean", "categorical", "date", "datetime", "money", "ordered:LOW,...,HIGH", "ignore")
_DROPPED = frozenset({"ignore", "id"})

Missing = Sequence[str] | Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Declarations:
    """By column name: kind, missing tokens, precision, treatment of unseen levels, unit, role; columns to leave out.

    types: one of `KINDS` (`id` is `ignore`). missing: tokens for every column, or "COL=TOKEN" where COL is a column,
    or a mapping of column to tokens. precision, unseen, units, roles: by column. Raises InputError for unknown kinds or
    names.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    missing: Missing = ()
    ignore: Sequence[str] = ()
    precision: Mapping[str, str] = field(default_factory=dict)
    unseen: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)

    def check(self, names: Sequence[str], source: str) -> None:
        """Raises InputError if a declaration names no column or says nothing that rulekit knows."""
        named = [*self.types, *self.ignore, *self.precision, *self.unseen, *self.units, *self.roles]
        if isinstance(self.missing, Mapping):
            named += self.missing
        for name in named:
            require_column(name, names, source)
        for name, kind in self.types.items():
            if kind not in KINDS and kind not in _DROPPED and not kind.startswith("ordered:"):
                raise InputError(
                    f"no kind {kind!r}", where=f"type of column {name!r}", fix=f"one of {', '.join(KINDS)}"
                )
        if not isinstance(self.missing, Mapping):
            for item in self.missing:
                self._check_missing(item, names, source)
        for name, precision in self.precision.items():
            if precision not in get_args(Precision):
                raise InputError(f"precision {precision!r}", where=f"column {name!r}", fix="float32 or float64")
            if precision == "float32" and self.types.get(name) == "datetime":
                raise InputError("float32 cannot tell seconds apart", where=f"column {name!r}", fix="use float64")
        for name, unseen in self.unseen.items():
            if unseen not in get_args(Unseen):
                raise InputError(f"unseen {unseen!r}", where=f"column {name!r}", fix="unseen, missing or error")
        for name, role in self.roles.items():
            if role not in get_args(Role):
                raise InputError(f"role {role!r}", where=f"column {name!r}", fix=f"one of {', '.join(get_args(Role))}")
        for name, unit in self.units.items():
            if not unit.strip() or not unit.isprintable():
                raise InputError(f"unit {unit!r}", where=f"column {name!r}", fix="write it as people say it, EUR or %")

    def feature(self, name: str, names: Sequence[str]) -> Feature:
        """What is declared of a column, before its cells are looked at."""
        return Feature(
            name,
            unit=self.units.get(name, "").strip(),
            missing_tokens=self.tokens(name, names),
            unseen=self.unseen.get(name, "unseen"),  # type: ignore[arg-type]
            role=self.roles.get(name, "use"),  # type: ignore[arg-type]
        )

    @staticmethod
    def _check_missing(item: str, names: Sequence[str], source: str) -> None:
        """A COL=TOKEN without such a column would be a token that no cell holds: a slip that nobody would see."""
        name, equals, _ = item.partition("=")
        if name and equals and not any(item.startswith(known + "=") for known in names):
            require_column(name, names, source, "column of missing token")

    def dropped(self) -> frozenset[str]:
        """The columns that are left out."""
        return frozenset(self.ignore) | {name for name, kind in self.types.items() if kind in _DROPPED}

    def categories(self) -> frozenset[str]:
        """The columns declared to be categories, ordered or not."""
        return frozenset(n for n, kind in self.types.items() if kind == "categorical" or kind.startswith("ordered:"))

    def options(self) -> dict[str, Any]:
        """The declarations as the keywords of `infer`."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def tokens(self, name: str, names: Sequence[str]) -> tuple[str, ...]:
        """The missing tokens of one column, in the order declared."""
        if isinstance(self.missing, Mapping):
            return tuple(dict.fromkeys(self.missing.get(name, ())))
        found: dict[str, None] = {}
        for item in self.missing:
            # a column name may itself hold "=": the longest name that fits is meant
            owner = max((n for n in names if item.startswith(n + "=")), key=len, default=None)
            if owner is None:
                found[item] = None
            elif owner == name:
                found[item[len(owner) + 1 :]] = None
        return tuple(token for token in found if token)


def require_column(name: str, names: Sequence[str], source: str, what: str = "column") -> None:
    """Raises InputError, with near names, unless `name` is a column."""
    if name not in names:
        raise InputError(f"no {what} {name!r}", where=source or "table", fix=suggestion(name, names))


def suggestion(name: str, names: Iterable[str], things: str = "columns") -> str:
    """The names most like `name`, or the first few; things: what they name."""
    known = list(names)
    if near := near_names(name, known):
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"{things} are {', '.join(map(repr, known[:6]))}{', ...' if len(known) > 6 else ''}"
