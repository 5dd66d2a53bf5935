"""What the library asks of a target, whoever wrote it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import pytest

from rulekit.conformance.models import NODES
from rulekit.conformance.targets import FILE
from rulekit.errors import FormatError, InputError
from rulekit.targets import Outcome, Runtime, option
from rulekit.verification.parity import verify

GRAPH = NODES["threshold"]()


@dataclass(frozen=True)
class Options:
    shape: str = option("round", "how it looks", ("round", "square"))
    size: int = option(3, "how large it is")
    filled: bool = option(True, "whether it is filled")
    name: str | None = option(None, "what it is called")


TARGET = replace(FILE, options=Options)


def fails(*_: Any) -> NoReturn:
    class EngineError(Exception):
        """A third party's own kind of error."""

    raise EngineError("near line 3:\nsyntax error")


def test_options_come_as_values_or_as_their_texts() -> None:
    assert TARGET.parsed({}) == Options()
    given = {"shape": "square", "size": "12", "filled": "false", "name": "it"}
    assert TARGET.parsed(given) == Options("square", 12, False, "it") == TARGET.parsed(vars(TARGET.parsed(given)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shpe": "round"}, "file: no option 'shpe'; did you mean 'shape'?"),
        ({"shape": "oval"}, "file: shape is 'oval'; one of round, square"),
        ({"size": "large"}, "file: size is 'large'; an integer (how large it is)"),
        ({"size": True}, "file: size is True; an integer (how large it is)"),
        ({"filled": "maybe"}, "file: filled is 'maybe'; true or false"),
        ({"filled": 1}, "file: filled is 1; true or false"),
    ],
)
def test_a_wrong_option_is_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        TARGET.emit(GRAPH, given)
    assert str(caught.value) == message


def test_what_a_target_refuses_is_said_before_it_writes() -> None:
    never = replace(TARGET, refuses=lambda graph, options: f"no {options.shape} rules", write=fails)
    with pytest.raises(InputError, match="file: no round rules"):
        never.emit(GRAPH)


def test_an_error_of_another_package_is_a_reason() -> None:
    """A parser's error of a reader of SQL was an internal error."""
    artifact = FILE.emit(GRAPH).main
    report = verify(GRAPH, artifact, target=replace(FILE, inspect=fails, read=fails), rows=20, run_untrusted=True)
    assert "EngineError: near line 3:" in report.proof_reason
    assert report.carried == "unreadable: no file artifact of rulekit (EngineError: near line 3:)"
    with pytest.raises(FormatError, match=r"engine failed \(EngineError: near line 3:\)"):
        verify(GRAPH, artifact, target=replace(FILE, runs=(Runtime("engine", fails),)), rows=20, run_untrusted=True)


def test_the_first_run_time_that_is_installed_runs() -> None:
    absent = Runtime("absent", fails, missing=lambda: "install engine")
    both = replace(FILE, runs=(absent, *FILE.runs))
    assert both.installed() == FILE.runs
    assert isinstance(both.run(both.emit(GRAPH).main, GRAPH, GRAPH.table([{"x0": 1.0}])), Outcome)
    with pytest.raises(InputError, match="nothing here runs file; install engine"):
        replace(FILE, runs=(absent,)).run(b"", GRAPH, GRAPH.table([{"x0": 1.0}]))
