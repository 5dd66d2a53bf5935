"""Cells: every value of a column lies in one, and the nodes cannot tell two values of a cell apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from counted_work import calls
from random_tables import random_table

from rulekit.cells.axis import cells_of, cleaned, cuts_of
from rulekit.cells.space import axis_of, cell_space
from rulekit.conformance.models import random_graph, random_schema, random_threshold
from rulekit.errors import GraphError
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import LEAVES, Among, Column, Compare, IsTrue, Missing, Step
from rulekit.numbers import crossing, double_crossing, float32
from rulekit.program.nodes import RawCompare
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table

NARROW, WIDE = Feature("x"), Feature("w", precision="float64")


def _place(axis, value: float) -> int:
    """The cell of a raw number by the nodes' truth alone: where all readings agree."""
    below = sum(value > cut for cut in axis.one_by_one.cuts)
    low = [-math.inf, *(math.nextafter(cut, math.inf) for cut in axis.one_by_one.cuts)][below]
    shown = axis.values.tolist()
    return next(
        i for i, values in enumerate(shown) if any(low <= v <= [*axis.one_by_one.cuts, math.inf][below] for v in values)
    )


@pytest.mark.parametrize("seed", range(60))
def test_nodes_read_every_number_as_its_cell_says(seed):
    """Against the numpy evaluator, on thresholds, their neighbours in both widths, and infinities."""
    rng = np.random.default_rng(seed)
    feature = (NARROW, WIDE)[seed % 2]
    nodes = [
        Compare(
            feature.name, str(rng.choice([">", "<="])), random_threshold(rng, feature.precision), bool(rng.integers(2))
        )
        for _ in range(rng.integers(1, 6))
    ]
    nodes.append(
        Column(feature.name, 0.5, -2.0 - rng.random(), 3.0 + rng.random(), float(rng.choice([0.25, 0.5, 1.0])))
    )
    nodes.append(Step(feature.name, (-1.0, 2.5), (0.5, 1.5, -2.0), 9.0))
    axis = axis_of(feature, nodes)
    values = [
        v for cut in axis.one_by_one.cuts for v in (cut, math.nextafter(cut, -math.inf), math.nextafter(cut, math.inf))
    ]
    values += [float32(v) for v in values] + [math.inf, -math.inf, 0.0, *rng.normal(0, 3, 50).tolist()]
    table = encode({feature.name: np.array(values)}, Schema((feature,)))
    truth = evaluate_nodes(nodes, table)
    for i, value in enumerate(values):
        cell = _place(axis, value)
        assert [axis.readings[node][cell] for node in nodes] == [truth[node][i] for node in nodes], value


