"""The model file as a target of another run-time: what a wrong engine answers must be found out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rulekit.conformance.targets import FILE
from rulekit.targets import Outcome, Runtime, Target


def over(run: Callable[..., Outcome], run_raw: Any = None) -> Target:
    return replace(FILE, runs=(Runtime("other", run, run_raw),))
