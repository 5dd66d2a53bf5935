"""What a model is to promise, from the parameters of a learner: directions, columns apart, decisions, missing values.

Parameters and what the table declares are joined; both are then kept alike, and stated in the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Ints
from rulekit.errors import FormatError, InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.language.parsing import parse_condition
from rulekit.graph.nodes import Node, Not, Or
from rulekit.graph.rule_graph import ClassLabel, Required, RuleGraph
from rulekit.graph.rules import columns_of
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.problem import FixedColumn
from rulekit.names import label_text, suggestion
from rulekit.schema import Constraints, Feature, Schema
from rulekit.tables.table import Table

DIRECTIONS = {"increasing": 1, "decreasing": -1}
CONSTRAINTS = ("monotone", "forbid", "require", "missing_never_helps")
"""The parameters that state constraints."""

_ARROW = "->"


def under_constraints(table: Table, settings: Any) -> Table:
    """The table with the directions and constraints of the parameters beside its own.

    Raises InputError for a column that there is not or has no order, and for contrary directions.
    """
    monotone: Mapping[str, str] = getattr(settings, "monotone", None) or {}
    groups = tuple(column_group(group) for group in getattr(settings, "forbid", None) or ())
    for what, names in (("monotone", monotone), *(("forbid", group) for group in groups)):
        unknown = next((name for name in names if name not in table.names), None)
        if unknown is not None:
            raise InputError(f"no column {unknown!r}", where=what, fix=suggestion(unknown, table.names))
    known = table.constraints
    constraints = Constraints(
        known.together,
        tuple(dict.fromkeys((*known.apart, *groups))),
        known.missing_never_helps or bool(getattr(settings, "missing_never_helps", False)),
    )
    ways = {name: DIRECTIONS[way] for name, way in monotone.items()}
    features = tuple(_directed(feature, ways.get(feature.name, 0)) for feature in table.features)
    return replace(table, features=features, constraints=constraints)


def column_group(group: str | Sequence[str]) -> tuple[str, ...]:
    """Names of columns, of a list or of a text with commas between; raises InputError for less than two."""
    names = group.split(",") if isinstance(group, str) else group
    found = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if len(found) < 2:
        raise InputError(f"{group!r} is not two columns", where="forbid", fix="write age, sex")
    return found


def _directed(feature: Feature, direction: int) -> Feature:
    where = f"column {feature.name!r}"
    if direction * feature.monotone < 0:
        raise InputError("it is declared monotone in both directions", where=where, fix="declare one")
    feature = replace(feature, monotone=direction) if direction else feature  # type: ignore[arg-type]
    if feature.monotone and feature.kind == "text":
        raise InputError("a text has no order, so that nothing can be monotone in it", where=where)
    if feature.monotone and feature.kind == "categorical" and not feature.ordered:
        fix = f"declare their order: --type {feature.name}=ordered:low,mid,high"
        raise InputError("its levels have no order, so that nothing can be monotone in it", where=where, fix=fix)
    return feature


def required_of(texts: Iterable[str], schema: Schema, classes: Sequence[ClassLabel]) -> tuple[Required, ...]:
    """What texts such as `amount > 9000 -> yes` require; raises InputError that names the text."""
    return tuple(parse_rule(text, schema, classes, "require") for text in texts)


def named_columns(settings: Any, table: Table, classes: Sequence[ClassLabel]) -> frozenset[str]:
    """The columns that the parameters, the promises or the rules to begin with name."""
    given = [value for key in settings.__dataclass_fields__ if isinstance(value := getattr(settings, key), Mapping)]
    required = required_of(getattr(settings, "require", None) or (), Schema(table.features), classes)
    start = getattr(settings, "start", None)
    return frozenset().union(
        (feature.name for feature in table.features if feature.monotone),
        *(*table.constraints.together, *table.constraints.apart),
        *given,
        *(columns_of(promise.condition) for promise in required),
        () if start is None else start.used_features,
    )


def refuse_broken(nodes: Sequence[Node], schema: Schema, against: Sequence[Node] = ()) -> None:
    """Raise InputError where rules that must stand do not keep what is promised; against: those for the other class."""
    required = tuple(Required(0, node) for node in against)
    roots = [(Not(Or(against)), ())] if against else []
    for root, beside in [*roots, *([(Or(nodes), required)] if nodes else [])]:
        broken = broken_promise(root, schema, beside)
        if broken:
            said = f"{broken}: this is broken by a rule that is required or stays"
            raise InputError(said, where="promises", fix="leave one of the two out")


def broken_promise(root: Node, schema: Schema, required: tuple[Required, ...] = ()) -> str:
    """The first promise, in words, that is not proved of what a Boolean node decides; "" where all are."""
    return next(iter(unproved(RuleGraph(schema, ("no", "yes"), Fires(root), required=required))), "")


def unproved(graph: RuleGraph) -> list[str]:
    """The promises of a learned model that are broken or not proved, in words."""
    from rulekit.shown.promises import promises

    if not promises(graph):
        return []
    from rulekit.audit.checks.kept_promises import Searches, verdicts

    return [verdict.promise.text for verdict in verdicts(Searches(graph)) if verdict.outcome != "proved"]


def parse_rule(text: str, schema: Schema, classes: Sequence[ClassLabel], where: str) -> Required:
    """Condition and class of a rule such as `amount > 9000 -> yes`; raises InputError that names the text."""
    condition, arrow, label = text.rpartition(_ARROW)
    if not arrow:
        raise InputError(f"{text!r} names no class", where=where, fix="write amount > 9000 -> yes")
    known = [label_text(one) for one in classes]
    wanted = label.strip()
    if wanted not in known:
        raise InputError(f"no class {wanted!r}", where=where, fix=suggestion(wanted, known, "classes"))
    try:
        node = parse_condition(condition, schema)
    except FormatError as error:
        raise InputError(f"{condition.strip()!r}: {error}", where=where) from None
    return Required(known.index(wanted), node)


@dataclass(frozen=True, slots=True, eq=False)
class Allowed:
    """directions [columns]: 1 where a condition holds from a code on, -1 up to one, 0 for any set of codes.

    unknown [columns]: how many of the first codes (missing, and of a category those never seen) no condition allows.
    apart [columns, columns]: which may not stand in one clause; [0, 0] where all may. usable [columns]: which may stand
    in a clause at all: not a condition that is fixed, of which nobody knows what it keeps.
    """

    directions: Ints
    unknown: Ints
    apart: Bools
    usable: Bools

    @property
    def free(self) -> bool:
        """Whether every clause is allowed."""
        return not (self.directions.any() or self.unknown.any() or self.apart.any())

    @classmethod
    def of(cls, columns: Sequence[BinnedColumn], constraints: Constraints) -> Allowed:
        """What the columns' own directions and the constraints allow."""
        usable = np.array([not isinstance(column, FixedColumn) for column in columns], dtype=bool)
        directions = np.array([column.feature.monotone for column in columns], dtype=np.int64) * usable
        unknown = (
            np.array([column.first_known for column in columns], dtype=np.int64)
            * usable
            * constraints.missing_never_helps
        )
        apart = np.zeros((0, 0), dtype=bool)
        if constraints.apart:
            names = np.array([column.feature.name for column in columns], dtype=object)
            apart = np.zeros((len(names), len(names)), dtype=bool)
            for group in constraints.apart:
                inside = np.isin(names, np.array(group, dtype=object)) & usable
                apart |= inside[:, None] & inside
            np.fill_diagonal(apart, False)
        return cls(directions, unknown, apart, usable)

    def among(self, columns: Ints) -> Allowed:
        """The same of some of the columns, in their order."""
        apart = self.apart[np.ix_(columns, columns)] if len(self.apart) else self.apart
        return Allowed(self.directions[columns], self.unknown[columns], apart, self.usable[columns])

    def taken_by(self, columns: Sequence[int]) -> Bools:
        """The columns [columns] that cannot join a clause over some columns."""
        taken = np.zeros(len(self.usable), dtype=bool)
        taken[list(columns)] = True
        return taken | self.apart[:, list(columns)].any(axis=1) if len(self.apart) else taken


def all_allowed(n_columns: int) -> Allowed:
    """Every clause over so many columns."""
    nothing = np.zeros(n_columns, dtype=np.int64)
    return Allowed(nothing, nothing, np.zeros((0, 0), dtype=bool), np.ones(n_columns, dtype=bool))
