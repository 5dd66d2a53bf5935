"""Reports follow the published schema, and the schema knows every field."""

from __future__ import annotations

import json
from dataclasses import fields
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from rulekit.conformance.models import NODES
from rulekit.targets import find_target
from rulekit.verification.parity import verify
from rulekit.verification.report import Report

SCHEMA = json.loads(files("rulekit.verification").joinpath("parity.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def report_of(artifact: str, graph: str = "levels, unseen refused") -> dict[str, Any]:
    """The report of one model's text, held against another model of the same columns and classes."""
    content = find_target("text").emit(NODES[artifact](), {}).main
    found: dict[str, Any] = json.loads(verify(NODES[graph](), content, target="text", rows=60).to_json())
    return found


def test_the_schema_is_one_and_has_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["required"]) | {"signature"} == set(SCHEMA["properties"])
    of_file = {"report_version", "ok", "max_gap", "signature"}
    assert set(SCHEMA["properties"]) == {field.name for field in fields(Report)} | of_file


@pytest.mark.parametrize(("artifact", "ok"), [("levels, unseen refused", True), ("Boolean columns", False)])
def test_reports_follow_the_schema(artifact: str, ok: bool) -> None:
    report = report_of(artifact)
    assert (report["ok"], report["counter_example"] is None) == (ok, ok)
    VALIDATOR.validate(report)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("report_version", 2), ("ok", 1), ("sha256", "ab"), ("carried", "perhaps"), ("proof", "maybe")),
        *(("adversarial_rows", -1), ("largest_gap", "wide"), ("counter_example", {}), ("versions", {"numpy": 2})),
    ],
)
def test_the_schema_refuses_wrong_values(name: str, value: Any) -> None:
    report = report_of("levels, unseen refused") | {name: value}
    assert [error.absolute_path[0] for error in VALIDATOR.iter_errors(report)] == [name]
