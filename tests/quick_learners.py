"""Parameters with which each learner is quick, by its name."""

from __future__ import annotations

from typing import Any

SMALL: dict[str, dict[str, Any]] = {
    "additive": {"max_rules": 2, "n_folds": 2},
    "gramression": {"feature_length": 2, "price": 4.0},
    "mcmc": {"n_steps": 500, "n_chains": 1, "n_folds": 2},
    "adaboost": {"n_estimators": 4, "n_folds": 2},
    "adaboost-paper": {"n_estimators": 4, "n_folds": 2},
    "boosted": {"n_estimators": 2, "n_folds": 2},
    "cnll": {"n_units": 2, "n_folds": 2},
    "cnll-paper": {"n_units": 2, "n_folds": 2},
    "ltu-tree": {"max_nodes": 2, "n_starts": 1},
    "ltu-tree-paper": {"max_nodes": 2, "n_epochs": 1},
    "mada-winnow": {"shape": "small", "n_passes": 1, "n_networks": 1},
    "madaline": {"shape": "small", "n_passes": 1, "n_networks": 1},
    "noisy-count": {"max_causes": 2, "n_folds": 2},
    "noisy-or": {"max_causes": 2, "n_folds": 2},
    "noisy-or-gated": {"max_causes": 2, "n_folds": 2},
    "noisy-or-paper": {"max_causes": 2, "n_folds": 2},
    "rules": {"max_rules": 2, "n_folds": 2},
}
