"""Words as binned columns: which are taken, and that every learner makes rules of them that read as sentences."""

import numpy as np
import pytest

from rulekit import AdaBoostStumpClassifier, AdditiveRulesClassifier, RulesClassifier
from rulekit.graph.nodes import Contains, topological
from rulekit.learners.data.binning import MemoryCodes
from rulekit.learners.data.folds import fold_of_rows
from rulekit.learners.data.problem import Problem, WordColumn, condition_node, with_words, without_mute_words
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions

PLAIN = ["market", "bank", "price", "month", "report", "share", "trade", "oil", "gold", "dollar", "rate", "export"]


def texts(n: int, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Texts about grain where they have wheat or corn, and others; a twelfth of them are missing."""
    rng = np.random.default_rng(seed)
    rows, grain = [], rng.random(n) < 0.3
    for about in grain:
        words = [*rng.choice(PLAIN, 6), *(["wheat" if rng.random() < 0.6 else "corn"] if about else [])]
        rows.append(", ".join(rng.permutation(words)) + " and the rest.")
    return rows, grain


def problem_of(rows: list[str | None], labels: np.ndarray) -> Problem:
    table = infer({"story": rows}, ReadingOptions(types={"story": "text"}))
    weights = np.ones(len(rows), dtype=np.int64)
    empty = Problem((), MemoryCodes(()), labels.astype(np.int64), weights, 1.0)
    return with_words(empty, table, 2, 2)


def test_the_words_that_tell_the_class_are_columns() -> None:
    rows, grain = texts(300)
    problem = problem_of([*rows[:-1], None], grain)
    words = [column.word for column in problem.columns if isinstance(column, WordColumn)]
    assert {"corn", "wheat"} <= set(words)
    assert "rest" not in words
    codes = problem.codes[words.index("wheat")]
    expected = [0 if row is None else 2 if "wheat" in row else 1 for row in [*rows[:-1], None]]
    assert codes.tolist() == expected


def test_conditions_on_the_codes_of_a_word() -> None:
    rows, grain = texts(100)
    column = next(c for c in problem_of(list(rows), grain).columns if isinstance(c, WordColumn) and c.word == "wheat")
    has = Contains("story", ("wheat",))
    assert condition_node(column, np.array([False, False, True])) is has
    assert condition_node(column, np.array([True, False, True])) is Contains("story", ("wheat",), True)
    assert condition_node(column, np.array([True, True, False])).children == (has,)


def test_a_word_that_only_held_out_rows_speak_for_is_no_word_of_a_fold() -> None:
    rows, grain = texts(300)
    problem = problem_of([*rows[:-1], None], grain)
    names = [column.word for column in problem.columns if isinstance(column, WordColumn)]
    kept = ~np.array(["corn" in row for row in rows])
    fold = problem.take(kept)
    found = without_mute_words(fold, fold.labels)
    corn, wheat = names.index("corn"), names.index("wheat")
    assert set(found.codes[corn].tolist()) == {0, 1}
    assert found.codes[wheat].tolist() == fold.codes[wheat].tolist()
    assert without_mute_words(problem, problem.labels) is problem
    assert set(without_mute_words(fold, np.zeros(len(fold.labels), dtype=np.int64)).codes[wheat].tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("make", "size"), [(RulesClassifier, 4), (AdditiveRulesClassifier, 4), (AdaBoostStumpClassifier, 20)]
)
def test_every_learner_uses_texts(make: type, size: int) -> None:
    """Votes of stumps come to "either word" only after some rounds."""
    rows, grain = texts(400)
    model = make(size, stopping="none", types={"story": "text"}).fit({"story": rows}, grain)
    named = {word for n in topological(model.rule_graph_.roots) if isinstance(n, Contains) for word in n.tokens}
    assert {"corn", "wheat"} <= named
    assert set(model.rule_graph_.schema["story"].levels) == named
    fresh, about = texts(200, seed=1)
    assert (model.predict({"story": fresh}) == about).mean() > 0.98
    assert "row_hashes" in model.rule_graph_.provenance


def test_texts_are_told_apart_by_all_their_words_where_folds_are_dealt() -> None:
    """Two words decide; by these alone most texts are equal, and would stand in one fold together."""
    rows, grain = texts(400)
    assert len(np.unique(fold_of_rows(problem_of(list(rows), grain), 5, None, 0)[~grain])) == 5
    model = RulesClassifier(types={"story": "text"}).fit({"story": rows}, grain)
    more, also = texts(400, seed=1)
    assert np.mean(model.predict({"story": more}) == also) > 0.98
