"""The learners madaline and mada-winnow: networks of units that learn row by row (Sahami, "The Madaline Algorithm")."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.learners.contract import Learning, Question
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.data.training_rows import training_data
from rulekit.learners.learning import Run
from rulekit.learners.ltu.exact.parts import Seen
from rulekit.learners.ltu.fitting.fit import fit_tree
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.ltu.models import candidate_of
from rulekit.learners.ltu.network.backprop import NetworkBackprop, train_whole
from rulekit.learners.ltu.network.networks import Network
from rulekit.learners.ltu.network.rules import FixedIncrement, Rule, Winnow
from rulekit.learners.ltu.network.training import DEFAULT, Trained, Training, train, train_in_order
from rulekit.learners.ltu.presenting import random_orders
from rulekit.learners.ltu.progress import Progress, known_rows, refuse_whole, with_passes
from rulekit.learners.ltu.rows import Rows
from rulekit.learners.ltu.settings import MadalineSettings, MadaWinnowSettings
from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.learners.ltu.trees import LTUTree
from rulekit.learners.ltu.unit_learner import UnitLearner
from rulekit.learners.sizes.contest import Contest
from rulekit.learners.sizes.path import ModelPath
from rulekit.learners.sums_of_rows.histograms import Bools, Floats, Ints
from rulekit.learners.watching import watched

_STEPS = 4.0
"""Of fixed increments: about how many changes turn the answer of a unit to a row at a mean distance from its plane."""

_SPARE = 0.125
"""Of Winnow: the share of the threshold that the inputs without a weight have together, so that they may rise."""


def network_of_tree(tree: LTUTree, rule: Rule, conditions: Bools, inputs: Floats | None = None) -> Network:
    """A network of the shape of a tree, and with its weights where rows of inputs [n, d] say how large they are.

    The weights of the tree are over inputs as they are, conditions 0 and 1. Those of fixed increments are scaled, which
    decides alike, and Winnow's are rounded to powers of its factor, which may not.
    Raises InputError where the rule needs conditions and there are numbers.
    """
    network = Network.new(rule, tree.shape, conditions)
    if inputs is None:
        return network
    if isinstance(rule, Winnow):
        ups, downs = _powers_of(tree, rule, float(-network.state.biases[0]))
        weights = rule.rises[ups] * rule.falls[downs]
        return replace(network, state=network.state._replace(weights=weights, ups=ups, downs=downs))
    halves = np.where(conditions, 0.5, 1.0)
    weights, biases = tree.weights * halves, tree.biases + tree.weights[:, conditions].sum(axis=1) / 2.0
    margins = np.abs(tree.margins(inputs)).mean(axis=0)
    change = float((network.seen(inputs) ** 2).sum(axis=1).mean()) + 1.0  # of a sum, when its own row is added
    factors = np.where(margins > 0.0, _STEPS * change / np.where(margins > 0.0, margins, 1.0), 1.0)
    return replace(network, state=network.state._replace(weights=weights * factors[:, None], biases=biases * factors))


def _powers_of(tree: LTUTree, rule: Winnow, threshold: float) -> tuple[Ints, Ints]:
    """How often the weights [m, 2 d] of conditions and their complements have gone up and down from 1."""
    own = np.hstack([np.maximum(tree.weights, 0.0), np.maximum(-tree.weights, 0.0)])
    # Over conditions and complements a unit fires where own @ both >= needed, and all weights are positive.
    needed = own[:, tree.weights.shape[1] :].sum(axis=1) - tree.biases
    least = _SPARE * threshold / max(tree.weights.shape[1], 1)
    scales = np.where(needed > 0.0, (1.0 - _SPARE) * threshold / np.where(needed > 0.0, needed, 1.0), 1.0)
    wanted = np.maximum(own * scales[:, None], least)
    # A unit that always fires has no threshold to reach: its weights are all as large as that takes.
    wanted[needed <= 0.0] = threshold / max(tree.weights.shape[1], 1)
    powers = np.rint(np.log(wanted) / math.log(rule.alpha)).astype(np.int64)
    ups, downs = np.maximum(powers, 0), np.zeros_like(powers)
    below = powers < 0
    step = math.log(rule.alpha) if rule.cancels else -math.log(rule.beta or 1.0)
    downs[below] = np.rint(-np.log(wanted[below]) / step).astype(np.int64)
    return np.minimum(ups, len(rule.rises) - 1), np.minimum(downs, len(rule.falls) - 1)


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
            settings = replace(settings, callback=callback)
            data = training_data(self, settings, X, y, sample_weight, known=known)
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


Judging = Literal["held-out", "cross-validation"]


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The best network, which one it is, and the share of the weight that each errs on rows not shown to it [k]."""

    trained: Trained
    number: int
    errors: Floats


def best_of_several(
    network: Network,
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    rng: np.random.Generator,
    n_networks: int = 5,
    judging: Judging = "held-out",
    training: Training = DEFAULT,
    parts: int = 5,
    check: Callable[[], None] | None = None,
    as_begun: bool = False,
) -> Chosen:
    """The best of so many networks that all go on from one, on rows as `train` takes them.

    as_begun: what they begin with is kept unless the best errs less on these rows by a standard error.

    What few passes make of a network depends much on the order of the rows (Sahami, at the end of the results). The
    network that is kept is the one that unseen rows judge: an order that served well without them says little of the
    network that it makes of all rows. The rows are parted by chance into so many parts, and each network is shown all
    but one of them and judged by that one: all by the same part (held-out), or each by the next (cross-validation).
    Raises InputError where there are fewer than two rows or parts.
    """
    parts = min(parts, len(labels))
    if parts < 2:
        raise InputError("networks are compared on rows that they have not seen", fix="give two rows and two parts")
    orders = [random_orders(weights, training.passes, rng) for _ in range(n_networks)]
    part_of = rng.permutation(np.arange(len(labels)) % parts)
    found, errors = list[Trained](), np.zeros(n_networks)
    for number, order in enumerate(orders):
        out = part_of == (number % parts if judging == "cross-validation" else 0)
        found.append(train_in_order(network, inputs, labels, weights, _without(order, out), training, check))
        wrong = found[-1].tree.decides(inputs[out]) != labels[out]
        errors[number] = float(weights[out][wrong].sum() / weights[out].sum())
    best = int(errors.argmin())
    if as_begun:
        wrong = [tree.decides(inputs[out]) != labels[out] for tree in (network.tree, found[best].tree)]
        if Contest.over_rows(wrong[0].astype(np.float64) - wrong[1], weights[out]).within(1.0):
            return Chosen(Trained(network.tree, network, (), ()), best, errors)
    return Chosen(found[best], best, errors)


def _without(orders: Ints, out: Bools) -> Ints:
    """The same orders [passes, shown] without some rows; each pass shows every row equally often."""
    return orders[~out[orders]].reshape(len(orders), -1)
