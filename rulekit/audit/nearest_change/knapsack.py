"""A small knapsack: at most one option of each group, so that gains reach a bound with the fewest groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

MOST_STATES = 20_000


@dataclass(frozen=True, slots=True)
class Option:
    """What an option gains and costs; of a group, one may be chosen."""

    gain: float
    cost: float
    what: Any


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options that were chosen, as few as can be, and of those the cheapest; exact: whether that is proved."""

    chosen: tuple[Any, ...]
    cost: float
    exact: bool = True


def cheapest(groups: Sequence[Sequence[Option]], needed: float, strict: bool) -> Chosen | None:
    """The options whose gains add up to `needed` (strict: to more), from the fewest groups, then at the least cost.

    Partial choices that another one beats in both gain and cost are dropped, and those that no rest can complete; so
    nothing is lost, unless more than `MOST_STATES` are left. None where all gains together are too few; nothing is
    chosen where none is needed.
    """

    def enough(gain: float) -> bool:
        return gain > needed if strict else gain >= needed

    order = sorted(groups, key=lambda group: -max(option.gain for option in group))
    largest = [max(option.gain for option in group) for group in order]
    sums = list(accumulate(largest, initial=0.0))
    k = next((k for k, gain in enumerate(sums) if enough(gain)), None)
    if k is None:
        return None
    if k == 0:
        return Chosen((), 0.0)
    exact = True
    states: list[list[Option]] = [[Option(0.0, 0.0, ())], *([] for _ in range(k))]
    for place, group in enumerate(order):
        for size in range(min(k - 1, place), -1, -1):
            rest = k - size - 1  # groups that may follow, at best the next ones
            follow = sums[min(place + 1 + rest, len(order))] - sums[place + 1]
            further = [
                Option(state.gain + option.gain, state.cost + option.cost, (*state.what, option.what))
                for state in states[size]
                for option in _undominated(group)
                if enough(state.gain + option.gain + follow)
            ]
            if further:
                kept = _undominated([*states[size + 1], *further])
                exact = exact and len(kept) <= MOST_STATES
                states[size + 1] = kept[:MOST_STATES]
    best = min((state for state in states[k] if enough(state.gain)), key=lambda state: state.cost, default=None)
    return None if best is None else Chosen(best.what, best.cost, exact)


def _undominated(options: Sequence[Option]) -> list[Option]:
    """The options that no other one beats in both gain and cost, the largest gain first."""
    kept: list[Option] = []
    for option in sorted(options, key=lambda option: (-option.gain, option.cost)):
        if not kept or option.cost < kept[-1].cost:
            kept.append(option)
    return kept
