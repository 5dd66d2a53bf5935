"""The learners madaline and mada-winnow: networks of units that learn row by row (Sahami, "The Madaline Algorithm")."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import Learning, Question
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
from rulekit.learners.ltu.rows import Rows
from rulekit.learners.ltu.settings import MadalineSettings, MadaWinnowSettings
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.ltu.unit_learner import UnitLearner


class Madaline(UnitLearner):
    """Networks of units that are changed by fixed increments; see MadalineClassifier."""

    word = "madaline"
    estimator = "rulekit.learners.ltu.estimator:MadalineClassifier"
    settings = MadalineSettings

    def check(self, settings: MadalineSettings) -> None:
        """Raise InputError for a shape that there is not, or factors that are none."""
        if settings.shape != "auto":
            shape_named(settings.shape)
        self.rule_of(settings)

    def rule_of(self, settings: Any) -> Rule:
        """How weights change."""
        return FixedIncrement()

    def learn(self, question: Question) -> Learning:
        """The one network that was trained."""
        settings: MadalineSettings = question.settings
        rows = Rows.of(question, question.plan)
        if not len(rows.labels) or not len(question.plan):
            return None
        tree = self._tree_of(question, rows)
        if settings.method == "backprop":
            rng = np.random.default_rng((question.seed, question.index))
            how = NetworkBackprop(epochs=int(settings.n_passes), gain=float(settings.gain))
            shape = tree.shape if isinstance(tree, LTUTree) else shape_named(settings.shape)
            found = train_whole(shape, rows.inputs, rows.labels == 1, rows.in_rows, rng, how, question.watch.check)
            yield candidate_of(found.without_idle(rows.inputs), question, rows, {})
            return None
        trained, said = self._trained(question, rows, tree)
        self._networks = {**getattr(self, "_networks", {}), question.index: trained.network}
        yield candidate_of(trained.tree, question, rows, said)
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
            rows.held,
            seed=question.seed + question.index,
            watch=question.watch,
        ).tree
        weights, biases = scaled.unscaled(found.weights, found.biases)
        # and back to the scales of the network's own numbers
        plan: Inputs = question.plan
        return LTUTree(found.shape, weights * plan.scales, biases + weights @ plan.means)

    def _trained(self, question: Question, rows: Rows, tree: LTUTree | None) -> tuple[Trained, dict[str, Any]]:
        settings: MadalineSettings = question.settings
        rng = np.random.default_rng((question.seed, question.index))
        conditions = ~question.plan.are_numbers
        rule = self.rule_of(settings)
        if tree is None:
            network = Network.new(rule, shape_named(settings.shape), conditions)
        else:
            seen = rows.inputs if settings.begin == "tree" else None
            network = network_of_tree(tree, rule, conditions, seen)
        training = Training(
            passes=int(settings.n_passes),
            choice=None if settings.choice == "auto" else settings.choice,
            keep=settings.keep,
            prune=settings.prune,
        )
        labels, weights, check = rows.labels == 1, rows.in_rows, question.watch.check
        if settings.n_networks == 1 or len(labels) < 2:
            trained, said = train(network, rows.inputs, labels, weights, rng, training, check), {}
        else:
            chosen = best_of_several(
                *(network, rows.inputs, labels, weights, rng, int(settings.n_networks)), training=training, check=check
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
