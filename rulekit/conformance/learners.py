"""check_learner: one suite for every learner, of this project or of another package.

from rulekit.conformance.learners import check_learner
check_learner(find_estimator("covering"))
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.conformance.targets import Check, faults, require
from rulekit.errors import InputError
from rulekit.graph.check import check
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.files.model_files import export, from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph, print_node
from rulekit.graph.nodes import Among
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import Ability, OutOfTimeError, Watch
from rulekit.learners.data.parted import HeldParts, PartedRows
from rulekit.learners.data.training_part import TrainingPart
from rulekit.learners.faults import checked_mask, misspelt
from rulekit.learners.rule_learner import HOOKS, RuleLearner
from rulekit.schema import FIRST_LEVEL_CODE, Feature
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import Table
from rulekit.targets import find_target, target_names
from rulekit.verification.parity import verify

Learner = type[RuleClassifier]

_ROWS = 240


def check_learner(
    learner: Learner,
    settings: Mapping[str, Any] | None = None,
    *,
    sklearn: bool = True,
    gaps: Mapping[str, str] | None = None,
) -> None:
    """Run every check of `learner_checks`; raises AssertionError that lists all failures.

    settings: parameters other than the defaults, for a small and quick model. gaps: by the name of a check, why the
    learner does not pass it; a gap that has closed is a failure too.
    """
    wrong = faults(learner_checks(learner, settings or {}, sklearn=sklearn), gaps or {})
    require(not wrong, "\n".join(f"{learner.word}, {fault}" for fault in wrong))


def learner_checks(learner: Learner, settings: Mapping[str, Any], *, sklearn: bool = True) -> Iterator[Check]:
    """The checks of one learner."""
    if sklearn:
        yield Check("scikit-learn's own checks", partial(_check_estimator, learner(**settings)))
    kinds: tuple[tuple[str, Ability | None, int], ...] = (("two", None, 2), ("several", "several", 3))
    for kind, need, n_classes in (*kinds, ("ranked", "ranked", 3)):
        if need is not None and need not in learner.abilities:
            continue
        order = {"ordered": ("a", "b", "c")} if kind == "ranked" else {}
        fitted = _Fitted(learner, {**settings, **order}, n_classes)
        for name, run in {
            "a legal model": fitted.check_legal,
            "shuffled rows": fitted.check_shuffled,
            "one thread, no numba": fitted.check_machines,
            "weights 0 and 2": fitted.check_weights,
            "parity with every target": fitted.check_targets,
            "stopped at every unit": fitted.check_stops,
            **({"memory and blocks": fitted.check_memory} if "memory" in learner.abilities else {}),
            **({"parts": fitted.check_parts} if "parts" in learner.abilities else {}),
        }.items():
            yield Check(f"{kind} classes: {name}", run)
    two = _Fitted(learner, settings, 2)
    for ability, promise in _PROMISES.items():
        if ability in learner.abilities:
            yield Check(f"a promise: {ability}", partial(two.check_promise, promise))
    yield Check("a time limit of no time", two.check_no_time)
    yield Check("a late step", two.check_late_step)
    if "categories" in learner.abilities:
        yield Check("codes of categories", two.check_codes)
    yield Check("hooks are known", partial(_check_hooks, learner))
    yield Check("parameters are named", partial(_check_parameters, learner))


def rows_of(learner: Learner, n_classes: int, seed: int = 0) -> tuple[Table, Array]:
    """Rows of all kinds of column that a learner takes, with rare levels and missing cells, and labels "a", "b", ..."""
    rng = np.random.default_rng(seed)
    n = _ROWS
    features = [Feature("x"), Feature("whole"), Feature("yes", "boolean")]
    arrays: list[Array] = [
        rng.normal(size=n).astype(np.float32),
        rng.integers(0, 9, n).astype(np.float32),
        rng.integers(0, 2, n).astype(np.float32),
    ]
    if "categories" in learner.abilities:
        levels = ("red", "green", "blue", "rare", "rarer", "rarest")
        features += [Feature("colour", "categorical", levels)]
        features += [Feature("size", "categorical", ("small", "medium", "large"), ordered=True)]
        colour = rng.choice(6, n, p=[0.4, 0.3, 0.28, 0.01, 0.005, 0.005])
        arrays += [(FIRST_LEVEL_CODE + codes).astype(np.int32) for codes in (colour, rng.integers(0, 3, n))]
    score = sum((array - array.mean()) / array.std() for array in arrays) + 0.5 * rng.normal(size=n)
    if "missing" in learner.abilities:
        for array in arrays:
            array[rng.random(n) < 0.05] = np.nan if array.dtype.kind == "f" else 0
    cuts = np.quantile(score, [0.6] if n_classes == 2 else np.arange(1, n_classes) / n_classes)
    labels = np.array(list("abcdef"[:n_classes]), dtype=object)[np.digitize(score, cuts)]
    return Table(tuple(features), tuple(arrays), n), labels


_PROMISES: Mapping[Ability, Mapping[str, Any]] = {
    "monotone": {"monotone": {"x": "decreasing", "whole": "increasing", "yes": "increasing"}},
    "apart": {"forbid": [("x", "whole", "yes")]},
    "require": {"require": ["x > 0.5 and whole > 2 -> b"], "positive": "b"},
    "missing_never_helps": {"missing_never_helps": True},
}
"""What is promised of `rows_of`, against what these rows say."""


class _Fitted:
    """A learner with its settings, on rows of some classes."""

    def __init__(self, learner: Learner, settings: Mapping[str, Any], n_classes: int) -> None:
        self.learner, self.settings = learner, settings
        self.table, self.y = rows_of(learner, n_classes)

    def fit(self, *rows: Any, **parameters: Any) -> RuleClassifier:
        return self.learner(**{**self.settings, **parameters}).fit(*(rows or (self.table, self.y)))

    def graph(self, *rows: Any, **parameters: Any) -> RuleGraph:
        return self.fit(*rows, **parameters).rule_graph_

    @cached_property
    def asked(self) -> tuple[RuleClassifier, dict[Any, Any]]:
        """The model of all rows, and by label the problem that the learner was asked."""
        asked: dict[Any, Any] = {}

        class Asked(self.learner):  # type: ignore[misc, name-defined]
            def learn(self, question: Any) -> Any:
                if not question.fold:
                    asked.setdefault(question.label, question.problem)
                return super().learn(question)

        return Asked(**self.settings).fit(self.table, self.y), asked

    @property
    def usual(self) -> RuleGraph:
        return self.asked[0].rule_graph_

    def check_legal(self) -> None:
        """Legal, read back from text and file, and the candidates decide on codes as the graph does on rows."""
        table, y, (model, asked) = self.table, self.y, self.asked
        _check_candidates(model, asked)
        graph = model.rule_graph_
        check(graph)
        require(parse_graph(print_graph(graph)) == graph, "the text of the rules is read as another model")
        require(from_json(to_json(graph)) == graph, "the file is read as another model")
        require(list(model.classes_) == sorted(model.classes_), "classes_ is not sorted")
        require(np.array_equal(model.predict(table), np.array(graph.classes)[decide(graph, table)]), "predict differs")
        values = model.decision_function(table)
        says = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        same = np.array_equal(model.classes_[says], model.predict(table))
        require(same, "decision_function says another class")
        require(np.allclose(model.predict_proba(table).sum(axis=1), 1.0), "probabilities do not sum to 1")
        require(bool((model.predict(table) == y).mean() > 1.0 / len(graph.classes)), "no better than chance")
        require(len(model.path_) > 0, "the path is empty")
        for size in range(1, len(model.path_) + 1):
            check(model.path_.graph_at(size))
        if len(model.path_.paths) == 1:
            last = model.path_.graph_at(len(model.path_))
            error = float(np.mean(np.array(last.classes)[decide(last, table)] != y))
            told = model.path_.points[-1].training_error
            require(math.isclose(error, told, abs_tol=1e-9), f"the last candidate has error {told}, its graph {error}")

    def check_shuffled(self) -> None:
        order = np.random.default_rng(1).permutation(len(self.y))
        require(self.graph(self.table.take(order), self.y[order]) == self.usual, "another model")

    def check_machines(self) -> None:
        require(self.graph(n_threads=1) == self.usual, "another model with one thread")
        require(self.graph(n_threads=3) == self.usual, "another model with three threads")
        before = os.environ.get("RULEKIT_NO_NUMBA")
        os.environ["RULEKIT_NO_NUMBA"] = "1"
        try:
            require(self.graph() == self.usual, "another model without numba")
        finally:
            del os.environ["RULEKIT_NO_NUMBA"]
            os.environ |= {} if before is None else {"RULEKIT_NO_NUMBA": before}

    def check_weights(self) -> None:
        y = self.y
        rows, classes = np.arange(len(y)) // 2, np.unique(y)
        wrong, chance = np.arange(len(y)) % 2, np.random.default_rng(2)  # half of the labels, which weigh less
        labels = classes[(np.searchsorted(classes, y[rows]) + wrong) % len(classes)]
        times = np.where(wrong == 1, chance.integers(0, 2, len(y)), 2 * chance.integers(0, 3, len(y)))
        repeated = np.repeat(np.arange(len(rows)), times)
        weighted = self.graph(self.table.take(rows), labels, times.astype(float))
        same = weighted == self.graph(self.table.take(rows[repeated]), labels[repeated])
        require(same, "a row of weight 2 is not two rows, or one of weight 0 not none")

    def check_memory(self) -> None:
        require(self.graph(memory="2GB") == self.usual, "another model out of memory")
        blocks = ((self.table.take(part), self.y[part]) for part in np.array_split(np.arange(len(self.y)), 4))
        require(self.graph(blocks) == self.usual, "another model from blocks")

    def check_parts(self) -> None:
        """One part or several, one empty and one of a single row, in any order, teach the same model."""
        labels, y = np.unique(self.y, return_inverse=True)
        rows, n = LabelledTable(self.table, y.astype(np.int64), tuple(labels.tolist())), len(y)
        for cuts in ((0, n), (0, n // 2, n), (0, 1, n // 3, n), (0, 5, 5, 60, n // 2, n - 9, n - 1, n)):
            parts = [TrainingPart(rows.take(np.arange(a, b)), k) for k, (a, b) in enumerate(pairwise(cuts))]
            model = self.learner(**self.settings)
            model.fit_rules(PartedRows(HeldParts(parts[::-1]), rows.take(np.zeros(0, dtype=np.int64))))
            require(model.rule_graph_ == self.usual, f"another model from {len(parts)} parts")

    def check_targets(self) -> None:
        """Every installed target decides as the model does, which is proved where the target can be read."""
        for name in target_names():
            target = find_target(name)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"model{target.suffixes[0]}"
                export(self.usual, path, to=name)
                report = verify(self.usual, path, rows=200)
            require(report.different_decisions == 0, f"{name} decides otherwise")
            if target.inspect is not None:
                require(report.proof == "proved", f"{name} is only tested: {report.proof_reason}")

    def check_stops(self) -> None:
        """A callback that cancels, and Ctrl-C, after each unit: a whole model is kept, and says so."""
        counting = _Stopper(-1, "cancelled")
        self.fit(callback=counting)
        events = -1 - counting.left
        require(events > 0, "the callback was never called")
        for place in sorted({1, min(2, events), events // 2, events} - {0}):
            for how in ("cancelled", "interrupted"):
                graph = self.graph(callback=_Stopper(place, how))
                check(graph)
                said = graph.provenance.get("stopped") == how
                require(said, f"the provenance does not say {how} after event {place}")
                decide(graph, self.table)

    def check_promise(self, promise: Mapping[str, Any]) -> None:
        """Every model of the path keeps a promise, which is proved."""
        from rulekit.audit.checks.checking import check_model

        path = self.fit(**promise).path_
        for graph in (path.graph_at(size) for size in range(1, len(path) + 1)):
            for verdict in check_model(graph).verdicts:
                told = f"{verdict.promise.text}: {verdict.outcome} {verdict.reason}"
                require(verdict.outcome == "proved", told)

    def check_no_time(self) -> None:
        graph = self.graph(time_limit=0.0)
        check(graph)
        require(graph.provenance.get("stopped") == "time limit", "the provenance does not say so")
        require(len(set(decide(graph, self.table).tolist())) == 1, "a rule was learned in no time")

    def check_late_step(self) -> None:
        """A learner that asks the watch within a long step is stopped there, with what it had yielded."""

        class Late(Watch):
            asked = 0

            def check(self) -> None:
                Late.asked += 1
                if Late.asked > 40:
                    raise OutOfTimeError

        class Hurried(self.learner):  # type: ignore[misc, name-defined]
            def learn(self, question: Any) -> Any:
                return super().learn(replace(question, watch=Late()))

        graph = Hurried(**self.settings).fit(self.table, self.y).rule_graph_
        check(graph)
        said = Late.asked <= 40 or graph.provenance.get("stopped") == "time limit"
        require(said, "the provenance does not say so")

    def check_codes(self) -> None:
        """No rule adds unseen levels to a few levels where all levels are frequent.

        A learner that takes the codes of a category for its levels, or for numbers in an order, writes `or unseen`.
        Where half of the levels hold, it may mean all levels but the others.
        """
        rng, n = np.random.default_rng(3), _ROWS
        level, chance = rng.integers(0, 6, n), rng.random(n)
        features = (Feature("level", "categorical", tuple("pqrstu")), Feature("x"))
        table = Table(features, ((FIRST_LEVEL_CODE + level).astype(np.int32), chance.astype(np.float32)), n)
        for some, positive in (((0, 1), "yes"), ((3, 4), "no")):
            yes = np.isin(level, some) != (rng.random(n) < 0.05)
            nodes = self.graph(table, np.where(yes, "yes", "no"), positive=positive).nodes()
            odd = [
                print_node(each) for each in nodes if isinstance(each, Among) and each.unseen and len(each.levels) < 3
            ]
            require(not odd, f"a rule holds for unseen levels, but no training row has one: {odd[:1]}")


def _check_estimator(estimator: RuleClassifier) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] not in ("passed", "skipped")]
    require(not failed, "; ".join(failed))


def _check_candidates(model: RuleClassifier, asked: Mapping[Any, Any]) -> None:
    """Each candidate has masks of all training rows, on which it errs as it says.

    Of several classes without an order the base may compare them otherwise (RuleLearner.revise).
    """
    for path in model.path_.paths:
        problem = asked[path.label]
        n, yes = len(problem.labels), problem.labels == 1
        for candidate in path.candidates:
            mask = checked_mask(candidate.model.decides(problem.codes, n), candidate.model, n)
            wrong = float(problem.weights[mask != yes].sum()) * problem.weight_unit
            told = f"the candidate of size {candidate.size} errs on {wrong:g}, and says {candidate.error:g}"
            same = math.isclose(wrong, candidate.error, abs_tol=1e-9 * problem.total)
            require(same or model.path_.frame.kind == "several", told)


class _Stopper:
    """Cancels, or raises KeyboardInterrupt, at one event."""

    def __init__(self, place: int, how: str) -> None:
        self.left, self.how = place, how

    def __call__(self, event: Mapping[str, Any]) -> bool:
        self.left -= 1
        if self.left == 0 and self.how == "interrupted":
            raise KeyboardInterrupt
        return self.left == 0


def _check_hooks(learner: Learner) -> None:
    for kind in learner.__mro__:
        if issubclass(kind, RuleLearner) and kind not in (RuleLearner, RuleClassifier):
            for name, near in misspelt(kind, RuleClassifier, HOOKS):
                require(False, f"{kind.__name__}.{name} is no hook; did you mean {near}?")


def _check_parameters(learner: Learner) -> None:
    require(bool(learner.word and learner.noun), "no word or noun")
    for name, parameter in learner.parameters.items():
        require(bool(parameter.help.strip()), f"{name} has no line of help")
        ok = (parameter.default is None and parameter.allowed.optional) or parameter.allowed.holds(parameter.default)
        require(ok, f"the default of {name} is not allowed")
    for name in ("positive", "target"):
        require(name in learner.parameters, f"no parameter {name}")
    try:
        learner(target=3).fit(None, None)
    except InputError as error:
        require("target is 3" in str(error), f"a wrong parameter is not named: {error}")
    else:
        require(False, "a wrong parameter is taken")
