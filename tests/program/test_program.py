"""The steps of a program, spelled by a small target, decide and report as the graph, for every node and decision."""

from __future__ import annotations

import keyword
import math
from collections.abc import Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rulekit.cells.axis import cleaned
from rulekit.conformance.models import NODES, random_graph
from rulekit.errors import Unsupported
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.lower import Program, lower, lower_nodes
from rulekit.program.nodes import Largest, elementary
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table
from rulekit.target_kit import (
    CHOICE,
    LOW,
    Body,
    Expression,
    Names,
    Outcome,
    Runtime,
    Spelling,
    alike,
    atom,
    context_of,
    raw_columns,
    raw_rows,
    text_target,
)
from rulekit.targets import find_target
from rulekit.tokens import tokens
from rulekit.verification.parity import verify


class Plain(Spelling):
    """Elementary steps as Python, by the common ways of all languages."""

    truths = ("False", "True")
    choice = ("{yes} if {condition} else {no}", CHOICE, LOW)

    def literal(self, value: object) -> str:
        return repr(value)

    def within(self, body: Any, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        return atom(f"{body.cell(feature.name)} in {alike(texts, feature)}", self.comparison)

    def containing(self, body: Any, feature: Feature, tokens: tuple[str, ...], missing: bool) -> Expression:
        wanted = {*tokens, *([None] * missing)}
        return atom(f"has({body.cell(feature.name)}, {wanted}, {(None, '', *feature.missing_tokens)})")


def spell(graph: RuleGraph, _: Any) -> list[str]:
    program = lower(graph, elementary)
    return function(graph, program, (program.label, *program.probabilities))


def function(graph: RuleGraph, program: Program, roots: tuple[rg.Node, ...]) -> list[str]:
    """The lines of a function of the cells of a row that gives the values of some steps."""
    context = context_of(graph, program, Names({*keyword.kwlist, "score", *SCOPE}), "# ")
    body = Body(context, Plain(), roots)
    results = ", ".join([body.text(root) for root in roots])
    return [f"def score({', '.join(context.columns.values())}):", *body.lines, f"    return [{results}]"]


def has(text: str | None, wanted: set[str | None], missing: tuple[str | None, ...]) -> bool:
    return not wanted.isdisjoint({None} if text in missing else tokens(str(text)))


SCOPE = {"exp": math.exp, "isnan": math.isnan, "inf": math.inf, "has": has}


def run_raw(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Any]) -> Outcome:
    scope: dict[str, Any] = dict(SCOPE)
    exec(artifact, scope)
    numbers = [not graph.schema[name].has_text_cells for name in graph.used_features]
    rows = [
        [math.nan if cell is None and is_number else cell for cell, is_number in zip(row, numbers, strict=True)]
        for row in raw_rows(graph, columns)
    ]
    found = np.array([scope["score"](*row) for row in rows]).reshape(len(rows), -1)
    return Outcome(found[:, 0].astype(np.int64), found[:, 1:])


