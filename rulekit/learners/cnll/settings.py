"""What the parameters of CNLLClassifier may be, what they ask of growth, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from rulekit.errors import InputError
from rulekit.learners.binned.binning import min_level_rows
from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.plain.dnf_form import DnfSettings
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.growth import GrowthSettings
from rulekit.learners.counting.histograms import class_totals
from rulekit.learners.counting.threads import available_threads
from rulekit.learners.fitting.inputs import TrainingData
from rulekit.learners.fitting.parameters import (
    CALLABLE,
    MEMORY,
    RULES,
    SEED,
    TEXT,
    count_or_share,
    number,
    one_of,
    or_automatic,
    sequence,
    whole,
    word_or_mapping,
    words_or_list,
)
from rulekit.learners.fitting.size_limits import SizeLimits

PARAMETERS = {
    "n_units": whole(1),
    "algorithm": one_of("I", "II", "tree"),
    "objective": or_automatic(one_of("error", "error+brier", "brier")),
    "brier_weight": number(0),
    "ridge": or_automatic(number(0)),
    "ridge_scale": or_automatic(one_of("none", "noise")),
    "weak": one_of("threshold", "llr", "pairs"),
    "beta": one_of("free", "zero"),
    "init": one_of("or", "and"),
    "form": one_of("formula", "dnf"),
    "refit": or_automatic(whole(0)),
    "backfit": or_automatic(whole(0)),
    "max_bins": or_automatic(whole(2, optional=True)),
    "stopping": one_of("cv", "none"),
    "n_folds": whole(2),
    "parsimony": number(0),
    "min_rows": or_automatic(number(0)),
    "min_level_rows": number(0, optional=True),
    "column_sample": count_or_share(),
    "max_features": whole(1, optional=True),
    "max_clauses": whole(1, optional=True),
    "max_literals": whole(1, optional=True),
    "start": RULES,
    "freeze": words_or_list("all", "none"),
    "class_weight": word_or_mapping("balanced"),
    "ordered": sequence(),
    "target": TEXT,
    "random_state": SEED,
    "n_threads": whole(1, optional=True),
    "memory": MEMORY,
    "time_limit": number(0, optional=True),
    "callback": CALLABLE,
}


def growth_settings(learner: Any, chosen: Mapping[str, Any]) -> GrowthSettings:
    """What the parameters ask of growth; chosen: those that may be "auto", resolved."""
    error, brier = {"error": (1.0, 0.0), "error+brier": (1.0, learner.brier_weight), "brier": (0.0, 1.0)}[
        chosen["objective"]
    ]
    objective = Objective(error, float(brier), float(chosen["ridge"]))
    threads = available_threads(learner.n_threads)
    search = SearchSettings(objective, learner.weak, learner.beta == "zero", float(chosen["min_rows"]), threads)
    sizes = SizeLimits(learner.max_features, learner.max_clauses, learner.max_literals)
    dnf = None
    if learner.form == "dnf":
        _refuse_for_plain_form(learner)
        most = 20 if learner.max_clauses is None else int(learner.max_clauses)
        dnf = DnfSettings(most, learner.max_literals, learner.max_features is None, objective.ridge)
        sizes = SizeLimits(learner.max_features)  # clauses and literals are those of the plain form
    return GrowthSettings(
        search,
        learner.algorithm,
        int(learner.n_units),
        int(chosen["refit"]),
        int(chosen["backfit"]),
        learner.init == "and",
        sizes=sizes,
        dnf=dnf,
        ridge_by_noise=chosen["ridge_scale"] == "noise",
    )


def _refuse_for_plain_form(learner: Any) -> None:
    if learner.weak != "threshold":
        raise InputError(f"weak={learner.weak!r} makes no plain conditions", where="form='dnf'", fix="weak='threshold'")
    if learner.start is not None:
        raise InputError("a plain form does not go on from given rules", where="form='dnf'", fix="form='formula'")


def with_sample(learner: Any, settings: GrowthSettings, n_columns: int) -> GrowthSettings:
    """The settings with the seed and how many columns a step looks at."""
    seed = 0 if learner.random_state is None else int(check_random_state(learner.random_state).randint(2**31 - 1))
    share = learner.column_sample
    if share is None:
        return replace(settings, seed=seed)
    count = max(1, int(share * n_columns)) if isinstance(share, float) else int(share)
    return replace(settings, seed=seed, column_sample=count)


def least_level(learner: Any, weights: npt.NDArray[np.int64], unit: float) -> int:
    """The least weight, in units, with which a level stands for itself."""
    rows = min_level_rows(float(weights.sum()) * unit) if learner.min_level_rows is None else learner.min_level_rows
    return int(np.ceil(rows / unit - 1e-9))


def class_factors(learner: Any, data: TrainingData) -> npt.NDArray[np.float64]:
    """The factor [K] of each class; raises InputError for a class that there is not."""
    if learner.class_weight is None:
        return np.ones(len(data.classes))
    if isinstance(learner.class_weight, str):
        totals = class_totals(data.weights, data.labels, len(data.classes))
        return np.asarray(totals.sum() / (len(totals) * totals))
    unknown = [label for label in learner.class_weight if label not in data.classes]
    if unknown:
        raise InputError(f"class_weight names {unknown[0]!r}, which is no class", where=type(learner).__name__)
    return np.array([float(learner.class_weight.get(label, 1.0)) for label in data.classes])


def refuse_constraints(learner: str, data: TrainingData) -> None:
    """Raises InputError for a monotone column and for groups of columns that may meet in a rule; names them."""
    for feature in data.table.features:
        if feature.monotone != 0:
            raise InputError(
                f"{learner} cannot promise a monotone column",
                where=f"column {feature.name!r}",
                fix="drop the declaration or the column",
            )
    if data.table.interactions:
        # Two clauses that are too weak alone may decide together, so a rule of theirs would mix their columns.
        group = ", ".join(map(repr, data.table.interactions[0]))
        raise InputError(
            f"{learner} cannot promise which columns stand in one rule",
            where=f"interactions, group {group}",
            fix="drop the declaration",
        )
