"""Searches over all rows, as many as one waits for: where the cells are many, a bound on their number and size."""

from __future__ import annotations

from rulekit.graph.language.readable import counted
from rulekit.verification.proof.row_search import FEW_CELLS, Claim, Either, RowSearch, Sought

MOST_SEARCHES = 40
MOST_CLAIMS = 100


class Asking:
    """A search that says that it was not made where too many have been; those over few cells are always made."""

    def __init__(self, search: RowSearch) -> None:
        self._search, self._made = search, 0

    def find(self, *claims: Claim | Either) -> Sought:
        """A row on which all claims hold."""
        if self._search.space.size > FEW_CELLS:
            if self._made >= MOST_SEARCHES or len(claims) > MOST_CLAIMS:
                cells = counted(self._search.space.size, "cell")
                return Sought(None, f"of {cells} more would have to be searched than is waited for")
            self._made += 1
        return self._search.find(*claims)
