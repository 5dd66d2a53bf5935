"""Files of types: what is declared of each column of a table, as TOML that people read and edit.

One line a column; keys that are left out are as by default:

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rulekit.dates import is_dated
from rulekit.errors import InputError
from rulekit.names import suggestion
from rulekit.schema import Feature
from rulekit.tables.kinds.forms import form_of
from rulekit.tables.options import KINDS, ReadingOptions, base_kind, form_declared, ordered_kind

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
    return feature.display if is_dated(feature) or feature.display == "money" else feature.kind


def types_text(features: Sequence[Feature], remarks: Mapping[str, str], likely: Mapping[str, str]) -> str:
    """The file of the types of some columns.

    remarks: of a column, behind its line. likely: another declaration that it may deserve, as a comment below it.
    """
    lines = ["# One line a column; edit it, and give it with --types. Left out: as the table is read by default.", ""]
    lines.append("[columns]")
    for feature in features:
        remark = remarks.get(feature.name, "")
        lines.append(f"{declaration(feature)}" + (f"  # {remark}" if remark else ""))
        if feature.name in likely:
            lines.append(f"# {likely[feature.name]}")
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
    if feature.unit and not (form and form_of(base, form).unit == feature.unit):
        said["unit"] = feature.unit
    if missing:
        said["missing"] = missing
    if feature.role != "use":
        said["role"] = feature.role
    if feature.unseen != "unseen":
        said["unseen"] = feature.unseen
    if feature.precision != "float32" and not is_dated(feature):
        said["precision"] = feature.precision
    return f"{_key(feature.name)} = {{ {', '.join(f'{key} = {_toml(value)}' for key, value in said.items())} }}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def _toml(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return '"' + "".join(_escaped(c) for c in value) + '"'


def _escaped(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    if c.isprintable():
        return c
    return json.dumps(c)[1:-1] if c in "\b\t\n\f\r" else f"\\U{ord(c):08x}"


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
    return _options({name: _checked(entry, f"{where}, column {name[:80]!r}") for name, entry in columns.items()})


def _options(columns: Mapping[str, Mapping[str, Any]]) -> ReadingOptions:
    def of(key: str) -> dict[str, Any]:
        return {name: entry[key] for name, entry in columns.items() if key in entry}

    types = of("kind")
    types |= {name: f"{types.get(name, 'numeric')}:{form}" for name, form in of("form").items()}
    types |= {name: ordered_kind(levels) for name, levels in of("levels").items()}
    return ReadingOptions(
        types=types,
        missing=of("missing"),
        precision=of("precision"),
        unseen=of("unseen"),
        units=of("unit"),
        roles=of("role"),
    )


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
    if (kind == "ordered") != bool(entry.get("levels")) or len(set(entry.get("levels", ()))) < len(
        entry.get("levels", ())
    ):
        fix = 'write kind = "ordered", levels = ["low", "mid", "high"], each level once'
        raise InputError("an ordered column has levels, and no other has", where=where, fix=fix)
    return entry
