"""Bounds on the error of a model, each with what it assumes and whether it holds, as numbers and as lines for people.

W. Hoeffding, Probability inequalities for sums of bounded random variables, 1963; A. Blumer and others, Occam's razor,
1987; J. Kun, Occam's Razor and PAC-learning, whose second proof bounds both sides, unlike the theorem above it. Each
model has the share 2^-bits of delta for itself, by a code that was fixed beforehand, so that a bound holds for all.

The code is of what a model decides, in bits, under a rule that was fixed before any row was seen (docs/bounds.md).
Known beforehand are the columns that rules may read, their kinds, precision and levels, and the classes. No code begins
another one, so that the sum of 2^-length over all decisions is at most 1 (Kraft's inequality). Only the decision is
written: what is reported, promised or counted beside it changes no error. Each of the N nodes of a graph is written
once, from the roots on; where it stands again, a reference of ceil(log2 N) bits does. Its width hangs on N alone, so
that no code becomes longer where nodes are taken away.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from rulekit.audit.figures.metrics import kept_figures
from rulekit.audit.figures.rates import exact_bounds
from rulekit.audit.report.subject import MeasuredRows
from rulekit.errors import InputError
from rulekit.graph import node as kinds
from rulekit.graph.decisions import DECISIONS
from rulekit.graph.language.words import counted, percent
from rulekit.graph.leaves import column_of
from rulekit.graph.node import BOOLEAN, RANDOM, Family, Node
from rulekit.graph.nodes import Vocabulary, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold
from rulekit.schema import Schema

_LEAST = 1e-6
WEIGHTED = "the rows have different weights, and the bounds count rows"
_DRAWN = "the rows are independent draws from the rows that the model will meet"
_APART = f"{_DRAWN}, and took no part in learning or choosing it"
_FIXED = f"{_DRAWN}; columns, levels and classes were known before"
_BEST = "distance to the best"


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """The ends between which an error lies, but for samples of probability delta; fails: why that does not hold.

    vacuous: every model has as much. no_better: the most frequent class alone has an error no larger than the upper
    end. The distance to the best is of the error above the least one of all models with codes that are no longer.
    """

    method: str
    low: float
    high: float
    assumes: str
    holds: bool
    fails: str
    vacuous: bool
    no_better: bool


@dataclass(frozen=True, slots=True)
class BoundedError:
    """Errors on rows, in words which, and bounds; most_frequent: the error of the most frequent class of these rows.

    fails: why no bound holds for these rows, "" where nothing is known against it.
    """

    source: str
    rows: int
    errors: int
    most_frequent: float
    fails: str = ""
    bounds: tuple[ErrorBound, ...] = ()

    def bound(self, method: str, low: Any, high: Any, assumes: str, fails: str = "") -> ErrorBound:
        """One bound for these rows."""
        low, high, fails = max(float(low), 0.0), min(float(high), 1.0), self.fails or fails
        no_better = high >= self.most_frequent and method != _BEST
        return ErrorBound(method, low, high, assumes, not fails, fails, high >= 1.0, no_better)


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """What is known of a model's error by rows apart from training and by training rows, and which rows others need.

    bits: the length of its code. needed: rows by which Hoeffding's interval, the Occam bound and the distance to the
    best model come down to epsilon.
    """

    digest: str
    bits: int
    delta: float
    epsilon: float
    held_out: BoundedError | None
    training: BoundedError | None
    needed: dict[str, int]


def bounds_of(
    graph: RuleGraph, rows: MeasuredRows | None, trained: bool = False, delta: float = 0.05, epsilon: float = 0.05
) -> ErrorBounds:
    """The bounds by rows that are given, else by what training measured.

    trained: the rows trained the model; without it the hashes in the model tell.
    """
    for name, value in (("--delta", delta), ("--epsilon", epsilon)):
        if not _LEAST <= value < 1.0:
            raise InputError(f"{value:g} is not between {_LEAST:g} and 1", where=name, fix="give 0.05, for example")
    bits, (apart, own) = len(code_of(graph)), _kept(graph)
    if rows is not None:
        found, trained = _given(rows, trained)
        apart, own = (apart, found) if trained else (found, own)
    models, two = bits * math.log(2.0), math.log(2.0 / delta)
    needed = {
        "held_out": math.ceil(two / (2.0 * epsilon**2)),
        "training_without_error": math.ceil((models + math.log(1.0 / delta)) / epsilon),
        "training_of_the_best": math.ceil(2.0 * (models + two) / epsilon**2),
    }
    apart = apart and replace(apart, bounds=apart_bounds(apart, delta))
    own = own and replace(own, bounds=training_bounds(own, bits, delta))
    return ErrorBounds(graph.digest, bits, delta, epsilon, apart, own, needed)


def _given(rows: MeasuredRows, trained: bool) -> tuple[BoundedError | None, bool]:
    """What is counted on rows, and whether they trained the model, as is said or as their hashes tell."""
    overlap, k, fails = rows.overlap, len(rows.graph.classes), ""
    source = f"{counted(len(rows), 'row')} of {rows.name}"
    if overlap is not None and overlap.seen and not trained:
        trained = overlap.seen == overlap.sampled and overlap.found == overlap.known
        own = rows.graph.provenance.get("rows", len(rows))
        fails = "" if trained else str(overlap)
        if trained and own != len(rows):
            fails = f"these are {len(rows)} rows, and the model was trained on {own}"
    elif not trained and (overlap is None or not overlap.sampled):
        source += ", of which it is not known whether they trained the model"
    confusion = np.bincount(k * rows.y + rows.decided, minlength=k * k).reshape(k, k)
    return _counted(source, confusion, fails if rows.weight is None else WEIGHTED), trained


def _kept(graph: RuleGraph) -> tuple[BoundedError | None, BoundedError | None]:
    """What training measured on rows apart from it, and on its own."""
    kept = kept_figures(graph)
    if kept is None:
        return None, None
    confusion, rows = np.array(kept.figures.confusion), kept.figures.rows
    equal = confusion.sum() == rows and not np.any(confusion % 1.0) and not kept.weighted
    fails = "" if equal else WEIGHTED
    if "training rows" in kept.measured_on:
        return None, _counted(f"{rows} training rows", confusion, fails)
    own = np.array(kept.training or 0.0)
    return _counted(kept.measured_on, confusion, fails), _counted(f"{own.sum():.0f} training rows", own)


def _counted(source: str, confusion: Any, fails: str = "") -> BoundedError | None:
    rows = float(confusion.sum())
    if rows < 1.0:
        return None
    most = float(confusion.sum(axis=1).max())
    return BoundedError(source, round(rows), round(rows - confusion.trace()), 1.0 - most / rows, fails)


def apart_bounds(found: BoundedError, delta: float) -> tuple[ErrorBound, ...]:
    """The exact binomial interval, and that of Hoeffding's inequality, of an error on rows that were held out."""
    error, within = found.errors / found.rows, math.sqrt(math.log(2.0 / delta) / (2.0 * found.rows))
    return (
        found.bound("exact binomial interval", *exact_bounds(error, found.rows, 1.0 - delta), _APART),
        found.bound("Hoeffding's inequality", error - within, error + within, _APART),
    )


