"""What a model promises, as the search for plain rules keeps it: which rules are allowed, and which must stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rulekit.errors import InputError
from rulekit.learners.binned.problem import HOLDS, Problem, with_fixed
from rulekit.learners.cnll.plain.rule_paths import RuleSettings
from rulekit.learners.fitting.given.allowed import Allowed
from rulekit.learners.fitting.given.constraints import CONSTRAINTS, refuse_broken, required_of
from rulekit.learners.fitting.rule_sets import clause_node
from rulekit.schema import Schema
from rulekit.tables.table import Table


def refuse_promises_of_a_formula(settings: Any) -> None:
    """Raise InputError where a formula is asked for together with what only rules keep."""
    asked = next((name for name in CONSTRAINTS if getattr(settings, name)), None)
    if settings.form == "formula" and asked is not None:
        raise _only_rules(asked)


def with_promises(
    problem: Problem, rules: Sequence[RuleSettings | None], table: Table, settings: Any, classes: tuple[Any, ...]
) -> tuple[Problem, list[RuleSettings | None]]:
    """The problem with required rules as columns, and by question the rules that must stand and those that are allowed.

    classes: in the graph's order. Raises InputError where a formula decides, where a class is required that no rule
    speaks for, and where rules that must stand break what is promised.
    """
    schema = Schema(table.features, settings.target, constraints=table.constraints)
    required = required_of(settings.require or (), schema, classes)
    asked = required or not Allowed.of(problem.columns, table.constraints).free
    if not asked:
        return problem, list(rules)
    if any(own is None for own in rules):
        raise _only_rules("a promise")
    if any(promise.class_index != 1 or len(classes) != 2 for promise in required):
        why = "rules speak for the positive one of two classes, so a row can be required to be of that class alone"
        raise InputError(why, where="require", fix="name the class positive (--positive), or leave the promise out")
    nodes = list(dict.fromkeys(promise.condition for promise in required))
    standing = tuple({len(problem.columns) + place: HOLDS} for place in range(len(nodes)))
    problem = with_fixed(problem, nodes, table, schema)
    allowed = Allowed.of(problem.columns, table.constraints)
    found: list[RuleSettings | None] = []
    for own in rules:
        assert own is not None
        kept = (*standing, *own.kept)
        if not allowed.free:
            refuse_broken([clause_node(clause, problem.columns) for clause in kept], schema)
        found.append(replace(own, kept=kept, allowed=None if allowed.free else allowed))
    return problem, found


def _only_rules(what: str) -> InputError:
    return InputError("a formula keeps no promises", where=what, fix="form='rules', where rules decide")
