"""A catalogue of reasons: codes and sentences for the columns that may count in an adverse decision, as a TOML file.

    adverse = "yes"

    [[reason]]
    code = "R01"
    text = "Income is too low"
    columns = ["income"]
    direction = "up"

A reason may have `direction` (`up`: it is given only where a larger value would help, `down`: a smaller one), `when` (a
condition of the rule language on its one column) and `class` (the one adverse class that it is for).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rulekit.errors import InputError
from rulekit.names import printable, suggestion
from rulekit.search.moves import Direction

_KEYS = ("code", "text", "columns", "direction", "when", "class")
_TOP = ("adverse", "reason")


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason as its catalogue has it; direction, when, class_label: "" where the catalogue says nothing."""

    code: str
    text: str
    columns: tuple[str, ...]
    direction: Direction | Literal[""] = ""
    when: str = ""
    class_label: str = ""

    @property
    def conditional(self) -> bool:
        """Whether the reason covers some changes of its columns only."""
        return bool(self.direction or self.when)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The reasons in the order of the file; adverse: the classes that need one, as text, none where it does not say."""

    reasons: tuple[Reason, ...]
    adverse: tuple[str, ...] = ()

    def toml(self) -> str:
        """The file, which `parse_catalogue` reads back."""
        head = [f"adverse = {_texts(self.adverse)}\n"] if self.adverse else []
        return "\n".join([*head, *map(_entry, self.reasons)])


def parse_catalogue(content: bytes, where: str = "catalogue") -> Catalogue:
    """The catalogue of a TOML file; raises InputError for what is none. Names of columns are not looked up here."""
    try:
        found = tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"this is no TOML: {printable(error)}", where=where) from None
    _known_keys(found, _TOP, where)
    entries = found.get("reason", [])
    if not isinstance(entries, list) or not entries:
        fix = "write one or more [[reason]] with code, text and columns; rulekit reasons MODEL -o FILE starts one"
        raise InputError("no reasons", where=where, fix=fix)
    reasons = tuple(_reason(entry, f"{where}, reason {k}") for k, entry in enumerate(entries, 1))
    return Catalogue(reasons, _list_of_texts(found.get("adverse", []), "adverse", where))


def _reason(entry: object, where: str) -> Reason:
    if not isinstance(entry, Mapping):
        raise InputError("a reason is a table", where=where, fix="write [[reason]] above its lines")
    _known_keys(entry, _KEYS, where)
    texts = {key: entry.get(key, "") for key in ("code", "text", "direction", "when", "class")}
    for key, value in texts.items():
        needed = key in ("code", "text")
        if not isinstance(value, str) or (needed and not value.strip()):
            raise InputError(f"`{key}` is a text", where=where, fix=f'write {key} = "..."')
    if texts["direction"] not in ("", *get_args(Direction)):
        fix = "up: a larger value would help; down: a smaller one"
        raise InputError(f"no direction {texts['direction']!r}", where=where, fix=fix)
    columns = _list_of_texts(entry.get("columns", []), "columns", where)
    if not columns:
        raise InputError("a reason names one column or more", where=where, fix='write columns = ["income"]')
    if texts["when"] and len(columns) > 1:
        fix = "give each column a reason of its own; they may have the same text"
        raise InputError("a reason with `when` names one column", where=where, fix=fix)
    label = texts["class"]
    return Reason(texts["code"], texts["text"], columns, texts["direction"], texts["when"], label)


def _known_keys(entry: Mapping[str, object], known: Iterable[str], where: str) -> None:
    for key in entry:
        if key not in tuple(known):
            raise InputError(f"a catalogue has no {key!r}", where=where, fix=suggestion(key, known, "keys"))


def _list_of_texts(value: object, key: str, where: str) -> tuple[str, ...]:
    """One text or several; a number or truth value is a class of that name."""
    items = value if isinstance(value, list) else [value]
    texts: list[Any] = [str(item).lower() if isinstance(item, bool) else item for item in items]
    texts = [str(item) if isinstance(item, int | float) and key == "adverse" else item for item in texts]
    if not all(isinstance(item, str) and item for item in texts):
        raise InputError(f"`{key}` is a list of texts", where=where, fix=f'write {key} = ["..."]')
    return tuple(dict.fromkeys(texts))


def _entry(reason: Reason) -> str:
    lines = ["[[reason]]", f"code = {_text(reason.code)}", f"text = {_text(reason.text)}"]
    lines.append(f"columns = [{', '.join(map(_text, reason.columns))}]")
    more = (("direction", reason.direction), ("when", reason.when), ("class", reason.class_label))
    return "\n".join([*lines, *(f"{key} = {_text(value)}" for key, value in more if value)]) + "\n"


def _texts(values: tuple[str, ...]) -> str:
    return _text(values[0]) if len(values) == 1 else f"[{', '.join(map(_text, values))}]"


def _text(value: Any) -> str:
    """A text of TOML, which are those of JSON but for the one control character that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
