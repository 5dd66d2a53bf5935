"""check_learner: one suite for every learner, of this project or of another package.

from rulekit.conformance.learners import check_learner
check_learner(find_estimator("covering"))
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.conformance.targets import Check, faults, require
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
from rulekit.learners.faults import checked_mask, misspelt
from rulekit.learners.rule_learner import HOOKS, RuleLearner
from rulekit.schema import FIRST_LEVEL_CODE, Feature
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
    make = partial(learner, **settings)
    if sklearn:
        yield Check("scikit-learn's own checks", partial(_check_estimator, make()))
    kinds: tuple[tuple[str, Ability | None], ...] = (("two", None), ("several", "several"), ("ranked", "ranked"))
    for kind, need in kinds:
        if need is not None and need not in learner.abilities:
            continue
        table, y = rows_of(learner, 2 if kind == "two" else 3)
        own = partial(make, ordered=("a", "b", "c")) if kind == "ranked" else make
        usual = cache(partial(_graph, own, table, y))
        yield Check(f"{kind} classes: a legal model", partial(_check_legal, learner, own.keywords, table, y))
        yield Check(f"{kind} classes: shuffled rows", partial(_check_shuffled, own, table, y, usual))
        yield Check(f"{kind} classes: one thread, no numba", partial(_check_machines, own, table, y, usual))
        yield Check(f"{kind} classes: weights 0 and 2", partial(_check_weights, own, table, y))
        yield Check(f"{kind} classes: parity with every target", partial(_check_targets, usual))
        yield Check(f"{kind} classes: stopped at every unit", partial(_check_stops, own, table, y))
        if "memory" in learner.abilities:
            yield Check(f"{kind} classes: memory and blocks", partial(_check_memory, own, table, y, usual))
    for ability, promise in _PROMISES.items():
        if ability in learner.abilities:
            yield Check(f"a promise: {ability}", partial(_check_promise, make, *rows_of(learner, 2), promise))
    yield Check("a time limit of no time", partial(_check_no_time, make, *rows_of(learner, 2)))
    yield Check("a late step", partial(_check_late_step, learner, dict(settings), *rows_of(learner, 2)))
    if "categories" in learner.abilities:
        yield Check("codes of categories", partial(_check_codes, make))
    yield Check("hooks are known", partial(_check_hooks, learner))
    yield Check("parameters are named", partial(_check_parameters, learner))


def rows_of(learner: Learner, n_classes: int, seed: int = 0) -> tuple[Table, npt.NDArray[Any]]:
    """Rows of all kinds of column that a learner takes, with rare levels and missing cells, and labels "a", "b", ..."""
    rng = np.random.default_rng(seed)
    n = _ROWS
    features = [Feature("x"), Feature("whole"), Feature("yes", "boolean")]
    arrays: list[npt.NDArray[Any]] = [
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


def _check_promise(
    make: Callable[..., RuleClassifier], table: Table, y: npt.NDArray[Any], promise: Mapping[str, Any]
) -> None:
    """Every model of the path keeps a promise, which is proved."""
    from rulekit.audit.checks.checking import check_model

    path = make(**promise).fit(table, y).path_
    for graph in (path.graph_at(size) for size in range(1, len(path) + 1)):
        for verdict in check_model(graph).verdicts:
            told = f"{verdict.promise.text}: {verdict.outcome} {verdict.reason}"
            require(verdict.outcome == "proved", told)


def _graph(make: Callable[..., RuleClassifier], *fit: Any, **parameters: Any) -> RuleGraph:
    return make(**parameters).fit(*fit).rule_graph_


def _check_estimator(estimator: RuleClassifier) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] not in ("passed", "skipped")]
    require(not failed, "; ".join(failed))


def _check_legal(learner: Learner, settings: Mapping[str, Any], table: Table, y: npt.NDArray[Any]) -> None:
    """Legal, read back from text and file, and the candidates decide on codes as the graph does on rows."""
    asked: dict[Any, Any] = {}
    model = _asked(learner, asked)(**settings).fit(table, y)
    _check_candidates(model, asked)
    graph = model.rule_graph_
    check(graph)
    require(parse_graph(print_graph(graph)) == graph, "the text of the rules is read as another model")
    require(from_json(to_json(graph)) == graph, "the file is read as another model")
    require(list(model.classes_) == sorted(model.classes_), "classes_ is not sorted")
    require(np.array_equal(model.predict(table), np.array(graph.classes)[decide(graph, table)]), "predict differs")
    values = model.decision_function(table)
    says = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
    require(np.array_equal(model.classes_[says], model.predict(table)), "decision_function says another class")
    shown = model.predict_proba(table)
    require(np.allclose(shown.sum(axis=1), 1.0), "probabilities do not sum to 1")
    require(bool((model.predict(table) == y).mean() > 1.0 / len(graph.classes)), "no better than chance")
    require(len(model.path_) > 0, "the path is empty")
    for size in range(1, len(model.path_) + 1):
        check(model.path_.graph_at(size))
    if len(model.path_.paths) == 1:
        last = model.path_.graph_at(len(model.path_))
        error = float(np.mean(np.array(last.classes)[decide(last, table)] != y))
        told = model.path_.points[-1].training_error
        require(math.isclose(error, told, abs_tol=1e-9), f"the last candidate has error {told}, its graph {error}")


def _asked(learner: Learner, asked: dict[Any, Any]) -> Learner:
    """The learner, which keeps by label what it is asked."""

    class Asked(learner):  # type: ignore[misc, valid-type]
        def learn(self, question: Any) -> Any:
            if not question.fold:
                asked.setdefault(question.label, question.problem)
            return super().learn(question)

    return Asked


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


def _check_codes(make: Callable[..., RuleClassifier]) -> None:
    """No rule adds unseen levels to a few levels where all levels are frequent.

    A learner that takes the codes of a category for its levels, or for numbers in an order, writes `or unseen`. Where
    half of the levels hold, it may mean all levels but the others.
    """
    rng, n = np.random.default_rng(3), _ROWS
    level, chance = rng.integers(0, 6, n), rng.random(n)
    table = Table(
        (Feature("level", "categorical", tuple("pqrstu")), Feature("x")),
        ((FIRST_LEVEL_CODE + level).astype(np.int32), chance.astype(np.float32)),
        n,
    )
    for some, positive in (((0, 1), "yes"), ((3, 4), "no")):
        yes = np.isin(level, some) != (rng.random(n) < 0.05)
        nodes = _graph(make, table, np.where(yes, "yes", "no"), positive=positive).nodes()
        odd = [print_node(node) for node in nodes if isinstance(node, Among) and node.unseen and len(node.levels) < 3]
        require(not odd, f"a rule holds for unseen levels, but no training row has one: {odd[:1]}")


def _check_hooks(learner: Learner) -> None:
    for kind in learner.__mro__:
        if issubclass(kind, RuleLearner) and kind not in (RuleLearner, RuleClassifier):
            for name, near in misspelt(kind, RuleClassifier, HOOKS):
                require(False, f"{kind.__name__}.{name} is no hook; did you mean {near}?")


def _check_shuffled(
    make: Callable[..., RuleClassifier], table: Table, y: npt.NDArray[Any], usual: Callable[[], RuleGraph]
) -> None:
    order = np.random.default_rng(1).permutation(len(y))
    require(_graph(make, table.take(order), y[order]) == usual(), "another model")


@contextmanager
def _without_numba() -> Iterator[None]:
    before = os.environ.get("RULEKIT_NO_NUMBA")
    os.environ["RULEKIT_NO_NUMBA"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["RULEKIT_NO_NUMBA"]
        else:
            os.environ["RULEKIT_NO_NUMBA"] = before


def _check_machines(
    make: Callable[..., RuleClassifier], table: Table, y: npt.NDArray[Any], usual: Callable[[], RuleGraph]
) -> None:
    expected = usual()
    require(_graph(make, table, y, n_threads=1) == expected, "another model with one thread")
    require(_graph(make, table, y, n_threads=3) == expected, "another model with three threads")
    with _without_numba():
        require(_graph(make, table, y) == expected, "another model without numba")


def _check_weights(make: Callable[..., RuleClassifier], table: Table, y: npt.NDArray[Any]) -> None:
    rows, classes = np.arange(len(y)) // 2, np.unique(y)
    wrong, chance = np.arange(len(y)) % 2, np.random.default_rng(2)  # half of the labels, which weigh less
    labels = classes[(np.searchsorted(classes, y[rows]) + wrong) % len(classes)]
    times = np.where(wrong == 1, chance.integers(0, 2, len(y)), 2 * chance.integers(0, 3, len(y)))
    repeated = np.repeat(np.arange(len(rows)), times)
    require(
        _graph(make, table.take(rows), labels, times.astype(float))
        == _graph(make, table.take(rows[repeated]), labels[repeated]),
        "a row of weight 2 is not two rows, or one of weight 0 not none",
    )


def _check_memory(
    make: Callable[..., RuleClassifier], table: Table, y: npt.NDArray[Any], usual: Callable[[], RuleGraph]
) -> None:
    expected = usual()
    require(_graph(make, table, y, memory="2GB") == expected, "another model out of memory")
    blocks = ((table.take(part), y[part]) for part in np.array_split(np.arange(len(y)), 4))
    require(make().fit(blocks).rule_graph_ == expected, "another model from blocks")


def _check_targets(usual: Callable[[], RuleGraph]) -> None:
    """Every installed target decides as the model does, which is proved where the target can be read."""
    graph = usual()
    for name in target_names():
        target = find_target(name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model{target.suffixes[0]}"
            export(graph, path, to=name)
            report = verify(graph, path, rows=200)
        require(report.different_decisions == 0, f"{name} decides otherwise")
        if target.inspect is not None:
            require(report.proof == "proved", f"{name} is only tested: {report.proof_reason}")


def _check_stops(make: Callable[..., RuleClassifier], table: Table, y: npt.NDArray[Any]) -> None:
    """A callback that cancels, and Ctrl-C, after each unit: a whole model is kept, and says so."""
    counting = _Stopper(-1, "cancelled")
    make(callback=counting).fit(table, y)
    events = -1 - counting.left
    require(events > 0, "the callback was never called")
    for place in sorted({1, min(2, events), events // 2, events} - {0}):
        for how in ("cancelled", "interrupted"):
            graph = _graph(make, table, y, callback=_Stopper(place, how))
            check(graph)
            require(graph.provenance.get("stopped") == how, f"the provenance does not say {how} after event {place}")
            decide(graph, table)


class _Stopper:
    """Cancels, or raises KeyboardInterrupt, at one event."""

    def __init__(self, place: int, how: str) -> None:
        self.left, self.how = place, how

    def __call__(self, event: Mapping[str, Any]) -> bool:
        self.left -= 1
        if self.left == 0 and self.how == "interrupted":
            raise KeyboardInterrupt
        return self.left == 0


def _check_no_time(make: Callable[..., RuleClassifier], table: Table, y: npt.NDArray[Any]) -> None:
    graph = _graph(make, table, y, time_limit=0.0)
    check(graph)
    require(graph.provenance.get("stopped") == "time limit", "the provenance does not say so")
    require(len(set(decide(graph, table).tolist())) == 1, "a rule was learned in no time")


def _check_late_step(learner: Learner, settings: dict[str, Any], table: Table, y: npt.NDArray[Any]) -> None:
    """A learner that asks the watch within a long step is stopped there, with what it had yielded."""

    class Late(Watch):
        asked = 0

        def check(self) -> None:
            Late.asked += 1
            if Late.asked > 40:
                raise OutOfTimeError

    class Hurried(learner):  # type: ignore[misc, valid-type]
        def learn(self, question: Any) -> Any:
            from dataclasses import replace

            return super().learn(replace(question, watch=Late()))

    graph = Hurried(**settings).fit(table, y).rule_graph_
    check(graph)
    require(Late.asked <= 40 or graph.provenance.get("stopped") == "time limit", "the provenance does not say so")


def _check_parameters(learner: Learner) -> None:
    from rulekit.errors import InputError

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
