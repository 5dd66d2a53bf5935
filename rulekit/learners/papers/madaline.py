"""The learners madaline and mada-winnow: networks of units that learn row by row (Sahami, "The Madaline Algorithm").

And what a network goes on from when further rows come, which are seen as the first ones were.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools
from rulekit.errors import InputError
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import Frame, Learning, Question
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.inputs import TrainingData, checked_labels, classes_of
from rulekit.learners.data.problem import Problem
from rulekit.learners.data.recoding import recoded
from rulekit.learners.data.training_rows import KnownRows, training_data
from rulekit.learners.learning import Run, watched
from rulekit.learners.ltu.fit import fit_tree
from rulekit.learners.ltu.inputs import DistinctRows, Inputs, UnitInput, seen_codes
from rulekit.learners.ltu.learner import UnitLearner, candidate_of
from rulekit.learners.ltu.trees import NONE, Shape
from rulekit.learners.papers.ltu_trees import WRITTEN, PaperUnitSettings, random_orders
from rulekit.learners.papers.madaline_networks import (
    FixedIncrement,
    Network,
    NetworkTraining,
    Rule,
    TrainedNetwork,
    Winnow,
    best_of_several,
    train,
)
from rulekit.learners.papers.madaline_steps import train_whole
from rulekit.learners.parameters import TEXT, number, one_of, setting, whole
from rulekit.learners.sizes.path import ModelPath
from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True, eq=False)
class Progress:
    """The networks so far, by the number of their question, and how their rows were seen.

    frame: of the model; seen: what could be in the rows; said: by question, what `history_` says; calls: how often rows
    came.
    """

    frame: Frame
    inputs: Inputs
    seen: Bools
    networks: Mapping[int, Network]
    said: Mapping[int, Mapping[str, Any]]
    calls: int

    def settings(self, settings: Any) -> Any:
        """The settings with the label and the positive class that it has already."""
        classes, name = self.frame.classes, self.frame.schema.target
        return replace(settings, target=name, positive=classes[1] if self.frame.kind == "two" else settings.positive)

    def binned(self, rows: Problem, table: Table) -> Problem:
        """Further rows, which have no columns yet; numbers may go beyond what they were."""
        numbers = {item.column for item in self.inputs.items if item.is_number}
        return recoded(rows, self.frame.columns, table, numbers)

    def inputs_of(self, columns: Sequence[BinnedColumn]) -> Inputs:
        """The same inputs of rows that `binned` has made, with the means and scales of the first rows."""

        def moved(item: UnitInput) -> UnitInput:
            """Over the codes that its column has now; what a missing cell is stays."""
            if not item.is_number:
                return item
            return replace(item, values=np.append(item.values[:1], columns[item.column].low[1:]))

        return replace(self.inputs, items=tuple(map(moved, self.inputs.items)))


def known_rows(progress: Progress | None, classes: Any) -> KnownRows:
    """What the rows of a call must keep to; classes: as it gives them, or None.

    Raises InputError where a first call gives none, or a later one others than the first.
    """
    known = None
    if progress is not None:
        known = KnownRows(tuple(sorted(progress.frame.classes)), progress.frame.schema)
    if classes is None:
        if known is None:
            raise InputError("the first call has to name all classes", where="classes", fix="for instance np.unique(y)")
        return known
    given = np.asarray(classes)
    found = KnownRows(tuple(classes_of(checked_labels(given, given.size))[0].tolist()))
    if known is not None and found.classes != known.classes:
        names = ", ".join(map(str, known.classes))
        raise InputError("these are not the classes of the first call", where="classes", fix=f"give {names}, or none")
    return known or found


@dataclass(frozen=True)
class MadalineSettings(PaperUnitSettings):
    """The network, and how its units are changed; all else is shared by every learner."""

    shape: Any = setting(
        "auto",
        TEXT,
        "the tree of units: auto: that of an LTU tree; small, large: "
        "the paper's two; or-3, and-3: so many units joined by or, or by and",
    )
    method: Literal["madaline", "backprop"] = setting(
        "madaline",
        one_of("madaline", "backprop"),
        "how all units are trained: by the paper's rule, or by back-propagation",
    )
    n_passes: int = setting(5, whole(1), "times that each row is seen")
    n_networks: int = setting(5, whole(1), "networks of different orders of the rows; the best is kept")
    choice: Literal["auto", "least", "closest"] = setting(
        "auto",
        one_of("auto", "least", "closest"),
        "which unit learns to say yes: least: the one for which least has to change; closest: the one whose sum is "
        "nearest to its threshold, as in the paper; auto: least, of Winnow closest",
    )
    prune: Literal["during", "after", "never"] = setting(
        "during", one_of("during", "after", "never"), "when units that decide nothing are left out"
    )
    gain: float = setting(3.0, number(0), "slope of the gates, with method=backprop")


@dataclass(frozen=True)
class MadaWinnowSettings(MadalineSettings):
    """The same with weights that are multiplied (N. Littlestone's Winnow, 1988)."""

    max_bins: Any = setting(8, whole(2), "bins of a numeric column, at whose borders conditions are made of it")
    alpha: float = setting(1.25, number(1), "factor of the weights of a unit that should have fired")
    beta: float | None = setting(None, number(0, optional=True), "factor where it should not have (None: 1 / alpha)")
    threshold: float | None = setting(
        None, number(0, optional=True), "sum at which a unit fires (None: the number of conditions)"
    )


SHAPES: Mapping[str, Shape] = {
    # Figures 1 and 2: the or of two units.
    "small": Shape.chain(2),
    # Figures 3 and 4: units 0 to 3 here are 1 to 4 there.
    "large": Shape.of([1, 3, NONE, NONE], [2, NONE, NONE, NONE]),
}


def shape_named(name: str) -> Shape:
    """The shape of a name: "small", "large", or "or-k" and "and-k", the or and the and of k units.

    Raises InputError for another name.
    """
    if name in SHAPES:
        return SHAPES[name]
    word, _, size = name.partition("-")
    if word in ("or", "and") and size.isdecimal() and int(size) >= 1:
        return Shape.chain(int(size), by_left=word == "or")
    known = ", ".join(repr(known) for known in SHAPES)
    fix = f"say 'auto', {known}, 'or-3' or 'and-3'"
    raise InputError(f"there is no network of the shape {name!r}", where="shape", fix=fix)


class MadalineClassifier(RuleClassifier, UnitLearner):
    """A network of linear threshold units that learns row by row, as in Sahami's paper.

    Its units form a tree, by default that of an LTU tree. A row that is answered wrongly changes the units on its path:
    their weights go up or down by the row itself. Units that decide nothing are left out, and `history_` names them
    under "unused", with what each pass erred. Of several networks, which see the rows in different orders, the one is
    kept that errs least on a fifth of the rows, which no network sees.
    """

    word = "madaline"
    settings = MadalineSettings
    as_base: ClassVar[Mapping[str, Any]] = {"shape": "small", "n_networks": 1}
    _progress: Progress | None = None
    _networks: Mapping[int, Network]

    def check(self, settings: MadalineSettings) -> None:
        if settings.shape != "auto":
            shape_named(settings.shape)
        self._rule_of(settings)

    def _rule_of(self, settings: Any) -> Rule:
        return FixedIncrement()

    def _inputs_of(self, problem: Problem, settings: MadalineSettings) -> Inputs:
        return Inputs.of(problem, only_numbers=True)

    def fit_rules(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, time: Any = None
    ) -> tuple[TrainingData, npt.NDArray[Any]]:
        """As `fit`, but without statistics of the rules; it goes on from nothing."""
        self._progress = None
        return super().fit_rules(X, y, sample_weight, groups, time)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning from further rows, which are seen `n_passes` times.

        The first call makes the columns, their levels, means and deviations, and one network for each question; later
        calls see their rows so, and change nothing but weights: a level that is new is none of the known ones, a
        missing cell a condition that does not hold or the mean, and a column that had one value is not read. After
        `fit` it goes on from the fitted networks. There is one network (`n_networks` and `stopping` are for `fit`), and
        no unit is left out. Reported probabilities, statistics, and the rounding of units are those of the rows of the
        last call, so that a call should bring some hundreds of rows.

        Parameters
        ----------
        X : array [n, d], frame or mapping of columns
            The rows, with the columns of the first call.
        y : array, Series or list [n]
            The labels.
        classes : array [K] or None
            All classes, which the first call has to name; rows of some may come later.
        sample_weight : array [n] or None
            A row of weight 0 is as good as left out.

        Returns
        -------
        Self

        Raises
        ------
        InputError
            Where the data or the parameters do not fit (a ValueError), or with `method="backprop"`.

        """
        begun = time.monotonic()
        settings = replace(self.checked_settings(), n_networks=1, prune="never", stopping="none")
        name = self.estimator_name()
        if settings.method == "backprop":
            raise InputError("back-propagation needs all rows at once", where=f"{name}, method", fix="take madaline")
        if isinstance(settings.class_weight, str):
            where, fix = f"{name}, class_weight", "give a weight for each class"
            raise InputError("how often classes are is not known before all rows are", where=where, fix=fix)
        known = known_rows(self._progress, classes)
        with watched(self.word, settings.verbose, settings.callback) as callback:
            settings = replace(settings, callback=callback)
            data = training_data(self, settings, X, y, sample_weight, known=known)
            settings = self._progress.settings(settings) if self._progress else settings
            return self._with_statistics(*self.learn_rows(settings, begun, data))

    def binned(self, settings: Any, rows: Problem, data: TrainingData) -> Problem:
        """The rows with the columns of their table; further rows have those of the first."""
        if self._progress is None:
            return super().binned(settings, rows, data)
        return self._progress.binned(rows, data.table)

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with the inputs of their units; further rows have those of the first."""
        self._networks = {} if self._progress is None else self._progress.networks
        if self._progress is None:
            return super().prepare(problem, questions, data, classes)
        inputs = self._progress.inputs_of(problem.columns)
        return [replace(question, plan=inputs) for question in questions]

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Keep what further rows go on from, if no network is wanting, as one is where learning was stopped."""
        question, before = runs[0].question, self._progress
        if len(question.plan) and len(self._networks) < len(runs):
            return
        seen = seen_codes(question.plan, question.problem.codes)
        said = {run.question.index: made.said for run in runs for made in run.path}
        if before is not None:
            seen, said = seen | before.seen, {**before.said, **said}
        calls = 1 if before is None else before.calls + 1
        self._progress = Progress(path.frame, question.plan, seen, self._networks, said, calls)

    def learn(self, question: Question) -> Learning:
        settings: MadalineSettings = question.settings
        rows = DistinctRows.of(question, question.plan)
        if not len(rows.labels) or not len(question.plan):
            return None
        before, written = self._progress, WRITTEN[settings.form]
        if settings.method == "backprop":
            rng, passes = np.random.default_rng((question.seed, question.index)), int(settings.n_passes)
            own = (rows.inputs, rows.labels == 1, rows.in_rows, rng, passes, float(settings.gain))
            whole = train_whole(_shape_of(question, rows), *own, question.watch.check)
            yield candidate_of(whole.without_idle(whole.margins(rows.inputs) >= 0.0), question, rows, written=written)
            return None
        network = None if before is None else before.networks.get(question.index)
        if network is None:
            network = Network.new(self._rule_of(settings), _shape_of(question, rows), ~question.plan.are_numbers)
        trained, said = _trained(question, rows, network, () if before is None else (before.calls,))
        if not question.fold:
            self._networks = {**self._networks, question.index: trained.network}
        told = None if before is None else before.said.get(question.index)
        if told is not None:  # with the passes of the calls before, and the units that were lost in them
            later = [{**one, "pass": number} for number, one in enumerate(said["passes"], len(told["passes"]) + 1)]
            unused = sorted({*told["unused"], *said["unused"]} - set(trained.network.names.tolist()))
            said = {**said, "unused": unused, "passes": [*told["passes"], *later]}
        seen = None if before is None else before.seen
        yield candidate_of(trained.tree, question, rows, said, before=seen, written=written)
        return None


def _shape_of(question: Question, rows: DistinctRows) -> Shape:
    if question.settings.shape != "auto":
        return shape_named(question.settings.shape)
    scaled = Inputs.of(question.problem, cut=not question.plan.are_numbers.any())
    inputs = scaled.standardised(rows.problem.codes, len(rows.labels))
    seed = question.seed + question.index
    return fit_tree(inputs, rows.labels, rows.weights, rows.held(), seed=seed, watch=question.watch).tree.shape


def _trained(
    question: Question, rows: DistinctRows, network: Network, calls: tuple[int, ...]
) -> tuple[TrainedNetwork, dict[str, Any]]:
    """The network and what `history_` says of it; calls: how often rows came before these, if they did."""
    settings: MadalineSettings = question.settings
    rng = np.random.default_rng((question.seed, question.index, *calls))
    training = NetworkTraining(int(settings.n_passes), settings.choice, settings.prune)
    own, check, said = (rows.inputs, rows.labels == 1, rows.in_rows), question.watch.check, dict[str, Any]()
    if settings.n_networks == 1 or len(rows.labels) < 2:
        trained = train(network, *own, random_orders(rows.in_rows, training.passes, rng), training, check)
    else:
        several = int(settings.n_networks)
        trained, errors = best_of_several(network, *own, rng, several, training=training, check=check)
        said["held_out_errors"] = errors.tolist()
    return trained, {**said, "unused": trained.unused, "passes": trained.passes}


class MadaWinnowClassifier(MadalineClassifier):
    """A network of linear threshold units whose weights are multiplied and divided (N. Littlestone's Winnow, 1988).

    Take it where there are very many conditions of which few matter. Numbers are cut into conditions at the borders of
    their bins. Else it is as MadalineClassifier.
    """

    word = "mada-winnow"
    settings = MadaWinnowSettings

    def _inputs_of(self, problem: Problem, settings: MadalineSettings) -> Inputs:
        """Conditions alone: numbers are cut where their bins meet."""
        return Inputs.of(problem, only_numbers=True, cut=True)

    def _rule_of(self, settings: Any) -> Rule:
        return Winnow(float(settings.alpha), settings.beta, settings.threshold)
