"""Adversarial rows: a test table aimed at every threshold, level and rule of one graph.

A row starts from values that satisfy (or break) a chosen part of the graph, its goal; then one cell is moved to a
boundary. Random cells almost never satisfy a conjunction of several literals; rows that do, with one cell moved, are
where a wrong artifact shows. Every boundary value of every used column is visited in turn, and some rows are moved onto
exact ties of sums. The same graph, number of rows and seed give the same rows.

Cells are drawn from the pool of their column: raw values (float64 with NaN for missing, or text and None) in a fixed
order at which evaluators go wrong, beginning with those that a rule of the graph turns on (`Pool.sharp`): thresholds
and their neighbours, special numbers, level texts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from rulekit.arrays import Array, Bools, Places
from rulekit.cells.axis import cuts_of, texts_of_codes
from rulekit.graph import nodes as rg
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import cuts_of_leaf, readers
from rulekit.graph.nodes import LEAVES, Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import double_crossing, float32, next_float32
from rulekit.program.nodes import RawCompare
from rulekit.schema import Feature
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.raw.columns import TokenColumn, texts_of_sets
from rulekit.tables.table import Table
from rulekit.tables.token_sets import TokenSets

Columns = dict[str, Array]
Goal = dict[str, Bools]

MAX_STEPS = 2_000  # of one goal, so that a huge graph costs no more than a large one
MAX_CELLS = 40_000_000  # columns that the graph does not use are dropped beyond it
GOALS = 256
MAX_NODES = 64  # sums that rows are moved onto ties of


@dataclass(frozen=True, slots=True, eq=False)
class RawRows:
    """Rows as a user holds them, and the same rows encoded by the graph's schema.

    columns: by name, float64 [n] with NaN for missing (numeric, Boolean) or object [n] of text and None (category).
    table: the same rows encoded. Doubles between two float32 values exist in `columns` alone.
    """

    columns: Columns
    table: Table

    def __len__(self) -> int:
        return self.table.n_rows


def adversarial_rows(graph: RuleGraph, n_rows: int, seed: int = 0, aims: Collection[Node] = ()) -> RawRows:
    """`n_rows` rows aimed at the boundaries of `graph` and of `aims`, the leaves of an artifact.

    Deterministic in `seed`; thresholds of the artifact that the graph has as well change nothing.
    """
    nodes = graph.nodes() if aims else []
    further: dict[str, tuple[float, ...]] = {}
    for feature in graph.schema:
        theirs = [node for node in aims if isinstance(node, rg.Compare | RawCompare) and node.feature == feature.name]
        if theirs and feature.kind == "numeric":
            ours = [node for node in nodes if isinstance(node, rg.Compare | rg.Step) and node.feature == feature.name]
            known = set(cuts_of(feature, ours))
            cuts = tuple(cut for cut in cuts_of(feature, theirs) if cut not in known and math.isfinite(cut))
            further |= {feature.name: cuts} if cuts else {}
    return _rows_at(graph, n_rows, seed, tuple(further.items()))


@lru_cache(maxsize=2)  # the artifacts of one model are often verified one after the other, some with rows of their own
def _rows_at(
    graph: RuleGraph, n_rows: int, seed: int, foreign_cuts: tuple[tuple[str, tuple[float, ...]], ...]
) -> RawRows:
    """The rows, which nobody may change; foreign_cuts: by numeric column the further finite doubles to aim at."""
    rng = np.random.default_rng(seed)
    thresholds = thresholds_of(graph)
    for name, foreign in foreign_cuts:
        thresholds[name] = tuple(sorted({*thresholds.get(name, ()), *foreign}))
    # all columns while they are few: an unused NaN must not matter either
    few = len(graph.schema) * n_rows <= MAX_CELLS
    features = list(graph.schema.features) if few else [graph.schema[name] for name in graph.used_features]
    met = words_met(graph)
    pools = {f.name: pool_of(f, thresholds.get(f.name, ()), met.get(f.name, ())) for f in features}
    cells = _draw_cells(graph, pools, n_rows, rng)
    columns = {name: pools[name].values[index] for name, index in cells.items()}
    move_to_ties(graph, columns, rng)
    table = encode(columns, graph.schema, used=columns)
    for array in (*columns.values(), *table.arrays):
        if not isinstance(array, TokenSets):
            array.setflags(write=False)
    return RawRows(columns, table)


def raw_columns(table: Table) -> Columns:
    """The raw values of encoded rows: float64 columns, level texts, None for missing; some new text for unseen."""
    return {f.name: _decode(f, array) for f, array in zip(table.features, table.arrays, strict=True)}


def _decode(feature: Feature, array: Array) -> Array:
    if isinstance(array, TokenSets):
        texts = np.empty(len(array), dtype=object)
        texts[:] = texts_of_sets(TokenColumn(feature.name, array, feature.levels), feature.missing_tokens)
        return texts
    if feature.kind != "categorical":
        return array.astype(np.float64)
    decoded: Array = np.array(texts_of_codes(feature), dtype=object)[array]
    return decoded


def _draw_cells(graph: RuleGraph, pools: dict[str, Pool], n_rows: int, rng: np.random.Generator) -> dict[str, Places]:
    """Pool indices [n] by column: 80 % of the rows follow a goal, the rest are random; most get one boundary cell."""
    truth = _truth_on_pools(graph, pools)
    cells: dict[str, Places] = {}
    for name, pool in pools.items():  # half from the sharp values of the pool, half from all of it
        sharp = rng.integers(max(1, pool.sharp), size=n_rows)
        cells[name] = np.where(rng.random(n_rows) < 0.5, sharp, rng.integers(len(pool), size=n_rows))
    followers = int(n_rows * 0.8)
    goals = draw_goals(graph, truth, min(GOALS, max(1, followers)), rng)
    owner = rng.permutation(np.arange(followers) % len(goals))
    rows_of = np.split(np.argsort(owner, kind="stable"), np.searchsorted(np.sort(owner), np.arange(1, len(goals))))
    for goal, rows in zip(goals, rows_of, strict=True):
        for name, allowed in goal.items():
            places = np.flatnonzero(allowed)
            cells[name][rows] = places[rng.integers(len(places), size=len(rows))]
    used = [name for name in graph.used_features if name in pools]
    if used:  # three rows of four get one cell replaced, going through every pool value of every used column in turn
        column = np.concatenate([np.full(len(pools[name]), j) for j, name in enumerate(used)])
        value = np.concatenate([np.arange(len(pools[name])) for name in used])
        order = rng.permutation(len(column))
        rows = np.flatnonzero(np.arange(n_rows) % 4 != 3)
        turn = order[np.arange(len(rows)) % len(order)]
        for j, name in enumerate(used):
            mine = column[turn] == j
            cells[name][rows[mine]] = value[turn[mine]]
    return cells


def _truth_on_pools(graph: RuleGraph, pools: dict[str, Pool]) -> dict[Node, Bools]:
    leaves = [node for node in graph.nodes() if isinstance(node, LEAVES)]
    if not leaves:
        return {}
    longest = max(len(pool) for pool in pools.values())
    columns = {name: np.resize(pool.values, longest) for name, pool in pools.items()}
    values = evaluate_nodes(leaves, encode(columns, graph.schema, used=columns))
    return {leaf: np.asarray(values[leaf])[: len(pools[leaf.feature])].astype(bool, copy=False) for leaf in leaves}


# Goals ---------------------------------------------------------------------------------------------------------------


def draw_goals(graph: RuleGraph, truth: Mapping[Node, Bools], count: int, rng: np.random.Generator) -> tuple[Goal, ...]:
    """`count` goals: per column name the pool values that are allowed.

    truth: for every leaf its value on the pool of its column.
    """
    nodes = [node for node in graph.nodes() if node.family in (Family.BOOLEAN, Family.RANDOM)]
    if not nodes:
        return tuple(_goal(graph.roots[0], True, truth, rng) for _ in range(count))
    # Rules stand near the roots, which come last; every node has its turn now and then.
    picks = np.where(rng.random(count) < 0.5, rng.integers(len(nodes), size=count), -1)
    wants = rng.random(count) < 0.75
    roots = graph.roots
    return tuple(
        _goal(roots[i % len(roots)] if pick < 0 else nodes[pick], bool(want), truth, rng)
        for i, (pick, want) in enumerate(zip(picks.tolist(), wants.tolist(), strict=True))
    )


def _goal(root: Node, want: bool, truth: Mapping[Node, Bools], rng: np.random.Generator) -> Goal:
    goal: Goal = {}
    stack = [(root, want)]
    for _ in range(MAX_STEPS):
        if not stack:
            break
        node, wanted = stack.pop()
        if isinstance(node, LEAVES):
            allowed = truth[node] == wanted
            both = allowed & goal[node.feature] if node.feature in goal else allowed
            if both.any():  # a condition that contradicts an earlier one is left out
                goal[node.feature] = both
        else:
            stack.extend(_subgoals(node, wanted, rng))
    return goal


def _subgoals(node: Node, wanted: bool, rng: np.random.Generator) -> list[tuple[Node, bool]]:
    children = node.children
    if not children:
        return []
    if isinstance(node, rg.Not):
        return [(children[0], not wanted)]
    if isinstance(node, rg.Linear | rg.LinearThreshold):
        pairs = zip(node.weights, children, strict=True)
        return [(child, (weight > 0) == wanted) for weight, child in pairs if rng.random() < 0.7]
    if isinstance(node, rg.Hidden | rg.Probability | rg.Logistic):
        return [(children[0], wanted)]
    if isinstance(node, rg.Odd):
        truths = rng.random(len(children)) < 0.5
        truths[0] ^= bool(truths.sum() % 2) != wanted
        return list(zip(children, truths.tolist(), strict=True))
    if isinstance(node, rg.And | rg.Or | rg.AtLeast):
        n = len(children)
        k = node.k if isinstance(node, rg.AtLeast) else n if isinstance(node, rg.And) else 1
        needed = k if wanted else n - k + 1
        chosen = rng.permutation(len(children))[: max(0, min(needed, len(children)))]
        return [(children[i], wanted) for i in chosen.tolist()]
    return [(child, wanted) for child in children]


def move_to_ties(graph: RuleGraph, columns: Columns, rng: np.random.Generator) -> None:
    """Changes, in every 16th row, one numeric column such that a linear sum of the graph meets its threshold.

    columns: raw values by name, changed in place.
    """
    nodes = graph.nodes()
    units: list[tuple[rg.Linear | rg.LinearThreshold, float]] = [
        (n, 0.0) for n in nodes if isinstance(n, rg.LinearThreshold)
    ]
    scores = [(n.score, n.threshold) for n in nodes if isinstance(n, rg.Above) and isinstance(n.score, rg.Linear)]
    sums = [pair for pair in (*units, *scores) if any(isinstance(child, rg.Column) for child in pair[0].children)]
    sums = sums[:MAX_NODES]
    n_rows = len(next(iter(columns.values()))) if columns else 0
    rows = np.arange(0, n_rows, 16)
    if not sums or not len(rows):
        return
    table = graph.table({name: values[rows] for name, values in columns.items()})
    owner = rng.integers(len(sums), size=len(rows))
    direction = rng.choice(np.array([-math.inf, math.inf, math.nan]), size=len(rows))
    values = evaluate_nodes([child for node, _ in sums for child in node.children], table)
    for i, (node, threshold) in enumerate(sums):
        terms = [j for j, child in enumerate(node.children) if isinstance(child, rg.Column)]
        if not terms:
            continue
        moved = terms[int(rng.integers(len(terms)))]
        weight, column = node.terms[moved]
        if not isinstance(column, rg.Column) or weight == 0.0 or graph.schema[column.feature].kind != "numeric":
            continue  # a Boolean cell is 0, 1 or missing
        rest = np.full(len(rows), node.bias - threshold)
        for j, (factor, child) in enumerate(node.terms):
            if j != moved:
                rest = rest + factor * np.asarray(values[child], dtype=np.float64)
        meets = -rest / weight
        beside = np.where(np.isnan(direction), meets, np.nextafter(meets, direction))
        fits = (owner == i) & (meets >= column.low) & (meets <= column.high)
        columns[column.feature][rows[fits]] = beside[fits]


# Pools ---------------------------------------------------------------------------------------------------------------

FLOAT32_MAX = float(np.finfo(np.float32).max)
TINIEST_FLOAT32 = 2.0**-149
_MOST_SETS = 256

# Zeros, subnormals of both widths and their rounding edge, the largest numbers and where float32 overflows, integers
# that collide in float32 or in double, ordinary numbers.
SPECIAL = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, TINIEST_FLOAT32, -TINIEST_FLOAT32),
    *(TINIEST_FLOAT32 / 2, math.nextafter(TINIEST_FLOAT32 / 2, 1.0), 2.0**-126, 2.0**-126 - TINIEST_FLOAT32),
    *(2.0**-1022, 1e300, -1e300, FLOAT32_MAX, -FLOAT32_MAX),
    *(math.nextafter(FLOAT32_MAX, math.inf), 1.7976931348623157e308),
    *(2.0**128 - 2.0**103, math.nextafter(2.0**128 - 2.0**103, 0.0), -(2.0**128) + 2.0**103),
    *(2.0**24, 2.0**24 + 1, 2.0**24 + 2, 2.0**24 + 3, -(2.0**24) - 1, 2.0**31, 2.0**53 - 1, 2.0**53),
    *(1.0, -1.0, 0.5, 0.1, 1.0 / 3.0, 2.0, 7.0, 100.0),
)

UNSEEN_TEXTS = ["never seen in training", "nan", "None", "NaN", "null", "0", "1", "-1", "é", "é", "😀"]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Raw values of one column; the first `sharp` of them stand at a threshold or are a level's look-alike."""

    values: Array
    sharp: int

    def __len__(self) -> int:
        return len(self.values)


