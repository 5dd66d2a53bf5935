"""The learner whose models vote: any learner of rulekit, by its word, with parameters, or as an unfitted estimator."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rulekit.arrays import Ints
from rulekit.errors import InputError
from rulekit.learners.contract import Candidate, OutOfTimeError, Question, find_learner, refuse_unable
from rulekit.learners.data.problem import Problem
from rulekit.learners.faults import blamed
from rulekit.learners.learning import LearningPlan, learn_all
from rulekit.learners.parameters import Allowed, Settings, check_parameters, value_for
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sums_of_rows.kernels import one_blas_thread
from rulekit.names import near_names

BASE = Allowed(
    lambda value: isinstance(value, RuleLearner) or (isinstance(value, str) and value != ""),
    "a learner such as 'cnll' or 'cnll(size=1)', or an unfitted learner",
)
_WRITTEN = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", re.DOTALL)  # a word as entry points have it: noisy-or
_ITS_OWN = {"stopping", "n_folds", "parsimony", "points", "start", "freeze", *(item.name for item in fields(Settings))}
"""What is said of the whole model, and not of its parts."""


@dataclass(frozen=True, slots=True, eq=False)
class BaseLearner:
    """A learner with its settings, which are resolved; question: as it was prepared, on all rows."""

    learner: RuleLearner
    settings: Any
    question: Question | None = None

    def learned(self, problem: Problem, weights: Ints, watch: Question) -> Candidate:
        """What it learns from rows of these weights [n], all together as much as in the problem; watch: the question.

        Raises OutOfTimeError and KeyboardInterrupt where it was stopped.
        """
        assert self.question is not None
        seen = replace(problem, weights=weights, weight_unit=problem.total / float(weights.sum()))
        if not weights.all():
            seen = seen.take(np.flatnonzero(weights))
        question = Question(
            *(watch.label, watch.index, seen, self.settings, watch.seed, watch.n_threads, watch.watch),
            plan=self.question.plan,
            fold=True,  # only what is decided counts, and not what is reported of it
        )
        most = int(getattr(self.settings, self.learner.size_parameter, 0))
        plan = LearningPlan(None, 0.0, most, None, watch.watch.until, getattr(self.settings, "size", None))
        with blamed(type(self.learner)), one_blas_thread():  # products of units are the same on any machine
            (run,), stopped = learn_all(self.learner, [question], plan)
        if stopped:
            raise OutOfTimeError if stopped == "time limit" else KeyboardInterrupt
        return run.path[run.chosen - 1] if run.chosen else run.nothing or self.learner.nothing(question)


def base_of(settings: Any, rows: float) -> BaseLearner:
    """The base learner that the settings name, for rows of so much weight.

    Raises InputError for a learner or a parameter that there is not, or that is said of the whole model.
    """
    learner, given = _written(settings.base) if isinstance(settings.base, str) else _given(settings.base)
    name, known = learner.word or type(learner).__name__, learner.parameters
    for key in given:
        if key in _ITS_OWN:
            raise InputError(f"{key} of {name} is said of the whole model", where="base", fix=f"leave it out of {name}")
        if key not in known:
            near = near_names(key, known)
            fix = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known)}"
            raise InputError(f"{name} has no parameter {key!r}", where="base", fix=fix)
    defaults = {key: parameter.default for key, parameter in known.items()}
    values = {**defaults, **learner.as_base, **given}
    check_parameters("base", values, known)
    asked = {key: getattr(settings, key) for key in ("monotone", "missing_never_helps", "memory", "ordered")}
    refuse_unable(type(learner), asked)
    shared = {item.name: getattr(settings, item.name) for item in fields(Settings) if item.name in known}
    values |= {key: value for key, value in shared.items() if key not in ("max_bins", "require", "forbid", "callback")}
    own = learner.settings(**{**values, "verbose": 0})
    learner.check(own)
    return BaseLearner(learner, learner.resolve(own, rows))


def _written(text: str) -> tuple[RuleLearner, dict[str, Any]]:
    """A word, or a word with parameters in brackets."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} names no learner", where="base", fix="write cnll or cnll(size=1)")
    learner, given = find_learner(found[1])(), {}
    for item in (part for part in (found[2] or "").split(",") if part.strip()):
        name, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"{item.strip()!r} is not K=V", where="base", fix="write cnll(size=1)")
        given[name.strip()] = value_for(learner.parameters.get(name.strip()), value.strip())
    return learner, given


def _given(learner: RuleLearner) -> tuple[RuleLearner, dict[str, Any]]:
    """The parameters of an unfitted learner that are not as they are by default."""
    values = learner.given_parameters()
    return learner, {name: value for name, value in values.items() if value is not learner.parameters[name].default}
