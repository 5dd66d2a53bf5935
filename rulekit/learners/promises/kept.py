"""What a model must keep: directions, columns apart, decisions, missing values, and the rules that it goes on from.

Parameters and what the table declares are joined; both are then kept alike, and stated in the model. Of a start it is
looked at whether it fits the labels and the columns, what its rules are, and which of them stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Array, Bools, Ints
from rulekit.errors import FormatError, InputError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires, Part
from rulekit.graph.language.parsing import parse_condition
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import FALSE, TRUE, Family, Node, topological
from rulekit.graph.rule_graph import ClassLabel, Required, RuleGraph
from rulekit.graph.rules import columns_of, conjuncts, disjuncts, rules_of, rules_of_parts
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.problem import HOLDS, FixedColumn, Problem, with_fixed
from rulekit.learners.models.plain import Clause
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.names import label_text, suggestion
from rulekit.schema import FIRST_LEVEL_CODE, FREE, Constraints, Feature, Schema
from rulekit.tables.table import Table, encoded_dtype

DIRECTIONS = {"increasing": 1, "decreasing": -1}
CONSTRAINTS = ("monotone", "forbid", "require", "missing_never_helps")
"""The parameters that state constraints."""


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
    features = tuple(directed(feature, ways.get(feature.name, 0)) for feature in table.features)
    return replace(table, features=features, constraints=constraints)


def column_group(group: str | Sequence[str]) -> tuple[str, ...]:
    """Names of columns, of a list or of a text with commas between; raises InputError for less than two."""
    names = group.split(",") if isinstance(group, str) else group
    found = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if len(found) < 2:
        raise InputError(f"{group!r} is not two columns", where="forbid", fix="write age, sex")
    return found


def directed(feature: Feature, direction: int) -> Feature:
    """A column with a direction, 0: its own; raises InputError for one without an order, and for contrary ones."""
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


def required_of(texts: Iterable[str] | None, schema: Schema, classes: Sequence[ClassLabel]) -> tuple[Required, ...]:
    """What texts such as `amount > 9000 -> yes` require; raises InputError that names the text."""
    return tuple(parse_rule(text, schema, classes, "require") for text in texts or ())


def named_columns(settings: Any, table: Table, classes: Sequence[ClassLabel]) -> frozenset[str]:
    """The columns that the parameters, the promises or the rules to begin with name."""
    given = [value for key in settings.__dataclass_fields__ if isinstance(value := getattr(settings, key), Mapping)]
    required = required_of(getattr(settings, "require", None), Schema(table.features), classes)
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
    broken = broken_promise(rg.Not(rg.Or(against)), schema) if against else ""
    broken = broken or (broken_promise(rg.Or(nodes), schema, required) if nodes else "")
    if broken:
        said = f"{broken}: this is broken by a rule that is required or stays"
        raise InputError(said, where="promises", fix="leave one of the two out")


def broken_promise(root: Node, schema: Schema, required: tuple[Required, ...] = ()) -> str:
    """The first promise, in words, that is not proved of what a Boolean node decides; "" where all are."""
    return next(iter(unproved(RuleGraph(schema, ("no", "yes"), Fires(root), required=required))), "")


def unproved(graph: RuleGraph) -> list[str]:
    """The promises of a learned model that are broken or not proved, in words."""
    from rulekit.graph.language.text import promises

    if not promises(graph):
        return []
    from rulekit.audit.checks.kept_promises import Searches, verdicts

    return [verdict.promise.text for verdict in verdicts(Searches(graph)) if verdict.outcome != "proved"]


def parse_rule(text: str, schema: Schema, classes: Sequence[ClassLabel], where: str) -> Required:
    """Condition and class of a rule such as `amount > 9000 -> yes`; raises InputError that names the text."""
    condition, arrow, label = text.rpartition("->")
    if not arrow:
        raise InputError(f"{text!r} names no class", where=where, fix="write amount > 9000 -> yes")
    known, wanted = [label_text(one) for one in classes], label.strip()
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


# What learning goes on from -----------------------------------------------------------------------------------------


WHERE = "start"
Freeze = Literal["all", "none"] | Sequence[str]

_MOST_LITERALS = 1000


@dataclass(frozen=True, slots=True)
class GivenRules:
    """The rules of one question: those that stay as they are, and those to begin with."""

    kept: tuple[Node, ...]
    begun: tuple[Node, ...]


def check_classes(graph: RuleGraph, classes: Sequence[ClassLabel], ordered: bool) -> None:
    """Raise InputError unless the graph decides between these classes, in this order where the order counts."""
    if set(map(repr, graph.classes)) != set(map(repr, classes)):
        raise InputError(
            f"it decides between {', '.join(map(str, graph.classes))}, the data between {', '.join(map(str, classes))}",
            where=WHERE,
            fix="give a start with the classes of the data",
        )
    if ordered != graph.decision.ordered:
        has, wants = ("no order of the classes", "ordered") if ordered else ("ordered classes", "not ordered")
        raise InputError(f"it has {has}, the labels are {wants}", where=WHERE, fix="declare both or neither")
    if len(classes) == 2 and len(graph.decision.roots) > 1:
        fix = "give one whose positive class has the rules"
        raise InputError("it compares the scores of two classes", where=WHERE, fix=fix)
    if len(graph.decision.roots) < len(classes) and tuple(map(repr, graph.classes)) != tuple(map(repr, classes)):
        what = "ranks its classes" if ordered else "is about the class"
        one = ", ".join(map(str, graph.classes)) if ordered else repr(graph.classes[1])
        other = ", ".join(map(str, classes)) if ordered else repr(classes[1])
        raise InputError(f"it {what} {one}, the learner {other}", where=WHERE, fix="say the same")


def unmerged(graph: RuleGraph, freeze: Freeze) -> tuple[Node, ...]:
    """The hidden bits of rules, and those of a sum that stay: simplification does not merge them with new ones."""
    bits = tuple(node for node in graph.nodes() if isinstance(node, rg.Hidden))
    return (*bits, *(rule.node for rule in rules_of(graph) if freeze == "all" or rule.id in freeze))


def clauses_of(root: Node) -> tuple[Node, ...]:
    """The rules that a formula joins by or."""
    return () if root is FALSE else disjuncts(root)


def terms_of_part(part: Part) -> tuple[Node, ...]:
    """The conditions that a sum gives weights, or the rules that are joined by or.

    A step function is a condition for each of its segments, points by level for each group of levels, and either for
    missing and unseen values that have points. Raises InputError for another form.
    """
    if part.score.family is Family.BOOLEAN:
        return tuple(rule for rule in clauses_of(part.score) if rule is not TRUE)
    below = list(topological([part.score]))
    if part.score.family is not Family.REAL or not all(
        isinstance(node, rg.Linear | rg.Step | rg.LevelPoints | rg.Column) or node.family is Family.BOOLEAN
        for node in below
    ):
        raise InputError("it is neither rules nor a sum", where=WHERE, fix="give rules joined by or, or weighted rules")
    numbers = next((node for node in below if isinstance(node, rg.Column)), None)
    if numbers is not None:
        raise InputError(f"it adds up the numbers of {numbers.feature!r}", where=WHERE, fix="give conditions on them")
    found: list[Node] = []
    for node in _summands(part.score):
        if node.family is Family.BOOLEAN:
            found.append(node)
            continue
        found += [rule.node for rule in rules_of_parts([Part(part.class_index, node, None)])]
        assert isinstance(node, rg.Step | rg.LevelPoints)
        if node.missing:
            found.append(rg.Missing(node.feature))
        if isinstance(node, rg.LevelPoints) and node.unseen:
            found.append(rg.Among(node.feature, (), unseen=True))
    return tuple(node for node in dict.fromkeys(found) if any(readers([node])))


def _summands(score: Node) -> list[Node]:
    if not isinstance(score, rg.Linear):
        return [score]
    return [each for weight, node in score.terms if weight for each in _summands(node)]


def given_rules(
    graph: RuleGraph, freeze: Freeze, classes: Sequence[ClassLabel], rules: Sequence[Sequence[Node]]
) -> list[GivenRules]:
    """What stays and what is begun with, by class as the learner lists them; rules: by part of the decision.

    Raises InputError for an unknown id of a rule that stays.
    """
    known, stays = {rule.id: rule for rule in rules_of(graph)}, set[Node]()
    for name in () if isinstance(freeze, str) else freeze:
        if name not in known:
            raise InputError(f"no rule {name!r} in the start", where="freeze", fix=suggestion(name, known, "its rules"))
        if known[name].connective not in ("or", "sum"):
            what = f"rule {name} is joined to the others by {known[name].connective}"
            raise InputError(what, where="freeze", fix="freeze all")
        stays.add(known[name].node)
    kept = [tuple(rule for rule in own if freeze == "all" or rule in stays) for own in rules]
    found = [
        GivenRules(stay, tuple(rule for rule in own if rule not in stay)) for own, stay in zip(rules, kept, strict=True)
    ]
    return [found[list(graph.classes).index(label)] for label in classes] if len(found) == len(classes) else found


def with_given(
    problem: Problem, found: Sequence[GivenRules], table: Table, *, whole: bool = False
) -> tuple[Problem, list[tuple[tuple[Clause, ...], tuple[Clause, ...]]]]:
    """The problem with given rules as columns of their own, and by question these and those to begin with, as clauses.

    A rule that need not stay is one clause of its conditions, or (whole) of itself.
    """
    begun = [[(rule,) if whole else conjuncts(rule) for rule in own.begun] for own in found]
    nodes = [node for own, parts in zip(found, begun, strict=True) for node in (*own.kept, *itertools.chain(*parts))]
    column = {node: len(problem.columns) + i for i, node in enumerate(dict.fromkeys(nodes))}
    clauses = [
        (
            tuple({column[rule]: HOLDS} for rule in own.kept),
            tuple({column[part]: HOLDS for part in rule} for rule in parts),
        )
        for own, parts in zip(found, begun, strict=True)
    ]
    return with_fixed(problem, list(column), table, Schema(table.features)), clauses


def rules_of_start(
    settings: Any,
    problem: Problem,
    table: Table,
    classes: Sequence[ClassLabel],
    n_questions: int,
    *,
    formulas: bool = False,
) -> tuple[Problem, list[tuple[tuple[Clause, ...], tuple[Clause, ...]]]]:
    """The problem with the rules of settings.start as columns, and by question those that stay and those begun with.

    classes: in the graph's order; formulas: those of hidden bits are taken by the rules that they decide by. Raises
    InputError where the start is about other classes, or decides by a sum or another probability.
    """
    start = settings.start
    if start is None:
        return problem, [((), ())] * n_questions
    check_classes(start, classes, settings.ordered is not None)
    rules: list[tuple[Node, ...]] = []
    for part in start.decision.parts:
        rule: Node | None = part.score
        if formulas and isinstance(part.score, rg.Probability) and part.threshold == 0.5:
            rule = threshold_rule(part.score.formula, 0.5, _MOST_LITERALS, schema=start.schema)
        if rule is None or rule.family is not Family.BOOLEAN:
            fix = "start from rules, or take the learner that made it (--learner)"
            raise InputError("the start decides by a probability or a sum", where=WHERE, fix=fix)
        rules.append(clauses_of(rule))
    return with_given(problem, given_rules(start, settings.freeze, classes, rules), table)


def under_start(graph: RuleGraph, table: Table, who: str = "the start") -> Table:
    """The table with each column that the graph reads as the graph's schema has it; its levels first, new ones behind.

    What the schema declares of a column, read or not, goes on to hold: its monotone mark and its role; so do the groups
    of columns that may meet in a rule. Raises InputError where a column that is read is missing, not to be used, of
    another kind, or ordered otherwise, and where the table declares the contrary of the schema. who: reads the columns,
    in words.
    """
    features, arrays = [_declared(graph, feature) for feature in table.features], list(table.arrays)
    known, own = graph.schema.constraints, table.constraints
    if FREE not in (known, own) and known != own:
        raise InputError("the start and the data declare different constraints", where="start", fix="declare one")
    for name in graph.used_features:
        if name not in table.names:
            raise InputError(f"no column {name!r}, which {who} reads", where=table.source or "table",
                             fix=suggestion(name, table.names))  # fmt: skip
        at = table.names.index(name)
        if features[at].role != "use":
            raise InputError(f"{who} reads it, its role is {features[at].role}", where=f"column {name!r}")
        features[at], arrays[at] = _adopted(graph.schema[name], features[at], arrays[at], who)
    return replace(table, features=tuple(features), arrays=tuple(arrays), constraints=known if own == FREE else own)


def _declared(graph: RuleGraph, own: Feature) -> Feature:
    """A column with the monotone mark and the role that the start's schema declares, where its own are free."""
    if own.name not in graph.schema.names:
        return own
    known = graph.schema[own.name]
    if known.monotone * own.monotone < 0:
        what = "the start and the data declare it monotone in different directions"
        raise InputError(what, where=f"column {own.name!r}", fix="declare one")
    role = known.role if own.role == "use" else own.role
    return replace(own, monotone=own.monotone or known.monotone, role=role)


