"""check_learner: every installed learner passes it, and it sees a learner that does not."""

from __future__ import annotations

import inspect
import itertools
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

from rulekit import CNLLClassifier
from rulekit.conformance import learners
from rulekit.conformance.learners import check_learner, learner_checks
from rulekit.conformance.targets import Check
from rulekit.errors import InputError, LearnerError
from rulekit.graph.nodes import Compare
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import (
    Candidate,
    Score,
    Variants,
    find_estimator,
    find_learner,
    learner_names,
    refuse_unable,
)
from rulekit.learners.models.plain import RuleSet, ScoreCard
from rulekit.learners.parameters import SizeSettings, setting, whole
from rulekit.schema import Feature
from rulekit.tables.table import Table

SMALL: dict[str, dict[str, Any]] = {
    "additive": {"max_rules": 3, "n_folds": 2},
    "adaboost": {"n_estimators": 8, "n_folds": 2},
    "adaboost-paper": {"n_estimators": 8, "n_folds": 2},
    "boosted": {"n_estimators": 2, "n_folds": 2},
    "cnll": {"n_units": 4, "n_folds": 2},
    "cnll-paper": {"n_units": 3, "n_folds": 2},
    "gramression": {"feature_length": 2, "price": 4.0},
    "ltu-tree": {"max_nodes": 2, "n_starts": 1},
    "ltu-tree-paper": {"max_nodes": 3, "node": "logistic"},
    "mada-winnow": {"shape": "small", "n_passes": 2, "n_networks": 2},
    "madaline": {"shape": "small", "n_passes": 2, "n_networks": 2},
    "mcmc": {"n_steps": 500, "n_chains": 1, "n_folds": 2},
    "noisy-count": {"max_causes": 3, "n_folds": 2},
    "noisy-or": {"max_causes": 3, "n_folds": 2},
    "noisy-or-gated": {"max_causes": 3, "n_folds": 2},
    "noisy-or-paper": {"max_causes": 4, "n_folds": 2},
    "rules": {"max_rules": 2, "n_folds": 2},
}
QUICK = ("two", "ranked classes: a legal", "several classes: a legal")
"""Of ranked and several classes the rest runs in `make conformance`: two classes ask the base the same."""
ALSO = ("adaboost: ranked classes: parity with every target", "rules: several classes: parity with every target")
SLOW = (
    *(f"ltu-tree: {check}" for check in ("several", "ranked", "codes")),
    *(f"ltu-tree: two classes: {check}" for check in ("stopped", "parity", "one thread")),
    *(f"madaline: {check}" for check in ("two classes: parity", "ranked classes: parity")),
    "gramression: several",
    *(f"gramression: two classes: {check}" for check in ("one thread", "stopped", "shuffled", "weights")),
    "ltu-tree-paper: two classes: parity",
    "mada-winnow: several",
    "noisy-or: several",
    # of a paper, standing on a default's code
    *(
        f"{name}: {kind}"
        for name in ("noisy-or-paper", "noisy-or-gated", "noisy-count", "boosted")
        for kind in ("sev", "rank", "a", "two classes: one thread", "two classes: stopped")
    ),
)
CHECKS = [
    pytest.param(name, check, id=whole, marks=[pytest.mark.full, pytest.mark.long] if slow else ())
    for name in learner_names()
    for check in learner_checks(find_estimator(name), SMALL.get(name, {}), sklearn=False)
    for whole in [f"{name}: {check}"]
    for quick in ["classes" not in check.name or check.name.startswith(QUICK) or whole in ALSO]
    for slow in [whole.startswith(SLOW) or not quick]
]


@pytest.mark.parametrize(("name", "check"), CHECKS)
def test_every_learner_passes(name: str, check: Check) -> None:
    check.run()


@dataclass(frozen=True)
class OneSettings(SizeSettings):
    n_units: int = setting(3, whole(1), "most rules")


