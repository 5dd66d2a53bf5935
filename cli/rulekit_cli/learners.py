"""The learners by the names that the command uses, and their parameters from text."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from rulekit.errors import InputError
from rulekit.tables.labels import LabelledTable
from rulekit_cli.start import Start

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


def check_names(name: str, parameters: list[str]) -> dict[str, Any]:
    """The K=V parameters of the learner called `name` by their names; raises InputError for an unknown one."""
    if name not in LEARNERS:
        raise InputError(f"no learner {name!r}", where="--learner", fix=f"one of {', '.join(LEARNERS)}")
    defaults = {key: p.default for key, p in inspect.signature(_kind(name)).parameters.items()}
    known = [key for key in defaults if key not in _SET_BY_OPTIONS]
    given = {}
    for item in parameters:
        key, equals, text = item.partition("=")
        if not equals:
            raise InputError(f"{item!r} is not K=V", where="--param")
        if key in _SET_BY_OPTIONS:
            raise InputError(f"{key} is no --param", fix=f"use {_SET_BY_OPTIONS[key] or 'another parameter'}")
        if key not in known:
            raise InputError(f"{name} has no parameter {key!r}", where="--param", fix=f"it has {', '.join(known)}")
        # a parameter that is a word by default takes words: stopping=none is no null
        word = isinstance(defaults[key], str) and defaults[key] != "auto"
        given[key] = text if word else parse_value(text)
    return given


def make_learner(
    name: str,
    parameters: list[str],
    rows: LabelledTable,
    *,
    seed: int,
    time_limit: float | None,
    memory: str | None = None,
    callback: Callable[[Mapping[str, Any]], object] | None,
    start: Start | None = None,
) -> Any:
    """The estimator called `name` with K=V parameters; raises InputError for an unknown name or parameter."""
    given = check_names(name, parameters)
    if rows.ordered:
        given["ordered"] = rows.classes
    if start is not None:
        given |= {"start": start.graph, "freeze": start.freeze}
    return _kind(name)(
        **given,
        target=rows.target,
        positive=rows.classes[1] if len(rows.classes) == 2 else None,
        random_state=seed,
        time_limit=time_limit,
        **({} if memory is None else {"memory": memory}),
        callback=callback,
    )


def _kind(name: str) -> Any:
    module, class_name = LEARNERS[name]
    return getattr(import_module(module), class_name)


def parse_value(text: str) -> Any:
    """A number, true, false, none, a JSON value, or else the text itself."""
    lowered = text.lower()
    if lowered in ("true", "false", "none", "null"):
        return {"true": True, "false": False}.get(lowered)
    try:
        return json.loads(text)
    except ValueError:
        return text
