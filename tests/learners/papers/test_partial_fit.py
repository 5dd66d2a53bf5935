"""Networks that go on learning from further rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rulekit import MadalineClassifier, MadaWinnowClassifier
from rulekit.errors import InputError
from rulekit.learners.data.binning import MemoryCodes
from rulekit.learners.data.problem import Problem
from rulekit.learners.papers import madaline
from rulekit.learners.papers.madaline_networks import Network, NetworkTraining
from rulekit.synthetic import five_bits
from rulekit.tables.kinds.encoding import encode

BOTH = pytest.mark.parametrize("learner", [MadalineClassifier, MadaWinnowClassifier])
YES_NO = ["no", "yes"]


def mixed(n: int, seed: int, levels: str = "abc", missing: float = 0.0, spread: float = 1.0) -> Any:
    """A table of every kind of column, and labels that depend on each."""
    rng = np.random.default_rng(seed)
    number, flag, two = rng.normal(0.0, spread, n).round(2), rng.random(n) < 0.5, rng.choice([3.0, 7.0], n)
    words = rng.choice([*levels], n)
    y = np.where(number + 1.5 * flag - 2.0 * (words == "a") + 0.3 * two > 1.5, "yes", "no")
    table = pd.DataFrame({"number": number, "flag": flag.astype(object), "words": words.astype(object), "two": two})
    return table.mask(rng.random(table.shape) < missing), y


def decided_by_network(model: Any, X: Any) -> Any:
    """The rows [n] that the real weights of the only network answer by yes."""
    progress, n = model._progress, len(X)
    bare = Problem((), MemoryCodes(()), np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), 1.0)
    rows = progress.binned(bare, encode(X, progress.frame.schema))
    inputs = progress.inputs_of(rows.columns).standardised(rows.codes, n)
    return progress.networks[0].tree.decides(inputs)


@BOTH
def test_parts_of_the_five_bits_are_learned(learner: Any) -> None:
    X, y = five_bits(1500, 8, seed=5)
    test, truth = five_bits(2000, 8, seed=6)
    model = learner(shape="large", random_state=0)
    for part in np.split(np.arange(1500), 3):
        assert model.partial_fit(X[part], y[part], classes=[0, 1]) is model
    assert (model.predict(test) != truth).mean() < 0.03
    (record,) = model.history_
    assert [one["pass"] for one in record["passes"]] == [*range(1, 16)]
    assert (record["unit"], record["unused"]) == (4, [])
    assert model.classes_.tolist() == [0, 1]
    reported = model.predict_proba(test)
    assert ((reported[:, 1] > 0.5) == (model.predict(test) == 1)).all()


def test_it_is_training_on_all_rows_in_the_order_in_which_they_came(monkeypatch: Any) -> None:
    shown, own = [], madaline.train

    def recording(network: Any, inputs: Any, labels: Any, weights: Any, orders: Any, *rest: Any) -> Any:
        shown.append((inputs, labels, weights, orders))
        return own(network, inputs, labels, weights, orders, *rest)

    monkeypatch.setattr(madaline, "train", recording)
    X, y = five_bits(300, 8, seed=1)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(300, 1))])  # a number, whose mean the first rows say
    model = MadalineClassifier(shape="small", n_passes=1, random_state=0)
    for part in np.split(np.arange(300), 3):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    inputs, labels, weights = (np.concatenate([each[k] for each in shown]) for k in range(3))
    before = np.cumsum([0, *(len(each[0]) for each in shown[:-1])])
    order = np.concatenate([each[3][0] + start for each, start in zip(shown, before, strict=True)])
    progress = model._progress
    new = Network.new(model._rule_of(model), madaline.shape_named("small"), ~progress.inputs.are_numbers)
    never = NetworkTraining(prune="never")
    whole = own(new, inputs, labels, weights, order[None], never).network
    for ours, theirs in zip(progress.networks[0].state, whole.state, strict=True):
        assert np.array_equal(ours, theirs)


@BOTH
@pytest.mark.long_from("seed", 2)
@pytest.mark.parametrize("seed", range(8))
def test_new_levels_missing_cells_and_wider_numbers_are_decided_as_the_network_does(learner: Any, seed: int) -> None:
    model = learner(shape=["or-3", "small"][seed % 2], random_state=seed)
    for k in range(4):
        X, y = mixed(80, seed + k, "abc" if k < 1 else "abcd", 0.1 * (k > 1), 1.0 + k)
        if k == 2:
            X, y = X[y == "no"], y[y == "no"]
        model.partial_fit(X, y, classes=YES_NO)
        assert np.array_equal(model.predict(X) == model.rule_graph_.classes[1], decided_by_network(model, X))
    assert not model.rule_graph_.schema["words"].levels[3:]


def test_the_range_of_numbers_only_grows() -> None:
    model = MadalineClassifier(shape="small", random_state=0)
    ends = []
    for spread in (1.0, 5.0, 0.5):
        X, y = mixed(100, 3, spread=spread)
        column = model.partial_fit(X, y, YES_NO)._progress.frame.columns[0]
        ends.append((column.low[1], column.high[-1]))
    assert ends[0] != ends[1] == ends[2]


def test_it_goes_on_from_what_was_fitted() -> None:
    X, y = five_bits(600, 8, seed=2)
    model = MadalineClassifier(shape="large", n_networks=2, random_state=0).fit(X[:300], y[:300])
    size, unused = model.history_[0]["unit"], model.history_[0]["unused"]
    model.partial_fit(X[300:], y[300:])
    (record,) = model.history_
    assert [one["pass"] for one in record["passes"]] == [*range(1, 11)]
    assert record["unit"] + len(record["unused"]) == size + len(unused) == 4
    again = model.fit(X[:300], y[:300]).history_[0]
    assert (again["unit"], len(again["passes"])) == (size, 5)


@pytest.mark.parametrize("ordered", [None, ["low", "mid", "top"]])
def test_a_class_may_come_later(ordered: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((600, 4)).round(2)
    y = np.array(["low", "mid", "top"])[(X[:, 0] > 0.3).astype(int) + (X[:, 0] > 0.7)]
    model = MadalineClassifier(shape="small", ordered=ordered, random_state=0)
    few = np.flatnonzero(y[:200] == "low")
    model.partial_fit(X[few], y[few], classes=["top", "low", "mid"])
    assert (model.predict(X[few]) == "low").all()
    for start in range(0, 600, 200):
        model.partial_fit(X[start : start + 200], y[start : start + 200])
    assert (model.predict(X) == y).mean() > 0.85
    assert model.predict_proba(X).shape == (600, 3)
    assert model.classes_.tolist() == ["low", "mid", "top"]
    model.set_params(class_weight={"top": 2.0, "mid": 0.5}).partial_fit(X[few], y[few])
    assert np.isfinite(model.predict_proba(X)).all()


def test_words_of_a_text_stay_those_of_the_first_rows() -> None:
    texts = np.array(["good fine day", "bad grey day", "fine sun", "grey rain"] * 20, dtype=object)
    y = np.array([1, 0, 1, 0] * 20)
    model = MadalineClassifier(shape="or-3", types={"said": "text"}, random_state=0)
    model.partial_fit({"said": texts}, y, classes=[0, 1])
    model.partial_fit({"said": ["fine snow", "grey snow"] * 10}, [1, 0] * 10)
    assert model.predict({"said": ["fine", "grey"]}).tolist() == [1, 0]


def test_a_row_of_weight_two_is_two_rows_and_of_weight_zero_none() -> None:
    X, y = five_bits(200, 6, seed=3)
    weights = np.arange(100) % 3
    twice, weighted = (MadalineClassifier(shape="small", random_state=0) for _ in range(2))
    for part in (slice(0, 100), slice(100, 200)):
        rows = np.repeat(np.arange(200)[part], weights)
        twice.partial_fit(X[rows], y[rows], classes=[0, 1])
        weighted.partial_fit(X[part], y[part], [0, 1], weights)
    assert weighted.rule_graph_.digest == twice.rule_graph_.digest


def test_a_first_call_that_was_stopped_is_no_first_call() -> None:
    X, y = five_bits(200, 6, seed=3)
    model = MadalineClassifier(time_limit=1e-9, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert model.history_ == []
    model.set_params(time_limit=None)
    refused("the first call has to name all classes", lambda: model.partial_fit(X, y))
    model.partial_fit(X, y, classes=[0, 1])
    stopped = model.set_params(time_limit=1e-9).partial_fit(X, y)
    assert stopped.history_ == []
    assert len(model.set_params(time_limit=None).partial_fit(X, y).history_[0]["passes"]) == 10


def refused(message: str, call: Any) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_what_does_not_fit_is_refused_in_one_line() -> None:
    X, y = five_bits(60, 6, seed=4)
    new = MadalineClassifier(shape="small")
    refused("the first call has to name all classes", lambda: new.partial_fit(X, y))
    refused("only one class", lambda: new.partial_fit(X, y * 0, classes=[0]))
    refused("the label 1 is none of the classes", lambda: new.partial_fit(X, y, classes=[0, 2]))
    refused("0 sample", lambda: new.partial_fit(X[:0], y[:0], classes=[0, 1]))
    whole = MadalineClassifier(method="backprop")
    refused("back-propagation needs all rows", lambda: whole.partial_fit(X, y, classes=[0, 1]))
    balanced = MadalineClassifier(class_weight="balanced")
    refused("before all rows are", lambda: balanced.partial_fit(X, y, classes=[0, 1]))
    model = new.partial_fit(X, y, classes=[0, 1])
    digest = model.rule_graph_.digest
    refused("the label 7 is none of the classes", lambda: model.partial_fit(X, y * 7))
    refused("not the classes of the first call", lambda: model.partial_fit(X, y, classes=[0, 1, 2]))
    refused("X has 5 features", lambda: model.partial_fit(X[:, 1:], y))
    refused("0 sample", lambda: model.partial_fit(X[:0], y[:0]))
    refused("weights are all zero", lambda: model.partial_fit(X, y, sample_weight=np.zeros(60)))
    with pytest.raises(InputError, match="no column"):
        MadalineClassifier(shape="small").partial_fit({"a": X[:, 0], "b": X[:, 1]}, y, [0, 1]).partial_fit({"a": y}, y)
    assert model.rule_graph_.digest == digest
    assert len(model.partial_fit(X, y).history_[0]["passes"]) == 10
