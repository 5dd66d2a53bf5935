"""The code of a decision: read back, no code begins another one, less is never longer, graphs are no trees."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from code_reading import CodeReader
from overridden_models import some_overrides

from rulekit.audit.guarantees import code_of, elias, number
from rulekit.conformance.models import MODELS, random_legal_graph
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.variants import with_overrides
from rulekit.schema import Feature, Schema

A, B = rg.IsTrue("a"), rg.IsTrue("b")
BITS = Schema((Feature("a", "boolean"), Feature("b", "boolean")))


def random_graphs(many: int, first: int = 0) -> Iterator[RuleGraph]:
    for seed in range(first, first + many):
        yield random_legal_graph(np.random.default_rng(seed))


def length(formula: rg.Node, schema: Schema = BITS) -> int:
    return len(code_of(RuleGraph(schema, ("no", "yes"), Fires(formula))))


# What is coded -------------------------------------------------------------------------------------------------------


def test_numbers() -> None:
    assert [elias(n) for n in (1, 2, 3, 4, 17)] == ["1", "0100", "0101", "01100", "001010001"]  # P. Elias, 1975
    assert number(0.0) == "01"
    assert number(24900.0) == "0" + elias(250) + "0" + elias(5)  # 249 times 10^2
    assert number(-0.5) == "1" + elias(1) + "1" + elias(2)  # minus 2^-1
    assert len(number(0.1)) < len(number(math.pi))


def reads_back(model: RuleGraph, code: str) -> bool:
    """Whether the very decision is read from its code; cuts and names of hidden bits may mean the same otherwise."""
    reader = CodeReader(code + "0110", model.schema, len(model.classes))
    most = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)  # the reader goes down by calling itself
    decision, default = reader.decision()
    sys.setrecursionlimit(most)
    assert reader.place == len(code)
    again = RuleGraph(model.schema, model.classes, decision, default=model.default if default is None else default)
    assert code_of(again) == code
    assert default in (None, model.default)
    return decision == model.decision


@pytest.mark.parametrize("name", MODELS)
def test_every_conformance_model_has_a_code_of_what_decides_that_can_be_read(name: str) -> None:
    model = MODELS[name]()
    code = code_of(model)
    assert set(code) == {"0", "1"}
    reads_back(model, code)
    assert code_of(RuleGraph(model.schema, model.classes, model.decision, default=model.default)) == code


def test_random_and_overridden_models_are_read_back() -> None:
    same = 0
    for seed, model in enumerate(random_graphs(150)):
        over = with_overrides(model, some_overrides(np.random.default_rng(seed), model))
        same += sum(reads_back(each, code_of(each)) for each in (model, over))
    assert same > 100  # the others have hidden bits, which are numbered


def test_a_cut_is_coded_as_the_shortest_number_that_means_it_in_the_width_of_its_column() -> None:
    narrow, wide = (Schema((Feature("x", precision=p),)) for p in ("float32", "float64"))  # type: ignore[arg-type]
    short, long = rg.Compare("x", "<=", 0.1), rg.Compare("x", "<=", 0.10000000149011612)
    assert length(short, narrow) == length(long, narrow)
    assert length(short, wide) < length(long, wide)


def test_levels_are_listed_or_ticked_whichever_is_shorter_and_tokens_are_coded_as_texts() -> None:
    """Which words a text may have is not known beforehand."""
    levels = tuple(f"l{i}" for i in range(64))
    schema = Schema((Feature("c", "categorical", levels), Feature("t", "text")))
    one, half, all_ = (length(rg.Among("c", levels[:many]), schema) for many in (1, 32, 64))
    assert one + 64 - 10 == half == all_  # a list of one: 4 bits of its length and 6 of its level
    short, long = (length(rg.Contains("t", (word,)), schema) for word in ("ab", "abcdef"))
    assert long >= short + 4 * 8


# Prefixes and Kraft --------------------------------------------------------------------------------------------------


def language() -> Iterator[RuleGraph]:
    """Every decision of some forms over a Boolean, a numeric and a categorical column, cuts from a set of numbers."""
    schema = Schema((Feature("a", "boolean"), Feature("x"), Feature("c", "categorical", ("p", "q"))))
    leaves: list[rg.Node] = [rg.TRUE, rg.FALSE, rg.IsTrue("a"), rg.IsTrue("a", True)]
    leaves += [rg.Compare("x", op, cut) for op in ("<=", ">") for cut in (0.0, 1.0, -2.5, 1000.0)]  # type: ignore[arg-type]
    leaves += [rg.Among("c", levels) for levels in ((), ("p",), ("q",), ("p", "q"))]
    twos = [form(pair) for form in (rg.And, rg.Or) for pair in itertools.product(leaves, repeat=2)]
    formulas = [*leaves, *map(rg.Not, leaves), *(form([leaf]) for form in (rg.And, rg.Or) for leaf in leaves), *twos]
    formulas += [rg.Or([two, leaf]) for two in twos[::3] for leaf in leaves]
    formulas += [rg.AtLeast(k, pair) for k in (0, 1, 2) for pair in itertools.product(leaves, repeat=2)]
    formulas += [rg.LinearThreshold(((w, leaf),), bias) for leaf in leaves for w in (1.0, -3.0) for bias in (0.0, 0.1)]
    yield from (RuleGraph(schema, ("n", "y"), Fires(formula)) for formula in formulas)
    yield from (RuleGraph(schema, ("n", "y"), Median((formula,))) for formula in formulas[:300])
    for first, second in itertools.product(leaves, repeat=2):
        for thresholds, order in itertools.product(((0.5, 0.5), (-math.inf, 0.5)), ((0, 1), (1, 0))):
            decision = ArgMax((first, second), thresholds, order)
            yield from (RuleGraph(schema, ("n", "y"), decision, default=default) for default in (0, 1))


def test_the_kraft_sum_of_a_language_is_at_most_1_and_no_code_begins_another() -> None:
    models = list(language())
    codes = sorted({code_of(model) for model in models})
    decided = {(model.decision, model.default if model.decision.has_default else None) for model in models}
    assert len(codes) == len(decided) > 5000  # equal decisions have one code, others have others
    assert not any(later.startswith(code) for code, later in itertools.pairwise(codes))
    assert 0.005 < math.fsum(2.0 ** -len(code) for code in codes) <= 1.0


# Shorter models ------------------------------------------------------------------------------------------------------


def test_what_is_taken_away_never_makes_a_code_longer() -> None:
    steps = shorter = 0
    for seed, model in enumerate(random_graphs(250, 1000)):
        rng = np.random.default_rng(seed)
        decision, code = model.decision, code_of(model)
        while (fewer := without_one(decision, rng)) is not None:
            decision = fewer
            less = code_of(replace(model, decision=decision, probability=(), overrides=(), ladder=None))
            assert len(less) <= len(code), (seed, steps)
            steps, shorter, code = steps + 1, shorter + (len(less) < len(code)), less
    assert steps > 800
    assert shorter > 0.9 * steps


def without_one(decision: Any, rng: np.random.Generator) -> Any:
    """The decision without one rule, condition or term; None where nothing can be taken away."""
    nodes = [
        n
        for n in rg.topological(decision.roots)
        if isinstance(n, rg.And | rg.Or | rg.Linear | rg.LinearThreshold) and n.children
    ]
    if not nodes:
        return None
    chosen = nodes[int(rng.integers(len(nodes)))]
    place = int(rng.integers(len(chosen.children)))
    images: dict[rg.Node, rg.Node] = {}
    for node in rg.topological(decision.roots):
        if node is not chosen:
            images[node] = rg.with_children(node, [images[child] for child in node.children])
        elif isinstance(node, rg.Linear | rg.LinearThreshold):
            terms = [(w, images[c]) for k, (w, c) in enumerate(node.terms) if k != place]
            images[node] = type(node)(terms, node.bias)
        else:
            images[node] = type(node)([images[c] for k, c in enumerate(node.children) if k != place])
    return decision.with_roots(tuple(images[root] for root in decision.roots))


def test_a_class_without_its_rules_never_makes_a_code_longer() -> None:
    rules = {0: rg.Or([rg.And([A, B]), rg.Not(A)]), 1: rg.Or([B]), 2: rg.Or([rg.And([A, B]), A])}
    schema, classes = BITS, ("p", "q", "r", "s")
    codes = {}
    for chosen in itertools.chain.from_iterable(itertools.combinations(rules, many) for many in range(4)):
        model = RuleGraph(schema, classes, ArgMax.first_of({k: rules[k] for k in chosen}, 4))
        codes[frozenset(chosen)] = len(code_of(model))
    assert all(codes[few] <= codes[more] for few in codes for more in codes if few < more)


# Graphs, not trees ---------------------------------------------------------------------------------------------------


def test_chains_shared_chains_and_large_leaves_take_time_and_bits_by_their_nodes() -> None:
    started = time.monotonic()
    deep: rg.Node = A
    for _ in range(10_000):
        deep = rg.And([B, deep]) if deep.children and isinstance(deep, rg.Not) else rg.Not(deep)
    shared: rg.Node = A
    for _ in range(60):
        shared = rg.Or([rg.And([shared, B]), rg.And([B, shared])])  # 2^60 nodes if it were a tree
    assert length(deep) < 200_000
    assert length(shared) < 60 * 60
    levels = tuple(f"l{i}" for i in range(5_000))
    leaf = rg.Among("c", levels[::2])
    rules = rg.Or([rg.And([leaf, rg.Compare("x", ">", float(k))]) for k in range(5_000)])
    assert length(rules, Schema((Feature("c", "categorical", levels), Feature("x")))) > 5_000
    assert time.monotonic() - started < 4.0


def test_names_of_hidden_bits_are_counted_and_not_spelled() -> None:
    def decision(*names: str) -> Fires:
        return Fires(rg.Above(rg.Probability(rg.Or([rg.Hidden(names[0], A, 1.0), rg.Hidden(names[1], B, 0.5)])), 0.5))

    short, long = (RuleGraph(BITS, ("n", "y"), decision(*names)) for names in (("h", "g"), ("a cause", "another one")))
    assert code_of(short) == code_of(long)
