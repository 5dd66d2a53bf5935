"""Property tests draw new examples in each run; a failure prints the line that repeats it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("rulekit", print_blob=True, deadline=None)
settings.load_profile("rulekit")
