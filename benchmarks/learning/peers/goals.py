"""What is asked of additive rules beside all peers: near boosting, and before every other small model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.learning.peers.asked import Asked, asked_lines, at_least
from benchmarks.learning.peers.catalogue import ENTRIES, OUR_NAMES
from benchmarks.learning.peers.ranking import Cell, done, ranks
from benchmarks.shared.sections import markdown

OURS, OUR_OTHER, REFERENCE = "additive 20", "rulekit rules 8", "HistGB 100"
MOST_RULES = 20
MOST_UNDER = 0.005

Found = Mapping[tuple[str, str], Cell]


class Beside(NamedTuple):
    """The mean accuracy of another learner and of ours over the tables that both finished."""

    name: str
    theirs: float
    ours: float
    tables: int


def goal_lines(found: Found, tables: Sequence[str]) -> list[str]:
    """What was asked, and each other learner beside ours; nothing where ours or boosting finished no table."""
    others = beside(found, tables)
    if not any(other.name == REFERENCE for other in others):
        return []
    places, ranked = mean_ranks(found, tables)
    rows = [
        (each.name, f"{each.theirs:.4f}", f"{each.ours:.4f}", str(each.tables), _rank(places, each.name))
        for each in others
    ]
    return [
        *asked_lines(goals(others, places)),
        "",
        f"**{OURS} beside {REFERENCE} and every model of at most {MOST_RULES} rules**, over the tables that both "
        f"finished. In the rank {REFERENCE} takes part whatever its size; a model that did not finish shares the last "
        "place.",
        "",
        *markdown(
            ("", "mean accuracy", f"{OURS} on the same tables", "tables", f"mean rank of {ranked} tables"),
            [*rows, (OURS, "", "", "", _rank(places, OURS))],
        ),
        "",
    ]


def goals(others: Sequence[Beside], places: Mapping[str, float]) -> list[Asked]:
    """The three figures that were asked for."""
    boosted = next(other for other in others if other.name == REFERENCE)
    under = boosted.theirs - boosted.ours
    small = sorted((other for other in others if other.name != REFERENCE), key=lambda one: one.ours - one.theirs)
    before = [name for name, place in places.items() if place < places[OURS]]
    return [
        Asked(
            f"{OURS}, mean accuracy on {boosted.tables} tables",
            f"at most {MOST_UNDER} under {REFERENCE}",
            f"{boosted.ours:.4f}, {-under:+.4f}",
            at_least(-under, -MOST_UNDER),
        ),
        Asked(
            f"{OURS}, mean accuracy",
            f"above every other model of at most {MOST_RULES} rules",
            f"nearest: {small[0].name}, {small[0].ours - small[0].theirs:+.4f}" if small else "",
            small[0].ours > small[0].theirs if small else None,
        ),
        Asked(
            f"{OURS}, mean rank",
            f"second to {REFERENCE} at worst",
            f"{places[OURS]:.2f}; before it: {', '.join(before) or 'none'}" if places else "",
            set(before) <= {REFERENCE} if places else None,
        ),
    ]


def beside(found: Found, tables: Sequence[str]) -> list[Beside]:
    """Boosting and every other model of at most 20 rules, the default of ours among them, that finished a table."""
    others = []
    for name in (REFERENCE, *_rivals()):
        shared = [table for table in tables if done(found.get((table, name))) and done(found.get((table, OURS)))]
        if shared:
            theirs, ours = (float(np.mean([found[table, one].accuracy for table in shared])) for one in (name, OURS))
            others.append(Beside(name, theirs, ours, len(shared)))
    return others


def mean_ranks(found: Found, tables: Sequence[str]) -> tuple[dict[str, float], int]:
    """The mean rank of each, and over how many tables: those where all that were run had their turn."""
    run = {name for _, name in found}
    pool = [name for name in (REFERENCE, OURS, *_rivals()) if name in run]
    ran = [table for table in tables if all((table, name) in found for name in pool)]
    if not ran:
        return {}, 0
    places = ranks(found, ran, pool, MOST_RULES, any_size=(REFERENCE,))
    return {name: float(np.mean(place)) for name, place in places.items()}, len(ran)


def _rivals() -> list[str]:
    small = (name for name, peer in ENTRIES.items() if MOST_RULES in peer.limits)
    return [name for name in small if name not in OUR_NAMES or name == OUR_OTHER]


def _rank(places: Mapping[str, float], name: str) -> str:
    return f"{places[name]:.2f}" if name in places else "-"
