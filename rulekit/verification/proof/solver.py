"""Whether clauses can hold together: by python-sat where it is installed (the extra `proof`), else by sympy.

MiniSat 2.2 (Eén and Sörensson 2003) learns from conflicts and takes a bound on them. sympy's search (`dpll2`) learns
nothing, so that few clauses may already cost it a time exponential in their number; it is therefore stopped by its
decisions, and instances beyond a size are not begun. Both are deterministic; of several models they may find different
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MOST_CONFLICTS = 20_000  # 0.1 to 0.3 s with hundreds of clauses, up to 15 s with 350,000
MOST_DECISIONS = 5_000  # of sympy: 0.3 to 1.6 s with hundreds of clauses
MOST_CLAUSES = 10_000  # of sympy: up to 4 s with the most decisions

_FASTER = "too large for the solver; rulekit-portable[proof] has a faster one"
_TOO_LARGE = f"too large for the solver: more than {MOST_CONFLICTS:,} conflicts"


@dataclass(frozen=True, slots=True)
class Answer:
    """values: of the variables from 1 on, with which all clauses hold, or None; reason: why the search was given up."""

    values: tuple[bool, ...] | None
    reason: str = ""


def solve(n_variables: int, clauses: Sequence[Sequence[int]]) -> Answer:
    """Values with which all clauses hold; a literal is a variable's number, from 1, or minus that for its contrary."""
    if not all(clauses):
        return Answer(None)
    minisat = _minisat()
    if minisat is not None:
        return _by_minisat(minisat, n_variables, clauses)
    return _by_sympy(n_variables, clauses)


def _minisat() -> Any:
    """The class of python-sat; None where that, or a package of its name without solvers, is all there is."""
    try:
        from pysat.solvers import Minisat22
    except ImportError:
        return None
    return Minisat22


def _by_minisat(minisat: Any, n_variables: int, clauses: Sequence[Sequence[int]]) -> Answer:
    with minisat(bootstrap_with=clauses) as solver:
        solver.conf_budget(MOST_CONFLICTS)
        found = solver.solve_limited()
        if found is None:
            return Answer(None, _TOO_LARGE)
        return Answer(_values(n_variables, solver.get_model()) if found else None)


class _GivenUpError(Exception):
    """The search took too many decisions."""


def _by_sympy(n_variables: int, clauses: Sequence[Sequence[int]]) -> Answer:
    from sympy.logic.algorithms.dpll2 import SATSolver

    if len(clauses) > MOST_CLAUSES:
        return Answer(None, _FASTER)
    variables = range(1, n_variables + 1)
    # a clause that always holds would have its own contrary among its watched literals
    proper = [set(clause) for clause in clauses if not any(-literal in clause for literal in clause)]
    # `sympy.logic.inference.satisfiable` builds the same search, but hands out no way to stop it
    search = SATSolver(proper, variables, set(), variables)

    def stop() -> None:
        if search.num_decisions >= MOST_DECISIONS:
            raise _GivenUpError

    search.update_functions.append(stop)  # called every 500 decisions
    try:
        model = next(search._find_model(), None)
    except _GivenUpError:
        return Answer(None, _FASTER)
    return Answer(None if model is None else _values(n_variables, (v if held else -v for v, held in model.items())))


def _values(n_variables: int, literals: Iterable[int]) -> tuple[bool, ...]:
    """By variable; those that no clause names are false."""
    held = set(literals)
    return tuple(variable in held for variable in range(1, n_variables + 1))
