"""What `check` says of a model, against brute force over its cells and texts: proved, shown by a row, or left open."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from rulekit.audit.checks.checking import Checked, check_lines, check_model
from rulekit.audit.checks.kept_promises import statements, without_rule
from rulekit.cells.axis import cells_of
from rulekit.cells.space import product
from rulekit.conformance.models import random_boolean, random_graph, random_schema
from rulekit.errors import GraphError
from rulekit.graph.check import check
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.evaluation.oracle import evaluate_row
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import And, Compare, Contains, Missing, Node, Not, Or
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.limits import Deadline
from rulekit.schema import Constraints, Feature, Schema
from rulekit.search.row_search import RowSearch
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table, encoded_dtype

BY_SOLVER = partial(RowSearch, few=0, many=0)
MOST = 40_000


def random_promises(seed: int) -> RuleGraph:
    """A legal model over at most three columns that promises things which it keeps by chance only."""
    rng = np.random.default_rng(seed)
    while True:
        features = random_schema(rng).features[:3]
        ways = (int(rng.integers(-1, 2)) if f.kind != "categorical" or f.ordered else 0 for f in features)
        schema = Schema(tuple(replace(f, monotone=way) for f, way in zip(features, ways, strict=True)))
        try:
            graph = random_graph(rng, schema=schema)
            promised = replace(graph.schema, constraints=Constraints(missing_never_helps=bool(rng.random() < 0.7)))
            required = tuple(
                Required(int(rng.integers(len(graph.classes))), random_boolean(rng, schema, 1))
                for _ in range(int(rng.integers(0, 3)))
            )
            graph = graph.with_(schema=promised, required=required)
            check(graph)
        except GraphError:
            continue
        if np.prod([len(values) for _, values in columns_of(graph)]) <= MOST:
            return graph


def columns_of(graph: RuleGraph) -> list[tuple[Feature, Any]]:
    """Each column that the model reads with a value of every cell, in order, those that are not known last."""
    roots = [*graph.decision.roots, *(required.condition for required in graph.required)]
    found = []
    for name, nodes in readers(roots).items():
        feature = graph.schema[name]
        values = cells_of(feature, nodes).encoded()
        if feature.kind == "categorical" and feature.ordered:
            first = 1 if feature.unseen == "unseen" else 2
            values = np.array([*range(first, 2 + len(feature.levels)), 0], dtype=encoded_dtype(feature))
        known = is_known(values)
        found.append((feature, np.concatenate([np.unique(values[known]), values[~known]])))
    return found


def is_known(values: Any) -> Any:
    return ~np.isnan(values) if values.dtype.kind == "f" else values > 1


class Brute:
    """All rows of a model, with what is asked of it by going through them.

    known: by column, in the order in which the rows vary, which of its values are known; those are in order.
    """

    def __init__(self, graph: RuleGraph, table: Table, known: dict[str, Any]) -> None:
        self.graph, self.table, self.known = graph, table, known
        self.labels = self.of(graph.decision)
        self.said = {s.rule.id: (s, self.of_node(s.node)) for s in statements(graph)}

    @classmethod
    def of_cells(cls, graph: RuleGraph) -> Brute:
        columns = columns_of(graph) or [
            (graph.schema.features[0], np.zeros(1, encoded_dtype(graph.schema.features[0])))
        ]
        table = product([feature for feature, _ in columns], [values for _, values in columns])
        return cls(graph, table, {feature.name: is_known(values) for feature, values in columns_of(graph)})

    def of(self, decision: Any) -> Any:
        return decide(self.graph.with_(decision=decision, probability=(), required=()), self.table)

    def of_node(self, node: Node) -> Any:
        return evaluate_nodes([node], self.table)[node]

    def pairs(self, column: str, values: Any, ordered: bool) -> Any:
        """Values [.., low] and [.., high] of all rows that differ in one column: known pairs in order, or not known."""
        known = self.known[column]
        cells = np.moveaxis(values.reshape([*map(len, self.known.values())]), list(self.known).index(column), -1)
        for i, j in permutations(range(len(known)), 2):
            if (known[i] and known[j] and i < j) if ordered else (not known[i] and known[j]):
                yield cells[..., i], cells[..., j]

    def monotone(self, column: str, rises: bool) -> bool:
        pairs = self.pairs(column, self.labels, True)
        return not any(((low > high) if rises else (low < high)).any() for low, high in pairs)

    def helped(self, values: Any, column: str) -> bool:
        return any((unknown > known).any() for unknown, known in self.pairs(column, values, False))

    def missing_never_helps(self) -> bool:
        several = len(self.graph.classes) > 2 and not self.graph.decision.ordered
        asked = [*(truth.astype(int) for _, truth in self.said.values()), *([] if several else [self.labels])]
        return not any(self.helped(values, name) for values in asked for name in self.known)

    def findings(self) -> set[tuple[str, tuple[str, ...]]]:
        found: set[tuple[str, tuple[str, ...]]] = set()
        for name, (statement, truth) in self.said.items():
            if not truth.any():
                found.add(("unreachable", (name,)))
            elif (self.of(without_rule(self.graph, statement)) == self.labels).all():
                found.add(("shadowed", (name,)))
            columns = readers([statement.node])
            found |= {("missing", (name, c)) for c in columns if self.helped(truth.astype(int), c)}
        ranked = self.graph.decision.ordered
        for (a, (one, first)), (b, (other, second)) in combinations(self.said.items(), 2):
            if not ranked and one.rule.class_index != other.rule.class_index and (first & second).any():
                found.add(("overlap", tuple(sorted((a, b)))))
        return found


def said_of(checked: Checked) -> set[tuple[str, tuple[str, ...]]]:
    """The findings that brute force knows, a missing value with its column."""
    return {
        (finding.kind, (*finding.ids, finding.column) if finding.kind == "missing" else tuple(sorted(finding.ids)))
        for finding in checked.findings
        if finding.kind != "gap" and finding.ids
    }


def agrees(graph: RuleGraph, checked: Checked, brute: Brute, complete: bool) -> None:
    """What is proved is so, what fails fails, what is open is open for a reason.

    complete: all cells were run, so that nothing is open but where numbers are added up, which brute force does not
    decide either.
    """
    whole = not any(map(has_column, graph.decision.roots))
    for verdict in checked.verdicts:
        promise = verdict.promise
        added_up = not whole or (promise.required is not None and has_column(promise.required.condition))
        if promise.kind == "monotone":
            read = promise.column in brute.known
            if len(graph.classes) > 2 and not graph.decision.ordered and read:
                assert verdict.outcome == "proved" or verdict.reason
                continue
            kept = not read or brute.monotone(promise.column, graph.schema[promise.column].monotone > 0)
        elif promise.kind == "missing":
            kept = brute.missing_never_helps()
        else:
            kept = bool((brute.labels[brute.of_node(promise.required.condition)] == promise.required.class_index).all())
        if verdict.outcome == "not proved":
            assert verdict.reason
            assert added_up or not complete or len(graph.classes) > 2
        elif kept or not added_up:
            assert verdict.outcome == ("proved" if kept else "fails") or added_up, (promise.text, verdict)
        else:
            assert verdict.outcome == "fails"
        reproduces(graph, verdict)
    for finding in checked.findings:
        for row in finding.rows:
            assert decided(graph, row) == row.decision
    if whole:
        assert said_of(checked) <= brute.findings()
        assert checked.open or said_of(checked) == brute.findings()
        assert not (checked.open and complete)


def decided(graph: RuleGraph, example: Any) -> Any:
    """By the slow oracle, from the raw row alone."""
    return graph.classes[evaluate_row(graph, example.row)[0]]


def reproduces(graph: RuleGraph, verdict: Any) -> None:
    """Every row that is shown is decided as is said, and breaks the promise."""
    for row in verdict.rows:
        assert decided(graph, row) == row.decision
    if verdict.outcome != "fails" or not verdict.rows:
        return
    places = [graph.classes.index(row.decision) for row in verdict.rows]
    if verdict.promise.kind == "required":
        assert places[0] != verdict.promise.required.class_index
    elif verdict.promise.kind == "monotone":
        first, second = (row.row[verdict.promise.column] for row in verdict.rows)
        feature = graph.schema[verdict.promise.column]
        order = feature.levels.index if feature.kind == "categorical" else float
        assert places[0] > places[1]
        assert (order(first) > order(second)) == (feature.monotone < 0)


def examined(seed: int) -> None:
    graph = random_promises(seed)
    brute = Brute.of_cells(graph)
    agrees(graph, check_model(graph), brute, complete=True)
    agrees(graph, check_model(graph, BY_SOLVER), brute, complete=False)


@pytest.mark.long_from("first", 20)
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_models_are_checked_as_brute_force_does(first: int) -> None:
    for seed in range(first, first + 10):
        examined(seed)


LARGE = """rulekit rules 1
{columns}
missing never helps
label y: {{no, yes}}
require yes when c0 > 1 and c1 > 1
decide yes when at least 2 of ({conditions}, (c1 <= 0 or missing))
"""


def test_a_large_model_is_proved_by_the_solver_or_said_to_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = "\n".join(f"column c{j}: numeric, {'decreasing' if j == 1 else 'increasing'}" for j in range(30))
    conditions = ", ".join(f"c{j} > 1" for j in range(30))
    graph = parse_graph(LARGE.format(columns=columns, conditions=conditions))

    checked = check_model(graph)

    found = [verdict.outcome for verdict in checked.verdicts]
    assert found == ["proved", "fails", *["proved"] * 28, "fails", "proved"]
    for verdict in checked.verdicts:
        reproduces(graph, verdict)
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    without = check_model(graph)
    assert {verdict.outcome for verdict in without.verdicts} <= {"not proved", "fails"}
    assert all("solver is missing" in v.reason for v in without.verdicts if v.outcome == "not proved")


def test_rules_of_a_list_are_proved_one_by_one_without_a_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = "\n".join(f"column c{j}: numeric, increasing" for j in range(30))
    rules = ", ".join(f"c{j} > 1 and c{j + 1} > {j}" for j in range(29))
    text = LARGE.replace("at least 2 of", "any of").replace(", (c1 <= 0 or missing)", "")
    graph = parse_graph(text.format(columns=columns, conditions=rules))
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)

    assert {verdict.outcome for verdict in check_model(graph).verdicts} == {"proved"}


def test_columns_apart_in_a_rule_are_named() -> None:
    graph = parse_graph(APART)

    (together, verdict) = check_model(graph).verdicts

    assert (verdict.outcome, together.outcome) == ("fails", "fails")
    assert len(verdict.rules) == 1
    assert set(together.rules) == set(verdict.rules)


APART = """rulekit rules 1
column age: numeric
column sex: boolean
column zip: numeric
together {age, zip}
apart {age, sex}
label y: {no, yes}
decide yes when any of (age > 3 and sex, age > 5 and zip > 3, zip > 9)
"""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(40, 500, 20))
def test_many_random_models_are_checked_as_brute_force_does(first: int) -> None:
    for seed in range(first, first + 20):
        examined(seed)


@pytest.mark.parametrize(
    ("rules", "found", "clear"),
    [
        ("all of (a > 2, a <= 1), a > 5", {"unreachable"}, set()),
        ("a > 5, a > 3", {"shadowed"}, {"every rule can be true"}),
        ("a > 5, a > 5", {"shadowed"}, {"every rule can be true"}),
        ("a > 5, b > 3", set(), {"every rule can be true", "every rule changes some decision"}),
        ("all of (a > 5, at least 2 of (b > 1, b > 2)), at least 1 of (a <= 5 and a > 5, b > 9)", set(), set()),
    ],
)
def test_what_is_proved_of_every_rule_is_true_beside_the_findings(rules: str, found: set[str], clear: set[str]) -> None:
    """`check` proved that every rule changes some decision, two lines above a rule that is never true."""
    graph = parse_graph(
        f"rulekit rules 1\ncolumn a: numeric\ncolumn b: numeric\nlabel y: {{no, yes}}\ndecide yes when any of ({rules})"
    )
    checked = check_model(graph)
    kinds = {finding.kind for finding in checked.findings}
    assert found <= kinds
    assert clear <= set(checked.clear)
    for kind, text in (("unreachable", "can be true"), ("shadowed", "changes some"), ("unreachable", "changes some")):
        assert not (kind in kinds and any(text in said for said in checked.clear))
    ids = [finding.ids for finding in checked.findings if finding.kind == "shadowed"]
    assert len(ids) == len(set(ids))


def test_a_limit_of_time_leaves_open_and_proves_nothing() -> None:
    graph = parse_graph(LARGE.format(columns="column c0: numeric\ncolumn c1: numeric", conditions="c0 > 1"))
    checked = check_model(graph, deadline=Deadline(0))
    assert not checked.clear
    assert all(verdict.outcome == "not proved" for verdict in checked.verdicts)
    assert checked.open
    assert all("--time-limit" in left.reason for left in checked.open)


def test_numbers_that_are_added_up_prove_nothing_by_the_cells_that_were_run() -> None:
    """Cells whose shown number did not break the promise were left out until none was left: a false proof."""
    examined(175)


# Texts ---------------------------------------------------------------------------------------------------------------

WORDS = ("corn", "rye", "wheat")
SCHEMA = Schema(
    (Feature("story", "text", WORDS, missing_tokens=("-",)), Feature("title", "text", WORDS), Feature("x", "numeric")),
    "y",
    constraints=Constraints(missing_never_helps=True),
)
TEXTS = [None, *(" ".join(("other", *words)) for n in range(4) for words in combinations(WORDS, n))]


def random_node(rng: np.random.Generator, depth: int = 2) -> Node:
    kind = int(rng.integers(6 if depth else 3))
    column = ("story", "title")[int(rng.integers(2))]
    if kind == 0:
        tokens = tuple(sorted(rng.choice(WORDS, int(rng.integers(1, 3)), replace=False).tolist()))
        return Contains(column, tokens, missing=bool(rng.integers(2)))
    if kind == 1:
        return Contains(column, (WORDS[int(rng.integers(3))],))
    if kind == 2:
        return Missing(column) if rng.random() < 0.5 else Compare("x", ">", 1.0)
    if kind == 3:
        return Not(random_node(rng, depth - 1))
    return (And, Or)[kind - 4]([random_node(rng, depth - 1), random_node(rng, depth - 1)])


def random_text_model(seed: int) -> RuleGraph:
    rng = np.random.default_rng(seed)
    rules = list(dict.fromkeys(random_node(rng) for _ in range(4)))
    required = (Required(int(rng.integers(2)), random_node(rng, 1)),)
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(Or(rules)), required=required)


def all_texts(graph: RuleGraph) -> Brute:
    """All rows of a model: every text of its words, and a number on each side of its cut."""
    rows = list(itertools.product(range(len(TEXTS)), range(len(TEXTS)), (0.0, 2.0, np.nan)))
    texts = [np.array([TEXTS[row[j]] for row in rows], dtype=object) for j in range(2)]
    table = encode({"story": texts[0], "title": texts[1], "x": np.array([row[2] for row in rows])}, SCHEMA)
    known = np.array([text is not None for text in TEXTS])
    return Brute(graph, table, {"story": known, "title": known, "x": np.array([True, True, False])})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_of_texts_is_what_all_texts_say(seed: int) -> None:
    graph = random_text_model(seed)
    brute = all_texts(graph)
    required = (brute.labels[brute.of_node(graph.required[0].condition)] == graph.required[0].class_index).all()
    outcomes = ["proved" if kept else "fails" for kept in (brute.missing_never_helps(), required)]
    for searching in (RowSearch, BY_SOLVER):
        checked = check_model(graph, searching)

        assert said_of(checked) == brute.findings()
        assert [verdict.outcome for verdict in checked.verdicts] == outcomes
        assert checked.open == ()
        for row in (row for each in (*checked.verdicts, *checked.findings) for row in each.rows):
            cells = {name: np.array([value], dtype=object) for name, value in row.row.items()}
            assert graph.classes[int(graph.decide(graph.table(cells))[0])] == row.decision


def test_rows_read_as_texts() -> None:
    """A rule that another covers, one that is never true, promises kept and broken; of 2^12 sets of words too."""
    more = " ".join(f"  story contains w{i} and pages > 3,\n" for i in range(12))
    for further in ("", more):
        graph = parse_graph(
            f"""rulekit rules 1
column story: text
column pages: numeric
label y: {{no, yes}}
default no
missing never helps
require yes when story contains wheat and pages > 5
require no when story contains corn
decide yes when any of (
{further}  story contains wheat and pages > 3,
  story contains wheat and story contains corn and pages > 3,
  story contains rye and not (story contains any of {{oats, rye}} or missing),
  not story contains oats and pages > 7,
)
"""
        )
        lines = [f"{word} {text}".strip() for word, text in check_lines(check_model(graph))]
        never, covered = [line.split()[1] for line in lines if line.startswith("found")][:2]
        absent = lines[1].split()[-1]
        assert lines == [
            "FAILS no rule is satisfied by a missing value or a level never seen",
            f"a missing or new value of story satisfies {absent}",
            'story missing, pages = 8: decided "yes"',
            'story = "oats", pages = 8: decided "no"',
            'proved where story contains wheat and pages > 5, the decision is "yes"',
            'FAILS where story contains corn, the decision is "no"',
            'story = "corn", pages = 8: decided "yes"',
            f"found {never} is never true",
            f"found {covered} changes no decision: without it every row is decided the same",
            f"found a missing or new value of story satisfies {absent}",
            'story missing, pages = 8: decided "yes"',
        ]
