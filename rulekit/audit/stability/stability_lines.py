"""What `stability` found as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rulekit.audit.stability.recurrence import Recurrence
from rulekit.audit.stability.stable import Stability
from rulekit.graph.language.readable import counted, percent, weight
from rulekit.graph.language.words import quoted

Said = tuple[str, str]
"""A word, "" for what stands under the line before, and a text."""

MOST_CONDITIONS, MOST_FURTHER = 30, 5


def stability_lines(stable: Stability, everything: bool = False) -> Iterator[Said]:
    """A word and a text for each line; everything: all conditions and further rules."""
    done = counted(stable.resamples, "model")
    early = f" of {stable.wanted} ({stable.stopped})" if stable.resamples < stable.wanted else ""
    yield "learned", f"{done}{early} from halves of {stable.rows:,} rows, {_sizes(stable.sizes)}"
    within = f"with conditions that differ on at most {percent(stable.tolerance)} of the rows each"
    yield "rules", f"in how many of these models a rule over the same columns comes back, {within}:"
    for rule in stable.rules:
        alike = "" if rule.decided is None else f"; its rows keep their label in {percent(rule.decided)}"
        yield "", f"  {_share(rule)}  {rule.id} for {quoted(rule.label)}: {rule.text}{_weights(rule)}{alike}"
    if not stable.rules:
        yield "", "  the model has no rule"
    if len(stable.conditions) > 1:
        yield "conditions", "in how many a rule for the same class has the condition:"
        yield from (("", line) for line in _listed(stable.conditions, everything))
    if len(stable.columns) > 1:
        yield "columns", "in how many a rule for the same class reads the column:"
        yield from (("", line) for line in _listed(stable.columns, everything))
    yield from _further(stable, everything)
    halves = "" if stable.dice_of_halves is None else f"; {stable.dice_of_halves:.2f} over halves without a common row"
    yield "rule sets", f"Dice-Sorensen index {stable.dice:.2f}, the mean over pairs of models{halves}"
    yield from _labels(stable)


def _sizes(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return f"of {counted(low, 'rule')} each" if low == high else f"of {low} to {counted(high, 'rule')}"


def _share(one: Recurrence) -> str:
    return f"{one.share:4.0%}".replace("%", " %").rjust(6)


def _weights(one: Recurrence) -> str:
    if one.weights is None:
        return ""
    low, middle, high = map(weight, one.weights)
    own = "" if one.own is None else f" (weight {weight(one.own)}"
    return f"{own}; there {middle}, {low} to {high})"


def _listed(conditions: Sequence[Recurrence], everything: bool) -> Iterator[str]:
    shown = conditions if everything else conditions[:MOST_CONDITIONS]
    yield from (f"  {_share(one)}  {one.text}" for one in shown)
    if len(shown) < len(conditions):
        yield f"  and {len(conditions) - len(shown)} more (--all)"


def _further(stable: Stability, everything: bool) -> Iterator[Said]:
    shown = stable.further if everything else stable.further[:MOST_FURTHER]
    if shown:
        yield "not in it", "rules that the model has not, and which were found again and again"
        yield from (("", f"  {_share(one)}  for {quoted(one.label)}: {one.text}") for one in shown)
    rest = len(stable.further) - len(shown) + stable.n_further
    if rest:
        most = "rarer" if shown else "that the model has not, none of them often"
        yield ("" if shown else "not in it"), f"{'  and ' if shown else ''}{counted(rest, 'rule')} {most}"


def _labels(stable: Stability) -> Iterator[Said]:
    labels = stable.labels
    yield "labels", f"a row is decided as by the model by {percent(labels.mean)} of the models on average"
    yield "", f"  never in doubt: {percent(labels.never_in_doubt)} of the rows, which all models decide alike"
    for level, rows in labels.at_least[1:]:
        yield "", f"  by at least {percent(level)} of the models: {percent(rows)} of the rows"
    for row in labels.worst:
        yield "", f"  row {row.row}: {quoted(row.label)}, as {percent(row.share)} say; most others {quoted(row.other)}"
