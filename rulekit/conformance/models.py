"""The conformance models: every kind of node, of decision and of column, as texts of the rule language.

Each file in `rules/` holds sections: `=== columns NAME` has the columns that several models share, and `=== model NAME
over COLUMNS` the labels and rules of one model. Their rows are made by rulekit.verification.rows.

Beside them stand members of the noisy-or family over any number of Boolean columns, as a learner would make them.
Strengths are drawn from a seed; those that decide lie on a grid, those that are reported do not. About half of the rows
in which a tenth of the columns are true are decided positive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from random import Random

from rulekit.graph.decisions import Fires, Median
from rulekit.graph.nodes import TRUE, Above, And, AtLeast, Hidden, IsTrue, Not, Odd, Or, Probability, Strength
from rulekit.graph.probability.deciding import (
    bits_on_grid,
    gated_decision,
    noisy_and_decision,
    noisy_or_decision,
    none_fires_decision,
    parity_decision,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import contrary_strength, strength_of
from rulekit.schema import Feature, Schema


def _schema(k: int) -> Schema:
    return Schema(tuple(Feature(f"w{i}", "boolean") for i in range(k)), target="y")


def _bits(k: int, name: str = "h", size: float = 1.0, seed: int = 0) -> list[Hidden]:
    """A bit for each column and a leak; the strengths of a tenth of the columns are about `size` together."""
    rng = Random(f"{name} {seed}")
    strengths = [20.0 * size / k * rng.random() for _ in range(k)]
    bits = [Hidden(f"{name}{i}", IsTrue(f"w{i}"), s, 0.001 * s) for i, s in enumerate(strengths)]
    return [*bits, Hidden(f"{name}_leak", TRUE, 0.01 * size)]


def _two(k: int, decision: Fires, formula: And | Or | Not | Odd) -> RuleGraph:
    return RuleGraph(_schema(k), ("no", "yes"), decision, (Probability(formula),))


def noisy_or(k: int) -> RuleGraph:
    """Decided by strengths on a grid."""
    bits = _bits(k)
    return _two(k, Fires(noisy_or_decision(bits)), Or(bits))


def noisy_and(k: int) -> RuleGraph:
    """Every bit fires nearly surely, and less surely where its column is true."""
    bits = [Hidden(b.name, b.cause, contrary_strength(b.on), contrary_strength(b.off)) for b in _bits(k, size=0.7)]
    return _two(k, Fires(noisy_and_decision(bits)), And(bits))


def none_fires(k: int) -> RuleGraph:
    """The contrary of a noisy-or."""
    bits = _bits(k)
    return _two(k, Fires(none_fires_decision(bits)), Not(Or(bits)))


def rare_gated(k: int) -> RuleGraph:
    """Some cause fires, which is rare, and no inhibitor does; tangents of its probability decide."""
    causes, inhibitors = _bits(k, size=1e-9), _bits(k, "g", 3.0)
    decision = Fires(gated_decision(causes, inhibitors, 1e-10))
    return _two(k, decision, And((Or(causes), Not(Or(inhibitors)))))


def noisy_max_decision(cuts: Sequence[Sequence[Hidden]]) -> Median:
    """The median of a noisy-max: the number of classes c above 0 with P(class >= c) > 1/2.

    cuts: by class above 0 its hidden bits; the class is at most c where no bit of a class above c fires.
    """
    every = bits_on_grid([bit for bits in cuts for bit in bits])
    starts = [sum(map(len, cuts[:c])) for c in range(len(cuts))]
    return Median(tuple(Above(Strength(Or(every[start:])), strength_of(0.5)) for start in starts))


def noisy_min_decision(cuts: Sequence[Sequence[Hidden]]) -> Median:
    """The median of a noisy-min: the number of classes c above 0 with P(class >= c) > 1/2.

    cuts: by class below the last one its hidden bits; the class is at least c where no bit of a class below c fires.
    """
    before = [[bit for bits in cuts[: c + 1] for bit in bits] for c in range(len(cuts))]
    return Median(tuple(none_fires_decision(bits) for bits in before))


def noisy_max_probabilities(cuts: Sequence[Sequence[Hidden]]) -> tuple[Probability, ...]:
    """P(class = c) of a noisy-max, by class; cuts as for `noisy_max_decision`.

    A class is taken where one of its bits fires and none of a higher class: products of exponentials, not differences.
    """
    above = [[bit for bits in cuts[c:] for bit in bits] for c in range(len(cuts) + 1)]
    return tuple(_alone(some, none) for some, none in zip(((), *cuts), above, strict=True))


def noisy_min_probabilities(cuts: Sequence[Sequence[Hidden]]) -> tuple[Probability, ...]:
    """P(class = c) of a noisy-min, by class; cuts as for `noisy_min_decision`."""
    turned = noisy_max_probabilities(cuts[::-1])
    return turned[::-1]


def _alone(some: Sequence[Hidden], none: Sequence[Hidden]) -> Probability:
    """The probability that some bit of the first ones fires (if there are any), and none of the others."""
    parts = [*([Or(tuple(some))] if some else []), *([Not(Or(tuple(none)))] if none else [])]
    return Probability(parts[0] if len(parts) == 1 else And(parts))


def noisy_max(k: int) -> RuleGraph:
    """Four ordered classes."""
    cuts = [_bits(k, f"c{c}_", 0.5) for c in range(3)]
    return RuleGraph(_schema(k), (0, 1, 2, 3), noisy_max_decision(cuts), noisy_max_probabilities(cuts))


def noisy_min(k: int) -> RuleGraph:
    """Four ordered classes, the other way round."""
    cuts = [_bits(k, f"c{c}_", 0.5) for c in range(3)]
    return RuleGraph(_schema(k), (0, 1, 2, 3), noisy_min_decision(cuts), noisy_min_probabilities(cuts))


def noisy_add(k: int) -> RuleGraph:
    """How many of up to twelve bits in a count fire, as the class; of more, whether a twentieth of them does."""
    rng = Random(k)
    bits = [Hidden(f"h{i}", IsTrue(f"w{i}"), 0.2 + 2.0 * rng.random(), 0.01 * rng.random()) for i in range(k)]
    counts: Sequence[int] = range(1, k + 1) if k <= 12 else [k // 20]
    chances = [Probability(AtLeast(count, bits)) for count in counts]
    if len(chances) == 1:
        return RuleGraph(_schema(k), ("no", "yes"), Fires(Above(chances[0], 0.5)), (chances[0],))
    return RuleGraph(_schema(k), tuple(range(k + 1)), Median(tuple(Above(chance, 0.5) for chance in chances)))


def noisy_parity(k: int, threshold: float = 0.5) -> RuleGraph:
    """Whether an odd number of bits fires; of every third column the bit does so more often than not."""
    rng = Random(f"parity {k}")
    chances = [0.5 + (0.45 if i % 3 == 0 else -0.4) * rng.random() ** (1.0 / k) for i in range(k)]
    bits = [Hidden(f"h{i}", IsTrue(f"w{i}"), strength_of(p), 0.001) for i, p in enumerate(chances)]
    bits.append(Hidden("h_leak", TRUE, 0.01))
    return _two(k, Fires(parity_decision(bits, threshold)), Odd(bits))


MEMBERS: dict[str, Callable[[int], RuleGraph]] = {
    "noisy-or on a grid": noisy_or,
    "noisy-and by logarithms": noisy_and,
    "no bit fires": none_fires,
    "rare gated noisy-or": rare_gated,
    "noisy-max": noisy_max,
    "noisy-min": noisy_min,
    "noisy-add of classes": noisy_add,
    "noisy-parity": noisy_parity,
    "noisy-parity above a third": partial(noisy_parity, threshold=1.0 / 3.0),
    "noisy-parity above two thirds": partial(noisy_parity, threshold=2.0 / 3.0),
}
FAMILY = {name: partial(make, 11) for name, make in MEMBERS.items()}
# Far beyond what a person reads: how many causes each member is tried with.
MOST_CAUSES = {
    "noisy-or on a grid": 5_000,
    "noisy-and by logarithms": 5_000,
    "no bit fires": 5_000,
    "rare gated noisy-or": 5_000,
    "noisy-max": 1_000,
    "noisy-min": 1_000,
    "noisy-add of classes": 200,
    "noisy-parity": 200,
}


Models = Mapping[str, Callable[[], RuleGraph]]
HEAD, SECTION = "rulekit rules 1\n", "=== "


@cache
def _sections(file: str) -> dict[str, str]:
    """The texts of a file by the words behind `===`; what stands before the first is its description."""
    text = files("rulekit.conformance").joinpath(f"rules/{file}.rules").read_text(encoding="utf-8")
    parts = ("\n" + text).split(f"\n{SECTION}")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


@cache
def _model(file: str, section: str) -> RuleGraph:
    from rulekit.graph.language.parsing import parse_graph

    columns = section.rpartition(" over ")[2]
    return parse_graph(HEAD + _sections(file)[f"columns {columns}"] + _sections(file)[section])


def _models(file: str) -> Models:
    named = [section for section in _sections(file) if section.startswith("model ")]
    return {section[6:].rpartition(" over ")[0]: partial(_model, file, section) for section in named}


NODES = _models("nodes")  # every kind of node and of decision over every kind of column
TABLES = _models("tables")  # tables of special shapes: wide, doubles, dates, hundreds of levels, labels of every kind
NETWORKS = _models("networks")  # large and deep: trees and layers of linear units, long sums, formulas of many bits
LEARNED = _models("learned")  # learned from a table with every kind of column, missing cells and several classes
SMALL = _models("small")  # few enough cells to enumerate
MODELS: Models = {**NODES, **TABLES, **NETWORKS, **LEARNED, **FAMILY}
