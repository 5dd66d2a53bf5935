"""Expected information gain: by its definition, and of words from their counts."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rulekit.learners.sums_of_rows.histograms import gain_of_each_class, information_gain, word_counts
from tests.tables.text.test_token_sets import SIZE, sets_from

TABLES = st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=2, max_size=4)


def entropy(counts: list[float]) -> float:
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts if n)


@given(TABLES)
def test_the_gain_is_entropy_less_mean_entropy(table: list[list[int]]) -> None:
    total = sum(map(sum, table))
    if not total:
        return
    before = entropy([sum(column) for column in zip(*table, strict=True)])
    after = sum(sum(row) / total * entropy(list(row)) for row in table if sum(row))
    found = float(information_gain(np.array(table)))
    assert math.isclose(found, max(before - after, 0.0), abs_tol=1e-12)
    each = gain_of_each_class(np.array(table))
    merged = [information_gain(np.array([[sum(r) - r[k], r[k]] for r in table])) for k in range(3)]
    assert np.allclose(each, merged, atol=1e-12)


@given(st.lists(st.tuples(st.one_of(st.none(), st.sets(st.integers(0, SIZE - 1))), st.integers(0, 2)), min_size=1))
def test_words_are_counted_by_class(rows: list[tuple[set[int] | None, int]]) -> None:
    sets, labels = sets_from([row for row, _ in rows]), np.array([label for _, label in rows])
    weights = np.arange(1.0, len(rows) + 1.0)
    counts = word_counts(sets, labels, 3, weights)
    for word in range(SIZE):
        for k in range(3):
            here = [w for (row, label), w in zip(rows, weights, strict=True) if label == k and word in (row or ())]
            every = [w for (_, label), w in zip(rows, weights, strict=True) if label == k]
            assert counts[word, :, k].tolist() == [sum(every) - sum(here), sum(here)]