class One(RuleClassifier):
    """One more level of the category, or one more cut of the number, by size; the others break what it keeps."""

    word = "one"
    settings = OneSettings
    abilities = frozenset({"categories", "weights", "several"})

    def learn(self, question: Any) -> Any:
        problem = question.problem
        index = max(range(len(problem.columns)), key=lambda i: problem.columns[i].feature.kind == "categorical")
        codes, column = problem.codes[index].astype(int), problem.columns[index]
        share = np.bincount(codes, problem.labels * problem.weights, column.n_codes) / np.maximum(
            np.bincount(codes, problem.weights, column.n_codes), 1
        )
        found = []
        for size in range(1, question.settings.n_units + 1):
            held = np.zeros(column.n_codes, dtype=bool)
            held[np.argsort(-share, kind="stable")[:size]] = True
            wrong = float(problem.weights[held[codes] != problem.labels].sum()) * problem.weight_unit
            found.append(Candidate(size, wrong, wrong, self.model(held, index)))
        return self.told(found)

    def model(self, held: Any, index: int) -> Any:
        return RuleSet(({index: held},))

    def told(self, found: list[Candidate]) -> Any:
        yield from found


def broken(**methods: Any) -> type[One]:
    return type("Broken", (One,), {"word": "broken", "__module__": __name__, **methods})


def remarks(value: Any) -> type[One]:
    def conclude(self: One, runs: Any, path: Any) -> None:
        self.remarks_ = value

    return broken(conclude=conclude)


def gives(**hooks: Any) -> type[One]:
    """A learner whose hooks return something else."""

    def hook(name: str, value: Any) -> Any:
        def returns(*_: Any) -> Any:
            return value

        returns.__signature__ = inspect.signature(getattr(RuleClassifier, name))  # type: ignore[attr-defined]
        return returns

    return broken(**{name: hook(name, value) for name, value in hooks.items()})


def tells(change: Any) -> type[One]:
    """A learner that yields something else for its candidates."""
    return broken(told=lambda self, found: change(found))


def told(**parts: Any) -> type[One]:
    """A learner whose only candidate has other parts."""
    return tells(lambda found: [replace(found[0], **parts)])


def with_codes(change: Any) -> type[One]:
    """A learner whose models have other truth values by code."""
    return broken(model=lambda self, held, index: RuleSet(({index: change(held)},)))


def masks(name: str, change: Any) -> type:
    """A model whose masks of rows are changed."""
    decides = {"decides": lambda self, codes, n: change(RuleSet.decides(self, codes, n), n)}
    return type(name, (RuleSet,), decides)


def raises(self: Any, *_: Any) -> Any:
    raise ValueError("no such level")


def ends(with_: Any) -> type[One]:
    """A learner that ends with something, or with an error."""

    def learn(self: Any, question: Any) -> Any:
        yield from One.learn(self, question)
        if isinstance(with_, BaseException):
            raise with_
        return with_

    return broken(learn=learn)


def writes(part: str) -> type[One]:
    def learn(self: Any, question: Any) -> Any:
        (question.problem.labels if part == "labels" else question.problem.codes[0])[:] = 0
        return One.learn(self, question)

    return broken(learn=learn)


def scores(found: Any) -> type[One]:
    class Odd(RuleSet):
        def score(self, frame: Any, prefix: str) -> Any:
            return found

    return broken(model=lambda self, held, index: Odd(({index: held},)))


def endless_weights(self: Any, held: Any, index: int) -> ScoreCard:
    return ScoreCard({index: np.where(held, np.inf, -1.0)}, 0.0)


def twice(self: Any, question: Any, found: Any) -> Variants:
    return Variants([lambda: found] * 2, lambda: 0, loss=lambda *_: np.ones(3))


