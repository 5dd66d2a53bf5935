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