def training_bounds(found: BoundedError, bits: int, delta: float) -> tuple[ErrorBound, ...]:
    """What the error on its own training rows says of a model that was chosen on them, by the length of its code."""
    error, models = found.errors / found.rows, bits * math.log(2.0)
    within = math.sqrt((models + math.log(2.0 / delta)) / (2.0 * found.rows))
    occam, errs, others = (models + math.log(1.0 / delta)) / found.rows, "", ""
    if found.errors:
        errs = f"the model makes {counted(found.errors, 'error')} on these rows"
        others = "another model of this length may make fewer errors on these rows"
    return (
        found.bound("Occam bound", 0.0, occam, _FIXED, errs),
        found.bound("two-sided bound for every model", error - within, error + within, _FIXED),
        found.bound(_BEST, 0.0, 2.0 * within, _FIXED, others),
    )


def bound_lines(found: ErrorBounds) -> Iterator[str]:
    """Headings, and lines that are indented below them; what is assumed stands two more blanks to the right."""
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
        some = "" if known.fails == WEIGHTED else f" ({counted(known.errors, 'error')})"
        yield f"  error {percent(known.errors / known.rows)} on {known.source}{some}"
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
    yield "    assumes: the rows are independent draws; in the last line, no such model makes fewer errors on them."


def _said(bound: ErrorBound, best: str, sure: str) -> str:
    if not bound.holds:
        return f"does not hold: {bound.fails}"
    if bound.vacuous:
        return "vacuous: an error of up to 100 % is allowed"
    ends = f"between {percent(bound.low)} and" if bound.low else "at most"
    of = f" {best}" if bound.method == _BEST else ""
    more = "; the most frequent class alone stays below that too" if bound.no_better else ""
    return f"{ends} {percent(bound.high)}{of} {sure}{more}"


# The code of a decision ----------------------------------------------------------------------------------------------

Part = str | tuple[Node, tuple[Family, ...]]  # bits, or a node that stands where nodes of these families may


def code_of(graph: RuleGraph) -> str:
    """The code of the decision of a legal graph, of `0` and `1`; its length is the description length in bits."""
    decision, n_classes = graph.decision, len(graph.classes)
    n_nodes = len(topological(decision.roots))
    forms = [form for form in DECISIONS.values() if n_classes == 2 or form is not DECISIONS["Fires"]]
    head = choice(forms.index(type(decision)), len(forms)) + elias(_width(n_nodes) + 1)
    default = choice(graph.default, n_classes) if decision.has_default else ""
    return head + _Writer(graph.schema, n_nodes).written(decision) + default


