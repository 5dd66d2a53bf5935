"""Whether clauses can hold together, by MiniSat 2.2 (Eén and Sörensson 2003) of python-sat, the extra `proof`.

It is deterministic and takes a bound on its conflicts. Where it is not installed every question that needs a search is
left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Timer
from typing import Any

from rulekit.limits import NO_LIMIT, Deadline

MOST_CONFLICTS = 20_000  # 0.1 to 0.3 s with hundreds of clauses, up to 15 s with 350,000

TOO_LARGE = f"too large for the solver: more than {MOST_CONFLICTS:,} conflicts"
MANY_CLAUSES = 10_000  # from here on a search may outlast a limit of time, and is interrupted by it
NO_SOLVER = "left open, because the solver is missing: install rulekit-portable[proof]"


@dataclass(frozen=True, slots=True)
class Answer:
    """values: of the variables from 1 on, with which all clauses hold, or None; reason: why the search was given up."""

    values: tuple[bool, ...] | None
    reason: str = ""


def solve(n_variables: int, clauses: Sequence[Sequence[int]], deadline: Deadline = NO_LIMIT) -> Answer:
    """Values with which all clauses hold; a literal is a variable's number, from 1, or minus that for its contrary."""
    if not all(clauses):
        return Answer(None)
    if deadline.over:
        return Answer(None, deadline.reason)
    try:
        from pysat.solvers import Minisat22
    except ImportError:  # no such package, or another one of its name
        return Answer(None, NO_SOLVER)
    with Minisat22(bootstrap_with=clauses) as solver:
        solver.conf_budget(MOST_CONFLICTS)
        found = _limited(solver, len(clauses), deadline)
        if found is None:
            return Answer(None, deadline.reason if deadline.over else TOO_LARGE)
        if not found:
            return Answer(None)
        held = set(solver.get_model())  # variables that no clause names are false
        return Answer(tuple(variable in held for variable in range(1, n_variables + 1)))


def _limited(solver: Any, n_clauses: int, deadline: Deadline) -> bool | None:
    """Whether the clauses can hold together; None beyond the conflicts, or the limit of time."""
    if deadline.seconds is None or n_clauses < MANY_CLAUSES:
        found: bool | None = solver.solve_limited()
        return found
    timer = Timer(deadline.left, solver.interrupt)
    timer.start()
    try:
        found = solver.solve_limited(expect_interrupt=True)
    finally:
        timer.cancel()
        timer.join()  # so that no interrupt comes to a solver that is gone
    return found
