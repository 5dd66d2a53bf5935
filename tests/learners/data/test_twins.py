"""Of two columns that say the same training uses one, and says so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from rulekit.graph.language.parsing import parse_graph
from rulekit.learners.additive.estimator import AdditiveRulesClassifier
from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.problem import without_twins
from rulekit.tables.kinds.inference import infer

N = 300
RNG = np.random.default_rng(0)
KM = RNG.integers(1, 200, N).astype(float)
KM[::7] = np.nan
JOB = RNG.choice(["cook", "clerk", "smith"], N)
OTHER = RNG.normal(size=N)


def left(columns: dict[str, Any], *named: str, min_level: int = 0) -> tuple[list[str], tuple[str, ...]]:
    table = infer(columns)
    binned, codes = bin_table(table, np.ones(table.n_rows, dtype=np.int64), 255, min_level)
    kept, own, note = without_twins(binned, codes, named)
    assert [c.tolist() for c in (own[k] for k in range(len(own)))] == [
        codes[binned.index(column)].tolist() for column in kept
    ]
    return [column.feature.name for column in kept], note


SAME = "rulekit uses 'a' and not 'b': they put the rows in the same order"
ALIKE = "rulekit uses 'a' and not 'b': they part the rows alike"


@pytest.mark.parametrize(
    ("b", "note"),
    [
        (KM * 0.6214, SAME),
        (np.log(KM), SAME),
        (-KM, ALIKE),
        (np.where(np.arange(N) == 5, 3.0, KM), ""),
        (np.where(np.isnan(KM), 0.0, KM), ""),
        (np.where(np.arange(N) == 5, np.nan, KM), ""),
        (OTHER**2, ""),
    ],
)
def test_numbers_in_the_same_order(b: Any, note: str) -> None:
    kept, found = left({"a": KM, "x": OTHER + 1, "b": b})

    assert kept == (["a", "x"] if note else ["a", "x", "b"])
    assert found == ((note,) if note else ())


@pytest.mark.parametrize(
    ("names", "same"),
    [
        ({"cook": "chef", "clerk": "z", "smith": "a"}, True),
        ({"cook": "chef", "clerk": "chef", "smith": "a"}, False),
        ({"cook": "1st", "clerk": "2nd", "smith": ""}, False),
    ],
)
def test_levels_under_other_names(names: dict[str, str], same: bool) -> None:
    kept, note = left({"a": JOB.tolist(), "b": [names[job] for job in JOB]})

    assert (kept, note) == ((["a"], (ALIKE,)) if same else (["a", "b"], ()))


def test_what_is_named_stays() -> None:
    columns = {"a": KM, "b": 2 * KM, "c": -KM, "d": OTHER}

    assert left(columns)[0] == ["a", "d"]
    assert left(columns, "c") == (["c", "d"], ("rulekit uses 'c' and not 'a' and not 'b': they part the rows alike",))
    assert left(columns, "a", "c")[0] == ["a", "c", "d"]
    assert left(columns, "a", "b", "c")[0] == ["a", "b", "c", "d"]


def test_constants_and_atoms_stay() -> None:
    truth = (OTHER > 0).tolist()

    assert left({"a": [1.0] * N, "b": [2.0] * N, "c": [True] * N, "d": [True] * N})[1] == ()
    assert left({"P(x, y)": truth, "P(y, x)": truth})[1] == ()
    assert left({"a": truth, "b": truth}) == (["a"], (SAME,))


def test_rows_that_differ_late() -> None:
    """The first 2,048 rows of rare truth values are alike; the others say that the columns are not."""
    rare = np.zeros((3000, 3), dtype=bool)
    rare[2500, :2] = rare[2600, 2] = rare[2601, 0] = rare[2601, 1] = True

    assert left({name: rare[:, k].tolist() for k, name in enumerate("abc")}) == (["a", "c"], (SAME,))


@pytest.fixture
def rows() -> tuple[dict[str, Any], np.ndarray]:
    return {"km": KM, "miles": KM * 0.6214, "x": OTHER}, (np.nan_to_num(KM) > 100).astype(int)


def fitted(rows: tuple[dict[str, Any], np.ndarray], **options: Any) -> tuple[set[str], list[str]]:
    model = AdditiveRulesClassifier(random_state=0, max_rules=2, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*rows)
    return set(model.rule_graph_.used_features), [str(w.message) for w in caught if "rulekit uses" in str(w.message)]


NOTE = "rulekit uses 'km' and not 'miles': they put the rows in the same order"
OTHER_NOTE = "rulekit uses 'miles' and not 'km': they put the rows in the same order"


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        ({}, [NOTE]),
        ({"memory": "500MB"}, [NOTE]),
        ({"monotone": {"miles": "increasing"}}, [OTHER_NOTE]),
        ({"units": {"miles": "mi"}}, [OTHER_NOTE]),
        ({"require": ["miles > 100 -> 1"]}, [OTHER_NOTE]),
        ({"forbid": ["miles, x"]}, [OTHER_NOTE]),
        ({"forbid": ["miles, km"]}, []),
    ],
)
def test_what_a_fit_says(rows: tuple[dict[str, Any], np.ndarray], options: dict[str, Any], notes: list[str]) -> None:
    used, said = fitted(rows, **options)

    assert said == notes
    assert "x" in used or used <= {"km", "miles"}
    assert used & ({"miles"} if notes == [NOTE] else {"km"} if notes else set()) == set()


def test_a_start_keeps_its_columns(rows: tuple[dict[str, Any], np.ndarray]) -> None:
    columns = "\n".join(f"column {name}: numeric" for name in rows[0])
    start = parse_graph(
        f"rulekit rules 1\n{columns}\nlabel target: {{0, 1}}\n"
        "decide 1 when sum(-1, 2 if miles > 62) exceeds score 0\n"
        "report 1 with logistic of sum(-1, 2 if miles > 62)"
    )

    used, said = fitted(rows, start=start)

    assert said == [OTHER_NOTE]
    assert "miles" in used
