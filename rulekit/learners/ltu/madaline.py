"""The learners madaline and mada-winnow: networks of units that learn row by row (Sahami, "The Madaline Algorithm")."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import Learning, Question
from rulekit.learners.fitting.learning import Run
from rulekit.learners.fitting.rows.inputs import TrainingData
from rulekit.learners.fitting.rows.training_rows import training_data
from rulekit.learners.fitting.sizes.path import ModelPath
from rulekit.learners.fitting.watching import watched
from rulekit.learners.ltu.exact.parts import Seen
from rulekit.learners.ltu.fitting.fit import fit_tree
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.ltu.models import candidate_of
from rulekit.learners.ltu.network.backprop import NetworkBackprop, train_whole
from rulekit.learners.ltu.network.from_tree import network_of_tree
from rulekit.learners.ltu.network.networks import Network
from rulekit.learners.ltu.network.rules import FixedIncrement, Rule, Winnow
from rulekit.learners.ltu.network.several import best_of_several
from rulekit.learners.ltu.network.shapes import shape_named
from rulekit.learners.ltu.network.training import Trained, Training, train
from rulekit.learners.ltu.progress import Progress, known_rows, refuse_whole, with_passes
from rulekit.learners.ltu.rows import Rows
from rulekit.learners.ltu.settings import MadalineSettings, MadaWinnowSettings
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.ltu.unit_learner import UnitLearner


class Madaline(UnitLearner):
    """Networks of units that are changed by fixed increments; see MadalineClassifier."""

    word = "madaline"
    estimator = "rulekit.learners.ltu.estimator:MadalineClassifier"
    settings = MadalineSettings
    as_base: ClassVar[Mapping[str, Any]] = {"shape": "small", "n_networks": 1}
    _progress: Progress | None = None
    _networks: Mapping[int, Network]

    def check(self, settings: MadalineSettings) -> None:
        """Raise InputError for a shape that there is not, or factors that are none."""
        if settings.shape != "auto":
            shape_named(settings.shape)
        self.rule_of(settings)

    def rule_of(self, settings: Any) -> Rule:
        """How weights change."""
        return FixedIncrement()

    def fit_rules(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None, time: Any = None
    ) -> tuple[TrainingData, npt.NDArray[Any]]:
        """As `fit`, but without statistics of the rules; it goes on from nothing."""
        self._progress = None
        return super().fit_rules(X, y, sample_weight, groups, time)

    def partial_fit_rules(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> tuple[TrainingData, npt.NDArray[Any]]:
        """As `partial_fit`, but without statistics of the rules; the rows of them, and their labels [n]."""
        begun = time.monotonic()
        settings = replace(self.checked_settings(), n_networks=1, prune="never", stopping="none")
        refuse_whole(settings, self.estimator_name())
        known = known_rows(self._progress, classes)
        with watched(self.word, settings.verbose, settings.callback) as callback:
            data = training_data(self, callback, X, y, sample_weight, known=known)
            settings = replace(settings, callback=callback)
            return self.learn_rows(self._progress.settings(settings) if self._progress else settings, begun, data)

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
        seen = Seen.of(question.plan, question.problem.codes)
        said = {run.question.index: made.said for run in runs for made in run.path}
        self._progress = Progress(
            path.frame,
            question.plan,
            seen if before is None else seen.joined(before.seen),
            self._networks,
            said if before is None else {**before.said, **said},
            1 if before is None else before.calls + 1,
        )

    def learn(self, question: Question) -> Learning:
        """The one network that was trained."""
        settings: MadalineSettings = question.settings
        rows = Rows.of(question, question.plan)
        if not len(rows.labels) or not len(question.plan):
            return None
        before = self._progress
        network = None if before is None else before.networks.get(question.index)
        tree = self._tree_of(question, rows) if network is None else None
        if settings.method == "backprop":
            rng = np.random.default_rng((question.seed, question.index))
            how = NetworkBackprop(epochs=int(settings.n_passes), gain=float(settings.gain))
            shape = tree.shape if isinstance(tree, LTUTree) else shape_named(settings.shape)
            found = train_whole(shape, rows.inputs, rows.labels == 1, rows.in_rows, rng, how, question.watch.check)
            yield candidate_of(found.without_idle(rows.inputs), question, rows, {})
            return None
        trained, said = self._trained(question, rows, network or self._new(question, rows, tree))
        if not question.fold:
            self._networks = {**self._networks, question.index: trained.network}
        if before is not None:
            said = with_passes(said, before.said.get(question.index), trained.network)
        yield candidate_of(trained.tree, question, rows, said, before=None if before is None else before.seen)
        return None

    def _tree_of(self, question: Question, rows: Rows) -> LTUTree | None:
        """The LTU tree over inputs as the network sees them, where its shape or its weights are asked for."""
        settings: MadalineSettings = question.settings
        if settings.shape != "auto":
            return None
        scaled = Inputs.of(question.problem, cut=not question.plan.are_numbers.any())
        of_tree = replace(rows, inputs=scaled.standardised(rows.problem.codes, len(rows.labels)))
        found = fit_tree(
            of_tree.inputs,
            rows.labels,
            rows.weights,
            rows.held(),
            seed=question.seed + question.index,
            watch=question.watch,
        ).tree
        weights, biases = scaled.unscaled(found.weights, found.biases)
        # and back to the scales of the network's own numbers
        plan: Inputs = question.plan
        return LTUTree(found.shape, weights * plan.scales, biases + weights @ plan.means)

    def _new(self, question: Question, rows: Rows, tree: LTUTree | None) -> Network:
        """The network that training begins with."""
        settings: MadalineSettings = question.settings
        rule, conditions = self.rule_of(settings), ~question.plan.are_numbers
        if tree is None:
            return Network.new(rule, shape_named(settings.shape), conditions)
        return network_of_tree(tree, rule, conditions, rows.inputs if settings.begin == "tree" else None)

    def _trained(self, question: Question, rows: Rows, network: Network) -> tuple[Trained, dict[str, Any]]:
        settings: MadalineSettings = question.settings
        calls = () if self._progress is None else (self._progress.calls,)
        rng = np.random.default_rng((question.seed, question.index, *calls))
        training = Training(
            passes=int(settings.n_passes),
            choice=None if settings.choice == "auto" else settings.choice,
            keep=("pocket" if settings.begin == "tree" else "last") if settings.keep == "auto" else settings.keep,
            prune=settings.prune,
        )
        labels, weights, check = rows.labels == 1, rows.in_rows, question.watch.check
        if settings.n_networks == 1 or len(labels) < 2:
            trained, said = train(network, rows.inputs, labels, weights, rng, training, check), {}
        else:
            chosen = best_of_several(
                *(network, rows.inputs, labels, weights, rng, int(settings.n_networks)),
                training=training,
                check=check,
                as_begun=settings.begin == "tree" and settings.keep == "auto",
            )
            trained, said = chosen.trained, {"held_out_errors": chosen.errors.tolist()}
        passes = [
            {"pass": one.number, "mistakes": one.mistakes, "error": one.error, "unused": list(one.unused)}
            for one in trained.history
        ]
        return trained, {**said, "unused": list(trained.unused), "passes": passes}


class MadaWinnow(Madaline):
    """Networks of units whose weights are multiplied; see MadaWinnowClassifier."""

    word = "mada-winnow"
    estimator = "rulekit.learners.ltu.estimator:MadaWinnowClassifier"
    settings = MadaWinnowSettings

    def inputs_of(self, problem: Problem, settings: MadaWinnowSettings) -> Inputs:
        """Conditions alone: numbers are cut where their bins meet."""
        return Inputs.of(problem, only_numbers=True, cut=True)

    def rule_of(self, settings: MadaWinnowSettings) -> Rule:
        """How weights change."""
        return Winnow(float(settings.alpha), settings.beta, settings.threshold)
