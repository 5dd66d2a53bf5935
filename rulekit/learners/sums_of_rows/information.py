"""Expected information gain: what an attribute tells of the class, on average, in nats.

The gain of an attribute is the entropy of the class less its mean entropy given the value (J. R. Quinlan, Induction of
Decision Trees, 1986): sum over values v and classes c of n(v, c) log(n(v, c) N / (n(v) n(c))) / N. It is 0 where value
and class are independent, at most the entropy of the class, and never negative but for a rounding.
"""

from __future__ import annotations

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.tables.token_sets import TokenSets


def information_gain(counts: Array) -> Floats:
    """The gain [...] in nats of attributes whose values and classes occur so often: counts [..., values, classes] >= 0.

    An attribute of any kind is its table of counts: two values of a word or of a threshold, one for each level.
    """
    counts = np.asarray(counts, dtype=np.float64)
    total = counts.sum(axis=(-2, -1))
    parts = _x_log_x(counts).sum(axis=(-2, -1)) + _x_log_x(total)
    gain = parts - _x_log_x(counts.sum(axis=-1)).sum(axis=-1) - _x_log_x(counts.sum(axis=-2)).sum(axis=-1)
    return np.asarray(np.maximum(gain / np.where(total > 0, total, 1.0), 0.0))


def gain_of_each_class(counts: Array) -> Floats:
    """The gain [..., classes] of attributes for each class against the rest; counts [..., values, classes]."""
    counts = np.asarray(counts, dtype=np.float64)
    own = np.moveaxis(counts, -1, 0)
    return np.moveaxis(information_gain(np.stack([counts.sum(axis=-1) - own, own], axis=-1)), 0, -1)


def word_counts(sets: TokenSets, labels: Array, n_classes: int, weights: Array) -> Floats:
    """By word of a text the weight of the rows without and with it, by class: [words, 2, classes].

    labels, weights [n]: the class and the weight of each row. A missing text has no word.
    """
    rows = sets.rows
    keys = sets.ids.astype(np.int64) * n_classes + labels[rows]
    present = np.bincount(keys, weights[rows], sets.size * n_classes).reshape(sets.size, n_classes)
    every = np.bincount(labels, weights, n_classes)
    return np.stack([every - present, present], axis=1)


def _x_log_x(values: Floats) -> Floats:
    return np.asarray(values * np.log(np.where(values > 0, values, 1.0)))