@pytest.mark.parametrize("seed", range(40))
def test_rows_that_show_a_cell_have_its_readings(seed):
    """The encoded values of all cells, under the numpy evaluator."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    leaves = [node for node in graph.nodes() if isinstance(node, Compare | Among | IsTrue | Missing)]
    space = cell_space(graph.schema, leaves)
    cells = np.arange(min(space.size, 5_000))
    columns, table = space.rows(cells)
    assert set(columns) == set(table.names)
    values = evaluate_nodes(leaves, table)
    rest = cells
    for axis in reversed(space.axes):
        rest, cell = np.divmod(rest, len(axis))
        for node, reading in axis.readings.items():
            assert np.array_equal(values[node], reading[cell])


def test_values_that_no_node_tells_apart_are_one_cell():
    axis = axis_of(NARROW, [Compare("x", ">", 0.1), Compare("x", "<=", 0.1, missing=True)])
    assert len(axis) == 2  # missing is as low values are
    shown = set(axis.values.reshape(-1).tolist())
    assert {double_crossing(0.1), math.nextafter(double_crossing(0.1), math.inf), math.inf, -math.inf} <= shown
    assert any(math.isnan(value) for value in shown)


def test_a_double_between_two_float32_numbers_has_a_cell_of_its_own():
    """An artifact that compares doubles with a wrong constant differs there and nowhere else."""
    right = Compare("x", ">", 0.1)
    wrong = RawCompare("x", ">", math.nextafter(double_crossing(0.1), math.inf))
    axis = axis_of(NARROW, [right, wrong])
    differing = [i for i in range(len(axis)) if axis.readings[right][i] != axis.readings[wrong][i]]
    assert [set(axis.values[i].tolist()) for i in differing] == [{wrong.value}]


@pytest.mark.parametrize("threshold", [0.0, 0.1, 1e-45, 3.4028235e38, -1e30, math.inf, -math.inf])
def test_crossings_part_doubles_as_rounding_does(threshold):
    cut = crossing(threshold)
    near = [cut, math.nextafter(cut, -math.inf), math.nextafter(cut, math.inf), -math.inf, math.inf, 0.0]
    assert [x > cut for x in near] == [float32(x) > float32(threshold) for x in near]


def test_cleaned_columns_part_where_rounding_goes_to_the_even_step():
    column = Column("x", -1.0, 0.0, 2.0, 0.5)
    cuts = cuts_of(WIDE, [Column("w", -1.0, 0.0, 2.0, 0.5)])
    assert cuts == [0.25, math.nextafter(0.75, 0.0), 1.25, math.nextafter(1.75, 0.0)]
    x = np.array([0.25, 0.75, 1.25, 1.75, math.nan, 9.0])
    assert cleaned(NARROW, column, x).tolist() == [0.0, 1.0, 1.0, 2.0, -1.0, 2.0]
    assert axis_of(NARROW, [column]).whole
    assert not axis_of(NARROW, [Column("x", -1.0, 0.0, 2.0)]).whole


def test_categories_have_cells_by_level_unseen_and_missing():
    feature = Feature("c", "categorical", ("a", "b", "c", "3"), missing_tokens=("?",))
    axis = axis_of(feature, [Among("c", ("a", "3"), unseen=True), Missing("c")])
    truth = {
        frozenset(values): axis.readings[Among("c", ("a", "3"), unseen=True)][i]
        for i, values in enumerate(axis.values.tolist())
    }
    assert truth == {
        frozenset((None, "")): False,
        frozenset(("never seen", "a", "3")): True,
        frozenset(("b", "c")): False,
    }


def test_texts_that_an_artifact_tells_apart_are_cells_of_their_own():
    feature = Feature("c", "categorical", ("a", "b"))
    axis = axis_of(feature, [Among("c", ("a",))], ("a ", "A"))
    assert {"a ", "A"} <= {text for texts in axis.values.tolist() for text in texts if len(set(texts)) == 1}
    assert axis.encoded[-2:].reshape(-1).tolist() == [1] * axis.encoded[-2:].size


def test_a_leaf_of_an_unknown_column_or_kind_is_refused_by_name():
    schema = random_schema(np.random.default_rng(1))
    with pytest.raises(GraphError, match="no column 'elsewhere'"):
        cell_space(schema, [Compare("elsewhere", ">", 1.0)])
    with pytest.raises(GraphError, match="IsTrue does not fit a numeric column"):
        axis_of(NARROW, [IsTrue("x")])


def test_a_space_without_columns_has_one_cell():
    space = cell_space(Schema((NARROW,)), [])
    columns, table = space.rows(np.arange(space.size))
    assert (space.size, table.n_rows, list(columns)) == (1, 1, ["x"])


def test_the_work_grows_as_the_thresholds_do():
    """Cells were told apart one by one for each node: the square of 8,000 thresholds took over 40 seconds."""

    def build(n: int) -> int:
        leaves = [Compare("x", ">", float(i)) for i in range(n)]
        return calls(lambda: axis_of(NARROW, leaves))

    few, many = build(200), build(800)
    assert many < 5 * few


def test_nothing_lies_above_an_infinite_cut():
    """A comparison of raw doubles with infinity holds nowhere; a cell that says otherwise had infinity as its value."""
    leaf = RawCompare("x", ">", math.inf)
    axis = axis_of(NARROW, [leaf, Compare("x", ">", 0.0)])
    assert not any(axis.readings[leaf])


def test_thresholds_that_are_one_float32_are_one_cell():
    for feature, values in ((NARROW, 5), (WIDE, 6)):  # both infinities and missing too
        leaves = [Compare(feature.name, ">", 0.1), Compare(feature.name, ">", 0.10000000149011612)]
        assert len(cells_of(feature, leaves).encoded()) == values


def _patterns(leaves, table):
    """The combinations of truth values of some leaves."""
    truth = evaluate_nodes(leaves, table)
    return set(zip(*(truth[leaf].tolist() for leaf in leaves), strict=True))


@pytest.mark.parametrize("seed", range(40))
def test_a_set_of_cells_is_where_its_leaf_holds(seed):
    """Masks of the simplifier, encoded rows and raw rows are three views of one axis."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    for name, leaves in readers(graph.roots).items():
        feature = graph.schema[name]
        boolean = [leaf for leaf in leaves if isinstance(leaf, LEAVES)]
        shown = cells_of(feature, boolean).encoded()
        encoded = Table((feature,), (shown,), len(shown))
        rows = random_table(rng, Schema((feature,)), 300)
        assert _patterns(boolean, rows) <= _patterns(boolean, encoded)
        cells, raw = cells_of(feature, leaves), cells_of(feature, leaves, raw=True)
        if any(isinstance(leaf, Column) for leaf in leaves):
            continue  # of a Column the encoded view has the bounds as cuts, the raw one its steps
        assert (cells.full, len(cells)) == (raw.full, len(raw))
        for leaf in boolean:
            assert cells.mask(leaf) == raw.mask(leaf)
            shown = [(i, value) for i, values in enumerate(raw.shown()) for value in values]
            column = np.array([value for _, value in shown], dtype=object if feature.kind == "categorical" else float)
            truth = evaluate_nodes([leaf], encode({name: column}, Schema((feature,))))[leaf]
            assert [bool(cells.mask(leaf) >> i & 1) for i, _ in shown] == truth.tolist()
