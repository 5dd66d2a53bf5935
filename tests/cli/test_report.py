"""rulekit report and rulekit evaluate --by on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import Run, done
from report_models import loans


def test_a_report_is_written_in_each_layout(run: Run, tmp_path: Path) -> None:
    made = loans()
    outputs = [tmp_path / f"report.{ending}" for ending in ("html", "json", "md")]
    words = [word for path in outputs for word in ("-o", str(path))]
    result = done(run("report", str(made.model), str(made.held), "--by", "purpose", "--date", "2025-03-01", *words))
    assert result.out.startswith("wrote ")
    data = json.loads(outputs[1].read_text())
    assert data["purpose"]["date"] == "2025-03-01"
    assert outputs[0].read_text().startswith("<!doctype html>")
    assert outputs[2].read_text().startswith("# Rules for")


def test_figures_by_group_are_in_json_where_they_are_asked_for(run: Run) -> None:
    made = loans()
    words = ("evaluate", str(made.model), str(made.held), "--json")
    found = json.loads(run(*words, "--by", "homeowner").out)
    assert [group["name"] for group in found["groups"][0]["groups"]] == ["false", "true"]
    assert "groups" not in json.loads(run(*words).out)
