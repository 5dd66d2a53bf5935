"""What a model promises and what its rules do, each proved or shown by a row: `check_model` (docs/check.md).

Promises: directions, columns apart, missing values, required decisions. Of the rules: which are never true, which
change no decision, where no rule speaks, where rules of different classes meet, and which a missing or new value can
satisfy. Nothing is guessed: what cannot be decided is said, and every row that is shown has been decided by the model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rulekit.audit.checks.findings import Finding, FindingKind, Open
from rulekit.audit.checks.kept_promises import Verdict, override_verdicts, verdicts
from rulekit.audit.checks.model_searches import Searches
from rulekit.audit.checks.rule_findings import (
    crossing_ranks,
    gaps,
    missing_values,
    overlaps,
    override_findings,
    shadowed,
    tending,
    unreachable,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.search.row_search import RowSearch

_CLEAR: Mapping[FindingKind, str] = {
    "unreachable": "every rule can be true",
    "shadowed": "every rule changes some decision",
    "gap": "on every row some rule speaks",
    "overlap": "no two rules of different classes hold on one row",
    "contradiction": "no rank is passed where a lower one is not",
    "missing": "no missing or new value satisfies a rule",
}
_ALL_FINDINGS = (unreachable, shadowed, gaps, overlaps, crossing_ranks, missing_values, tending)
_LONGEST = shadowed  # searched last, as a limit of time should leave open what takes longest


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found; open: what could not be decided, and why; clear: what is proved of all rules, in sentences.

    findings: each rule, pair of rules or column by itself. rules: how many there are.
    """

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    open: tuple[Open, ...]
    clear: tuple[str, ...]
    rules: int

    @property
    def ok(self) -> bool:
        """Whether no promise is broken."""
        return all(verdict.outcome != "fails" for verdict in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        """JSON values: promises, findings and what is open."""
        return {
            "ok": self.ok,
            "rules": self.rules,
            "promises": [verdict.as_dict() for verdict in self.verdicts],
            "findings": [finding.as_dict() for finding in self.findings],
            "proved_of_all_rules": list(self.clear),
            "open": [left.text for left in self.open],
        }


def check_model(
    graph: RuleGraph, searching: Callable[..., RowSearch] = RowSearch, deadline: Deadline = NO_LIMIT
) -> Checked:
    """Prove each promise and examine each rule, or say what could not be decided; searching: makes the searches.

    What is found of rules is found of the model beneath its overrides, and of each override by itself. What is not
    settled by the deadline is open.
    """
    model = Searches(graph, searching, deadline)
    kept = (*verdicts(model), *override_verdicts(model))
    beneath = Searches(graph.underlying, searching, deadline) if graph.overrides else model
    of_kind = {kind: list(kind(beneath)) for kind in sorted(_ALL_FINDINGS, key=lambda kind: kind is _LONGEST)}
    said = [*override_findings(model), *(found for kind in _ALL_FINDINGS for found in of_kind[kind])]
    findings = tuple(found for found in said if isinstance(found, Finding))
    left = tuple(found for found in said if isinstance(found, Open))
    clear = tuple(_clear(model, {found.kind for found in said}))
    return Checked(kept, findings, left, clear, len(model.rules))


def unproved(graph: RuleGraph) -> tuple[Verdict, ...]:
    """The promises of a model that are broken or not proved."""
    model = Searches(graph)
    return tuple(found for found in (*verdicts(model), *override_verdicts(model)) if found.outcome != "proved")


def _clear(model: Searches, odd: Collection[FindingKind]) -> Iterator[str]:
    """What there is no finding of, and nothing open; of all rules only where each speaks by itself.

    A rule that is never true changes no decision either.
    """
    decision = model.graph.decision
    asked = {"gap": decision.has_default, "overlap": bool(decision.ranked), "contradiction": decision.ordered}
    asked["shadowed"] = "unreachable" not in odd
    if model.said and len(model.said) == len(rules_of(model.graph.underlying)):
        yield from (text for kind, text in _CLEAR.items() if kind not in odd and asked.get(kind, True))