def thresholds_of(graph: RuleGraph) -> dict[str, tuple[float, ...]]:
    """Every number of a column at which some node may change its value, ascending, by column name.

    Thresholds and cuts; of a clipped column its bounds and, where it is rounded, up to 64 of the half-way points.
    """
    found = {
        name: {cut for node in nodes for cut in (*cuts_of_leaf(node), *_half_steps(node))}
        for name, nodes in readers(graph.roots).items()
    }
    return {name: tuple(sorted(values)) for name, values in found.items() if values}


def _half_steps(column: Node) -> tuple[float, ...]:
    if not isinstance(column, rg.Column) or column.step == 0.0 or column.high - column.low < column.step:
        return ()
    first, last = math.floor(column.low / column.step), math.floor(column.high / column.step)
    count = min(64, last - first + 1)
    halves = ((first + (last - first) * i // max(count - 1, 1) + 0.5) * column.step for i in range(count))
    return tuple(half for half in halves if column.low <= half <= column.high)


def categorical_pool(feature: Feature) -> Pool:
    """Each level and its look-alikes, empty text, missing tokens, None, and levels that training never saw.

    A column that refuses unseen levels gets none.
    """
    known = set(feature.levels)
    nothing = [None, "", *feature.missing_tokens]
    alike: list[str] = []
    if feature.unseen != "error":
        for level in feature.levels[:64]:
            alike.extend((f"{level} ", f" {level}", level.upper(), level.lower(), level.title(), level[:-1]))
            alike.extend((level + level[-1:], f"{level}.0", f"0{level}", f"{level}\x00"))
            if level.removeprefix("-").isdigit():
                alike.extend((f"{level}.", f"{level}.00", f"+{level}", f"+{level}.0"))
            elif level in ("true", "false"):
                alike.extend((level.swapcase(), level[:-1] + level[-1].upper(), level[:1]))
        for token in feature.missing_tokens[:64]:
            alike.extend((f"{token}.0", token.upper(), token.title()))
        alike.extend(UNSEEN_TEXTS)
    return _text_pool([*nothing, *feature.levels, *(text for text in alike if text not in known)])


def text_pool(feature: Feature, wanted: Iterable[Collection[str]] = ()) -> Pool:
    """Texts with each word alone, with all, all but one and none of them, with some at random; words within others.

    wanted: sets of words of which a text each is to be there, such as those of a conjunction.
    """
    words, rng = feature.levels, np.random.default_rng(0)
    texts: list[str | None] = [None, "", *feature.missing_tokens, "-", *words, " ".join(words)]
    texts += [" ".join(sorted(some)) for some in wanted]
    texts += [" ".join(other for other in words if other != word) for word in words[:64]]
    for share in (0.5, 0.15) if len(words) > 2 else ():
        for row in rng.random((32, len(words))) < share:
            texts.append(" ".join(word for word, has in zip(words, row, strict=True) if has))
    for word in words[:64]:
        first, rest = word[:1], word[1:]
        texts += [word.upper(), word.title(), f"x{word}", f"{word}s", word[:-1], rest, f"{word} {word}"]
        texts += [f"{word}_{word}", f"({word})", f"1{word}2", f"a\u00a0{word}\u2014b", f"{word}\u0301"]
        texts += [f"{first} {rest}", f"{first}\u200b{rest}"]
        texts += [f"\n{word}\r\n", f"{word}\x00", f"\x00{word}", f"{word}'s", f"{word}\U0001f600"]
        texts.append(word.replace("k", "\u212a").replace("s", "\u017f").replace("i", "\u0130"))
    for token in feature.missing_tokens[:64]:
        texts += [f" {token}", token.upper(), f"{token} {token}"]
    return _text_pool(texts)


def _text_pool(texts: Iterable[str | None]) -> Pool:
    values = np.array(list(dict.fromkeys(texts)), dtype=object)
    return Pool(values, len(values))


def words_met(graph: RuleGraph) -> dict[str, list[frozenset[str]]]:
    """By text the words that stand together in some conjunction, one of each of its conditions, by the text's name."""
    found: dict[str, dict[frozenset[str], None]] = {}
    for node in graph.nodes():
        if isinstance(node, rg.And | rg.AtLeast | rg.Odd | rg.Linear | rg.LinearThreshold):
            met: dict[str, set[str]] = {}
            for child in node.children:
                for leaf in (child, *child.children):
                    if isinstance(leaf, rg.Contains) and leaf.tokens:
                        met.setdefault(leaf.feature, set()).add(leaf.tokens[0])
            for name, words in met.items():
                found.setdefault(name, {})[frozenset(words)] = None
    return {name: list(sets)[:_MOST_SETS] for name, sets in found.items()}


def pool_of(feature: Feature, thresholds: tuple[float, ...], wanted: Iterable[Collection[str]] = ()) -> Pool:
    """The pool of any column.

    Of a number each threshold, the doubles and float32 beside it, the double where rounding crosses it, mid-points and
    special numbers, each once.
    """
    if feature.kind == "text":
        return text_pool(feature, wanted)
    if feature.kind == "categorical":
        return categorical_pool(feature)
    if feature.kind == "boolean":
        return Pool(np.array([1.0, 0.0, math.nan, -0.0]), 3)
    sharp = [near for value in thresholds for near in _around(value, feature.precision)]
    middles = [low + (high - low) / 2 for low, high in pairwise(thresholds)]
    outside = [thresholds[0] - 1.0, thresholds[-1] + 1.0] if thresholds else []
    values = np.array([*sharp, *middles, *outside, *SPECIAL])
    _, first = np.unique(values.view(np.int64), return_index=True)  # by bits, so that both zeros stay
    first.sort()
    return Pool(values[first], int((first < len(sharp)).sum()))


def _around(value: float, precision: str) -> list[float]:
    """A threshold, one step either side in both widths, and both edges of the doubles that round to it."""
    nearest = float32(value)
    if math.isinf(nearest):
        return [value, *_beside(value)]
    beside = [value, nearest, next_float32(nearest), -next_float32(-nearest)]
    edges = [double_crossing(nearest), double_crossing(-next_float32(-nearest))] if precision == "float32" else []
    near = [step for centre in (value, *edges) for step in _beside(centre)]
    return [*beside, *edges, *near]


def _beside(value: float) -> tuple[float, float]:
    return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