@dataclass(slots=True, eq=False)
class _Writer:
    """Knows the schema, how many nodes there are, and the numbers of the hidden bits."""

    schema: Schema
    n_nodes: int
    hidden: dict[str, int] = field(default_factory=dict)

    def written(self, decision: Any) -> str:
        """The bits of a decision and all nodes below it; a leaf is written again where a reference is longer."""
        bits: list[str] = []
        before: dict[Node, tuple[int, list[Part]]] = {}
        waiting = [*self.fields(decision)][::-1]
        while waiting:
            part = waiting.pop()
            if isinstance(part, str):
                bits.append(part)
                continue
            node, types = part[0], _types(part[1])
            again = node in before
            number, fields = before.setdefault(node, (len(before), [] if again else [*self.fields(node)]))
            if again and (node.children or sum(map(len, fields)) > _width(self.n_nodes)):
                bits += [choice(0, len(types) + 1), choice(number, self.n_nodes)]
            else:
                bits.append(choice(1 + types.index(type(node)), len(types) + 1))
                waiting += fields[::-1]
        return "".join(bits)

    def fields(self, node: Any) -> Iterator[Part]:
        """The fields of a node or decision in order; of several items first how many there are."""
        column: Any = column_of(node)
        for name, kind in kinds.kinds_of(type(node)).items():
            held = getattr(node, name)
            if isinstance(kind, kinds.Numbers | kinds.Children | kinds.TermsField):
                yield elias(len(held) + 1)
            match kind:
                case kinds.Reads():
                    names = [one.name for one in self.schema if one.kind in kind.columns and one.role == "use"]
                    yield choice(names.index(held), len(names))
                case kinds.Levels():
                    yield self.levels(held, column)
                case kinds.LevelNumbers():
                    yield self.levels([level for level, _ in held], column)
                    yield from (number(points) for _, points in held)
                case kinds.TextField():
                    yield choice(self.hidden.setdefault(held, len(self.hidden)), self.n_nodes)
                case kinds.OneOf():
                    yield choice(kind.words.index(held), len(kind.words))
                case kinds.Truth():
                    yield choice(held, 2)
                case kinds.CountField():
                    yield _signed(held)
                case kinds.CountsField():  # an order of the classes
                    yield from (choice(each, len(held)) for each in held[:-1])
                case kinds.Extended():
                    yield _extended(held)
                case kinds.Extendeds():
                    same = len(set(held)) == 1
                    yield choice(same, 2)
                    yield from map(_extended, held[:1] if same else held)
                case kinds.Finite():
                    # a cut is the shortest decimal that means the same in the precision of its column
                    precision = self.schema[column].precision if kind.cuts else "float64"
                    values = held if isinstance(kind, kinds.Numbers) else [held]
                    yield from (number(canonical_threshold(value, precision)) for value in values)
                case kinds.Child():
                    if isinstance(kind, kinds.TermsField):
                        yield from (number(weight) for weight, _ in held)
                    yield from ((child, kind.families) for child in kind.nodes(held))
                case _:
                    raise TypeError(f"a field of kind {type(kind).__name__} has no code")

    def levels(self, held: Any, column: str) -> str:
        """Levels by their numbers, or a bit for each level of the column; the tokens of a text as their bytes."""
        known, many, within = self.schema[column], elias(len(held) + 1), set(held)
        if known.kind == "text":
            tokens = [token.encode() for token in held]
            return many + "".join(elias(len(t) + 1) + "".join(f"{byte:08b}" for byte in t) for t in tokens)
        ticked = "1" + "".join("1" if level in within else "0" for level in known.levels)
        numbers = [number for number, level in enumerate(known.levels) if level in within]
        return min(ticked, "0" + many + "".join(choice(number, len(known.levels)) for number in numbers), key=len)


@cache
def _types(families: tuple[Family, ...]) -> list[type[Node]]:
    """The types of node that may stand where nodes of these families may; logic is Boolean or random."""
    logic = BOOLEAN in families or RANDOM in families
    return [cls for cls in Vocabulary.TYPES.values() if cls.FAMILY in families or (logic and cls.FAMILY is None)]


def elias(n: int) -> str:
    """The delta code of n >= 1 (P. Elias, Universal codeword sets and representations of the integers, 1975)."""
    length = n.bit_length()
    return "0" * (length.bit_length() - 1) + f"{length:b}" + f"{n:b}"[1:]


def choice(index: int, many: int) -> str:
    """One of so many things that are known beforehand."""
    return f"{index:0{_width(many)}b}" if many > 1 else ""


def number(value: float) -> str:
    """A finite double as printed, digits times a power of ten, or as an odd number times a power of two if shorter."""
    _, digits, tens = Decimal(repr(value)).normalize().as_tuple()
    printed = elias(int("".join(map(str, digits))) + 1)
    if value == 0.0:
        return "0" + printed
    over, under = abs(value).as_integer_ratio()
    sign, twos = choice(value < 0, 2), (over & -over).bit_length() - 1
    dyadic = elias(((over >> twos) + 1) // 2) + sign + _signed(twos - under.bit_length() + 1)
    return min("0" + printed + sign + _signed(int(tens)), "1" + dyadic, key=len)


def _signed(n: int) -> str:
    return elias(2 * n + 1 if n >= 0 else -2 * n)


def _extended(value: float) -> str:
    return "1" + choice(value > 0, 2) if math.isinf(value) else "0" + number(value)


def _width(many: int) -> int:
    return max(many - 1, 0).bit_length()
