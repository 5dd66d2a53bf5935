"""The fits that are timed, each as a function to run in a process of its own (benchmarks.shared.measuring)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared import made_tables
from benchmarks.shared.measuring import Watch, cost_of

# The default formula of 20 units, without inner folds.
DEFAULT: Mapping[str, Any] = {"n_units": 20, "stopping": "none"}
WARM_ROWS = 1000
QUICK = 4.0
_NUMBA = "RULEKIT_NO_NUMBA"


def load(data: str, form: str = "typed") -> tuple[Any, Any]:
    """Rows and labels of 0 and 1: adult (a folder of the shared data) or a folder of made_tables.

    form: typed (levels are pandas categories) or one-hot (a float32 matrix with a column for each level).
    """
    if Path(data, "X.npy").exists():
        rows = made_tables.read(data)
        return rows.X, rows.y
    import pandas as pd

    frame = pd.read_csv(Path(data, "adult_train.csv.gz"))
    y = (frame.pop("target") == ">50K").to_numpy().astype(np.int64)
    text = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    if form == "one-hot":
        return pd.get_dummies(frame, columns=text).to_numpy(dtype=np.float32), y
    return frame.astype(dict.fromkeys(text, "category")), y


@contextmanager
def _compiling_at_once() -> Iterator[None]:
    """Kernels are loaded or compiled when first called; without this so few rows would not be worth it."""
    before = os.environ.get(_NUMBA)
    os.environ.setdefault(_NUMBA, "0")
    try:
        yield
    finally:
        if before is None:
            del os.environ[_NUMBA]


def _timed(fit: Callable[[Any, Any], Any], X: Any, y: Any, repeats: int = 1) -> tuple[Any, dict[str, Any]]:
    """The fitted model and its cost, after a fit of a few rows that compiles and imports whatever is needed.

    repeats: a fit that takes less than QUICK seconds is done so many times; `all_seconds` and `all_processor` are those
    of each, `seconds` the median, the rest is of the first.
    """
    few = np.unique(np.linspace(0, len(y) - 1, WARM_ROWS).astype(int))
    with _compiling_at_once():
        fit(X.iloc[few] if hasattr(X, "iloc") else X[few], y[few])
    with Watch() as watch:
        model = fit(X, y)
    seconds, processor = [watch.cost.seconds], [watch.cost.processor]
    while len(seconds) < repeats and seconds[0] < QUICK:
        begun, used = time.perf_counter(), time.process_time()
        fit(X, y)
        seconds.append(time.perf_counter() - begun)
        processor.append(time.process_time() - used)
    shape = {"rows": len(y), "columns": X.shape[1], "all_seconds": seconds, "all_processor": processor}
    return model, {**cost_of(watch), **shape, "seconds": float(np.median(seconds))}


def rulekit(data: str, parameters: Mapping[str, Any], repeats: int = 1) -> dict[str, Any]:
    """CNLLClassifier; beside the cost the units learned and the seconds from the first unit to the last, per unit."""
    from rulekit import CNLLClassifier

    moments: list[float] = []

    def fit(X: Any, y: Any) -> Any:
        moments.clear()
        return CNLLClassifier(callback=note, **parameters).fit(X, y)

    def note(state: Mapping[str, Any]) -> None:
        if "unit" in state and "fold" not in state:
            moments.append(time.perf_counter())

    model, cost = _timed(fit, *load(data), repeats)
    steps = np.diff(moments)
    per_unit = float(steps.mean()) if len(steps) else 0.0
    return {**cost, "units": int(sum(model.rule_graph_.provenance["units"])), "per_unit": per_unit}


def boosted_histograms(data: str, form: str = "typed", repeats: int = 1) -> dict[str, Any]:
    """HistGradientBoostingClassifier of 100 rounds; levels by its own native form, or one-hot."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = load(data, form)
    settings = {"categorical_features": "from_dtype"} if hasattr(X, "iloc") else {}

    def fit(X: Any, y: Any) -> Any:
        return HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0, **settings).fit(X, y)

    return _timed(fit, X, y, repeats)[1]


def boosted_stumps(data: str, rounds: int = 20, repeats: int = 1) -> dict[str, Any]:
    """AdaBoostStumpClassifier; the seconds of one round are the mean from the first to the last."""
    from rulekit import AdaBoostStumpClassifier

    moments: list[float] = []

    def fit(X: Any, y: Any) -> Any:
        moments.clear()
        learner = AdaBoostStumpClassifier(rounds, stopping="none", max_bins=64, callback=note)
        return learner.fit(X, y)

    def note(state: Mapping[str, Any]) -> None:
        moments.append(time.perf_counter())

    model, cost = _timed(fit, *load(data), repeats)
    return {**cost, "units": len(model.path_), "per_unit": float(np.diff(moments).mean()) if len(moments) > 1 else 0.0}


def boosted_rounds(data: str, rounds: int = 100, repeats: int = 1) -> dict[str, Any]:
    """AdaBoostStumpClassifier at its defaults, without inner folds."""
    from rulekit import AdaBoostStumpClassifier

    def fit(X: Any, y: Any) -> Any:
        return AdaBoostStumpClassifier(rounds, stopping="none").fit(X, y)

    model, cost = _timed(fit, *load(data), repeats)
    return {**cost, "units": len(model.path_), "per_unit": cost["seconds"] / len(model.path_)}


def additive_rules(data: str, repeats: int = 1) -> dict[str, Any]:
    """AdditiveRulesClassifier at its defaults, without inner folds."""
    from rulekit import AdditiveRulesClassifier

    def fit(X: Any, y: Any) -> Any:
        return AdditiveRulesClassifier(stopping="none").fit(X, y)

    model, cost = _timed(fit, *load(data), repeats)
    return {**cost, "units": len(model.path_), "per_unit": cost["seconds"] / len(model.path_)}


def default_rules(data: str, stopping: str = "none", repeats: int = 1) -> dict[str, Any]:
    """RulesClassifier, the default learner; "cv" chooses its size."""
    from rulekit import RulesClassifier

    return _timed(lambda X, y: RulesClassifier(stopping=stopping).fit(X, y), *load(data), repeats)[1]


def adaboost(data: str, rounds: int = 20) -> dict[str, Any]:
    """scikit-learn's AdaBoostClassifier with its stumps (numbers as they are, levels one-hot)."""
    from sklearn.ensemble import AdaBoostClassifier

    def fit(X: Any, y: Any) -> Any:
        return AdaBoostClassifier(n_estimators=rounds, random_state=0).fit(X, y)

    X, y = load(data, "one-hot")
    model, cost = _timed(fit, np.nan_to_num(X), y)
    return {**cost, "units": len(model.estimators_), "per_unit": cost["seconds"] / max(1, len(model.estimators_))}
