"""Plain cells are encoded as `encode` does, or left to it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rulekit.errors import InputError
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.plain_cells import PlainCells

FEATURES = (
    Feature("n", "numeric"),
    Feature("wide", "numeric", precision="float64", missing_tokens=("-999", "1.5", "?")),
    Feature("yes", "boolean"),
    Feature("tokens", "boolean", missing_tokens=("0", "false")),
    Feature("c", "categorical", levels=("a", "3", "true", "é", " a"), missing_tokens=("?", "NA")),
    Feature("strict", "categorical", levels=("a", "True", "1"), unseen="error"),
    Feature("loose", "categorical", levels=("a", "0.5"), unseen="missing"),
    Feature("day", "numeric", display="date"),
    Feature("words", "text", levels=("a",)),
)
numbers = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, -999, -999.0, 1.5, 1, 0, 0.5, 0.3, 1e300, 1e-50, 2**53, 2**53 + 2, -(2**53), 10**30]),
    st.floats(),
    st.integers(),
)
texts = st.one_of(
    st.none(), st.sampled_from(["", "a", " a", "A", "3", "3.0", "TRUE", "true", "é", "?", "NA", "0.5", "\ud800", "nan"])
)
anything = st.one_of(numbers, st.booleans(), texts, st.sampled_from([np.float64(1.5), np.int64(3), b"a"]))
cells = st.one_of(numbers, st.one_of(st.none(), st.booleans()), texts, anything)


@st.composite
def tables(draw):
    """Features that a model reads, and columns of cells of one sort, some of which it does not."""
    used = draw(st.lists(st.sampled_from([f.name for f in FEATURES]), min_size=1, unique=True))
    n_rows = draw(st.integers(0, 3))
    names = [*used, *draw(st.lists(st.sampled_from(["extra", "é", *(f.name for f in FEATURES)]), max_size=2))]
    sort = st.sampled_from([numbers, texts, st.booleans(), anything])
    columns = {name: draw(st.lists(draw(sort), min_size=n_rows, max_size=n_rows)) for name in names}
    return used, columns


@given(tables())
def test_what_is_read_is_read_as_encode_reads_it(table):
    used, columns = table
    schema = Schema(FEATURES, target="y")
    plain = PlainCells.of(schema, used)
    found = None if plain is None else plain.table(columns)
    if found is None:
        return
    expected = encode(columns, schema, used)  # raises nothing where the plain way did not
    assert found.features == expected.features
    assert found.n_rows == expected.n_rows
    for mine, other in zip(found.arrays[:-1], expected.arrays[:-1], strict=True):
        assert mine.dtype == other.dtype
        assert mine.tobytes() == other.tobytes() or np.array_equal(mine, other, equal_nan=True)
        assert np.array_equal(np.signbit(mine[mine == 0]), np.signbit(other[other == 0]))


def test_plain_rows_are_read_the_quick_way():
    """Else the test above would compare nothing."""
    schema = Schema(FEATURES[:7], target="y")
    row = {"n": [1], "wide": [-999], "yes": [True], "tokens": [0], "c": ["3.0"], "strict": ["a"], "loose": [None]}
    found = PlainCells.of(schema, schema.names).table({**row, "id": ["x1"]})
    assert [float(array[0]) for array in found.arrays[:1]] == [1.0]
    assert [np.isnan(found.array(name)[0]) for name in ("wide", "yes", "tokens")] == [True, False, True]
    assert [int(found.array(name)[0]) for name in ("c", "strict", "loose")] == [3, 2, 0]


def test_what_is_not_plain_is_left_to_encode():
    schema = Schema(FEATURES[:7], target="y")
    plain = PlainCells.of(schema, ["n", "strict"])
    for columns in (
        {"n": ["1"], "strict": ["a"]},
        {"n": [True], "strict": ["a"]},
        {"n": [1], "strict": ["new"]},
        {"n": [1], "strict": [1]},
        {"n": [2**53 + 1], "strict": ["a"]},
        {"n": np.array([1.0]), "strict": ["a"]},
        {"n": [1], "strict": ["a", "a"]},
        {"n": [1]},
        {"n": [1], "strict": ["a"], "more": [b"x"]},
        {},
    ):
        assert plain.table(columns) is None
    assert PlainCells.of(Schema(FEATURES, target="y"), ["day"]) is None


def test_half_a_character_is_refused_in_one_line():
    """A lone surrogate, which JSON can write, was an error of the codec."""
    schema = Schema(FEATURES[4:5], target="y")
    for columns in ({"c": ["\ud800"]}, {"c": ["a", "\ud800", 1]}, {"c": ["a"], "\ud800": ["a"]}):
        try:
            encode(columns, schema)
        except InputError as error:
            assert "no character" in str(error)  # noqa: PT017
        else:
            raise AssertionError(columns)
