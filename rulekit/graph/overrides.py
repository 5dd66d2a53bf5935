"""Overrides: rules of a person that win over those that were learned, as a part of what decides, put on and taken off.

The first override that holds wins; where none does, what lies beneath decides as it did. All of it is made of ordinary
nodes, so that every evaluator, proof and artifact decides by it:

    Boolean root   (C or rest) where C decides that the root holds, (not C and rest) where it decides that it does not
    sum            with a number beyond all sums added where an override speaks for the class, and taken where against
    probability    1 and 0 likewise

What is reported stays on the side of the label. Of two classes it is held on the side of the decision, as everywhere
(`rulekit.graph.model_parts`). Of several that of the overriding class is 1 before all are divided by their sum, and the
others are 2^-10 less: so it is the largest, none becomes certain, and all other rows are reported as before.

Both directions are exact: what was put on is taken off again as the same nodes, and a decision of which it cannot be
taken off is not that of its overrides.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from rulekit.errors import GraphError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Decision, Fires
from rulekit.graph.nodes import FALSE, Family, Node, fold
from rulekit.numbers import strength_of

MAX_OVERRIDES = 256
MAX_TEXT = 4_000
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Override:
    """A rule of a person: where the Boolean condition holds, the class is decided.

    id: its name in the model, such as o1. author, reason: any text. date: the ISO date from which the author answers
    for it; expires: the last ISO date on which it is meant to decide, None for no end. A model decides alike whenever
    it runs: what has expired is said, and decides until it is removed.

    Raises GraphError for what is none of these.
    """

    id: str
    class_index: int
    condition: Node
    author: str
    date: str
    reason: str
    expires: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise GraphError(f"{self.id!r} is no id of an override", fix="a letter, then letters, digits, - and _")
        where = f"override {self.id}"
        for what in ("author", "reason"):
            text = getattr(self, what)
            if not isinstance(text, str) or not text.strip():
                raise GraphError(f"it has no {what}", where=where, fix="say who answers for it, and why")
            if len(text) > MAX_TEXT:
                raise GraphError(f"the {what} is longer than {MAX_TEXT} characters", where=where, fix="say it shortly")
        for date in (self.date, self.expires):
            if date is not None and not is_date(date):
                raise GraphError(f"{date!r} is no date", where=where, fix="write one as in 2026-11-25")
        if self.expires is not None and self.expires < self.date:
            raise GraphError(f"it expires on {self.expires}, before its date {self.date}", where=where)
        if self.condition.family is not Family.BOOLEAN:
            raise GraphError("its condition is not Boolean", where=where)

    def expired(self, day: str) -> bool:
        """Whether it was meant to end before an ISO date."""
        return self.expires is not None and self.expires < day


def relabelled(overrides: Iterable[Override], old: Sequence[object], new: Sequence[object]) -> tuple[Override, ...]:
    """The overrides of a model with old classes for one with new ones; raises GraphError for a class that it lacks."""
    places = {repr(label): k for k, label in enumerate(new)}
    found = []
    for override in overrides:
        label = old[override.class_index]
        if repr(label) not in places:
            raise GraphError(f"it decides {label!r}, which is no class here", where=f"override {override.id}")
        found.append(replace(override, class_index=places[repr(label)]))
    return tuple(found)


def is_date(text: object) -> bool:
    """Whether a text is an ISO date of the calendar, such as 2026-11-25."""
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def check_overrides(overrides: Sequence[Override], n_classes: int) -> None:
    """Raise GraphError where overrides are too many, share an id or speak for a class that there is not."""
    if len(overrides) > MAX_OVERRIDES:
        raise GraphError(f"{len(overrides)} overrides are more than the {MAX_OVERRIDES} that a model holds")
    ids = [override.id for override in overrides]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise GraphError(f"two overrides are called {twice}", fix="give each its own id")
    for override in overrides:
        if not 0 <= override.class_index < n_classes:
            raise GraphError(f"class {override.class_index}, which {override.id} decides, is not one of {n_classes}")


Layer = Callable[[Node], Node]
Model = tuple[Decision, tuple[Node, ...]]
"""What decides, and what is reported."""

_LESS = 2.0**-10
_BESIDE = (0.499, 0.501)
"""What is taken of 1 where an override decides the second and the first of two classes that scores decide."""

SIDES = 0.501, 0.499
"""Where a probability is held on the side of the label if the threshold is one half."""


def put_on(decision: Decision, probability: tuple[Node, ...], overrides: Sequence[Override]) -> Model:
    """Decision and probabilities under overrides; raises GraphError where a class cannot be decided by one."""
    beyond = 0.0
    if isinstance(decision, ArgMax):
        beyond = beyond_all(decision, overrides)
    layers = layers_of(decision, overrides, [beyond] * len(decision.roots))
    over = decision.with_roots(tuple(laid(each, root) for each, root in zip(layers, decision.roots, strict=True)))
    if isinstance(decision, Fires):
        return over, tuple(_held(node, decision.formula, over.roots[0]) for node in probability)
    reported = _of_probability(len(probability), overrides)
    return over, tuple(laid(each, node) for each, node in zip(reported, probability, strict=True))


def taken_off(decision: Decision, probability: tuple[Node, ...], overrides: Sequence[Override]) -> Model:
    """What lies beneath overrides; raises GraphError where decision and probabilities are not those of `put_on`."""
    if not overrides:
        return decision, probability
    layers = layers_of(decision, overrides, list(map(_beyond_in, decision.roots)))
    beneath = decision.with_roots(tuple(_off(each, root) for each, root in zip(layers, decision.roots, strict=True)))
    if isinstance(decision, Fires):
        reported = tuple(_released(node, beneath.roots[0], decision.formula) for node in probability)
    else:
        put = _of_probability(len(probability), overrides)
        reported = tuple(_off(each, node) for each, node in zip(put, probability, strict=True))
    if put_on(beneath, reported, overrides) != (decision, probability):
        raise _not_theirs()
    return beneath, reported


def _not_theirs() -> GraphError:
    fix = "take the overrides off (rulekit override --remove), change the rules, and put them on again"
    return GraphError("the decision is not that of its overrides over another one", where="overrides", fix=fix)


# What decides ---------------------------------------------------------------------------------------------------------


def layers_of(decision: Decision, overrides: Sequence[Override], beyond: Sequence[float]) -> list[list[Layer]]:
    """By root what is put on it, the innermost first; beyond: by root a number beyond all sums."""
    found = []
    for j, root in enumerate(decision.roots):
        if isinstance(decision, ArgMax):
            truths = [(override.condition, override.class_index == j) for override in overrides]
        else:  # the formula of two classes holds of the second one, the cut of a median of all classes above it
            truths = [(override.condition, override.class_index > j) for override in overrides]
        if root.family is Family.BOOLEAN:
            found.append([_truth(condition, holds) for condition, holds in reversed(truths)])
        else:
            found.append(_score(root, first_deciding(truths, True), first_deciding(truths, False), beyond[j]))
    return found


def _truth(condition: Node, holds: bool) -> Layer:
    if holds:
        return lambda rest: condition if rest is FALSE else rg.Or([condition, rest])
    return lambda rest: FALSE if rest is FALSE else rg.And([rg.Not(condition), rest])


def first_deciding(truths: Sequence[tuple[Node, bool]], wanted: bool) -> Node:
    """The Boolean node that says that some condition holds, and that the first one which does has the wanted truth."""
    return laid([_truth(condition, holds is wanted) for condition, holds in reversed(truths)], FALSE)


def _score(root: Node, speaks: Node, against: Node, beyond: float) -> list[Layer]:
    """What is put on a score, by the nodes that say that an override speaks for its class, and against it."""
    if root.family is Family.REAL:
        terms = [(weight, node) for weight, node in ((beyond, speaks), (-beyond, against)) if node is not FALSE]
        return [_sum(terms)] if terms else []
    layers: list[Layer] = []
    if speaks is not FALSE:
        layers.append(lambda rest: rg.Sided(rest, speaks, 1.0, 1.0))
    if against is not FALSE:
        layers.append(lambda rest: rg.Sided(rest, rg.Not(against), 0.0, 0.0))
    return layers


def _sum(terms: list[tuple[float, Node]]) -> Layer:
    def add(rest: Node) -> Node:
        if isinstance(rest, rg.Linear):
            return rg.Linear([*rest.terms, *terms], rest.bias)
        return rg.Linear([(1.0, rest), *terms], 0.0)

    return add


def beyond_all(decision: ArgMax, overrides: Sequence[Override]) -> float:
    """A power of two more than twice as large as every score and threshold; raises GraphError where there is none."""
    wanted = {override.class_index for override in overrides if override.condition is not FALSE}
    sizes = [1.0]
    for k, score, threshold in decision.ranked:
        where = f"class {k}"
        if score.family is not Family.REAL:
            if k in wanted and threshold >= 1.0:
                raise GraphError(f"no score is above its threshold {threshold!r}, so it cannot be decided", where=where)
            continue
        size = size_of(score)
        if not size < 1e300:
            raise GraphError("its score has no bounds, so that no override can outweigh it", where=where)
        sizes.append(size + (abs(threshold) if math.isfinite(threshold) else 0.0))
    return math.ldexp(1.0, math.frexp(max(sizes))[1] + 1)


def _beyond_in(root: Node) -> float:
    return abs(root.terms[-1][0]) if isinstance(root, rg.Linear) and root.terms else 0.0


def size_of(node: Node) -> float:
    """A bound of the size of a score, infinity where there is none that is known."""
    return fold([node], _size_over)[node]


def _size_over(node: Node, below: tuple[float, ...]) -> float:
    if isinstance(node, rg.Column):
        return max(abs(node.low), abs(node.high), abs(node.missing)) + node.step
    if isinstance(node, rg.Step):
        return max(map(abs, (*node.values, node.missing)))
    if isinstance(node, rg.LevelPoints):
        return max(map(abs, (*(points for _, points in node.points), node.missing, node.unseen)))
    if isinstance(node, rg.Strength):
        return sum(max(on, off) for _, on, off in node.terms)
    if isinstance(node, rg.Linear):
        return sum((abs(weight) * size for weight, size in zip(node.weights, below, strict=True)), abs(node.bias))
    return 1.0


# What is reported -----------------------------------------------------------------------------------------------------


def _held(node: Node, beneath: Node, decides: Node) -> Node:
    """A reported probability on the side of what decides two classes; beneath: what would decide without overrides."""
    if node is rg.Probability(beneath):
        return rg.Probability(decides)
    above, below = (node.above, node.below) if is_beside(node, beneath) else SIDES
    return rg.Sided(node, decides, above, below)


def _released(node: Node, beneath: Node, decides: Node) -> Node:
    if isinstance(node, rg.Sided) and node.rule is decides:
        return node.probability
    if node is rg.Probability(decides):
        return rg.Probability(beneath)
    raise _not_theirs()


def is_beside(node: Node, formula: Node) -> TypeGuard[rg.Sided]:
    return isinstance(node, rg.Sided) and node.rule is formula


def _of_probability(n: int, overrides: Sequence[Override]) -> list[list[Layer]]:
    """By reported probability what is put on it, the innermost first."""

    def decides(*classes: int) -> Node:
        return first_deciding([(override.condition, override.class_index in classes) for override in overrides], True)

    if n == 1:  # of two classes the second one
        own = [_raised(decides(0, 1))]
        return [
            [*own, *(_lowered(f"override {k}", decides(k), share) for k, share in ((1, _BESIDE[0]), (0, _BESIDE[1])))]
        ]
    every = range(n)
    return [
        [_raised(decides(k)), _lowered(f"override {k}", decides(*(j for j in every if j != k)), _LESS)] for k in every
    ]


def _raised(where: Node) -> Layer:
    """To 1 where a node holds."""
    return lambda rest: rest if where is FALSE else rg.Sided(rest, where, 1.0, 1.0)


def _lowered(name: str, where: Node, share: float) -> Layer:
    """By a share where a node holds, to 0 at most."""
    less = rg.Probability(rg.Hidden(name, where, strength_of(share)))
    return lambda rest: rest if where is FALSE else rg.Difference(rest, less)


# Layers ---------------------------------------------------------------------------------------------------------------


def laid(layers: Iterable[Layer], node: Node) -> Node:
    for layer in layers:
        node = layer(node)
    return node


def _off(layers: Sequence[Layer], node: Node) -> Node:
    for layer in reversed(layers):
        found = next((inner for inner in _inner(node) if layer(inner) is node), None)
        if found is None:
            raise _not_theirs()
        node = found
    return node


def _inner(node: Node) -> Iterable[Node]:
    """The nodes of which one layer could have made a node."""
    yield from (FALSE, *node.children)
    if isinstance(node, rg.Linear):
        yield from (
            rg.Linear(node.terms[:end], node.bias) for end in (len(node.terms) - 1, len(node.terms) - 2) if end >= 0
        )
    yield node
