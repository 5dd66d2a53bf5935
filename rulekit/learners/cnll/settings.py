"""The parameters of CNLLClassifier, and what they ask of growth."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from rulekit.learners.cnll.formula.objectives import Objective
from rulekit.learners.cnll.formula.split_search import Weak
from rulekit.learners.cnll.search.best_step import SearchSettings
from rulekit.learners.cnll.search.growth import Algorithm, GrowthSettings
from rulekit.learners.contract import setting
from rulekit.learners.data.binning import least_side
from rulekit.learners.parameters import count_or_share, number, one_of, or_automatic, whole
from rulekit.learners.settings import StartSettings
from rulekit.learners.sizes.limits import SizeLimits


@dataclass(frozen=True)
class CNLLSettings(StartSettings):
    """What is "auto" follows `algorithm`: as in the paper for "I" and "II", and for "tree" what was best."""

    n_units: int = setting(20, whole(1), "most conditions in a formula")
    algorithm: Algorithm = setting(
        "tree", one_of("I", "II", "tree"), "where a condition may join (Fig. 3, Fig. 4, anywhere)"
    )
    objective: str = setting(
        "auto", or_automatic(one_of("error", "error+brier", "brier")), "errors, squared errors (brier), or both"
    )
    brier_weight: float = setting(1.0, number(0), "weight of the squared error in error+brier")
    ridge: Any = setting("auto", or_automatic(number(0)), "rows that pull every bit towards doing nothing")
    ridge_scale: str = setting(
        "auto", or_automatic(one_of("none", "noise")), "noise: the ridge falls with the error that is left"
    )
    weak: Weak = setting(
        "threshold", one_of("threshold", "llr", "pairs"), "conditions: one cut, unions of intervals, or pairs"
    )
    beta: Literal["free", "zero"] = setting("free", one_of("free", "zero"), "zero: no bit fires without its condition")
    init: Literal["or", "and"] = setting("or", one_of("or", "and"), "clauses are joined by or, or by and")
    refit: Any = setting("auto", or_automatic(whole(0)), "sweeps over all strengths after each step")
    backfit: Any = setting(
        "auto", or_automatic(whole(0)), "every so many steps, better conditions for all bits (0: never)"
    )
    max_bins: Any = setting(
        "auto", or_automatic(whole(2, optional=True)), "bins of a numeric column (None: one for each value)"
    )
    min_rows: Any = setting("auto", or_automatic(number(0)), "least weight of rows on either side of a condition")
    column_sample: int | float | None = setting(
        None, count_or_share(), "columns that a step looks at, drawn by random_state (None: all; a share if a float)"
    )


# What "auto" is: the paper's own settings for its algorithms; for "tree" they were chosen by cross-validation inside
# the training data of 23 tables (docs/cnll-notes.md). A ridge scaled by the noise also allows a second growth with a
# third of it, where few rows leave many errors (rulekit.learners.cnll.search.growth).
_PAPER = {
    "objective": "error+brier",
    "ridge": 0.0,
    "ridge_scale": "none",
    "refit": 0,
    "backfit": 0,
    "max_bins": 255,
    "min_rows": 1.0,
}
_TREE = {
    "objective": "brier",
    "ridge": 12.0,
    "ridge_scale": "noise",
    "refit": 1,
    "backfit": 3,
    "max_bins": 64,
    "min_rows": None,
}


def resolved(settings: CNLLSettings, rows: float) -> CNLLSettings:
    """The settings with values in the place of "auto", for rows of so much weight.

    A ridge that is given is a plain number of rows, unless ridge_scale says otherwise.
    """
    found: dict[str, Any] = dict(_TREE if settings.algorithm == "tree" else _PAPER)
    if settings.ridge != "auto":
        found["ridge_scale"] = "none"
    found |= {name: value for name in found if (value := getattr(settings, name)) != "auto"}
    if found["min_rows"] is None:
        found["min_rows"] = least_side(rows)
    found["min_rows"] = min(found["min_rows"], rows + 1.0)  # in units of weights a larger one may be no integer
    return replace(settings, **found)


def objective_of(settings: CNLLSettings) -> Objective:
    """What is minimised."""
    weights = {"error": (1.0, 0.0), "error+brier": (1.0, settings.brier_weight), "brier": (0.0, 1.0)}
    error, brier = weights[settings.objective]
    return Objective(error, float(brier), float(settings.ridge))


def growth_settings(settings: CNLLSettings, seed: int, n_threads: int, n_columns: int) -> GrowthSettings:
    """What the parameters, with nothing left to be "auto", ask of growth."""
    objective = objective_of(settings)
    search = SearchSettings(objective, settings.weak, settings.beta == "zero", float(settings.min_rows), n_threads)
    sizes = SizeLimits(settings.max_features, settings.max_clauses, settings.max_literals)
    share, sample = settings.column_sample, None
    if share is not None:
        sample = max(1, int(share * n_columns)) if isinstance(share, float) else int(share)
    return GrowthSettings(
        search,
        settings.algorithm,
        int(settings.n_units),
        int(settings.refit),
        int(settings.backfit),
        settings.init == "and",
        sample,
        seed,
        sizes,
        columns=range(n_columns),
        ridge_by_noise=settings.ridge_scale == "noise",
    )