COPY = "learn or decides changed the labels or codes of the rows; work on a copy"
BREAKS: list[tuple[type[One], str]] = [
    (tells(lambda found: found[::-1]), "a candidate of size 2 after one of size 3; yield the smallest first"),
    (tells(lambda found: None), "learn returned NoneType; it has to yield candidates"),
    (tells(lambda found: [3]), "learn yielded int, which has no size"),
    (told(size=0.5), "a candidate has the size 0.5, which is no whole number"),
    (told(objective=np.nan), "the objective of the"),
    (told(error=1e6), "errs on a weight of 1e+06"),
    (told(error="3"), "the error of the candidate of size 1 is '3', and no finite number"),
    (told(objective=np.ones(2)), "the objective of the candidate of size 1 is array([1., 1.])"),
    (told(cost=np.inf), "the cost of the candidate of size 1 is inf"),
    (told(model=3), "the model int has no method decides"),
    (told(model=RuleSet), "the model type has no method decides; give an object"),
    (told(held_out=3), "caused by what learn or a candidate returned"),
    (with_codes(lambda held: held[:-1]), "5 values for the 6 codes of column 'level'"),
    (with_codes(lambda held: held.astype(int)), "has values of type int64"),
    (broken(model=endless_weights), "a weight of column 'level' is not finite"),
    (broken(told=raises), "ValueError: no such level"),
    (broken(resolve=raises), "ValueError: no such level, raised in raises"),
    (ends(SystemExit(3)), "SystemExit: 3, raised in ends.<locals>.learn"),
    (ends(StopIteration()), "RuntimeError: generator raised StopIteration, caused by what learn"),
    (ends(KeyError("level")), "KeyError: 'level', raised in ends.<locals>.learn"),
    (ends(AssertionError()), "AssertionError, raised in ends.<locals>.learn"),
    (ends(3), "learn ended with int; it has to yield candidates"),
    (ends([3]), "yielded int, which has no size"),
    (
        tells(lambda found: (replace(found[0], size=size) for size in itertools.count(1))),
        "learn does not end: its last candidate is of size 10007",
    ),
    (tells(lambda found: itertools.repeat(found[0])), "learn does not end"),
    (writes("labels"), COPY),
    (writes("codes"), COPY),
    (scores(None), "Odd.score returned NoneType, and no Score of nodes"),
    (scores(Score("level = a")), "Odd.score returned Score, and no Score of nodes"),  # type: ignore[arg-type]
    (scores(Score(Compare("no", ">", 1.0))), "column 'no': the schema has no such column"),
    (gives(resolve={}), "resolve returned {}; it has to return the settings"),
    (gives(ranks=("no",)), "ranks returned ('no',)"),
    (gives(binned=None), "binned returned None; it has to return a Problem"),
    (gives(prepare=[]), "prepare returned []; it has to return a list of the questions"),
    (gives(nothing=None), "nothing returned None; it has to return a Candidate"),
    (gives(finish=[1]), "finish returned [1]; it has to return None"),
    (
        gives(finish=Variants([], lambda: 0)),
        "finish returned Variants; it has to return None, or Variants with at least one path",
    ),
    (
        gives(finish=Variants([lambda: None], lambda: 0)),  # type: ignore[list-item, return-value]
        "finish or learn ended with NoneType",
    ),
    (broken(finish=twice), "caused by what finish or a candidate returned"),
    (remarks("a remark"), "remarks_ is 'a remark', and no list of texts"),
    (remarks([3]), "remarks_ is [3], and no list of texts"),
]


def run_check(learner: type[One], name: str, settings: Any = None) -> None:
    checks = learner_checks(learner, {"n_folds": 2} if settings is None else settings, sklearn=False)
    next(check for check in checks if check.name == name).run()


def category(n: int = 120) -> tuple[Table, Any]:
    level = np.arange(n) % 4
    column = Feature("level", "categorical", tuple("abcd"))
    return Table((column,), ((2 + level).astype(np.int32),), n), np.where(level == 1, "yes", "no")


