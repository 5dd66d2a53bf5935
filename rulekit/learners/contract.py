"""What a learner is: its parameters, the questions that it is asked, the candidates that it yields, how it is found.

A learner is a class in the entry-point group `rulekit.learners` that derives from rulekit.learners.base.RuleClassifier,
or from rulekit.learners.rule_learner.RuleLearner where its estimator is a class of its own. It says what its parameters
are (a frozen dataclass whose fields are made by `setting`) and what it can (`Ability`), and for each question it yields
candidates, smallest first. All else is the base's. docs/learners.md shows one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rulekit.arrays import Array
from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts_by_class
from rulekit.learners.faults import GROUP, at_fault, loaded
from rulekit.limits import OutOfTime
from rulekit.names import near_names

if TYPE_CHECKING:
    from rulekit.arrays import Bools, Floats
    from rulekit.graph.nodes import Node
    from rulekit.graph.rule_graph import ClassLabel, Required
    from rulekit.learners.data.binning import BinnedColumn, Codes
    from rulekit.learners.data.folds import InOrder
    from rulekit.learners.data.problem import Problem
    from rulekit.schema import Schema

Stopped = Literal["", "interrupted", "time limit", "cancelled"]

Kind = Literal["two", "several", "ranked"]
"""Two classes: one question; several: one for each class against the rest; ranked: one for each cut of the ranks."""

Ability = Literal[
    "missing",
    "categories",
    "start",
    "memory",
    "parts",
    "several",
    "ranked",
    "weights",
    "monotone",
    "interactions",
    "apart",
    "require",
    "missing_never_helps",
]
"""What a learner can: go on from given rules (start), learn out of memory or from parts of the rows elsewhere, ...

The last five are constraints (docs/check.md). interactions: rules stay within groups of columns; apart: some columns
never meet in a rule.
"""


# Questions and candidates ------------------------------------------------------------------------------------------


class OutOfTimeError(OutOfTime):
    """The time of a question is over."""

    def __init__(self) -> None:
        super().__init__("the time is over")


@dataclass(frozen=True, slots=True)
class Watch:
    """Until when a question may be worked on (time.monotonic)."""

    until: float = float("inf")

    @property
    def over(self) -> bool:
        return time.monotonic() > self.until

    def check(self) -> None:
        """Raise OutOfTimeError when the time is over: for work that is long within one candidate."""
        if self.over:
            raise OutOfTimeError


NO_WATCH = Watch()


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What a part of the model is to tell from the rest: label 1 of the rows of `problem`.

    label: the class that it speaks for; index: its number; settings: the learner's, with nothing left to be "auto";
    seed: of every random choice; watch: may be asked within a long step; plan: what `prepare` made of all questions;
    groups [n]: of rows that belong together, or their order in time. fold: what is learned is only measured, on the
    rows of a fold.
    """

    label: ClassLabel
    index: int
    problem: Problem
    settings: Any
    seed: int
    n_threads: int
    watch: Watch
    plan: Any = None
    groups: Array | InOrder | None = None
    fold: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What stands around the scores of all questions in a rule graph.

    classes: in the graph's order; preference: see Ranked; default: the class that was asked for where nothing speaks;
    limits: of the whole model. odds: by question, the odds of yes among the rows as they are over those among the rows
    as their classes weighed in training (1: they weighed the same); by it are reported probabilities corrected.
    required: what the model promises to decide. unreported: only what decides is wanted, so that no score has to say
    what is reported, or to look for a Boolean rule that decides alike.
    """

    schema: Schema
    classes: tuple[ClassLabel, ...]
    columns: tuple[BinnedColumn, ...]
    kind: Kind
    preference: tuple[int, ...]
    default: int | None
    limits: SizeLimits
    odds: tuple[float, ...]
    required: tuple[Required, ...] = ()
    unreported: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """When a question is answered by yes, as nodes, in one of three ways.

    A rule: `node` is Boolean and says yes where it holds. A noisy formula: `node` is Random and says yes where its
    probability is above 1/2. A sum: `node` is Real and says yes above 0; `probability` is what is reported of it.
    rule: the Boolean node that holds where node says yes, where it is known; it then decides. silent: node says yes
    nowhere. sided: the probability is put on the side of the rule. precedence: of several classes with a rule that
    holds the one with the largest precedence is decided. stays: the rule must be in the model. largest: of several
    classes the most probable one is decided, above 1/2 or not, unless a default was asked for.
    """

    node: Node
    rule: Node | None = None
    probability: Node | None = None
    silent: bool = False
    sided: bool = False
    precedence: float = 0.0
    stays: bool = False
    largest: bool = False


class Model(Protocol):
    """The content of a candidate; it keeps no training rows, and can be pickled."""

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] that are answered by yes."""

    def score(self, frame: Frame, prefix: str) -> Score:
        """The nodes; prefix: how the names of its hidden bits begin."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """One answer to a question: its size in units, objective and weighted error on the training rows, and its model.

    start: it is what learning went on from, so that no smaller model is without it. cost: what reading it costs, as an
    error rate: of several variants the one with the least held-out error and cost is taken. said: what else `history_`
    says of it, by name. held_out: its error rate, and the standard error of that, on rows that the learner chose by.
    """

    size: int
    objective: float
    error: float
    model: Model
    start: bool = False
    cost: float = 0.0
    said: Mapping[str, Any] = field(default_factory=dict)
    held_out: tuple[float, float] | None = None


Learning = Generator[Candidate, None, Sequence[Candidate] | None]
"""Candidates, smallest first; one of the same size as the one before takes its place. What is returned, if anything,
takes the place of all. Any other iterable of candidates serves as well."""


@dataclass(frozen=True, slots=True, eq=False)
class Variants:
    """Several paths that end a learning, made when they are asked for: the cross-validation takes the best one.

    preferred: which one is taken where there is no cross-validation. nothing: what stands where none of their
    candidates does (None: what the learner says of a question). rare: the class is rare, so that of sizes whose errors
    are nearly alike the one with the largest macro F1 is taken. loss: of a candidate on each of the held-out rows [n],
    by which variants are compared at their largest size, and sizes (None: by its error and cost, and by errors); bold:
    those that are taken only where they are clearly better by it. least: the size of the least loss is taken, and not
    the largest that is not surely worse; errors_first: of fewest errors, and of as many of the least loss. by_error:
    the path and the size of the least held-out error and cost are taken, as they are and not smoothed. final: the path
    of the one that is taken, where more work is spent on that (None: as it was compared). shared: all questions have
    the same units, so that they have one size.
    """

    paths: Sequence[Callable[[], Sequence[Candidate]]]
    preferred: Callable[[], int]
    nothing: Callable[[], Candidate] | None = None
    rare: bool = False
    loss: Callable[[Candidate, Problem], Floats] | None = None
    bold: frozenset[int] = frozenset()
    least: bool = False
    errors_first: bool = False
    by_error: bool = False
    final: Callable[[int], Sequence[Candidate]] | None = None
    shared: bool = False


# Finding learners --------------------------------------------------------------------------------------------------


def learner_names() -> list[str]:
    """The names of all installed learners, sorted; none is imported."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def find_learner(name: str) -> Any:
    """The class of a learner, a RuleLearner; raises InputError if none is installed, LearnerError if it is broken."""
    for point in entry_points(group=GROUP):
        if point.name == name:
            found = loaded(point)
            if not callable(getattr(found, "learn", None)) or not hasattr(found, "parameters"):
                raise at_fault(name, f"{point.value} is no learner: it does not derive from RuleLearner")
            return found
    known = learner_names()
    near = near_names(name, known)
    raise InputError(
        f"no learner {name!r}", fix=f"did you mean {near[0]}?" if near else f"one of {', '.join(known) or '(none)'}"
    )


