"""A catalogue held against a model: which classes are adverse, which columns and conditions its reasons mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rulekit.audit.nearest_change.wishes import has_order
from rulekit.audit.reason_codes.catalogue import Catalogue, Reason
from rulekit.errors import InputError
from rulekit.graph.language.words import quoted
from rulekit.graph.leaves import readers, tokens_of_leaf
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import label_text, printable, suggestion


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in a catalogue by itself: `unknown column`, `duplicate code` or `unknown class`, in words."""

    kind: str
    text: str
    codes: tuple[str, ...]
    column: str = ""


@dataclass(frozen=True, slots=True)
class Meant:
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
        texts = tuple(dict.fromkeys(r.class_label for r in catalogue.reasons if r.class_label))
        known = {label_text(label) for label in graph.classes}
        texts = tuple(text for text in texts if text in known)
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


def meant(catalogue: Catalogue, graph: RuleGraph) -> tuple[Meant, ...]:
    """The reasons over the columns of a model; raises InputError for one that cannot be read.

    Columns and classes that there are not are left out here: `faults` names them.
    """
    classes = [label_text(label) for label in graph.classes]
    found = []
    for place, reason in enumerate(catalogue.reasons):
        columns = tuple(column for column in reason.columns if column in graph.schema)
        own = Meant(reason, columns, place)
        for column in columns:
            if reason.direction and not has_order(graph.schema[column]):
                fix = "leave `direction` out; only numbers, dates, truth values and ordered levels go up or down"
                raise InputError(f"column {column!r} has no order", where=f"reason {reason.code}", fix=fix)
        if reason.when and columns:
            own = replace(own, when=_condition(reason, graph))
        if reason.class_label:
            own = replace(own, class_index=classes.index(reason.class_label) if reason.class_label in classes else -1)
        found.append(own)
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


def faults(catalogue: Catalogue, graph: RuleGraph) -> Iterator[Fault]:
    """Columns and classes that the model does not have, and codes that stand twice for the same class and condition."""
    classes = [label_text(label) for label in graph.classes]
    for reason in catalogue.reasons:
        for column in reason.columns:
            if column not in graph.schema:
                fix = suggestion(column, graph.schema.names)
                text = f"{reason.code} names the column {column!r}, which the model does not have; {fix}"
                yield Fault("unknown column", printable(text), (reason.code,), column)
        if reason.class_label and reason.class_label not in classes:
            fix = suggestion(reason.class_label, classes, "classes")
            text = f"{reason.code} is for the class {reason.class_label!r}, which the model does not have; {fix}"
            yield Fault("unknown class", printable(text), (reason.code,))
    for code, many in Counter(reason.code for reason in catalogue.reasons).items():
        if many > 1:
            yield Fault("duplicate code", printable(f"{code} stands {many} times"), (code,))


def required(catalogue: Catalogue, graph: RuleGraph) -> tuple[Meant, ...]:
    """The reasons, where the catalogue is without a fault of its own; raises InputError for the first fault."""
    for fault in faults(catalogue, graph):
        raise InputError(fault.text, where="catalogue", fix="rulekit reasons MODEL --catalogue FILE lists every fault")
    return meant(catalogue, graph)
