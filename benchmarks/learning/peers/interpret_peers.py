"""The peer of interpret: the explainable boosting machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.learning.peers.definitions import PEERS, Peer, Size


def machine(parameters: Mapping[str, Any]) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(**parameters)


def size(model: Any) -> Size:
    """A term is a rule, the cells of its table are literals."""
    return Size(len(model.term_scores_), int(sum(np.count_nonzero(table) for table in model.term_scores_)))


ENTRIES = (
    Peer(
        "EBM, no pairs",
        machine,
        size,
        {"interactions": 0, "n_jobs": 1, "random_state": 0},
        ("interpret.glassbox",),
        PEERS,
    ),
)
