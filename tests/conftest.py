"""Property tests draw new examples in each run; a failure prints the line that repeats it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
import typer.main
from hypothesis import settings

settings.register_profile("rulekit", print_blob=True, deadline=None)
settings.load_profile("rulekit")

# Neither the project nor numpy is imported yet: what needs them here imports them where it is used.
if "PYTEST_XDIST_WORKER" in os.environ:  # there is one for each core, and threads that wait for work take time
    for name in ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(name, "1")

# A fifth of the time of the tests went into the search for garbage, of their collection too.
gc.set_threshold(100_000, 20, 20)

_points_of, _command_of = metadata.entry_points, typer.main.get_command_from_info
_commands: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


@cache
def _points_on(path: tuple[str, ...], **group: str) -> Any:
    return _points_of(**group)


def _made_once(command_info: Any, **how: Any) -> Any:
    """The command of a function, which no call changes."""
    if command_info.callback not in _commands:
        _commands[command_info.callback] = _command_of(command_info=command_info, **how)
    return _commands[command_info.callback]


# What a process of the command does once, the thousands of learnings and commands of a run need not do each: read the
# entry points of all that is installed, and the signatures of all subcommands.
metadata.entry_points = lambda **group: _points_on(tuple(sys.path), **group)
typer.main.get_command_from_info = _made_once

# A shell that starts the tests in the background ignores Ctrl-C for them, and so for the commands that they stop.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def whole_suite(request: pytest.FixtureRequest) -> bool:
    """Whether long runs are part of this one: False for `-m "not full"`, the run before each commit."""
    return "not full" not in request.config.option.markexpr


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Why there is no PostgreSQL server, "" where one runs."""
    from postgres import postgres

    yield from postgres()


@pytest.fixture(scope="session")
def long_runs(request: pytest.FixtureRequest) -> bool:
    """Whether the longest runs are part of this one, as in `make conformance`."""
    return not {"not full", "not long"} & set(request.config.option.markexpr.split(" and "))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of `make conformance`."""
    parser.addoption("--model-rows", type=int, default=500, help="adversarial rows of each model of the parity runs")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks long runs: of `long_from(parameter, value)` those from that value on, of `one_in(n)` all but one in n.

    Every long one is full too. A test with a longer form, which asks `long_runs`, has that in the run of the long ones.
    """
    cases: Counter[tuple[str, str]] = Counter()
    for item in items:
        if (some := item.get_closest_marker("one_in")) is not None:
            test = str(item.path), getattr(item, "originalname", item.name)
            if cases[test] % some.args[0]:
                item.add_marker("long")
            cases[test] += 1
        if config.option.markexpr == "long" and "long_runs" in getattr(item, "fixturenames", ()):
            item.add_marker("long")
        first = item.get_closest_marker("long_from")
        callspec = getattr(item, "callspec", None)
        if first is not None and callspec is not None and callspec.params[first.args[0]] >= first.args[1]:
            item.add_marker("long")
        if item.get_closest_marker("long"):
            item.add_marker("full")


def pytest_collection_finish() -> None:
    """Keeps the garbage collector off what lasts for the whole run."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def model_rows(request: pytest.FixtureRequest, whole_suite: bool) -> int:
    """How many adversarial rows a model of the parity runs gets."""
    return int(request.config.option.model_rows) if whole_suite else 300


@pytest.fixture
def made_table() -> Callable[[str, str, list[str]], None]:
    """Compares a table of a page of docs/ with the lines that a test makes; RULEKIT_UPDATE_GOLDEN=1 writes them."""

    def compare(page: str, maker: str, lines: list[str]) -> None:
        path = Path(__file__).parents[1] / "docs" / f"{page}.md"
        before, marked, rest = path.read_text("utf-8").partition(f"<!-- made by {maker} -->\n")
        found, end, after = rest.partition("<!-- end -->")
        table = "\n".join(lines) + "\n"
        if os.environ.get("RULEKIT_UPDATE_GOLDEN"):
            path.write_text(before + marked + table + end + after, encoding="utf-8")
        assert found == table

    return compare


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many cells and tables went into each form of each artifact; a test that passed found none decided wrongly."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for report in terminalreporter.stats.get("passed", ()):
        for form, cases, refused in (value for name, value in report.user_properties if name == "cells"):
            counts[form] = [counts[form][0] + cases, counts[form][1] + refused]
    for form, (cases, refused) in counts.items():
        line = f"cells, {form}: {cases:,} as the graph says, of these {refused:,} refused"
        terminalreporter.write_line(line)
    if counts:
        cases, refused = map(sum, zip(*counts.values(), strict=True))
        terminalreporter.write_line(f"cells, all: {cases:,} as the graph says, of these {refused:,} refused; 0 differ")
