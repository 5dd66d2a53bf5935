"""Property tests draw new examples in each run; a failure prints the line that repeats it."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("rulekit", print_blob=True, deadline=None)
settings.load_profile("rulekit")


@pytest.fixture(scope="session")
def whole_suite(request: pytest.FixtureRequest) -> bool:
    """Whether long runs are part of this one: False for `-m "not full"`, the run before each commit."""
    return "not full" not in request.config.option.markexpr


@pytest.fixture(scope="session")
def long_runs(request: pytest.FixtureRequest) -> bool:
    """Whether the longest runs are part of this one, as in `make conformance`."""
    return not {"not full", "not long"} & set(request.config.option.markexpr.split(" and "))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of `make conformance`."""
    parser.addoption("--model-rows", type=int, default=500, help="adversarial rows of each model of the parity runs")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`long_from(parameter, value)` marks the runs from that value on as long ones, which are full too."""
    for item in items:
        first = item.get_closest_marker("long_from")
        callspec = getattr(item, "callspec", None)
        if first is not None and callspec is not None and callspec.params[first.args[0]] >= first.args[1]:
            item.add_marker("long")
            item.add_marker("full")


@pytest.fixture(scope="session")
def model_rows(request: pytest.FixtureRequest, whole_suite: bool) -> int:
    """How many adversarial rows a model of the parity runs gets."""
    return int(request.config.option.model_rows) if whole_suite else 300
