"""The loop around a learner: its candidates as they come, held-out errors beside them, limits of time, Ctrl-C.

A question's first fold is learned in step with the question itself, a candidate of each in turn, so that whatever ends
the learning, the sizes that were reached have been checked on rows that they were not learned from. With several
questions each gets a candidate before one gets a second. Where the rows are too many for that (or on disk), questions
and folds are learned one after the other, each in its share of the time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rulekit.errors import LearnerError
from rulekit.learners.contract import Candidate, OutOfTimeError, Question, Stopped, Variants, Watch
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.problem import Problem
from rulekit.learners.faults import candidates_of, check_candidate
from rulekit.learners.sizes.choice import Curve, Fold, best_curve, fold_of, looked_at, still_asked
from rulekit.views import notebook

_IN_STEP = 1 << 27
"""Codes of all questions together up to which they are learned in step."""

_FEWEST_FOLDS, _PLENTY = 3, 16384.0
"""Folds that are looked at in any case, and the held-out rows after which there are no more."""

_MOST = 10_000
"""Candidates beyond the sizes that were asked for after which a learning is taken for one without an end."""

_AT_ONCE = ("interrupted", "cancelled")
_STOPS = (KeyboardInterrupt, OutOfTimeError)

Callback = Callable[[Mapping[str, Any]], object]


@dataclass(frozen=True, slots=True)
class LearningPlan:
    """How sizes are checked: on which folds (None: not at all), the report, and until when.

    size: the place on the path that was asked for; joint: sizes are chosen for all questions together, afterwards;
    questions: how many there are.
    """

    folds: Folds | None
    parsimony: float
    n_units: int
    callback: Callback | None
    deadline: float
    size: int | None = None
    joint: bool = False
    questions: int = 1


@dataclass(slots=True, eq=False)
class LearningCourse:
    """A learning under way: the candidates so far, and whether it has ended by itself; left: how many may follow.

    held: of a fold its rows, as far as they are looked at, when they are asked for.
    """

    question: Question
    learning: Iterator[Candidate]
    left: int
    candidates: list[Candidate] = field(default_factory=list)
    ended: bool = False
    held: Iterator[Problem] = field(default_factory=lambda: iter(()))

    def advance(self) -> bool:
        """Take the next candidate; False where there is none."""
        if self.ended:
            return False
        try:
            candidate = next(self.learning)
        except StopIteration as end:
            self.candidates = self.candidates if end.value is None else self.checked(end.value)
            self.ended = True
            return False
        self._check(candidate, self.candidates[-1] if self.candidates else None)
        self.left -= 1
        if self.left < 0:
            raise LearnerError(f"learn does not end: its last candidate is of size {candidate.size}")
        if self.candidates and self.candidates[-1].size == candidate.size:
            self.candidates.pop()
        self.candidates.append(candidate)
        return True

    def checked(self, path: Iterable[Candidate]) -> list[Candidate]:
        """The candidates of a path that ends the learning; raises LearnerError for the first that is none."""
        found = list(candidates_of(path, "finish or learn ended with"))
        for before, candidate in zip((None, *found), found, strict=False):
            self._check(candidate, before)
        return found

    def _check(self, candidate: Candidate, before: Candidate | None) -> None:
        check_candidate(candidate, before, self.question.problem.total, self.question.problem.columns)


@dataclass(slots=True, eq=False)
class Run:
    """A question with what was learned: the candidates of its path, of which `chosen` (from 1; 0: none) was taken.

    grown: the candidates before `finish`; nothing: what stands where none does (None: as the learner says); folds: what
    was learned without each; curve: of the held-out errors; checked: whether it has chosen; all_stay: each of its units
    has already had to pay for its size; longest: the place up to which it goes where all questions share one size,
    where its own held-out error is least, or of a rare class the macro F1 largest.
    """

    question: Question
    course: LearningCourse
    ahead: list[LearningCourse] = field(default_factory=list)
    folds: list[Fold] = field(default_factory=list)
    path: tuple[Candidate, ...] = ()
    nothing: Candidate | None = None
    curve: Curve | None = None
    chosen: int = 0
    checked: bool = False
    all_stay: bool = False
    longest: int = 0
    last: dict[str, Any] = field(default_factory=dict)

    @property
    def grown(self) -> list[Candidate]:
        return self.course.candidates


def learn_all(learner: Any, questions: Sequence[Question], plan: LearningPlan) -> tuple[list[Run], Stopped]:
    """Learn every question; says what stopped the learning early."""
    runs: list[Run] = []
    stopped: Stopped = ""
    problem, in_step = questions[0].problem, 0  # how many are learned in step with their first folds
    if problem.elsewhere is not None:
        in_step = len(questions)
    elif problem.in_memory:
        in_step = min(len(questions), _IN_STEP // (len(problem.labels) * max(1, len(problem.columns))))
    together = in_step or 1
    for start in range(0, len(questions), together):
        group = questions[start : start + together]
        share = len(group) / (len(questions) - start)
        now = time.monotonic()
        until = plan.deadline if share == 1.0 else now + (plan.deadline - now) * share
        if stopped in _AT_ONCE:
            until = -np.inf  # what is left keeps its prior probability
        found, why = _QuestionGroup(learner, group, replace(plan, deadline=until), in_step > 0).learn()
        runs += found
        stopped = stopped or why
    return runs, stopped


@dataclass(slots=True, eq=False)
class _QuestionGroup:
    """Questions that are learned in step."""

    learner: Any
    questions: Sequence[Question]
    plan: LearningPlan
    in_step: bool
    runs: list[Run] = field(default_factory=list)
    until: float = np.inf

    def learn(self) -> tuple[list[Run], Stopped]:
        plan = self.plan
        self.runs = [Run(question, self._course(question, plan.deadline)) for question in self.questions]
        try:
            stopped = self._grow()
        except _STOPS as error:
            stopped = _why(error)
        for number, run in enumerate(self.runs):
            _close([run.course])
            # each question gets its share of the time that is left, so that the first does not take all of it
            now = time.monotonic()
            self.until = now + (plan.deadline - now) / (len(self.runs) - number)
            try:
                stopped = self._choose(run, stopped)
            except _STOPS as error:
                self._take(run, stopped := _why(error))
        return self.runs, stopped

    def _course(self, question: Question, until: float) -> LearningCourse:
        question = replace(question, watch=Watch(until))
        most = _MOST + 2 * (self.plan.n_units or 0)
        return LearningCourse(question, candidates_of(self.learner.learn(question)), most)

    def _variants(self, course: LearningCourse) -> Variants | None:
        """What the learner makes of the candidates; its paths are checked when they are made."""
        variants: Variants | None = self.learner.finish(course.question, tuple(course.candidates))
        if variants is None:
            return None
        return replace(variants, paths=[partial(lambda make: course.checked(make()), make) for make in variants.paths])

    # Candidates ----------------------------------------------------------------------------------------------------

    def _grow(self) -> Stopped:
        if self.in_step and self.plan.folds is not None:
            for run in self.runs:
                self._begin_folds(run)
            if (elsewhere := self.questions[0].problem.elsewhere) is not None:
                courses = [course for run in self.runs for course in (run.course, *run.ahead)]
                ways = [way for course in courses for way in (course.learning, course.held)]
                together = iter(elsewhere.parts.alongside(ways))
                for course in courses:
                    course.learning, course.held = next(together), next(together)
        elif self.plan.folds is not None and self.plan.deadline < np.inf:
            now = time.monotonic()
            half = now + (self.plan.deadline - now) / 2
            self.runs = [replace(run, course=self._course(run.question, half)) for run in self.runs]
        live = list(self.runs)
        while live:
            for run in list(live):
                run.course.question.watch.check()
                for course in run.ahead:
                    course.advance()
                size = len(run.grown)
                if not run.course.advance():
                    live.remove(run)
                elif len(run.grown) > size and self._report(run):
                    return "cancelled"
        return ""

    def _report(self, run: Run) -> bool:
        """Tell the callback of the newest candidate; says whether it cancels."""
        made, error = run.grown[-1], run.grown[-1].error / run.question.problem.total
        return not made.start and self._tell(run, objective=made.objective, error=error, unit=made.size)

    def _tell(self, run: Run, **step: Any) -> bool:
        """Tell the callback what is new of a question, beside what it knows; says whether it cancels."""
        n_folds = 0 if self.plan.folds is None else self.plan.folds.n_folds
        of_all = {"n_units": self.plan.n_units, "unit": 0, "questions": self.plan.questions, "folds": n_folds}
        run.last = {"class": run.question.label, **of_all, **run.last, **step}
        return self.plan.callback is not None and bool(self.plan.callback(dict(run.last)))

    # Sizes ---------------------------------------------------------------------------------------------------------

    def _begin_folds(self, run: Run) -> None:
        """Begin the first fold; of rows that are elsewhere all that will be looked at, which ask together."""
        assert self.plan.folds is not None
        problem, count = run.question.problem, self.plan.folds.count()
        n = max(_FEWEST_FOLDS, math.ceil(_PLENTY * count / problem.total)) if problem.elsewhere else 1
        if count > 1:
            run.ahead = [self._fold_course(run, k, self.plan.deadline) for k in range(min(n, count))]

    def _fold_course(self, run: Run, k: int, until: float) -> LearningCourse:
        assert self.plan.folds is not None
        folds, question = self.plan.folds, run.question
        training = folds.training(question.problem, k)
        course = self._course(replace(question, problem=training, groups=None, fold=True), until)
        course.held = (looked_at(folds.held(problem, k), question.seed) for problem in (question.problem,))
        return course

    def _choose(self, run: Run, over: Stopped) -> Stopped:
        """Check the sizes of a path on held-out rows and take one; over: what has stopped the learning already."""
        why = over
        variants = self._variants(run.course)
        several = len(run.grown) > 1 or (variants is not None and variants.by_error)  # sizes, or ways to none and one
        if self.plan.folds is not None and several:
            if not run.ahead and over not in _AT_ONCE:
                self._begin_folds(run)
            if run.ahead:
                why = self._check(run, over)
        _close(run.ahead)
        self._take(run, why)
        return why

    def _check(self, run: Run, over: Stopped) -> Stopped:
        """The curve of all folds that can be finished, of the first as far as it has come; says what stopped."""
        folds, weights = self.plan.folds, list[float]()
        assert folds is not None
        asked: Sequence[int] | None = None
        course, cut = run.ahead[0], over if over in _AT_ONCE else ""
        for k in range(folds.count()):
            if k:
                del course  # the rows of one fold at a time
                course = run.ahead.pop(0) if run.ahead else self._fold_course(run, k, self.until)
            else:
                del run.ahead[0]
            try:
                while not cut:
                    course.question.watch.check()
                    if not course.advance():
                        break
            except _STOPS as error:
                cut = _why(error)
            found = None if cut and k else self._held_out(course, next(course.held), len(run.grown), asked)
            if found is None:
                break
            run.folds.append(found)
            weights.append(float(found.totals.sum()))  # of the rows that were looked at
            asked = still_asked(run.folds, weights, asked)
            try:
                cut = cut or ("cancelled" if self._tell(run, fold=k + 1) else "")
            except KeyboardInterrupt:
                cut = "interrupted"
            if cut or (k + 1 >= _FEWEST_FOLDS and sum(weights) >= _PLENTY):
                break
        if run.folds:
            short = len(run.folds) == 1 and not course.ended
            run.curve = best_curve(run.folds, weights, short)
        return over or cut

    def _held_out(self, course: LearningCourse, held: Problem, places: int, asked: Sequence[int] | None) -> Fold | None:
        """What the rows of a fold say of the candidates, of all variants or those asked for; None: none was reached.

        A path that ended early goes on as it was, to `places` at least; of one that was cut, what is there is checked.
        """
        variants = self._variants(course)
        if not course.ended and (variants is not None or not course.candidates):
            return None
        nothing = self.learner.nothing(course.question)
        least = 1 if variants is not None else max(1, places) if course.ended else 0
        return fold_of(course.question, course.candidates, nothing, variants, held, least, asked)

    def _take(self, run: Run, why: Stopped) -> None:
        """End a path and choose the size; where sizes are chosen together, up to which it goes then."""
        variants = self._variants(run.course)
        if variants is None:
            run.path = tuple(run.grown)
        else:
            variant = run.curve.variant if run.curve is not None else 0 if why else variants.preferred()
            if variant not in range(len(variants.paths)):
                raise LearnerError(f"preferred of finish is {variant!r}, and there are {len(variants.paths)} paths")
            run.path = tuple(run.course.checked(self._final(variants, variant, why)))
            run.nothing = None if variants.nothing is None else variants.nothing()
            run.all_stay = not (variants.least or variants.shared or variants.by_error)
        run.longest = run.chosen = len(run.path)
        alone = variants is None or not variants.shared
        if run.curve is not None and self.plan.joint and alone and (run.curve.rare or not run.all_stay):
            run.longest = min(run.longest, run.curve.finds_most()[0] if run.curve.rare else run.curve.best())
        if self.plan.joint or self.plan.size is not None:
            run.chosen = min(run.longest, run.chosen if self.plan.size is None else self.plan.size)
        elif run.curve is not None:
            nothing = run.nothing or self.learner.nothing(run.course.question)
            training = np.array([(each.objective, each.error) for each in (nothing, *run.path)]).T
            taken = run.curve.taken(run.chosen, self.plan.parsimony, all_stay=run.all_stay, training=training)
            run.chosen = min(run.chosen, taken)
            run.checked = not run.all_stay or run.chosen < run.longest

    @staticmethod
    def _final(variants: Variants, variant: int, why: Stopped) -> Sequence[Candidate]:
        """The path of the variant that is taken; as it was compared where there is no time for more."""
        if variants.final is not None and not why:
            with suppress(OutOfTimeError):
                return variants.final(variant)
        return variants.paths[variant]()


def _close(courses: list[LearningCourse]) -> None:
    """End courses that are asked no more; none is kept, since each has rows."""
    for course in courses:
        for way in (course.learning, course.held):
            if isinstance(way, Generator):
                way.close()
    courses.clear()


def _why(error: BaseException) -> Stopped:
    return "interrupted" if isinstance(error, KeyboardInterrupt) else "time limit"


@contextmanager
def watched(learner: str, verbose: bool | int, callback: Callback | None) -> Iterator[Callback | None]:
    """The callback, called after a bar was moved where one was asked for; the bar goes when the work ends."""
    if not verbose:
        yield callback
        return
    with notebook().bar_of(learner) as show:

        def tell(step: Mapping[str, Any]) -> object:
            show(step)
            return None if callback is None else callback(step)

        yield tell
