"""The conformance models: every kind of node, of decision and of column, as texts of the rule language.

Each file in `rules/` holds sections: `=== columns NAME` has the columns that several models share, and `=== model NAME
over COLUMNS` the labels and rules of one model. Their rows are made by rulekit.verification.rows.

Beside them stand members of the noisy-or family over any number of Boolean columns, as a learner would make them.
Strengths are drawn from a seed; those that decide lie on a grid, those that are reported do not. About half of the rows
in which a tenth of the columns are true are decided positive.

At last random schemas and graphs for property tests: every node type, every decision, awkward values included. They
take a `numpy.random.Generator`, so that a failing case is named by its seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from random import Random
from typing import Literal

import numpy as np

from rulekit.errors import GraphError
from rulekit.graph import nodes as rg
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Decision, Fires, Median
from rulekit.graph.nodes import TRUE, Family, Node
from rulekit.graph.probability import deciding
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.numbers import canonical_threshold, contrary_strength, float32, strength_of
from rulekit.schema import Feature, Schema, Unseen


def _bits(k: int, name: str = "h", size: float = 1.0) -> list[rg.Hidden]:
    """A bit for each column and a leak; the strengths of a tenth of the columns are about `size` together."""
    rng = Random(f"{name} 0")
    strengths = [20.0 * size / k * rng.random() for _ in range(k)]
    bits = [rg.Hidden(f"{name}{i}", rg.IsTrue(f"w{i}"), s, 0.001 * s) for i, s in enumerate(strengths)]
    return [*bits, rg.Hidden(f"{name}_leak", TRUE, 0.01 * size)]


def _model(k: int, decision: Decision, *reported: Node, classes: tuple[ClassLabel, ...] = ("no", "yes")) -> RuleGraph:
    schema = Schema(tuple(Feature(f"w{i}", "boolean") for i in range(k)), target="y")
    return RuleGraph(schema, classes, decision, reported)


def _noisy(k: int, decide: Callable[..., Node], join: Callable[..., Node], bits: Sequence[rg.Hidden]) -> RuleGraph:
    return _model(k, Fires(decide(bits)), rg.Probability(join(bits)))


def _nearly_sure(bits: Sequence[rg.Hidden]) -> list[rg.Hidden]:
    """Bits that fire nearly surely, and less surely where their column is true."""
    return [rg.Hidden(bit.name, bit.cause, contrary_strength(bit.on), contrary_strength(bit.off)) for bit in bits]


def rare_gated(k: int) -> RuleGraph:
    """Some cause fires, which is rare, and no inhibitor does; tangents of its probability decide."""
    causes, inhibitors = _bits(k, size=1e-9), _bits(k, "g", 3.0)
    formula = rg.And((rg.Or(causes), rg.Not(rg.Or(inhibitors))))
    return _model(k, Fires(deciding.gated_decision(causes, inhibitors, 1e-10)), rg.Probability(formula))


def noisy_max_decision(cuts: Sequence[Sequence[rg.Hidden]]) -> Median:
    """The median of a noisy-max: the number of classes c above 0 with P(class >= c) > 1/2.

    cuts: by class above 0 its hidden bits; the class is at most c where no bit of a class above c fires.
    """
    every = deciding.bits_on_grid([bit for bits in cuts for bit in bits])
    starts = [sum(map(len, cuts[:c])) for c in range(len(cuts))]
    return Median(tuple(rg.Above(rg.Strength(rg.Or(every[start:])), strength_of(0.5)) for start in starts))


def noisy_min_decision(cuts: Sequence[Sequence[rg.Hidden]]) -> Median:
    """The median of a noisy-min: the number of classes c above 0 with P(class >= c) > 1/2.

    cuts: by class below the last one its hidden bits; the class is at least c where no bit of a class below c fires.
    """
    before = [[bit for bits in cuts[: c + 1] for bit in bits] for c in range(len(cuts))]
    return Median(tuple(deciding.none_fires_decision(bits) for bits in before))


def noisy_max_probabilities(cuts: Sequence[Sequence[rg.Hidden]]) -> tuple[rg.Probability, ...]:
    """P(class = c) of a noisy-max, by class; cuts as for `noisy_max_decision`, or turned round for a noisy-min.

    A class is taken where one of its bits fires and none of a higher class: products of exponentials, not differences.
    """
    found = []
    for c, own in enumerate(((), *cuts)):
        higher = [bit for bits in cuts[c:] for bit in bits]
        parts = [*([rg.Or(tuple(own))] if own else []), *([rg.Not(rg.Or(tuple(higher)))] if higher else [])]
        found.append(rg.Probability(parts[0] if len(parts) == 1 else rg.And(parts)))
    return tuple(found)


def noisy_median(k: int, form: Literal["max", "min"]) -> RuleGraph:
    """Four ordered classes, by a noisy-max or the other way round."""
    cuts = [_bits(k, f"c{c}_", 0.5) for c in range(3)]
    if form == "max":
        return _model(k, noisy_max_decision(cuts), *noisy_max_probabilities(cuts), classes=(0, 1, 2, 3))
    return _model(k, noisy_min_decision(cuts), *noisy_max_probabilities(cuts[::-1])[::-1], classes=(0, 1, 2, 3))


def noisy_add(k: int) -> RuleGraph:
    """How many of up to twelve bits in a count fire, as the class; of more, whether a twentieth of them does."""
    rng = Random(k)
    bits = [rg.Hidden(f"h{i}", rg.IsTrue(f"w{i}"), 0.2 + 2.0 * rng.random(), 0.01 * rng.random()) for i in range(k)]
    counts: Sequence[int] = range(1, k + 1) if k <= 12 else [k // 20]
    chances = [rg.Probability(rg.AtLeast(count, bits)) for count in counts]
    if len(chances) == 1:
        return _model(k, Fires(rg.Above(chances[0], 0.5)), chances[0])
    return _model(k, Median(tuple(rg.Above(chance, 0.5) for chance in chances)), classes=tuple(range(k + 1)))


def noisy_parity(k: int, threshold: float = 0.5) -> RuleGraph:
    """Whether an odd number of bits fires; of every third column the bit does so more often than not."""
    rng = Random(f"parity {k}")
    chances = [0.5 + (0.45 if i % 3 == 0 else -0.4) * rng.random() ** (1.0 / k) for i in range(k)]
    bits = [rg.Hidden(f"h{i}", rg.IsTrue(f"w{i}"), strength_of(p), 0.001) for i, p in enumerate(chances)]
    bits.append(rg.Hidden("h_leak", TRUE, 0.01))
    return _model(k, Fires(deciding.parity_decision(bits, threshold)), rg.Probability(rg.Odd(bits)))


MEMBERS: dict[str, Callable[[int], RuleGraph]] = {
    "noisy-or on a grid": lambda k: _noisy(k, deciding.noisy_or_decision, rg.Or, _bits(k)),
    "noisy-and by logarithms": lambda k: _noisy(
        k, deciding.noisy_and_decision, rg.And, _nearly_sure(_bits(k, size=0.7))
    ),
    "no bit fires": lambda k: _noisy(k, deciding.none_fires_decision, lambda bits: rg.Not(rg.Or(bits)), _bits(k)),
    "rare gated noisy-or": rare_gated,
    "noisy-max": partial(noisy_median, form="max"),
    "noisy-min": partial(noisy_median, form="min"),
    "noisy-add of classes": noisy_add,
    "noisy-parity": noisy_parity,
    "noisy-parity above a third": partial(noisy_parity, threshold=1.0 / 3.0),
    "noisy-parity above two thirds": partial(noisy_parity, threshold=2.0 / 3.0),
}
FAMILY = {name: partial(make, 11) for name, make in MEMBERS.items()}
# Far beyond what a person reads: how many causes each member is tried with.
MOST_CAUSES = {
    **dict.fromkeys(list(MEMBERS)[:4], 5_000),
    **dict.fromkeys(("noisy-max", "noisy-min"), 1_000),
    **dict.fromkeys(("noisy-add of classes", "noisy-parity"), 200),
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
def _parsed(file: str, section: str) -> RuleGraph:
    from rulekit.graph.language.parsing import parse_graph

    columns = section.rpartition(" over ")[2]
    return parse_graph(HEAD + _sections(file)[f"columns {columns}"] + _sections(file)[section])


def _models(file: str) -> Models:
    named = [section for section in _sections(file) if section.startswith("model ")]
    return {section[6:].rpartition(" over ")[0]: partial(_parsed, file, section) for section in named}


NODES = _models("nodes")  # every kind of node and of decision over every kind of column
TABLES = _models("tables")  # tables of special shapes: wide, doubles, dates, hundreds of levels, labels of every kind
NETWORKS = _models("networks")  # large and deep: trees and layers of linear units, long sums, formulas of many bits
LEARNED = _models("learned")  # learned from a table with every kind of column, missing cells and several classes
SMALL = _models("small")  # few enough cells to enumerate
MODELS: Models = {**NODES, **TABLES, **NETWORKS, **LEARNED, **FAMILY}


# Random ones ---------------------------------------------------------------------------------------------------------

THRESHOLDS = (0.0, 0.5, 1.0, -1.5, 3.0, 0.1, 0.30000001192092896, 1e-40, 5e-324, 1e30, 16777217.0, -2.5, 2.0, 7.0)
LEVELS = ("red", "green", "blue", "3", "a b", 'quo"te', "new\nline", "NA", "ünï", "", "true")
NAMES = ("x", "age", "capital gain", "E", "lambda", 'quo"ted', "new\nline", "__import__('os')", "ü", "and", "x1", "not")


def random_schema(rng: np.random.Generator, plain: bool = False) -> Schema:
    """Two to six columns of every kind; `plain` keeps to simple names and levels."""
    names = [f"c{i}" for i in range(8)] if plain else [str(n) for n in rng.permutation(NAMES)]
    features = []
    for name in names[: int(rng.integers(2, 7))]:
        kind = rng.choice(["numeric", "numeric", "boolean", "categorical"])
        if kind == "categorical":
            pool = LEVELS[:3] if plain else [level for level in LEVELS if level]
            levels = tuple(str(v) for v in rng.permutation(pool)[: int(rng.integers(2, 5))])
            tokens = ("?",) if rng.random() < 0.3 else ()
            ordered, missing = bool(rng.random() < 0.2), rng.random() < 0.2
            unseen: Unseen = "missing" if missing else "unseen"
            features.append(Feature(name, "categorical", levels, ordered, missing_tokens=tokens, unseen=unseen))
        elif kind == "boolean":
            features.append(Feature(name, "boolean"))
        else:
            features.append(Feature(name, precision="float64" if rng.random() < 0.2 else "float32"))
    return Schema(tuple(features), target="label" if plain else "the target")


def _flag(rng: np.random.Generator, chance: float = 0.25) -> bool:
    return bool(rng.random() < chance)


def _normal(rng: np.random.Generator, digits: int = 3, mean: float = 0.0, spread: float = 1.0) -> float:
    return float(np.round(rng.normal(mean, spread), digits))


def _of(rng: np.random.Generator, *values: float) -> float:
    return float(rng.choice(values))


def random_threshold(rng: np.random.Generator, precision: str) -> float:
    value = float(rng.choice(THRESHOLDS)) if rng.random() < 0.6 else _normal(rng, 2, 0, 2)
    value = float32(value) if precision == "float32" and rng.random() < 0.3 else value
    return canonical_threshold(value, precision)


def random_leaf(rng: np.random.Generator, schema: Schema) -> Node:
    feature = schema.features[int(rng.integers(len(schema)))]
    if rng.random() < 0.08:
        return rg.Missing(feature.name)
    if feature.kind == "categorical":
        count = int(rng.integers(1, len(feature.levels) + 1))
        chosen = tuple(str(v) for v in rng.permutation(feature.levels)[:count])
        return rg.Among(feature.name, chosen, _flag(rng), _flag(rng))
    if feature.kind == "boolean":
        return rg.IsTrue(feature.name, _flag(rng))
    above = rng.random() >= 0.5
    return rg.Compare(feature.name, ">" if above else "<=", random_threshold(rng, feature.precision), _flag(rng))


def random_boolean(rng: np.random.Generator, schema: Schema, depth: int = 3) -> Node:
    """A Boolean formula of leaves, constants, logic, at-least and now and then a linear threshold."""
    draw = rng.random()
    if depth == 0 or draw < 0.25:
        return rg.Constant(_flag(rng, 0.5)) if rng.random() < 0.04 else random_leaf(rng, schema)
    if draw < 0.35:
        return rg.Not(random_boolean(rng, schema, depth - 1))
    if draw < 0.42 and any(f.kind != "categorical" for f in schema):
        return rg.LinearThreshold(random_terms(rng, schema), _normal(rng))
    if draw < 0.45:
        return random_above(rng, schema)
    children = tuple(random_boolean(rng, schema, depth - 1) for _ in range(int(rng.integers(1, 4))))
    if draw < 0.54:
        return rg.AtLeast(int(rng.integers(0, len(children) + 1)), children)
    if draw < 0.6:
        return rg.Odd(children)
    return rg.And(children) if rng.random() < 0.5 else rg.Or(children)


def random_above(rng: np.random.Generator, schema: Schema) -> Node:
    """A score of any kind above a threshold."""
    scores = (
        rg.Linear(random_terms(rng, schema), 0.0),
        rg.Probability(random_formula(rng, schema, 2)),
        rg.Strength(rg.Or(random_hidden(rng, schema, 2))),
        random_probability(rng, schema),
    )
    return rg.Above(scores[int(rng.integers(len(scores)))], _of(rng, 0.5, 0.25))


def random_probability(rng: np.random.Generator, schema: Schema) -> Node:
    """Of a formula, with other odds, or the difference of two."""
    draw, plain = rng.random(), rg.Probability(random_formula(rng, schema, 2))
    if draw < 0.4:
        return rg.Rescaled(plain, _of(rng, 0.1, 8.0, 0.37))
    if draw < 0.55:
        return rg.Sided(plain, random_boolean(rng, schema, 1), 0.501, _of(rng, 0.499, 0.501, 0.0))
    return plain if draw < 0.7 else rg.Difference(rg.Probability(random_formula(rng, schema, 2)), plain)


def random_terms(rng: np.random.Generator, schema: Schema) -> tuple[tuple[float, Node], ...]:
    return tuple(
        (_normal(rng), random_real(rng, schema) if rng.random() < 0.6 else random_leaf(rng, schema))
        for _ in range(int(rng.integers(1, 5)))
    )


def random_real(rng: np.random.Generator, schema: Schema) -> Node:
    feature = schema.features[int(rng.integers(len(schema)))]
    if feature.kind == "categorical":
        drawn = np.round(rng.normal(size=len(feature.levels) + 2), 1).tolist()
        return rg.LevelPoints(feature.name, tuple(zip(feature.levels, drawn[2:], strict=True)), drawn[0], drawn[1])
    if feature.kind == "numeric" and rng.random() < 0.5:
        cuts = sorted({random_threshold(rng, feature.precision) for _ in range(int(rng.integers(1, 4)))})
        if feature.precision == "float32":  # cuts that are one float32 are one cut
            cuts = [c for i, c in enumerate(cuts) if i == 0 or float32(c) > float32(cuts[i - 1])]
        values = tuple(_normal(rng) for _ in range(len(cuts) + 1))
        return rg.Step(feature.name, tuple(cuts), values, _normal(rng))
    low = _normal(rng, 1, -2, 2)
    step = _of(rng, 0.0, 0.25, 1.0, 2.0**-10)
    return rg.Column(feature.name, _normal(rng, 2), low, low + float(rng.integers(0, 9)), step)


def random_strength(rng: np.random.Generator) -> float:
    draw = rng.random()
    if draw < 0.1:
        return math.inf
    if draw < 0.2:
        return 0.0
    return strength_of(float(np.round(rng.random(), 3))) if draw < 0.8 else float(rng.exponential())


def random_hidden(rng: np.random.Generator, schema: Schema, count: int) -> tuple[Node, ...]:
    return tuple(
        rg.Hidden(
            f"h{i + 1}",
            random_boolean(rng, schema, int(rng.integers(0, 2))),
            random_strength(rng),
            random_strength(rng) if rng.random() < 0.5 else 0.0,
        )
        for i in range(count)
    )


def random_formula(rng: np.random.Generator, schema: Schema, bits: int = 4, shared: bool = False) -> Node:
    """A noisy-logical formula: a read-once tree over `bits` hidden bits, or one where bits stand several times."""
    pool: list[Node] = list(random_hidden(rng, schema, bits))
    if shared:
        pool = [pool[int(rng.integers(len(pool)))] for _ in range(2 * bits)]
    if rng.random() < 0.3:
        pool.append(random_leaf(rng, schema))
    while len(pool) > 1:
        count = min(len(pool), int(rng.integers(2, 4)))
        children, pool = tuple(pool[:count]), pool[count:]
        draw = rng.random()
        node: Node = (
            rg.And(children) if draw < 0.45 else rg.Or(children) if draw < 0.85 else rg.AtLeast(min(2, count), children)
        )
        node = rg.Odd(children) if draw > 0.93 else node
        pool.append(rg.Not(node) if rng.random() < 0.1 else node)
    return pool[0]


def random_graph(rng: np.random.Generator, plain: bool = False, schema: Schema | None = None) -> RuleGraph:
    """A legal model with any kind of decision and probability."""
    schema = schema or random_schema(rng, plain)
    draw = rng.random()
    k = 2
    decision: Decision
    probability: tuple[Node, ...] = ()
    if draw < 0.35:
        decision = Fires(random_boolean(rng, schema))
        if rng.random() < 0.5:
            probability = (rg.Probability(random_formula(rng, schema, int(rng.integers(1, 5)))),)
    elif draw < 0.55:
        node = rg.Probability(random_formula(rng, schema, int(rng.integers(1, 6)), shared=_flag(rng)))
        decision, probability = Fires(rg.Above(node, _of(rng, 0.5, 0.25, 0.7))), (node,)
    elif draw < 0.65:
        children = random_hidden(rng, schema, int(rng.integers(1, 5)))
        if rng.random() < 0.3:
            children = (*children, random_leaf(rng, schema))
        node = rg.Probability(rg.Or(children))
        decision, probability = Fires(rg.Above(rg.Strength(node.children[0]), _of(rng, 0.5, 1.0, 0.125))), (node,)
    elif draw < 0.78:
        linear = rg.Linear(random_terms(rng, schema), _normal(rng))
        decision = Fires(rg.Above(linear, _of(rng, 0.0, 0.5)))
        probability = (rg.Logistic(linear),) if rng.random() < 0.5 else ()
    elif draw < 0.92:
        k = int(rng.integers(2, 5))
        if k > 2 and _flag(rng, 0.3):
            return _random_list(rng, schema, k)
        scores = tuple(_random_score(rng, schema) for _ in range(k))
        thresholds = tuple(-math.inf if rng.random() < 0.2 else 0.5 for _ in range(k))
        decision = ArgMax(scores, thresholds, tuple(int(v) for v in rng.permutation(k)))
        probability = tuple(random_probability(rng, schema) for _ in range(k)) if k > 2 and _flag(rng, 0.6) else ()
    else:
        k = int(rng.integers(3, 5))
        cuts = []
        for _ in range(k - 1):
            plainly = rng.random() < 0.5
            above = random_boolean(rng, schema, 2) if plainly else rg.Probability(random_formula(rng, schema, 2))
            cuts.append(above if plainly else rg.Above(above, 0.5))
        decision = Median(tuple(cuts))
    words = ("no", "yes", 'may"be', "new\nline", "2")
    kinds = (tuple(range(k)), tuple(words[:k]), (False, True) if k == 2 else tuple(words[1 : k + 1]))
    classes = kinds[0 if plain and rng.random() < 0.5 else int(rng.integers(3))]
    own = Schema(schema.features, schema.target, isinstance(decision, Median))
    return RuleGraph(own, classes, decision, probability, default=int(rng.integers(k)))


def _random_score(rng: np.random.Generator, schema: Schema) -> Node:
    draw = rng.random()
    if draw < 0.4:
        return rg.Probability(random_formula(rng, schema, 2))
    return rg.Linear(random_terms(rng, schema), 0.0) if draw < 0.7 else random_boolean(rng, schema, 2)


def _random_list(rng: np.random.Generator, schema: Schema, k: int) -> RuleGraph:
    """The first of k classes with a rule that holds is decided, and reported as the most probable one."""
    order = [int(v) for v in rng.permutation(k)][: int(rng.integers(1, k + 1))]
    decision, default = ArgMax.first_of({j: random_boolean(rng, schema, 2) for j in order}, k), int(rng.integers(k))
    formulas = [rg.Probability(random_formula(rng, schema, 2)) for _ in range(k)]
    pairs = zip(formulas, decision.decided(default), strict=True)
    sided = tuple(rg.Sided(node, rule, 0.501, 0.499) for node, rule in pairs)
    return RuleGraph(Schema(schema.features, schema.target), tuple(range(k)), decision, sided, default=default)


def graph_of(node: Node, schema: Schema) -> RuleGraph:
    """A model of two classes that a node decides: where it is true, or above a half."""
    if node.family is Family.BOOLEAN:
        return RuleGraph(schema, ("no", "yes"), Fires(node))
    score = rg.Probability(node) if node.family is Family.RANDOM else node
    return RuleGraph(schema, ("no", "yes"), Fires(rg.Above(score, 0.5)))


def random_legal_graph(seed: int) -> RuleGraph:
    """The first graph that `check` passes, drawn from this seed."""
    rng = np.random.default_rng(seed)
    while True:
        graph = random_graph(rng)
        try:
            check(graph)
        except GraphError:
            continue
        return graph