def run(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    return run_raw(artifact, graph, raw_columns(table))


PLAIN = text_target("plain", "Python", (".plain",), "#", spell, (Runtime("here", run, run_raw),))


def check(graph: RuleGraph, n_rows: int, seed: int = 0) -> None:
    """The program of elementary steps, which is proved where no sum rounds."""
    program = lower(graph, elementary)
    steps = rg.topological((program.label, *program.probabilities))
    assert not set(map(type, steps)) & {rg.Column, rg.Step, rg.LevelPoints, rg.Logistic, Largest}
    report = verify(graph, PLAIN.emit(graph), target=PLAIN, rows=n_rows, seed=seed)
    assert (report.ok, report.largest_gap <= 1e-12, report.carried) == (True, True, "same"), report
    assert report.proof == "proved" or report.basis in ("fixed order", "tested"), report


@settings(max_examples=300, deadline=None)
@given(
    st.floats(allow_nan=False) | st.floats(width=32, allow_nan=False),
    st.sampled_from([0.0, 0.25, 1.0, 2.0**-140, 2.0**60]),
    st.sampled_from([4.0, 1e40, 2.0**-130]),
    st.sampled_from(["float32", "float64"]),
)
@example(x=float(2**128 - 2**103), step=0.0, bound=1e300, precision="float32")
@example(x=-0.125, step=0.25, bound=4.0, precision="float64")
@example(x=-3 * 2.0**-150, step=0.0, bound=4.0, precision="float32")
def test_a_column_is_rounded_alike_by_elementary_steps(x: float, step: float, bound: float, precision: Any) -> None:
    column = rg.Column("x", 0.5, -bound, bound, step)
    schema = Schema((Feature("x", precision=precision),), "y")
    graph = RuleGraph(schema, (0, 1), Fires(rg.Above(rg.Linear([(1.0, column)], 0.0), 0.0)))
    program, scope = lower(graph, elementary), dict[str, Any](SCOPE)
    exec("\n".join(function(graph, program, (program.lowered[column],))), scope)
    with np.errstate(over="ignore"):
        assert scope["score"](x) == cleaned(schema["x"], column, np.array([x])).tolist()


def test_terms_of_a_sum_are_added_one_by_one(long_runs: bool) -> None:
    """`total + 1.0 - p` is not `total + (1.0 - p)`, and `0.3 * 1.0 - p` not `0.3 * (1.0 - p)`."""
    schema = Schema(tuple(map(Feature, "xyz")), "y")
    bits = [rg.Hidden(f"h{k}", rg.Compare(name, ">", 1.5), 0.1 + k / 7, 0.03) for k, name in enumerate("xyz")]
    both = [rg.Probability(rg.Not(rg.And((a, b)))) for a, b in combinations(bits, 2)]
    products = [rg.Probability(rg.And((a, b))) for a, b in combinations(bits, 2)]
    inner = rg.Linear([(0.1, both[0]), (0.7, products[0])], 0.3)
    for last in (1.0, 0.3):
        terms = [*zip((1.0, 0.3, last), both, strict=True), (0.7, inner), (1.0, inner), (0.3, products[1])]
        score = rg.Linear(terms, 0.1)
        cells = list(product((1.0, 2.0), repeat=3))
        columns = {name: np.array(column) for name, column in zip("xyz", zip(*cells, strict=True), strict=True)}
        plain = RuleGraph(schema, (0, 1), Fires(rg.Above(score, 0.0)))
        cuts = evaluate_nodes([score], plain.table(columns))[score].tolist()
        for cut in cuts:
            graph = RuleGraph(
                schema, (0, 1), Fires(rg.Or((rg.Above(score, cut), rg.Above(score, math.nextafter(cut, 0.0)))))
            )
            expected = decide(graph, graph.table(columns)).tolist()
            for target in map(find_target, ("python", "sql") if long_runs or cut == cuts[0] else ("sql",)):
                found = target.run_raw(target.emit(graph).main, graph, columns)  # type: ignore[misc]
                assert found.labels.tolist() == expected, target.name


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NODES)
def test_a_program_decides_as_its_model(name: str) -> None:
    check(NODES[name](), 60)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
@example(seed=88171107)
@example(seed=796)  # a sum whose roundings may differ in other steps
def test_a_program_decides_as_any_graph(seed: int) -> None:
    check(random_graph(np.random.default_rng(seed)), 40, seed % 1000)


def level_that_means_missing(levels: tuple[str, ...], token: str) -> RuleGraph:
    """One rule for each way in which a leaf may take the levels, missing cells and unseen ones; `n` picks the rule."""
    feature = Feature("c", "categorical", levels, missing_tokens=(token,))
    kinds = product([(levels[0],), levels[1:], levels], (False, True), (False, True))
    leaves = [rg.Among("c", wanted, missing, unseen) for wanted, missing, unseen in kinds] + [rg.Missing("c")]
    rules = [
        rg.And((rg.Compare("n", ">", k - 0.5), rg.Compare("n", "<=", k + 0.5), leaf)) for k, leaf in enumerate(leaves)
    ]
    return RuleGraph(Schema((Feature("n"), feature), "y"), ("no", "yes"), Fires(rg.Or(rules)))


@pytest.mark.parametrize(("levels", "token"), [(("0", "1", "a"), "0"), (("true", "1"), "true"), (("a", "b"), "a")])
def test_another_spelling_of_a_level_that_means_missing_is_that_level(levels: tuple[str, ...], token: str) -> None:
    """Where "0" is a level and means missing, "0.0" is the level; programs took it for none."""
    graph = level_that_means_missing(levels, token)
    texts = [None, *graph.schema["c"].codes_of_texts, "never seen"]
    cells = [(float(k), text) for k in range(13) for text in texts]
    columns = {"n": np.array([n for n, _ in cells]), "c": np.array([c for _, c in cells], dtype=object)}
    expected = decide(graph, graph.table(columns)).tolist()
    for target in (PLAIN, find_target("python"), find_target("sql")):
        found = target.run_raw(target.emit(graph).main, graph, columns)  # type: ignore[misc]
        assert found.labels.tolist() == expected, target.name


def test_hidden_bits_have_no_step() -> None:
    with pytest.raises(Unsupported, match="Hidden"):
        lower_nodes([rg.Hidden("h", rg.IsTrue("a"), 1.0)], NODES["DNF"]().schema)


def test_a_spelling_that_lacks_what_every_language_has_is_not_made() -> None:
    with pytest.raises(TypeError, match=r"literal.*within"):
        type("Silent", (Spelling,), {})()
