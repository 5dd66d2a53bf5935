"""Learners by name: their parameters from text, and a fitted one, with all that the rest of the house asks of it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.errors import InputError
from rulekit.names import near_names

if TYPE_CHECKING:
    from rulekit.tables.labels import LabelledTable
    from rulekit.work.start import Start

LEARNERS = {"cnll": ("rulekit.learners.cnll.estimator", "CNLLClassifier")}

_SET_BY_OPTIONS = {
    "callback": "",
    "time_limit": "--time-limit",
    "memory": "--memory",
    "random_state": "--seed",
    "positive": "--positive",
    "target": "--target",
    "ordered": "--ordered",
    "start": "--start",
    "freeze": "--freeze",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a learner: its default, and one line on what it does."""

    name: str
    default: Any
    help: str


def parameters(learner: str) -> tuple[Parameter, ...]:
    """The parameters that `--param` sets; raises InputError for a learner that there is not."""
    signature = inspect.signature(_kind(learner)).parameters
    return tuple(Parameter(name, p.default, "") for name, p in signature.items() if name not in _SET_BY_OPTIONS)


def parse_parameters(learner: str, items: Sequence[str]) -> dict[str, Any]:
    """K=V texts as values by name; raises InputError, with the nearest name, for a parameter that there is not."""
    defaults = {parameter.name: parameter.default for parameter in parameters(learner)}
    given = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"{item!r} is not K=V", where="--param")
        if name in _SET_BY_OPTIONS:
            raise InputError(f"{name} is no --param", fix=f"use {_SET_BY_OPTIONS[name] or 'another parameter'}")
        if name not in defaults:
            near = near_names(name, defaults)
            fix = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(defaults)}"
            raise InputError(f"{learner} has no parameter {name!r}", where="--param", fix=fix)
        # a parameter that is a word by default takes words: stopping=none is no null
        default = defaults[name]
        given[name] = text if isinstance(default, str) and default != "auto" else _value(text)
    return given


def _value(text: str) -> Any:
    """A number, true, false, none, a JSON value, or else the text itself."""
    lowered = text.lower()
    if lowered in ("true", "false", "none", "null"):
        return {"true": True, "false": False}.get(lowered)
    try:
        return json.loads(text)
    except ValueError:
        return text


def fitted(
    learner: str,
    given: Mapping[str, Any],
    rows: LabelledTable,
    *,
    seed: int,
    time_limit: float | None,
    memory: str | None,
    start: Start | None,
    callback: Callable[[Mapping[str, Any]], object],
) -> Any:
    """The estimator with these parameters, fitted on labelled rows in memory or, with `memory`, on disk."""
    from rulekit.graph.rule_graph import class_array

    options = dict(given)
    if rows.ordered:
        options["ordered"] = rows.classes
    if start is not None:
        options |= {"start": start.graph, "freeze": start.freeze}
    if memory is not None:
        options["memory"] = memory
    estimator = _kind(learner)(
        **options,
        target=rows.target,
        positive=rows.classes[1] if len(rows.classes) == 2 else None,
        random_state=seed,
        time_limit=time_limit,
        callback=callback,
    )
    if memory is not None:
        return estimator.fit(rows)
    labels = class_array(rows.classes)[rows.y]
    return estimator.fit(rows.table, labels, sample_weight=rows.training_weight(), groups=rows.group)


def noun(given: Mapping[str, Any]) -> str:
    """What the sizes of the learner's models are counted in."""
    return "clause" if given.get("form") == "dnf" else "unit"


def refuse_curve(given: Mapping[str, Any]) -> None:
    """Raises InputError where a learner with these parameters has no error by size."""
    if given.get("stopping") == "none":
        raise InputError(
            "there is no curve without cross-validation", where="--curve", fix="leave out --param stopping=none"
        )


def smallest(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that also ask for the smallest model; raises InputError where they choose a size themselves."""
    for name in ("parsimony", "stopping"):
        if name in given:
            raise InputError(f"--smallest and --param {name} both say which size is taken", fix="give one")
    return {**given, "parsimony": 1}


def size_chosen(provenance: Mapping[str, Any]) -> str:
    """How large the model became, and what decided that: `5 units, chosen by 5-fold cross-validation`."""
    units = np.atleast_1d(provenance.get("units", [])).tolist()
    given = provenance.get("parameters", {})
    shown = units if len(units) <= 8 else [*units[:7], "..."]
    plain = given.get("form") == "dnf"
    total = f"{' + '.join(map(str, shown))} {noun(given) if units == [1] else noun(given) + 's'}"
    if provenance.get("stopped"):
        return f"{total}, stopped early ({provenance['stopped']}): the best so far"
    if given.get("stopping") != "cv" or (plain and not given.get("parsimony")):
        return total
    folds = f"{given.get('n_folds')}-fold cross-validation"
    if units == [given.get("n_units")]:
        return f"{total}, as many as allowed ({folds} would take more)"
    return f"{total}, chosen by {folds}"


def _kind(learner: str) -> Any:
    if learner not in LEARNERS:
        raise InputError(f"no learner {learner!r}", where="--learner", fix=f"one of {', '.join(LEARNERS)}")
    module, name = LEARNERS[learner]
    return getattr(import_module(module), name)