def find_estimator(name: str) -> Any:
    """The scikit-learn class of the learner called `name`; raises InputError if none is installed."""
    learner = find_learner(name)
    if not learner.estimator:
        return learner
    return loaded(EntryPoint(name, learner.estimator, GROUP))


def refuse_unable(learner: Any, parameters: Mapping[str, Any], prefix: str = "") -> None:
    """Raises InputError where a parameter that is set asks for what the learner cannot, before any row is read.

    prefix: what stands before the name of a parameter in the message, "--" for the options of a command.
    """
    for name, value in parameters.items():
        need = _NEEDS.get(name)
        unset = value is None or value is False or (isinstance(value, list | tuple | dict) and not value)
        if need is not None and not unset and need[0] not in learner.abilities:
            where = prefix + (name.replace("_", "-") if prefix else name)
            raise InputError(f"{learner.word} {need[1]}", where=where, fix="leave it out")


_NEEDS: Mapping[str, tuple[Ability, str]] = {
    "start": ("start", "does not go on from given rules"),
    "freeze": ("start", "does not go on from given rules"),
    "memory": ("memory", "learns in memory only"),
    "engine": ("parts", "learns in one process only"),
    "ordered": ("ranked", "does not learn ranked classes"),
    "monotone": ("monotone", "cannot promise a monotone column"),
    "forbid": ("apart", "cannot promise which columns stand in one rule"),
    "require": ("require", "cannot promise a decision"),
    "missing_never_helps": ("missing_never_helps", "cannot promise that a missing value never helps"),
}


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The most distinct columns of the model; rules and literals of a class, and of all classes; None: no limit."""

    features: int | None = None
    clauses: int | None = None
    literals: int | None = None
    total_clauses: int | None = None
    total_literals: int | None = None

    @classmethod
    def of(cls, settings: Any) -> SizeLimits:
        """The limits that the parameters of a learner set, as far as it has them."""
        return cls(**{item.name: getattr(settings, f"max_{item.name}", None) for item in fields(cls)})

    def hold_for(self, graph: RuleGraph) -> bool:
        """Whether a model keeps to every limit."""
        if self.features is not None and len(graph.used_features) > self.features:
            return False
        if {self.clauses, self.literals, self.total_clauses, self.total_literals} == {None}:
            return True
        by_class = list(counts_by_class(graph).values())
        pairs = (
            *((self.clauses, each.rules) for each in by_class),
            *((self.literals, each.literals) for each in by_class),
            (self.total_clauses, sum(each.rules for each in by_class)),
            (self.total_literals, sum(each.literals for each in by_class)),
        )
        return all(limit is None or size <= limit for limit, size in pairs)


NO_LIMITS = SizeLimits()