@pytest.mark.parametrize(
    ("most", "broke", "said"),
    [(7, "shuffled rows", "another model"), (1, "weights 0 and 2", "a row of weight 2 is not")],
)
def test_a_learner_that_breaks_its_promises_is_told(
    most: int, broke: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It weighs rows by their place, or all alike."""

    def learn(self: Any, question: Any) -> Any:
        weights = 1 + np.arange(len(question.problem.labels)) % most
        return One.learn(self, replace(question, problem=replace(question.problem, weights=weights)))

    asked = (f"two classes: {broke}", "parameters are named")
    made = learner_checks(broken(learn=learn), {"n_folds": 2}, sklearn=False)
    checks = [check for check in made if check.name in asked]
    monkeypatch.setattr(learners, "learner_checks", lambda *_, **__: checks)
    with pytest.raises(AssertionError) as caught:
        check_learner(One, {}, sklearn=False)
    assert f"one, two classes: {broke}: AssertionError: {said}" in str(caught.value)
    assert "parameters are named" not in str(caught.value)


@pytest.mark.parametrize(("learner", "said"), BREAKS, ids=[said[:60] for _, said in BREAKS])
def test_what_the_base_is_promised_it_checks_and_blames_the_learner_by_name(learner: type[One], said: str) -> None:
    """Candidates that came largest first were taken as smallest first; other breaches blamed the data or rulekit."""
    with pytest.raises(LearnerError) as caught:
        learner(n_folds=2).fit(*category())
    assert str(caught.value).startswith(f"learner broken (module {__name__}): ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


MASKS = masks("Masks", lambda held, n: held[: n - (n > 1)]), masks("Ints", lambda held, n: held.astype(int))


@pytest.mark.parametrize("short", MASKS)
def test_a_mask_that_is_none_is_named(short: type) -> None:
    learner = broken(model=lambda self, held, index: short(({index: held},)), told=lambda self, found: found[:2])
    for settings in ({"n_folds": 2}, {"stopping": "none"}):
        with pytest.raises(LearnerError, match=f"{short.__name__}.decides returned"):
            run_check(learner, "two classes: a legal model", settings)


def test_a_list_of_candidates_serves_as_well() -> None:
    listed = tells(lambda found: found)
    assert listed(n_folds=2).fit(*category()).rule_graph_ == One(n_folds=2).fit(*category()).rule_graph_


def test_a_class_that_no_base_could_call_is_refused_as_it_is_made() -> None:
    with pytest.raises(TypeError, match="no ability 'categorys'; did you mean categories"):
        broken(abilities=frozenset({"categorys"}))
    with pytest.raises(TypeError, match=r"Broken.finish is called as finish\(question, candidates\)"):
        broken(finish=lambda self, question: None)
    with pytest.raises(TypeError, match="size_parameter of Broken is 'n_rules'"):
        broken(size_parameter="n_rules")
    with pytest.warns(UserWarning, match="Broken.finnish is no hook; did you mean finish"):
        odd = broken(finnish=lambda self, question, candidates: None)
    with pytest.raises(AssertionError, match=r"Broken.finnish is no hook"):
        run_check(odd, "hooks are known")


def test_rules_that_speak_of_levels_which_never_came_fail_the_suite() -> None:
    """Codes of a category are 0 missing, 1 unseen, then its levels; a learner that did not know wrote `or unseen`."""
    careless = with_codes(lambda held: held | (np.arange(len(held)) == 1))
    with pytest.raises(AssertionError, match=r"holds for unseen levels"):
        run_check(careless, "codes of categories")
    run_check(One, "codes of categories")


def test_an_entry_point_that_cannot_be_imported_is_its_packages_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("gone", "no_such_package.learner:Learner", "rulekit.learners"),
        EntryPoint("other", "json:JSONDecoder", "rulekit.learners"),
    ]
    monkeypatch.setattr("rulekit.learners.contract.entry_points", lambda group: points)
    with pytest.raises(LearnerError, match=r"learner gone \(module no_such_package.*cannot be loaded from .*No module"):
        find_learner("gone")
    with pytest.raises(LearnerError, match=r"learner other.*does not derive from RuleLearner"):
        find_learner("other")


def test_a_learner_that_is_not_there_gets_the_nearest_name() -> None:
    assert "cnll" in learner_names()
    with pytest.raises(InputError, match="no learner 'cnl'; did you mean cnll"):
        find_learner("cnl")


def test_what_a_learner_cannot_is_refused_by_the_name_of_the_option() -> None:
    """It once was an internal error, after the table was read."""

    class Plain(CNLLClassifier):
        word = "plain"
        abilities = frozenset({"several"})

    for option, value in (("start", "rules.txt"), ("memory", "1GB"), ("ordered", "a,b")):
        with pytest.raises(InputError, match=f"--{option}: plain "):
            refuse_unable(Plain, {option: value, "target": "y"}, "--")
    with pytest.raises(InputError, match="memory: plain learns in memory only"):
        Plain(memory="1GB").fit(None, None)
    with pytest.raises(InputError, match="Plain takes no missing values"):
        Plain().fit([[1.0], [None]] * 5, [0, 1] * 5)
