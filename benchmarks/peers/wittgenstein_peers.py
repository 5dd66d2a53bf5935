"""The peer of wittgenstein: RIPPER."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.peers.columns import Part
from benchmarks.peers.definitions import PEERS, Peer, Size


def ripper(parameters: Mapping[str, Any]) -> Any:
    from wittgenstein import RIPPER

    return RIPPER(**parameters)


def one_hot_frame(part: Part) -> Any:
    """The one-hot matrix as a frame; tried, it did better with it than with the text columns (five of seven tables)."""
    import pandas

    return pandas.DataFrame(part.matrix, columns=[f"x{j}" for j in range(part.matrix.shape[1])])


def fit(model: Any, inputs: Any, labels: Any) -> Any:
    """It has to be told which class is positive."""
    model.fit(inputs, labels, pos_class=1)
    return model


def predict(model: Any, inputs: Any) -> tuple[Any, Any]:
    """It decides by True and False."""
    decided = np.asarray(model.predict(inputs)).astype(np.int8)
    return decided, np.asarray(model.predict_proba(inputs))[:, 1]


def size(model: Any) -> Size:
    """Rules and conditions of the list for the positive class."""
    rules = model.ruleset_.rules
    return Size(len(rules), sum(len(rule.conds) for rule in rules))


ENTRIES = (
    Peer(
        "RIPPER",
        ripper,
        size,
        {"random_state": 0},
        ("wittgenstein", "pandas"),
        PEERS,
        inputs=one_hot_frame,
        fit=fit,
        predict=predict,
        at_most_20=True,
    ),
)
