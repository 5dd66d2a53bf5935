"""Bounds on the error of a model as sentences for people: headings, and lines that are indented below them."""

from __future__ import annotations

from collections.abc import Iterator

from rulekit.audit.guarantees.bounds import ErrorBound, ErrorBounds
from rulekit.audit.guarantees.error_counts import HELD_OUT, TRAINING
from rulekit.graph.language.readable import counted, percent

_PARTS = (
    (HELD_OUT, "held-out rows", "no error is known: give DATA, labelled rows that took no part in training"),
    (TRAINING, "training rows", "no error is known: give DATA, the rows that trained the model"),
)


def bound_lines(found: ErrorBounds) -> Iterator[str]:
    """The lines; what is assumed stands two more blanks to the right."""
    sure = f"with {100.0 * (1.0 - found.delta):g} % confidence"
    best = f"above the least error of all models of at most {found.bits:,} bits"
    for told, heading, unknown in _PARTS:
        yield heading
        if told not in found.counts:
            yield f"  {unknown}"
            continue
        count = found.counts[told]
        yield f"  error {percent(count.error)} on {count.source} ({counted(count.errors, 'error')})"
        if told == TRAINING:
            yield f"  what the model decides takes {found.bits:,} bits in a code that was fixed beforehand"
        if count.fails:
            yield f"  no bound holds: {count.fails}"
            continue
        bounds = found.bounds[told]
        yield from (f"  {_said(bound, best, sure)} ({bound.method})" for bound in bounds)
        yield f"    assumes: {bounds[0].assumes}."
    wanted, needed = percent(found.epsilon), found.needed
    yield "how many rows are needed"
    yield f"  {needed['held_out']:,} held-out rows give the error to ± {wanted} {sure}"
    yield f"  {needed['training_without_error']:,} training rows without an error give at most {wanted} {sure}"
    yield f"  {needed['training_to_the_best']:,} training rows give at most {wanted} {best} {sure}"
    yield "    assumes: the rows are independent draws; of the last, that no such model makes fewer errors on them."


def _said(bound: ErrorBound, best: str, sure: str) -> str:
    if bound.fails:
        return f"does not hold: {bound.fails}"
    if bound.vacuous:
        return "vacuous: an error of up to 100 % is allowed"
    if bound.excess:
        return f"at most {percent(bound.high)} {best} {sure}"
    ends = f"between {percent(bound.low)} and" if bound.low else "at most"
    better = "; the most frequent class alone does as well" if bound.worse else ""
    return f"{ends} {percent(bound.high)} {sure}{better}"
