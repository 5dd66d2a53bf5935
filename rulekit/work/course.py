"""How far a training has come: one label, one share and one estimate of what remains, for a whole run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_LEAST_SHARE = 0.05
"""Before so much is done nothing is said of what remains."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is done now, in words; the share of the run from 0 to 1 (None: not known); seconds that remain (None)."""

    label: str
    share: float | None = None
    seconds: float | None = None

    @property
    def remaining(self) -> str:
        """`about 4 s left`, or "" where that is not known."""
        if self.seconds is None:
            return ""
        if self.seconds < 100:
            return f"about {max(1, round(self.seconds))} s left"
        minutes = round(self.seconds / 60)
        return f"about {minutes} min left" if minutes < 100 else f"about {round(minutes / 60)} h left"


@dataclass(slots=True, eq=False)
class LearningCourse:
    """The standing after each step of a learner, as its callback is told of them.

    A question (a class against the rest) is grown beside its first fold, which are two parts of equal work, and then
    each further fold is one more. The share never falls; questions that end before their largest size make it jump.
    """

    learner: str
    clock: Callable[[], float] = time.monotonic
    _begun: float = field(init=False)
    _done: dict[Any, float] = field(default_factory=dict)
    _share: float = 0.0

    def __post_init__(self) -> None:
        self._begun = self.clock()

    def after(self, step: Mapping[str, Any]) -> Standing:
        """The standing after a step."""
        if "stage" in step:
            total = step.get("total")
            share = min(step["done"] / total, 1.0) if total else None
            return Standing(f"{self.learner}: {step['stage']} the rows", share)
        folds, questions = int(step.get("folds", 0)), int(step.get("questions", 1))
        self._done[step["class"]] = self._of_question(step, folds)
        self._share = min(max(self._share, sum(self._done.values()) / max(questions, len(self._done))), 1.0)
        elapsed, left = self.clock() - self._begun, None
        if self._share >= _LEAST_SHARE and elapsed > 0:
            left = elapsed * (1.0 - self._share) / self._share
        return Standing(self._label(step, folds, questions), self._share, left)

    def _of_question(self, step: Mapping[str, Any], folds: int) -> float:
        """How much of its own work a question has done."""
        if "fold" in step:
            done = int(step["fold"])
            return (1 + done) / (1 + max(folds, done))
        grown = min(int(step["unit"]) / max(int(step["n_units"]), 1), 1.0)
        return grown * (2 / (1 + folds) if folds else 1.0)

    def _label(self, step: Mapping[str, Any], folds: int, questions: int) -> str:
        about = f" for {step['class']}" if questions > 1 else ""
        if "fold" in step:
            return f"{self.learner}: fold {step['fold']} of {max(folds, step['fold'])} checked{about}"
        return f"{self.learner}: size {step['unit']} of at most {step['n_units']}{about}"
