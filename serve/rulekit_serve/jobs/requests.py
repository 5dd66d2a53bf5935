"""What a client may ask of a job: each field by a whitelist, none of them a path."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rulekit.errors import InputError
from rulekit.names import near_names
from rulekit.tables.options import ReadingOptions
from rulekit.work import learning
from rulekit.work.learning import TrainingRequest
from rulekit_serve.bodies import number_of, text_of
from rulekit_serve.failures import Refusal, refused
from rulekit_serve.jobs import uploads
from rulekit_serve.registry import Registry, checked_name
from rulekit_serve.store.database import Database

_LAST = 1e11
"""No number of a request is larger, and no time in seconds since 1970."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 1_000 and (value.isprintable() or value == "\t")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LAST


def _is_label(value: Any) -> bool:
    return _is_text(value) or isinstance(value, bool) or _is_number(value)


def _are(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(holds, value))


_OPTIONS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("weight group time cost missing_target delimiter decimal encoding header quote", _is_text, "a text"),
    ("missing ignore names comment", _are(_is_text), "a list of texts"),
    (
        "types precision unseen units roles",
        lambda value: isinstance(value, dict) and all(map(_is_text, (*value, *value.values()))),
        "an object of texts by column",
    ),
    ("positive", _is_label, "a class"),
    ("ordered", _are(_is_label), "a list of classes"),
    ("trim smallest baselines simplified", lambda value: isinstance(value, bool), "true or false"),
    ("size seed", lambda value: type(value) is int and 0 <= value < 2**32, "a whole number"),
    ("holdout", lambda value: _is_number(value) and 0 < value < 1, "a number between 0 and 1"),
    ("time_limit", lambda value: _is_number(value) and value > 0, "a number above 0"),
)
_TESTS = {name: (holds, words) for names, holds, words in _OPTIONS for name in names.split()}
_OF_TRAINING = ("smallest", "baselines", "simplified", "size", "seed", "holdout", "time_limit")
_FIELDS = {
    "train": ("model", "upload", "target", "learner", "parameters", "options"),
    **{"verify": ("model", "version"), "check": ("model", "version")},
    "compare": ("model", "version", "beside", "upload"),
    "report": ("model", "version", "upload", "target"),
    "replay": ("model", "version", "from", "to"),
}


def checked(given: Mapping[str, Any], database: Database, registry: Registry) -> tuple[str, dict[str, Any]]:
    """The kind of a job and what it is asked, with digests for versions; raises Refusal that names the field."""
    kind = text_of(given, "kind")
    if kind not in _FIELDS:
        raise Refusal(422, f"there is no job {kind[:40]!r}", "kind", f"one of {', '.join(_FIELDS)}")
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
    for key in {"version", "beside"}.intersection(_FIELDS[kind]):
        found[key] = registry.digest(name, text_of(given, key))
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
    options, parameters, learner = asked["options"], asked["parameters"], asked["learner"]
    for key, value in (("options", options), ("parameters", parameters)):
        if not isinstance(value, dict) or len(json.dumps(value)) > 100_000:
            raise Refusal(422, f"{key} is an object", key)
    with refused("learner"):
        allowed = {each.name: (each.allowed.holds, each.allowed.words) for each in learning.parameters(learner)}
    for values, tests, what in ((options, _TESTS, "training"), (parameters, allowed, learner)):
        known(values, tuple(tests), f"{what} has no")
        for key, value in values.items():
            holds, words = tests[key]
            if not _holds(holds, value):
                raise Refusal(422, f"{key} is {words}", key)
    how = {key: value for key, value in options.items() if key in _OF_TRAINING}
    reading = ReadingOptions(**{key: options[key] for key in options if key not in how}, target=asked["target"])
    request = TrainingRequest(data, reading, learner=learner, parameters=parameters, **how)
    try:
        request.all_parameters()
    except InputError as error:
        raise Refusal(422, error.what, error.field, error.fix) from None
    return request


def _holds(test: Callable[[Any], bool], value: Any) -> bool:
    try:
        return test(value)
    except (OverflowError, TypeError, ValueError):  # of a number that no float holds
        return False
