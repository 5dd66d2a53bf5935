"""Schema, class labels and free values (provenance, statistics) as JSON values, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import Any, get_args

import numpy as np

from rulekit.errors import FormatError, GraphError
from rulekit.graph.files.node_fields import (
    TEXT,
    TEXTS,
    Codec,
    each,
    plain,
    read_count,
    read_number,
    read_object,
    read_text,
    read_truth,
)
from rulekit.schema import Constraints, Display, Feature, Kind, Precision, Role, Schema, Unseen

MAX_VALUE_DEPTH = 100


def _words(allowed: Any) -> Codec:
    """A field of few words; that a text is none of them is said by Feature."""
    return plain(read_text, {"enum": list(get_args(allowed))})


_TRUTH = plain(read_truth, {"type": "boolean"})
COLUMN = {
    "name": TEXT,
    "kind": _words(Kind),
    "levels": replace(TEXTS, schema={**TEXTS.schema, "uniqueItems": True}),
    "ordered": _TRUTH,
    "precision": _words(Precision),
    "display": _words(Display),
    "unit": TEXT,
    "form": TEXT,
    "missing_tokens": TEXTS,
    "unseen": _words(Unseen),
    "monotone": plain(read_count, {"enum": [-1, 0, 1]}),
    "role": _words(Role),
}
SCHEMA = {
    "target": TEXT,
    "ordered_classes": _TRUTH,
    "together": each(TEXTS),
    "apart": each(TEXTS),
    "missing_never_helps": _TRUTH,
    "features": each(Codec(lambda feature, _: _write_feature(feature), lambda value, _: _read_feature(value), {})),
}


def write_schema(schema: Schema) -> dict[str, Any]:
    """The schema as JSON values; fields at their default are left out, so that a later field changes no old digest."""
    written: dict[str, Any] = {"target": schema.target}
    if schema.ordered_classes:
        written["ordered_classes"] = True
    for item in fields(Constraints):
        value = getattr(schema.constraints, item.name)
        if value:
            written[item.name] = [list(group) for group in value] if isinstance(value, tuple) else value
    written["features"] = [_write_feature(feature) for feature in schema.features]
    return written


def read_schema(value: object) -> Schema:
    """The schema of JSON values; raises FormatError or InputError."""
    read = _read_fields(value, SCHEMA, ("features", "target"))
    constraints = {item.name: read.pop(item.name) for item in fields(Constraints) if item.name in read}
    return Schema(**read, constraints=Constraints(**constraints))


def _write_feature(feature: Feature) -> dict[str, Any]:
    written: dict[str, Any] = {"name": feature.name, "kind": feature.kind}
    for item in fields(feature):
        value = getattr(feature, item.name)
        if item.default is not MISSING and item.name not in written and value != item.default:
            written[item.name] = list(value) if isinstance(value, tuple) else value
    return written


def _read_feature(value: object) -> Feature:
    return Feature(**_read_fields(value, COLUMN, ("name", "kind")))


def _read_fields(value: object, known: Mapping[str, Codec], needed: tuple[str, ...]) -> dict[str, Any]:
    given: dict[str, Any] = read_object(value)
    for key in needed:
        if key not in given:
            raise FormatError(f"no key {key!r}")
    for key in given:
        if key not in known:
            raise FormatError(f"unknown key {key[:40]!r}", fix=f"keys are {', '.join(known)}")
    return {key: known[key].read(item, {}) for key, item in given.items()}


def write_classes(classes: tuple[Any, ...]) -> list[Any]:
    """The class labels as JSON values; a type other than text, integer, number or Boolean is a GraphError."""
    return [_write_class(label) for label in classes]


def _write_class(label: object) -> str | int | bool | float:
    plain = label.item() if isinstance(label, np.generic) else label
    if isinstance(plain, str | bool | int):
        return plain
    if isinstance(plain, float) and math.isfinite(plain):
        return plain
    raise GraphError(f"a class label is {plain!r}, not a text, a finite number or a Boolean")


def read_class(value: object) -> str | int | bool | float:
    """A class label of a JSON value; raises FormatError."""
    if isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return read_count(value)
    return read_number(value)


def plain_value(value: Any, where: str, depth: int = 0) -> Any:
    """A free value as JSON values: numpy becomes plain, NaN becomes null, infinities become text.

    Raises GraphError where a value is no JSON value.
    """
    if depth > MAX_VALUE_DEPTH:
        raise GraphError(f"{where} is nested more than {MAX_VALUE_DEPTH} deep")
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else repr(value) if math.isinf(value) else value
    if isinstance(value, Mapping):
        return {str(key): plain_value(item, where, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [plain_value(item, where, depth + 1) for item in items]
    raise GraphError(f"{where} holds a {type(value).__name__}, which no JSON value can say")
