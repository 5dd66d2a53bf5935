"""Parameters that learners share, each with its default, what it may be, and one line of help."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.contract import setting
from rulekit.learners.parameters import (
    ANY,
    CALLABLE,
    COST,
    DIRECTED,
    GROUPS,
    MEMORY,
    RULES,
    SEED,
    TEXT,
    TEXTS,
    TOKENS,
    TRUTH,
    VERBOSE,
    WORDS_BY_COLUMN,
    number,
    one_of,
    or_true,
    sequence,
    whole,
    word_or_mapping,
    words_or_list,
)


@dataclass(frozen=True)
class ReadingSettings:
    """How columns are read; named as in rulekit.tables.options.ReadingOptions."""

    group = "reading"

    types: Mapping[str, str] | None = setting(
        None, WORDS_BY_COLUMN, "column to its kind: numeric, categorical, date, ordered:LOW,...,HIGH, ignore"
    )
    missing: Sequence[str] | Mapping[str, Sequence[str]] | None = setting(
        None, TOKENS, "cells that mean missing: '?' or 'COLUMN=?', or column to such cells"
    )
    units: Mapping[str, str] | None = setting(None, WORDS_BY_COLUMN, "column to the unit of its numbers: EUR, %")
    roles: Mapping[str, str] | None = setting(
        None, WORDS_BY_COLUMN, "column to use, audit (kept for reports) or forbidden: in no rule"
    )
    unseen: Mapping[str, str] | None = setting(
        None, WORDS_BY_COLUMN, "column to what a level that training never saw is: unseen, missing or error"
    )
    precision: Mapping[str, str] | None = setting(
        None, WORDS_BY_COLUMN, "column to float32 or float64, the width in which it is compared"
    )


@dataclass(frozen=True)
class LabelSettings:
    """What the classes are, and what an error costs."""

    group = "labels"

    target: str | None = setting(None, TEXT, "name of the label in rules and files (None: that of y, or target)")
    positive: Any = setting(None, ANY, "the positive one of two classes (None: the rarer; of equals the second)")
    default: Any = setting(
        None, ANY, "of more than two classes the one that is decided where no rule speaks (None: the most frequent)"
    )
    ordered: Sequence[Any] | None = setting(None, sequence(), "the classes as ranks, low to high")
    cost: Any = setting(
        None, COST, "of errors: 'FP:FN', class to the cost of an error on its rows, or a matrix (true class, decided)"
    )


@dataclass(frozen=True)
class LimitSettings:
    """How large the model may be."""

    group = "limits"

    max_features: int | None = setting(None, whole(1, optional=True), "most distinct columns of the whole model")
    max_clauses: int | None = setting(None, whole(1, optional=True), "most rules of a class")
    max_literals: int | None = setting(None, whole(1, optional=True), "most literals of a class")
    max_total_clauses: int | None = setting(None, whole(1, optional=True), "most rules of the whole model")
    max_total_literals: int | None = setting(None, whole(1, optional=True), "most literals of the whole model")


@dataclass(frozen=True)
class PromiseSettings:
    """What the model promises to decide."""

    group = "promises"

    monotone: Mapping[str, str] | None = setting(
        None, DIRECTED, "column to increasing or decreasing: the decision for the positive class may go that way only"
    )
    forbid: Sequence[Any] | None = setting(None, GROUPS, "groups of columns; no rule reads two of one group")
    require: Sequence[str] | None = setting(None, TEXTS, "decisions to keep to, each as in `amount > 9000 -> yes`")
    missing_never_helps: bool = setting(False, TRUTH, "no rule is satisfied by a missing value or a level never seen")


@dataclass(frozen=True)
class RunSettings:
    """What the work may take, and what is seen of it; the model depends on `time_limit` alone."""

    group = "run"

    n_threads: int | None = setting(None, whole(1, optional=True), "cores to work on; the model does not depend on it")
    memory: int | str | None = setting(
        None, MEMORY, "most memory of the whole process, as 500MB; the columns are then kept on disk"
    )
    time_limit: float | None = setting(
        None, number(0, optional=True), "seconds; then the best model that could be checked is kept"
    )
    verbose: bool | int = setting(0, VERBOSE, "1: a bar while it learns, in a notebook or on a terminal")
    callback: Callable[[Mapping[str, Any]], object] | None = setting(
        None, CALLABLE, "called after each unit and fold with a mapping; a true answer cancels"
    )


@dataclass(frozen=True)
class Settings(RunSettings, PromiseSettings, LabelSettings, ReadingSettings):
    """What every learner takes."""

    max_bins: Any = setting(255, whole(2, optional=True), "bins of a numeric column (None: one for each value)")
    min_level_rows: float | None = setting(
        None, number(0, optional=True), "rarer levels are one bin (None: 10 rows, or a hundredth of them, but 2)"
    )
    class_weight: Mapping[Any, float] | str | None = setting(
        None, word_or_mapping("balanced"), "class to weight, or balanced"
    )
    random_state: Any = setting(None, SEED, "seed of every random choice")


@dataclass(frozen=True)
class SizeSettings(Settings, LimitSettings):
    """How the size of the model is chosen."""

    stopping: Literal["cv", "none"] = setting(
        "cv", one_of("cv", "none"), "what chooses the size: cross-validation (cv), or the learner alone (none)"
    )
    n_folds: int = setting(5, whole(2), "folds of that cross-validation, inside the training rows")
    parsimony: float = setting(
        0.0, number(0), "standard errors by which a smaller model may be worse; 1: the smallest that is not worse"
    )
    size: int | None = setting(
        None, whole(1, optional=True), "row of the ladder: at most so many units a class (None: as stopping says)"
    )


@dataclass(frozen=True)
class PointSettings(SizeSettings):
    """Whether sums are of whole points."""

    points: bool | int = setting(
        False,
        or_true(whole(1, 1000)),
        "whole points in sums: the largest in size (True: 10; False: weights as learned)",
    )


@dataclass(frozen=True)
class StartSettings(SizeSettings):
    """Which rules learning goes on from."""

    start: RuleGraph | None = setting(None, RULES, "a RuleGraph to go on from, learned elsewhere or by an expert")
    freeze: str | Sequence[str] = setting(
        "all", words_or_list("all", "none"), "which of its rules stay as they are: all, none, or their ids"
    )
