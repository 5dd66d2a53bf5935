"""Searches over all rows, as many as one waits for: where the cells are many, a bound on their number and size."""

from __future__ import annotations

from rulekit.graph.decisions import Fires
from rulekit.graph.language.readable import counted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.verification.proof.row_search import FEW_CELLS, Claim, Either, Label, RowSearch, Sought

MOST_SEARCHES = 40
MOST_CLAIMS = 100


def decided_as(graph: RuleGraph, class_index: int) -> Claim:
    """The claim that a row is decided as a class; of two classes a claim of what decides, which is soon answered."""
    decision = graph.decision
    if isinstance(decision, Fires):
        return Claim(decision.formula, class_index == 1)
    return Claim(Label(decision, frozenset((class_index,))))


class Asking:
    """A search that says that it was not made where too many have been; those over few cells are always made."""

    def __init__(self, search: RowSearch) -> None:
        self._search, self._made = search, 0

    @property
    def few(self) -> bool:
        """Whether all cells are soon run."""
        return self._search.space.size <= FEW_CELLS

    def find(self, *claims: Claim | Either) -> Sought:
        """A row on which all claims hold."""
        if not self.few:
            if self._made >= MOST_SEARCHES or len(claims) > MOST_CLAIMS:
                columns = counted(len(self._search.space.axes), "column")
                return Sought(None, f"that takes more searches over {columns} than are made")
            self._made += 1
        # what holds comes first: of two claims on one sum RowSearch answers that order without a solver
        return self._search.find(*sorted(claims, key=lambda claim: not (isinstance(claim, Claim) and claim.holds)))
