"""What the LTU paper claims of its figures, each with what this run has, and whether it holds.

The figures carry no numbers. "Without errors" is read as an average of at most 1 %, "good" and "effective" as 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from benchmarks.learning.ltu_runs import Grid
from benchmarks.shared.sections import markdown

Figure = Literal["average", "best"]
TREES = ("LTU tree, 1 epoch", "LTU tree, 5 epochs", "LTU tree, 25 epochs")
ONCE = (
    "LTU tree, 1 epoch",
    "whole network BP, 1 epoch",
    "Madaline S",
    "Winnow S, alpha 2, theta 4",
    "Winnow S, alpha 2, theta 2^k",
)
WINNOWS = ("theta 4", "theta 2^k", "alpha 1.25")
SMALL = ("Winnow S, alpha 2, theta 4", "Winnow S, alpha 2, theta 2^k", "Winnow S, alpha 1.25, theta d")
LARGE = ("Winnow L, alpha 2, theta 4", "Winnow L, alpha 2, theta 2^k", "Winnow L, alpha 1.25, theta d")


def good_to(found: Grid, name: str, n: int, bits: Sequence[int], most: float, figure: Figure = "average") -> int:
    """The most bits up to which a learner errs at most so much, 0 where it errs more on the fewest."""
    good = 0
    for d in bits:
        if getattr(found[name][n, d], figure) > most:
            break
        good = d
    return good


def largest(found: Grid, name: str, n: int, bits: Sequence[int], figure: Figure = "average") -> float:
    """The largest error over all numbers of bits."""
    return max(getattr(found[name][n, d], figure) for d in bits)


def claim_lines(
    found: Grid, bits: Sequence[int], units: Mapping[str, float], best_of_five: Mapping[str, float], two: float
) -> list[str]:
    """The table of claims; units: of trees by kind; best_of_five: the largest error of small networks by their rule;

    two: the share of larger networks of which two units were left.
    """
    rows: list[tuple[str, str, str]] = []

    def add(claim: str, holds: bool, measured: str, otherwise: str = "NOT reproduced") -> None:
        rows.append((claim, measured, "reproduced" if holds else otherwise))

    for n, figure, to in ((1000, "average", 15), (1000, "best", 30), (3000, "average", 40)):
        ends = [good_to(found, name, n, bits, 1.0 if n == 1000 else 5.0, figure) for name in TREES]  # type: ignore[arg-type]
        of_epochs = ", ".join(str(end) for end in ends)
        add(
            f"the tree is {'right' if n == 1000 else 'effective'} up to {to} bits at {n:,} rows ({figure})",
            max(ends) >= to,
            f"up to {of_epochs} with 1, 5, 25 epochs",
        )
    d = min(bits, key=lambda bit: abs(bit - 15))
    optimal = [found[name][1000, d].units for name in TREES]
    add(
        "trees of two units there",
        min(optimal) < 2.5,
        f"at {d} bits {', '.join(f'{value:.1f}' for value in optimal)} units with 1, 5, 25 epochs",
    )
    end = good_to(found, "whole network BP, 25 epochs", 1000, bits, 5.0)
    add(
        "back-propagation through the whole network fails after 15 bits",
        end == 15,
        f"above 5 % after {end} bits with 25 epochs (1 epoch: {largest(found, ONCE[1], 1000, bits):.0f} % at worst)",
    )
    last = bits[-1]
    order = sorted(ONCE, key=lambda name: found[name][1000, last].average)
    add(
        "Madaline errs least at 1,000 rows as bits grow",
        order[0] == "Madaline S",
        f"at {last} bits least of those that see each row once: {order[0]}, {found[order[0]][1000, last].average:.1f} "
        f"%; the tree with 25 epochs {found[TREES[2]][1000, last].average:.1f} %",
    )
    add(
        "Madaline S errs very little at 3,000 rows throughout",
        largest(found, "Madaline S", 3000, bits) < 3.0,
        f"at most {largest(found, 'Madaline S', 3000, bits):.1f} %",
    )
    _winnow_claims(found, bits, add)
    worse = sum(found["Madaline L"][1000, b].average >= found["Madaline S"][1000, b].average for b in bits)
    add("Madaline is worse on the larger network at 1,000 rows", worse > 0.8 * len(bits), f"{worse} of {len(bits)}")
    end = good_to(found, "Madaline L", 1000, bits, 10.0, "best")
    add("the best Madaline L at 1,000 rows errs little up to about 30 bits", 25 <= end <= 40, f"10 % up to {end} bits")
    apart = max(found["Madaline L"][3000, b].best - found["Madaline S"][3000, b].best for b in bits)
    add("the best Madaline L is only slightly worse than S at 3,000 rows", apart < 3.0, f"at most {apart:.1f} points")
    fewest = min(units, key=lambda name: units[name])
    add(
        "back-propagation makes the smallest trees of the kinds of units",
        units["backprop"] <= min(units.values()) + 0.5,
        f"{units['backprop']:.1f} units at 3,000 x 50; fewest: {fewest}, {units[fewest]:.1f}",
    )
    add(
        "the best of several Mada-winnow networks, chosen by rows not seen, is nearly without error at 3,000 rows",
        min(best_of_five.values()) <= 0.1,
        "best of five S, a fifth held out: at most "
        + ", ".join(f"{error:.2f} % ({name})" for name, error in best_of_five.items()),
    )
    add("two units of the larger network do all, two are unused", two > 0.5, f"two are left in {two:.0%} of the runs")
    return [*markdown(("claim", "this run", "verdict"), rows), ""]


def _winnow_claims(found: Grid, bits: Sequence[int], add: object) -> None:
    """What is said of Mada-winnow, with the threshold of the paper and those that follow the bits."""
    assert callable(add)

    def listed(values: Sequence[float], digits: int = 1) -> str:
        return ", ".join(f"{value:.{digits}f} ({name})" for value, name in zip(values, WINNOWS, strict=True))

    def told(claim: str, hold: Sequence[bool], measured: str) -> None:
        """Hold: with the thresholds of alpha 2, the paper's, and with alpha 1.25."""
        add(claim, any(hold[:2]), measured, "only with alpha 1.25" if hold[2] else "NOT reproduced")

    ends = [good_to(found, name, 3000, bits, 5.0) for name in SMALL]
    told("Mada-winnow S is good up to 35 bits at 3,000 rows", [end >= 35 for end in ends], f"up to {listed(ends, 0)}")
    for shape, names in (("S", SMALL), ("L", LARGE)):
        bests = [largest(found, name, 3000, bits, "best") for name in names]
        told(
            f"the best Mada-winnow {shape} has 0 % at all bits at 3,000 rows",
            [best < 0.2 for best in bests],
            f"at most {listed(bests, 2)}",
        )
    erratic = [largest(found, name, 1000, bits, "best") for name in LARGE]
    told(
        "even the best Mada-winnow L does not learn at 1,000 rows",
        [error > 10.0 for error in erratic],
        f"at worst {listed(erratic)}",
    )
    averages = [largest(found, name, 3000, bits) for name in LARGE]
    told(
        "Mada-winnow L stays below 10 % at 3,000 rows",
        [error < 10.0 for error in averages],
        f"at most {listed(averages)}",
    )
    small, large = ([largest(found, name, 3000, bits) for name in names[:2]] for names in (SMALL, LARGE))
    add(
        "the threshold must follow the number of irrelevant bits (3,000 rows, alpha 2)",
        small[0] > 2.0 * small[1],
        f"at worst with 4 and with 2^k: S {small[0]:.1f} and {small[1]:.1f} %, L {large[0]:.1f} and {large[1]:.1f} %",
        "for L alone" if large[0] > 2.0 * large[1] else "NOT reproduced",
    )