def _adopted(known: Feature, own: Feature, array: Array, who: str) -> tuple[Feature, Array]:
    if known.kind == own.kind == "categorical":
        return _levels(known, own, array, who)
    if known.kind == own.kind == "text":
        unknown = sorted(set(known.levels) - set(own.levels))
        if unknown:
            fix = "give rules without it, or more texts"
            what = f"{who} names the word {unknown[0]!r}, which fewer than two of these texts have"
            raise InputError(what, where=f"column {known.name!r}", fix=fix)
        return own, array
    if known.kind != own.kind and (known.kind, own.kind) != ("numeric", "boolean"):
        fix = f"declare it {known.kind}, or give other rules"
        raise InputError(f"it is {own.kind} here and {known.kind} in {who}", where=f"column {known.name!r}", fix=fix)
    known = replace(known, role=own.role, monotone=own.monotone)
    return known, array.astype(encoded_dtype(known))


def _levels(known: Feature, own: Feature, array: Array, who: str) -> tuple[Feature, Array]:
    """Known levels and then new ones; those of a declared order may be the start's or the data's, not two orders."""
    new = tuple(level for level in own.levels if level not in set(known.levels))
    if (known.ordered and new) or (own.ordered and (not known.ordered or new)):
        # An order of levels is a statement about them all: the one that has every level is taken.
        if not own.ordered or set(known.levels) - set(own.levels):
            where, fix = f"column {known.name!r}", "declare one order of all levels"
            raise InputError(f"{who} orders its levels otherwise than the data (level {new[0]!r})" if new else
                             f"the data orders its levels, {who} does not", where=where, fix=fix)  # fmt: skip
        if known.ordered and [level for level in own.levels if level in set(known.levels)] != list(known.levels):
            raise InputError(f"{who} orders its levels otherwise than the data", where=f"column {known.name!r}")
        return own, array
    merged = replace(known, levels=(*known.levels, *new), role=own.role, monotone=own.monotone)
    place = {level: FIRST_LEVEL_CODE + i for i, level in enumerate(merged.levels)}
    codes = np.arange(FIRST_LEVEL_CODE + len(own.levels), dtype=np.int32)
    codes[FIRST_LEVEL_CODE:] = [place[level] for level in own.levels]
    return merged, codes[array]
