"""Bounds on the error of a model as sentences for people: headings, and lines that are indented below them."""

from __future__ import annotations

from collections.abc import Iterator

from rulekit.audit.guarantees.bounds import ErrorBound, ErrorBounds
from rulekit.graph.language.readable import counted, percent


def bound_lines(found: ErrorBounds) -> Iterator[str]:
    """The lines; what is assumed stands two more blanks to the right."""
    sure = f"with {100.0 * (1.0 - found.delta):g} % confidence"
    best = f"above the least error of all models of at most {found.bits:,} bits"
    for heading, known, lacks in (
        ("held-out rows", found.held_out, "labelled rows that took no part in training"),
        ("training rows", found.training, "the rows that trained the model"),
    ):
        yield heading
        if known is None:
            yield f"  no error is known: give DATA, {lacks}"
            continue
        yield f"  error {percent(known.errors / known.rows)} on {known.source} ({counted(known.errors, 'error')})"
        if known is found.training:
            yield f"  what the model decides takes {found.bits:,} bits in a code that was fixed beforehand"
        if known.fails:
            yield f"  no bound holds: {known.fails}"
            continue
        yield from (f"  {_said(bound, best, sure)} ({bound.method})" for bound in known.bounds)
        yield f"    assumes: {known.bounds[0].assumes}."
    wanted, (apart, occam, agnostic) = percent(found.epsilon), found.needed.values()
    yield "how many rows are needed"
    yield f"  {apart:,} held-out rows give the error to ± {wanted} {sure}"
    yield f"  {occam:,} training rows without an error give at most {wanted} {sure}"
    yield f"  {agnostic:,} training rows give at most {wanted} {best} {sure}"
    yield "    assumes: the rows are independent draws; of the last, that no such model makes fewer errors on them."


def _said(bound: ErrorBound, best: str, sure: str) -> str:
    if not bound.holds:
        return f"does not hold: {bound.fails}"
    if bound.vacuous:
        return "vacuous: an error of up to 100 % is allowed"
    ends = f"between {percent(bound.low)} and" if bound.low else "at most"
    of = f" {best}" if bound.excess else ""
    more = "; the most frequent class alone does as well" if bound.no_better else ""
    return f"{ends} {percent(bound.high)}{of} {sure}{more}"
