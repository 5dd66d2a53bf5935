"""What a client may ask of a job: each field by a whitelist, none of them a path."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rulekit.errors import InputError, RulekitError
from rulekit.names import near_names
from rulekit.tables.options import ReadingOptions
from rulekit.work import learning
from rulekit.work.learning import TrainingRequest
from rulekit_serve.bodies import number_of, text_of
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs import uploads
from rulekit_serve.registry import Registry, checked_name
from rulekit_serve.store.database import Database

Test = tuple[Callable[[Any], bool], str]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 1_000 and value.isprintable()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**32


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_by_column(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, (*value, *value.values())))


_TEXT: Test = (_is_text, "a text of 1 to 1000 letters")
_LETTERS: Test = (lambda value: isinstance(value, str) and 0 < len(value) <= 40, "a text of 1 to 40 letters")
_TEXTS: Test = (_are_texts, "a list of texts")
_BY_COLUMN: Test = (_are_by_column, "an object of texts by column")
_TRUTH: Test = (lambda value: isinstance(value, bool), "true or false")
_WHOLE: Test = (_is_whole, "a whole number from 0 to 4294967295")
_LABEL: Test = (lambda value: _is_text(value) or _is_number(value) or isinstance(value, bool), "a class")
_SHARE: Test = (lambda value: _is_number(value) and 0 < value < 1, "a number between 0 and 1")
_POSITIVE: Test = (lambda value: _is_number(value) and value > 0, "a number above 0")
_OF_READING: Mapping[str, Test] = {
    **dict.fromkeys(("weight", "group", "time", "cost", "missing_target"), _TEXT),
    **dict.fromkeys(("delimiter", "decimal", "encoding", "header", "quote"), _LETTERS),
    **dict.fromkeys(("missing", "ignore", "names", "comment"), _TEXTS),
    **dict.fromkeys(("types", "precision", "unseen", "units", "roles"), _BY_COLUMN),
    "ordered": (lambda value: isinstance(value, list) and all(map(_LABEL[0], value)), "a list of classes"),
    "positive": _LABEL,
    "trim": _TRUTH,
}
_OF_TRAINING: Mapping[str, Test] = {
    **dict.fromkeys(("smallest", "baselines", "simplified"), _TRUTH),
    **{"size": _WHOLE, "seed": _WHOLE, "holdout": _SHARE, "time_limit": _POSITIVE},
}
_FIELDS = {
    "train": ("model", "upload", "target", "learner", "parameters", "options"),
    **{"verify": ("model", "version"), "check": ("model", "version")},
    "compare": ("model", "version", "beside", "upload"),
    "report": ("model", "version", "upload", "target"),
    "replay": ("model", "version", "from", "to"),
}
KINDS = tuple(_FIELDS)
_LAST = 1e11
"""A time after all others, in seconds since 1970."""


def checked(given: Mapping[str, Any], database: Database, registry: Registry) -> tuple[str, dict[str, Any]]:
    """The kind of a job and what it is asked, with digests for versions; raises Refusal that names the field."""
    kind = text_of(given, "kind")
    if kind not in _FIELDS:
        raise Refusal(422, f"there is no job {kind[:40]!r}", "kind", f"one of {', '.join(KINDS)}")
    known({key: given[key] for key in given if key != "kind"}, _FIELDS[kind], f"{kind} has no field")
    name = text_of(given, "model")
    found: dict[str, Any] = {"model": name}
    if "upload" in given or kind in ("train", "report"):
        found["upload"] = uploads.one(database, text_of(given, "upload"))["id"]
    if kind == "train":
        checked_name(name, "model")
        found |= {"target": text_of(given, "target"), "learner": text_of(given, "learner", "rules")}
        found |= {key: given.get(key, {}) for key in ("parameters", "options")}
        training(found, Path(found["upload"]))
        return kind, found
    registry.refresh()  # another process may have added it a moment ago
    found["version"] = registry.digest(name, text_of(given, "version"))
    if kind == "compare":
        found["beside"] = registry.digest(name, text_of(given, "beside"))
    if kind == "report" and "target" in given:
        found["target"] = text_of(given, "target")
    if kind == "replay":
        found |= {key: number_of(given, key, bound, 0.0, _LAST) for key, bound in (("from", 0.0), ("to", _LAST))}
    return kind, found


def known(given: Mapping[str, Any], fields: tuple[str, ...], what: str) -> None:
    """Raises Refusal for a field that is none, with the nearest one."""
    for key in given:
        if key not in fields:
            near = near_names(key, list(fields))
            fix = f"did you mean {near[0]}?" if near else f"it has {', '.join(fields)}"
            raise Refusal(422, f"{what} {key[:60]!r}", key[:60], fix)


def training(asked: Mapping[str, Any], data: Path) -> TrainingRequest:
    """What is to be trained from a file of ours; raises Refusal for a field that is unknown or wrong."""
    options, parameters = (_object(asked, key) for key in ("options", "parameters"))
    tests = {**_OF_READING, **_OF_TRAINING}
    known(options, tuple(tests), "there is no option")
    for key, value in options.items():
        holds, words = tests[key]
        if not holds(value):
            raise Refusal(422, f"{key} is {words}", key)
    reading = ReadingOptions(**{key: value for key, value in options.items() if key in _OF_READING})
    how = {key: value for key, value in options.items() if key in _OF_TRAINING}
    learner = asked["learner"]
    try:
        allowed = {parameter.name: parameter.allowed for parameter in learning.parameters(learner)}
    except RulekitError as error:
        raise Refusal(422, error.what, "learner", error.fix) from None
    known(parameters, tuple(allowed), f"{learner} has no parameter")
    for key, value in parameters.items():
        if not (allowed[key].holds(value) or (value is None and allowed[key].optional)):
            raise Refusal(422, f"{key} is {allowed[key].words}", key)
    reading = replace(reading, target=asked["target"])
    request = TrainingRequest(data, reading, learner=learner, parameters=parameters, **how)
    try:
        request.all_parameters()
    except InputError as error:
        raise Refusal(422, error.what, error.field, error.fix) from None
    return request


def _object(asked: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = asked.get(key, {})
    if not isinstance(value, dict) or len(json.dumps(value)) > 100_000:
        raise Refusal(422, f"{key} is an object", key)
    return value
