"""The peer of wittgenstein: RIPPER."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.learning.peers.columns import Part
from benchmarks.learning.peers.definitions import PEERS, Peer, Size


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
    """It decides by True and False; the probabilities are its own, from the class counts of the rules that hold.

    Its `predict_proba` looks at row after row (minutes for thousands of rows and 70 rules); the sums here are the same.
    """
    decided = np.asarray(model.predict(inputs)).astype(np.int8)
    frame = _prepared(model, inputs)
    counts = np.zeros((len(frame), 2))
    for rule in model.ruleset_.rules:
        counts[frame.index.get_indexer(rule.covers(frame).index)] += rule.smoothed_class_freqs_
    counts[decided == 0] = model.ruleset_.smoothed_uncovered_class_freqs_
    return decided, counts[:, 1] / counts.sum(axis=1)


def _prepared(model: Any, inputs: Any) -> Any:
    """The rows with numbers in the model's own bins, as its `predict` makes them."""
    from wittgenstein import preprocess

    return preprocess.preprocess_prediction_data(
        {
            "X": inputs,
            "class_feat": model.class_feat,
            "pos_class": model.pos_class,
            "bin_transformer_": model.bin_transformer_,
            "user_requested_feature_names": None,
            "selected_features_": model.selected_features_,
            "trainset_features_": model.trainset_features_,
            "verbosity": 0,
        }
    )


def size(model: Any) -> Size:
    """Rules and conditions of the list for the positive class."""
    rules = model.ruleset_.rules
    return Size(len(rules), sum(len(rule.conds) for rule in rules))


_RIPPER = Peer(
    "RIPPER",
    ripper,
    size,
    {"random_state": 0},
    ("wittgenstein", "pandas"),
    PEERS,
    inputs=one_hot_frame,
    fit=fit,
    predict=predict,
    limits=(20,),
)
ENTRIES = (_RIPPER, _RIPPER.changed("RIPPER 8", {"max_rules": 8}, 8))
