"""A catalogue of reasons: codes and sentences for the columns that may count in an adverse decision, as a TOML file.

    adverse = "yes"

    [[reason]]
    code = "R01"
    text = "Income is too low"
    columns = ["income"]
    direction = "up"

A reason may have `direction` (`up`: it is given only where a larger value would help, `down`: a smaller one), `when` (a
condition of the rule language on its one column) and `class` (the one adverse class that it is for). Held against a
model, a catalogue says which classes are adverse, and which columns and conditions its reasons mean.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rulekit.audit.checks.findings import Example, given
from rulekit.errors import InputError
from rulekit.graph.language.words import quoted
from rulekit.graph.leaves import readers, tokens_of_leaf
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import label_text, printable, suggestion
from rulekit.search.moves import Direction, has_order

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
        if not isinstance(value, str) or (key in ("code", "text") and not value.strip()):
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
    return Reason(texts["code"], texts["text"], columns, texts["direction"], texts["when"], texts["class"])


def _known_keys(entry: Mapping[str, object], known: Sequence[str], where: str) -> None:
    for key in (key for key in entry if key not in known):
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


@dataclass(frozen=True, slots=True)
class CatalogueFinding:
    """What is wrong: a kind, a sentence, the codes and the column that it is about, and a row that shows it.

    kind: of a catalogue by itself `unknown column`, `unknown class`, `duplicate code`; of what is searched `cannot
    count` (a column of a reason), `never given` (a reason), `no reason` (an adverse decision), `cannot turn` (all
    decisions of a class).
    """

    kind: str
    text: str
    codes: tuple[str, ...] = ()
    column: str = ""
    rows: tuple[Example, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        rows = [row.as_dict() for row in self.rows]
        found = {"kind": self.kind, "text": self.text, "codes": list(self.codes), "column": self.column, "rows": rows}
        return given(found)


@dataclass(frozen=True, slots=True)
class ResolvedReason:
    """A reason with the columns that the model has, its condition as a node, and the class that it is for (None: each).

    place: its number in the catalogue.
    """

    reason: Reason
    columns: tuple[str, ...]
    place: int
    when: Node | None = None
    class_index: int | None = None

    def covers(self, class_index: int) -> bool:
        """Whether the reason is for decisions of a class."""
        return self.class_index in (None, class_index)


def adverse_classes(graph: RuleGraph, catalogue: Catalogue | None = None, asked: Sequence[str] = ()) -> tuple[int, ...]:
    """The indices of the adverse classes: those asked for, else of the catalogue, else the negative one of two.

    Raises InputError for a class that there is not, and where nothing says which of several are adverse.
    """
    texts = tuple(asked) or (catalogue.adverse if catalogue is not None else ())
    if not texts and catalogue is not None:
        known = {label_text(label) for label in graph.classes}
        texts = tuple(r.class_label for r in catalogue.reasons if r.class_label in known)
    if not texts:
        if len(graph.classes) == 2:
            return (0,)
        fix = f"say --adverse CLASS, or adverse = in the catalogue; classes are {', '.join(map(quoted, graph.classes))}"
        raise InputError("of several classes none is said to be adverse", where="reasons", fix=fix)
    return tuple(sorted({class_of(graph, text, "--adverse") for text in texts}))


def class_of(graph: RuleGraph, text: str, where: str) -> int:
    """The index of a class by its text; raises InputError for one that there is not."""
    known = [label_text(label) for label in graph.classes]
    if text not in known:
        raise InputError(f"no class {text!r}", where=where, fix=suggestion(text, known, "classes"))
    return known.index(text)


def meant(catalogue: Catalogue, graph: RuleGraph) -> tuple[ResolvedReason, ...]:
    """The reasons over the columns of a model; raises InputError for one that cannot be read.

    Columns and classes that there are not are left out here: `faults` names them.
    """
    classes = [label_text(label) for label in graph.classes]
    found = []
    for place, reason in enumerate(catalogue.reasons):
        columns = tuple(column for column in reason.columns if column in graph.schema)
        for column in columns:
            if reason.direction and not has_order(graph.schema[column]):
                fix = "leave `direction` out; only numbers, dates, truth values and ordered levels go up or down"
                raise InputError(f"column {column!r} has no order", where=f"reason {reason.code}", fix=fix)
        when = _condition(reason, graph) if reason.when and columns else None
        label = None if not reason.class_label else -1
        if reason.class_label in classes:
            label = classes.index(reason.class_label)
        found.append(ResolvedReason(reason, columns, place, when, label))
    return tuple(found)


def _condition(reason: Reason, graph: RuleGraph) -> Node:
    from rulekit.graph.language.parsing import parse_condition

    where = f"reason {reason.code}, when"
    try:
        node = parse_condition(reason.when, graph.schema)
    except ValueError as error:
        raise InputError(printable(error), where=where) from None
    read = readers([node])
    if set(read) != set(reason.columns):
        fix = f"its column is {reason.columns[0]!r}"
        raise InputError("`when` reads the column of the reason, and no other", where=where, fix=fix)
    known = set(graph.schema[reason.columns[0]].levels)
    for token in (token for leaf in read[reason.columns[0]] for token in tokens_of_leaf(leaf)):
        if token not in known:
            raise InputError(f"the model does not read the word {token!r}", where=where, fix="name a word of its rules")
    return node


def faults(catalogue: Catalogue, graph: RuleGraph) -> Iterator[CatalogueFinding]:
    """Columns and classes that the model does not have, and codes that stand twice for the same class and condition."""
    classes = [label_text(label) for label in graph.classes]
    for reason in catalogue.reasons:
        for column in reason.columns:
            if column not in graph.schema:
                fix = suggestion(column, graph.schema.names)
                text = f"{reason.code} names the column {column!r}, which the model does not have; {fix}"
                yield CatalogueFinding("unknown column", printable(text), (reason.code,), column)
        if reason.class_label and reason.class_label not in classes:
            fix = suggestion(reason.class_label, classes, "classes")
            text = f"{reason.code} is for the class {reason.class_label!r}, which the model does not have; {fix}"
            yield CatalogueFinding("unknown class", printable(text), (reason.code,))
    for code, many in Counter(reason.code for reason in catalogue.reasons).items():
        if many > 1:
            yield CatalogueFinding("duplicate code", printable(f"{code} stands {many} times"), (code,))


def required(catalogue: Catalogue, graph: RuleGraph) -> tuple[ResolvedReason, ...]:
    """The reasons, where the catalogue is without a fault of its own; raises InputError for the first fault."""
    for fault in faults(catalogue, graph):
        raise InputError(fault.text, where="catalogue", fix="rulekit reasons MODEL --catalogue FILE lists every fault")
    return meant(catalogue, graph)
