"""Random schemas, tables and graphs for property tests: every node type, every decision, awkward values included.

Everything takes a `numpy.random.Generator`, so that a failing case is named by its seed.
"""

from __future__ import annotations

import math

import numpy as np

from rulekit.errors import GraphError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Decision, Fires, Median
from rulekit.graph.nodes import (
    Above,
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Constant,
    Difference,
    Family,
    Hidden,
    IsTrue,
    LevelPoints,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Rescaled,
    Sided,
    Step,
    Strength,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold, float32, strength_of
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

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
            features.append(
                Feature(
                    name,
                    "categorical",
                    levels,
                    ordered=bool(rng.random() < 0.2),
                    missing_tokens=tokens,
                    unseen="missing" if rng.random() < 0.2 else "unseen",
                )
            )
        elif kind == "boolean":
            features.append(Feature(name, "boolean"))
        else:
            features.append(Feature(name, precision="float64" if rng.random() < 0.2 else "float32"))
    return Schema(tuple(features), target="label" if plain else "the target")


def _flag(rng: np.random.Generator, chance: float = 0.25) -> bool:
    return bool(rng.random() < chance)


def random_threshold(rng: np.random.Generator, precision: str) -> float:
    value = float(rng.choice(THRESHOLDS)) if rng.random() < 0.6 else float(np.round(rng.normal(0, 2), 2))
    value = float32(value) if precision == "float32" and rng.random() < 0.3 else value
    return canonical_threshold(value, precision)


def random_leaf(rng: np.random.Generator, schema: Schema) -> Node:
    feature = schema.features[int(rng.integers(len(schema)))]
    if rng.random() < 0.08:
        return Missing(feature.name)
    if feature.kind == "categorical":
        count = int(rng.integers(1, len(feature.levels) + 1))
        chosen = tuple(str(v) for v in rng.permutation(feature.levels)[:count])
        return Among(feature.name, chosen, _flag(rng), _flag(rng))
    if feature.kind == "boolean":
        return IsTrue(feature.name, _flag(rng))
    above = rng.random() >= 0.5
    return Compare(feature.name, ">" if above else "<=", random_threshold(rng, feature.precision), _flag(rng))


def random_boolean(rng: np.random.Generator, schema: Schema, depth: int = 3) -> Node:
    """A Boolean formula of leaves, constants, logic, at-least and now and then a linear threshold."""
    draw = rng.random()
    if depth == 0 or draw < 0.25:
        return Constant(_flag(rng, 0.5)) if rng.random() < 0.04 else random_leaf(rng, schema)
    if draw < 0.35:
        return Not(random_boolean(rng, schema, depth - 1))
    if draw < 0.42 and any(f.kind != "categorical" for f in schema):
        return random_linear_threshold(rng, schema)
    if draw < 0.45:
        return random_above(rng, schema)
    children = tuple(random_boolean(rng, schema, depth - 1) for _ in range(int(rng.integers(1, 4))))
    if draw < 0.54:
        return AtLeast(int(rng.integers(0, len(children) + 1)), children)
    if draw < 0.6:
        return Odd(children)
    return And(children) if rng.random() < 0.5 else Or(children)


def random_above(rng: np.random.Generator, schema: Schema) -> Node:
    """A score of any kind above a threshold."""
    scores = (
        Linear(random_terms(rng, schema), 0.0),
        Probability(random_formula(rng, schema, 2)),
        Strength(Or(random_hidden(rng, schema, 2))),
        random_probability(rng, schema),
    )
    return Above(scores[int(rng.integers(len(scores)))], float(rng.choice([0.5, 0.25])))


def random_probability(rng: np.random.Generator, schema: Schema) -> Node:
    """Of a formula, with other odds, or the difference of two."""
    draw, plain = rng.random(), Probability(random_formula(rng, schema, 2))
    if draw < 0.4:
        return Rescaled(plain, float(rng.choice([0.1, 8.0, 0.37])))
    if draw < 0.55:
        return Sided(plain, random_boolean(rng, schema, 1), 0.501, float(rng.choice([0.499, 0.501, 0.0])))
    return plain if draw < 0.7 else Difference(Probability(random_formula(rng, schema, 2)), plain)


def random_linear_threshold(rng: np.random.Generator, schema: Schema) -> Node:
    return LinearThreshold(random_terms(rng, schema), float(np.round(rng.normal(), 3)))


def random_terms(rng: np.random.Generator, schema: Schema) -> tuple[tuple[float, Node], ...]:
    return tuple(
        (float(np.round(rng.normal(), 3)), random_real(rng, schema) if rng.random() < 0.6 else random_leaf(rng, schema))
        for _ in range(int(rng.integers(1, 5)))
    )


def random_real(rng: np.random.Generator, schema: Schema) -> Node:
    feature = schema.features[int(rng.integers(len(schema)))]
    if feature.kind == "categorical":
        drawn = np.round(rng.normal(size=len(feature.levels) + 2), 1).tolist()
        return LevelPoints(feature.name, tuple(zip(feature.levels, drawn[2:], strict=True)), drawn[0], drawn[1])
    if feature.kind == "numeric" and rng.random() < 0.5:
        cuts = sorted({random_threshold(rng, feature.precision) for _ in range(int(rng.integers(1, 4)))})
        if feature.precision == "float32":  # cuts that are one float32 are one cut
            cuts = [c for i, c in enumerate(cuts) if i == 0 or float32(c) > float32(cuts[i - 1])]
        values = tuple(float(np.round(rng.normal(), 3)) for _ in range(len(cuts) + 1))
        return Step(feature.name, tuple(cuts), values, float(np.round(rng.normal(), 3)))
    low = float(np.round(rng.normal(-2, 2), 1))
    step = float(rng.choice([0.0, 0.25, 1.0, 2.0**-10]))
    return Column(feature.name, float(np.round(rng.normal(), 2)), low, low + float(rng.integers(0, 9)), step)


def random_strength(rng: np.random.Generator) -> float:
    draw = rng.random()
    if draw < 0.1:
        return math.inf
    if draw < 0.2:
        return 0.0
    return strength_of(float(np.round(rng.random(), 3))) if draw < 0.8 else float(rng.exponential())


def random_hidden(rng: np.random.Generator, schema: Schema, count: int) -> tuple[Node, ...]:
    return tuple(
        Hidden(
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
        node: Node = And(children) if draw < 0.45 else Or(children) if draw < 0.85 else AtLeast(min(2, count), children)
        node = Odd(children) if draw > 0.93 else node
        pool.append(Not(node) if rng.random() < 0.1 else node)
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
            probability = (Probability(random_formula(rng, schema, int(rng.integers(1, 5)))),)
    elif draw < 0.55:
        node = Probability(random_formula(rng, schema, int(rng.integers(1, 6)), shared=_flag(rng)))
        decision, probability = Fires(Above(node, float(rng.choice([0.5, 0.25, 0.7])))), (node,)
    elif draw < 0.65:
        children = random_hidden(rng, schema, int(rng.integers(1, 5)))
        if rng.random() < 0.3:
            children = (*children, random_leaf(rng, schema))
        node = Probability(Or(children))
        decision, probability = Fires(Above(Strength(node.children[0]), float(rng.choice([0.5, 1.0, 0.125])))), (node,)
    elif draw < 0.78:
        linear = Linear(random_terms(rng, schema), float(np.round(rng.normal(), 3)))
        decision = Fires(Above(linear, float(rng.choice([0.0, 0.5]))))
        probability = (Logistic(linear),) if rng.random() < 0.5 else ()
    elif draw < 0.92:
        k = int(rng.integers(2, 5))
        if k > 2 and _flag(rng, 0.3):
            return _random_list(rng, schema, k)
        scores = tuple(random_score(rng, schema) for _ in range(k))
        thresholds = tuple(-math.inf if rng.random() < 0.2 else 0.5 for _ in range(k))
        decision = ArgMax(scores, thresholds, tuple(int(v) for v in rng.permutation(k)))
        probability = tuple(random_probability(rng, schema) for _ in range(k)) if k > 2 and _flag(rng, 0.6) else ()
    else:
        k = int(rng.integers(3, 5))
        decision = Median(tuple(random_binary(rng, schema) for _ in range(k - 1)))
    words = ("no", "yes", 'may"be', "new\nline", "2")
    kinds = (tuple(range(k)), tuple(words[:k]), (False, True) if k == 2 else tuple(words[1 : k + 1]))
    classes = kinds[0 if plain and rng.random() < 0.5 else int(rng.integers(3))]
    return RuleGraph(
        Schema(schema.features, schema.target, isinstance(decision, Median)),
        classes,
        decision,
        probability,
        default=int(rng.integers(k)),
    )


def _random_list(rng: np.random.Generator, schema: Schema, k: int) -> RuleGraph:
    """The first of k classes with a rule that holds is decided, and reported as the most probable one."""
    order = [int(v) for v in rng.permutation(k)][: int(rng.integers(1, k + 1))]
    decision, default = ArgMax.first_of({j: random_boolean(rng, schema, 2) for j in order}, k), int(rng.integers(k))
    formulas = [Probability(random_formula(rng, schema, 2)) for _ in range(k)]
    pairs = zip(formulas, decision.decided(default), strict=True)
    return RuleGraph(
        Schema(schema.features, schema.target),
        tuple(range(k)),
        decision,
        tuple(Sided(node, rule, 0.501, 0.499) for node, rule in pairs),
        default=default,
    )


def graph_of(node: Node, schema: Schema) -> RuleGraph:
    """A model of two classes that a node decides: where it is true, or above a half."""
    if node.family is Family.BOOLEAN:
        return RuleGraph(schema, ("no", "yes"), Fires(node))
    score = Probability(node) if node.family is Family.RANDOM else node
    return RuleGraph(schema, ("no", "yes"), Fires(Above(score, 0.5)))


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


def random_score(rng: np.random.Generator, schema: Schema) -> Node:
    draw = rng.random()
    if draw < 0.4:
        return Probability(random_formula(rng, schema, 2))
    if draw < 0.7:
        return Linear(random_terms(rng, schema), 0.0)
    return random_boolean(rng, schema, 2)


def random_binary(rng: np.random.Generator, schema: Schema) -> Node:
    if rng.random() < 0.5:
        return random_boolean(rng, schema, 2)
    return Above(Probability(random_formula(rng, schema, 2)), 0.5)


def random_table(rng: np.random.Generator, schema: Schema, n_rows: int) -> Table:
    """Encoded rows at and beside the thresholds above, missing, infinite, unseen."""
    special = np.array([*THRESHOLDS, math.inf, -math.inf, math.nan, -0.0, 1e38, 0.2, 2.25])
    arrays = []
    for feature in schema:
        if feature.kind == "categorical":
            low = 0
            codes = rng.integers(low, len(feature.levels) + 2, n_rows).astype(np.int32)
            if feature.unseen != "unseen":
                codes[codes == 1] = 0
            arrays.append(codes)
        elif feature.kind == "boolean":
            arrays.append(rng.choice(np.array([0.0, 1.0, math.nan], dtype=np.float32), n_rows))
        else:
            values = np.where(
                rng.random(n_rows) < 0.6, rng.choice(special, n_rows), np.round(rng.normal(0, 2, n_rows), 2)
            )
            if feature.precision == "float64":
                arrays.append(values)
            else:
                with np.errstate(over="ignore"):
                    exact = values.astype(np.float32)
                beside = np.nextafter(exact, rng.choice(np.array([-np.inf, np.inf], dtype=np.float32), n_rows))
                arrays.append(np.where(rng.random(n_rows) < 0.3, beside, exact).astype(np.float32))
    return Table(schema.features, tuple(arrays), n_rows)
