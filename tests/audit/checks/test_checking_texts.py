"""What `check` says of models over texts, against all texts of their words; and rows that read as sentences."""

from __future__ import annotations

from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from rulekit.audit.checks.checking import check_lines, check_model
from rulekit.audit.checks.kept_promises import statements, without_rule
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import And, Compare, Contains, Missing, Node, Not, Or
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.schema import Constraints, Feature, Schema
from rulekit.search.row_search import RowSearch
from rulekit.tables.kinds.encoding import encode

BY_SOLVER = partial(RowSearch, few=0, many=0)
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


def random_model(seed: int) -> RuleGraph:
    rng = np.random.default_rng(seed)
    rules = list(dict.fromkeys(random_node(rng) for _ in range(4)))
    required = (Required(int(rng.integers(2)), random_node(rng, 1)),)
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(Or(rules)), required=required)


class Brute:
    """All rows of a model: every text of its words, and a number on each side of its cut."""

    def __init__(self, graph: RuleGraph) -> None:
        rows = list(product(range(len(TEXTS)), range(len(TEXTS)), (0.0, 2.0, np.nan)))
        texts = [np.array([TEXTS[row[j]] for row in rows], dtype=object) for j in range(2)]
        numbers = np.array([row[2] for row in rows])
        self.table = encode({"story": texts[0], "title": texts[1], "x": numbers}, SCHEMA)
        self.graph, self.shape = graph, (len(TEXTS), len(TEXTS), 3)

    def of(self, node: Node) -> Any:
        return evaluate_nodes([node], self.table)[node]

    def decided(self, decision: Any) -> Any:
        return decide(self.graph.with_(decision=decision, required=()), self.table)

    def helped(self, values: Any, axis: int) -> bool:
        cells = np.moveaxis(values.reshape(self.shape), axis, 0)
        unknown, known = (cells[2:], cells[:2]) if axis == 2 else (cells[:1], cells[1:])
        return any((one > other).any() for one in unknown for other in known)

    def findings(self) -> set[tuple[str, ...]]:
        labels = self.decided(self.graph.decision)
        found: set[tuple[str, ...]] = set()
        for statement in statements(self.graph):
            truth, rule = self.of(statement.node), statement.rule.id
            if not truth.any():
                found.add(("unreachable", rule))
            elif (self.decided(without_rule(self.graph, statement)) == labels).all():
                found.add(("shadowed", rule))
            found |= {("missing", rule, SCHEMA.names[axis]) for axis in range(3) if self.helped(truth, axis)}
        return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_of_texts_is_what_all_texts_say(seed: int) -> None:
    graph = random_model(seed)
    brute = Brute(graph)
    labels = brute.decided(graph.decision)
    helped = any(brute.helped(values, axis) for values in (labels,) for axis in range(3))
    missing = helped or any(found[0] == "missing" for found in brute.findings())
    required = (labels[brute.of(graph.required[0].condition)] == graph.required[0].class_index).all()

    for searching in (RowSearch, BY_SOLVER):
        checked = check_model(graph, searching)

        said = {(f.kind, *f.ids, *([f.column] if f.kind == "missing" else [])) for f in checked.findings}
        assert said == brute.findings()
        assert [verdict.outcome for verdict in checked.verdicts] == [
            "fails" if missing else "proved",
            "proved" if required else "fails",
        ]
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
