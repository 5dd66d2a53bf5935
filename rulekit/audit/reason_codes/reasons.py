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

A reason applies to a row where its class is decided and some column of it counts (`counting`) by a value that the
reason covers: every value; with `direction` a larger (smaller) one than the row's own, which must be known; with `when`
every value, of rows on which the condition holds.

Order: reasons on columns of the nearest change come first, the column that it moves farthest before the others; then
the other reasons, in the order of the catalogue. Of one code the first counts.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from rulekit.audit.checks.findings import Finding
from rulekit.cells.words import words_apart
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.words import quoted
from rulekit.graph.leaves import readers, tokens_of_leaf
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import label_text, printable, suggestion
from rulekit.search.moves import Direction, has_order, moves_of
from rulekit.search.nearest import NearestChange, nearest_changes
from rulekit.search.takes_part import Counting, Nearer
from rulekit.tables.table import Array, Table, absent

_KEYS = ("code", "text", "columns", "direction", "when", "class")


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason as its catalogue has it; direction, when, class_label: "" where the catalogue says nothing.

    Beside a model (`meant`) it has the columns of that alone, the condition as a node, and the index of the class that
    it is for: None for each, -1 where the model does not have it.
    """

    code: str
    text: str
    columns: tuple[str, ...]
    direction: Direction | Literal[""] = ""
    when: str = ""
    class_label: str = ""
    node: Node | None = None
    class_index: int | None = None

    @property
    def conditional(self) -> bool:
        """Whether the reason covers some changes of its columns only."""
        return bool(self.direction or self.node)

    def covers(self, class_index: int) -> bool:
        return self.class_index in (None, class_index)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The reasons in the order of the file; adverse: the classes that need one, as text, none where it does not say."""

    reasons: tuple[Reason, ...]
    adverse: tuple[str, ...] = ()

    def toml(self) -> str:
        """The file, which `parse_catalogue` reads back."""
        adverse = self.adverse[0] if len(self.adverse) == 1 else list(self.adverse)
        entries = [f"adverse = {_text(adverse)}\n"] if self.adverse else []
        for r in self.reasons:
            values = (r.code, r.text, list(r.columns), r.direction, r.when, r.class_label)
            lines = (f"{key} = {_text(value)}" for key, value in zip(_KEYS, values, strict=True) if value)
            entries.append("\n".join(["[[reason]]", *lines, ""]))
        return "\n".join(entries)


def parse_catalogue(content: bytes, where: str = "catalogue") -> Catalogue:
    """The catalogue of a TOML file; raises InputError for what is none. Names of columns are not looked up here."""
    try:
        found = tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"this is no TOML: {printable(error)}", where=where) from None
    _known_keys(found, ("adverse", "reason"), where)
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
    texts = {key: entry.get(key, "") for key in _KEYS if key != "columns"}
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
    texts: list[Any] = value if isinstance(value, list) else [value]
    if key == "adverse":
        texts = [label_text(item) if isinstance(item, bool | int | float) else item for item in texts]
    if not all(isinstance(item, str) and item for item in texts):
        raise InputError(f"`{key}` is a list of texts", where=where, fix=f'write {key} = ["..."]')
    return tuple(dict.fromkeys(texts))


