"""Flags and help that a target or a learner brings with it: of rulekit's own, and of one that nobody knew before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from command_line import Run, assert_refused, done
from rulekit_cli.options import named

import rulekit.targets as targets
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Artifact, Target, option


def words(text: str) -> str:
    return " ".join(text.split())


def test_help_lists_the_options_of_the_target_that_is_named(run: Run) -> None:
    assert "--opset" not in run("export", "--help").out
    said = words(run("export", "--to", "onnx", "--help").out)
    assert "--opset" in said
    assert "a third output says which rules fired" in said
    assert "--text / --no-text" in said
    assert "--format" in words(run("export", "--to=text", "--help").out)


def test_a_target_of_another_package_needs_no_change_in_the_command(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True, slots=True)
    class Options:
        line_end: str = option("lf", "how lines end", ("lf", "crlf"))
        loud: bool = option(False, "in capitals")
        repeat: int = option(1, "how many times the rules stand there")

    def write(graph: RuleGraph, options: Options) -> Artifact:
        text = str(graph.digest) * options.repeat
        text = text.upper() if options.loud else text
        return Artifact({"": (text + {"lf": "\n", "crlf": "\r\n"}[options.line_end]).encode()}, graph.digest)

    text = targets.find_target("text")
    made = replace(text, name="odd", suffixes=(".odd",), write=write, options=Options, read=None)
    found: dict[str, Target] = {"odd": made}
    before = targets.find_target
    monkeypatch.setattr(targets, "find_target", lambda name: found.get(name) or before(name))
    for user in ("graph.files.model_files", "work.models"):
        monkeypatch.setattr(f"rulekit.{user}.find_target", targets.find_target)
    assert "how lines end: lf, crlf; lf by default" in words(run("export", "--to", "odd", "--help").out)
    given = ("--to", "odd", "--loud", "--line-end", "crlf", "--repeat", "2")
    done(run("export", str(model), *given, "-o", "m.odd"))
    written = Path("m.odd").read_bytes()
    assert written.endswith(b"\r\n")
    assert len(written) == 130
    assert_refused(run("export", str(model), "--to", "odd", "--line-end", "cr", "-o", "n.odd"), "line_end", "lf, crlf")


def test_help_lists_the_parameters_of_the_learner_that_is_named(run: Run) -> None:
    assert "ridge_scale=" not in run("train", "--help").out
    said = run("train", "--learner", "cnll", "--help").out
    lines = [line for line in said.splitlines() if line.strip().startswith(("n_units=", "stopping=", "max_literals="))]
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("line", "value"),
    [(["--to", "a"], "a"), (["x", "--to=b", "y"], "b"), (["--to"], None), (["--too", "c"], None), ([], None)],
)
def test_the_name_is_found_before_the_line_is_parsed(line: list[str], value: str | None) -> None:
    assert named(line, "--to") == value
