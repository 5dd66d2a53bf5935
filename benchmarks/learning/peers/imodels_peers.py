"""Peers of imodels: FIGS and RuleFit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.learning.peers.definitions import PEERS, Peer, Size


def figs(parameters: Mapping[str, Any]) -> Any:
    from imodels import FIGSClassifier

    return FIGSClassifier(**parameters)


def fit_few_leaves(model: Any, inputs: Any, labels: npt.NDArray[np.int8]) -> Any:
    """The largest FIGS of at most 8 leaves: it is told splits, and how many leaves they give depends on its trees."""
    for splits in range(7, 0, -1):
        model.set_params(max_rules=splits)
        model.fit(inputs, labels)
        if figs_size(model).rules <= 8:
            break
    return model


def rule_fit(parameters: Mapping[str, Any]) -> Any:
    from imodels import RuleFitClassifier

    return RuleFitClassifier(**parameters)


def figs_size(model: Any) -> Size:
    """Each leaf of each tree adds its value, so it is a rule; the tests on the way to it are its literals."""
    rules = literals = 0
    waiting = [(root, 0) for root in model.trees_]
    while waiting:
        node, depth = waiting.pop()
        children = [child for child in (node.left, node.right) if child is not None]
        if not children:
            rules, literals = rules + 1, literals + depth
        waiting += [(child, depth + 1) for child in children]
    return Size(rules, literals)


def rule_fit_size(model: Any) -> Size:
    """Rules with a weight and linear terms with one; a linear term is one literal."""
    linear = sum(weight != 0 for weight in model.coef[: model.n_features_]) if model.include_linear else 0
    rules = list(model.rules_without_feature_names_)
    return Size(len(rules) + linear, sum(len(rule.agg_dict) for rule in rules) + linear)


_FIGS = Peer("FIGS", figs, figs_size, {"random_state": 0}, ("imodels",), PEERS, limits=(20,))
_RULE_FIT = Peer(
    "RuleFit 20", rule_fit, rule_fit_size, {"max_rules": 20, "random_state": 0}, ("imodels",), PEERS, limits=(20,)
)
ENTRIES = (
    _FIGS,
    replace(_FIGS.changed("FIGS 8", {}, 8), fit=fit_few_leaves),
    _RULE_FIT,
    _RULE_FIT.changed("RuleFit 8", {"max_rules": 8, "include_linear": False}, 8),
)