def _text(value: Any) -> str:
    """A text of TOML, which are those of JSON but for the one control character that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


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


def meant(catalogue: Catalogue, graph: RuleGraph) -> tuple[Reason, ...]:
    """The reasons over the columns of a model; raises InputError for one that cannot be read.

    Columns and classes that there are not are left out here: `faults` names them.
    """
    classes = [label_text(label) for label in graph.classes]
    found = []
    for reason in catalogue.reasons:
        columns = tuple(column for column in reason.columns if column in graph.schema)
        for column in columns:
            if reason.direction and not has_order(graph.schema[column]):
                fix = "leave `direction` out; only numbers, dates, truth values and ordered levels go up or down"
                raise InputError(f"column {column!r} has no order", where=f"reason {reason.code}", fix=fix)
        label = classes.index(reason.class_label) if reason.class_label in classes else -1
        node = _condition(reason, graph) if reason.when and columns else None
        found.append(replace(reason, columns=columns, node=node, class_index=label if reason.class_label else None))
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


def faults(catalogue: Catalogue, graph: RuleGraph) -> Iterator[Finding]:
    """Columns and classes that the model does not have, and codes that stand twice for the same class and condition."""
    classes = [label_text(label) for label in graph.classes]
    for reason in catalogue.reasons:
        for column in reason.columns:
            if column not in graph.schema:
                fix = suggestion(column, graph.schema.names)
                text = f"{reason.code} names the column {column!r}, which the model does not have; {fix}"
                yield Finding("unknown column", printable(text), (reason.code,), column=column)
        if reason.class_label and reason.class_label not in classes:
            fix = suggestion(reason.class_label, classes, "classes")
            text = f"{reason.code} is for the class {reason.class_label!r}, which the model does not have; {fix}"
            yield Finding("unknown class", printable(text), (reason.code,))
    for code, many in Counter(reason.code for reason in catalogue.reasons).items():
        if many > 1:
            yield Finding("duplicate code", printable(f"{code} stands {many} times"), (code,))


def required(catalogue: Catalogue, graph: RuleGraph) -> tuple[Reason, ...]:
    """The reasons, where the catalogue is without a fault of its own; raises InputError for the first fault."""
    for fault in faults(catalogue, graph):
        raise InputError(fault.text, where="catalogue", fix="rulekit reasons MODEL --catalogue FILE lists every fault")
    return meant(catalogue, graph)


# Reasons of rows ------------------------------------------------------------------------------------------------------

MOST = 4


def reasons_of(
    graph: RuleGraph,
    table: Table,
    reasons: Sequence[Reason],
    adverse: Sequence[int],
    *,
    changes: Sequence[NearestChange | None] | None = None,
    most: int = MOST,
    counting: Counting | None = None,
    deadline: Deadline = NO_LIMIT,
) -> list[dict[str, Any]]:
    """The reasons of each row [n] as JSON values, at most `most`; {} for a row whose decision is not adverse.

    reasons: `code`, `text` and the `columns` that counted. counting: all `columns` that did, and whether these are
    `complete`; else more may count.

    changes: the nearest change of each row. It orders the columns, and if it is proved, its columns count. None: this
    function searches for it until the deadline, on rows for which nothing else tells which columns count.
    """
    found: list[dict[str, Any]] = [{} for _ in range(table.n_rows)]
    labels = decide(graph, table)
    counter = Counting(graph) if counting is None else counting
    for k in adverse:
        rows = np.flatnonzero(labels == k)
        if not len(rows):
            continue
        own = table.take(rows)
        near = counter.of(own, k)
        if changes is None:
            unsure = np.flatnonzero(~near.exact)
            sought = nearest_changes(graph, own.take(unsure), deadline=deadline) if len(unsure) else []
            by_row = dict(zip(unsure.tolist(), sought, strict=True))
            known = [by_row.get(i) for i in range(own.n_rows)]
        else:
            known = [changes[row] for row in rows.tolist()]
        near = counter.with_changes(near, own, known)
        applying = [(r, applies(counter, r, near, own)) for r in reasons if r.covers(k)]
        by_place = zip(counter.places, near.nearer, strict=True)
        counts = _by_column((place.column, np.asarray(nearer.any(axis=1))) for place, nearer in by_place)
        for i, row in enumerate(rows.tolist()):
            steps = {} if changes is None else _steps(graph, changes[row])
            given = [(r, columns) for r, by_column in applying if (columns := _true(by_column, i))]
            named = {"columns": list(_true(counts, i)), "complete": bool(near.exact[i])}
            found[row] = {"reasons": _ordered(given, steps)[:most], "counting": named}
    return found


def applies(places: Counting, reason: Reason, near: Nearer, table: Table) -> dict[str, Array]:
    """By column of a reason whether it counts [n] by a value that the reason covers."""
    held = np.ones(table.n_rows, dtype=bool)
    if reason.node is not None:
        held = evaluate_nodes([reason.node], table)[reason.node]
    rows = places.table(table) if reason.direction else None
    found = []
    for place, nearer in zip(places.places, near.nearer, strict=True):
        if place.column in reason.columns:
            if rows is not None:  # no way leads from a value that is not known
                own = np.asarray(rows.array(place.feature.name))
                unknown = absent(own) if own.dtype.kind == "f" else own < 2
                there = place.values[None, :]
                ways = there > own[:, None] if reason.direction == "up" else there < own[:, None]
                nearer = nearer & ways & ~unknown[:, None]
            found.append((place.column, nearer.any(axis=1) & held))
    return _by_column(found)


def _by_column(marks: Iterable[tuple[str, Array]]) -> dict[str, Array]:
    """By column whether one of its places is marked [n]."""
    found: dict[str, Array] = {}
    for column, own in marks:
        found[column] = found[column] | own if column in found else own
    return found


def _true(by_column: Mapping[str, Array], i: int) -> tuple[str, ...]:
    return tuple(column for column, held in by_column.items() if held[i])


def _steps(graph: RuleGraph, change: NearestChange | None) -> dict[str, float]:
    """How far the nearest change moves each column, as a share of its spread; 1 of what has no distance."""
    found: dict[str, float] = {}
    words, read = words_apart(graph.schema), readers(graph.decision.roots)
    texts = {} if words is None else {name: text for text, names in words.columns.items() for name in names}
    for moved in () if change is None else change.columns:
        far, name = 1.0, texts.get(moved.column, moved.column)
        if moved.column in graph.schema and graph.schema[moved.column].kind == "numeric" and moved.before is not None:
            width = moves_of(graph, moved.column, read[moved.column]).width
            far = abs(float(moved.after) - float(moved.before)) / width
        found[name] = max(far, found.get(name, 0.0))
    return found


def _ordered(given: Sequence[tuple[Reason, tuple[str, ...]]], steps: Mapping[str, float]) -> list[dict[str, Any]]:

    def key(entry: tuple[Reason, tuple[str, ...]]) -> tuple[bool, float]:
        moved = [steps[column] for column in entry[1] if column in steps]
        return not moved, -max(moved, default=0.0)

    found: dict[str, dict[str, Any]] = {}
    for reason, columns in sorted(given, key=key):
        own = found.setdefault(reason.code, {"code": reason.code, "text": reason.text, "columns": []})["columns"]
        own += [column for column in columns if column not in own]
    return list(found.values())
