"""Numbers of few columns: what is computed step by step and what is looked up in a table are the same number."""

from __future__ import annotations

from itertools import product
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from rulekit.cells.space import cell_space
from rulekit.graph.decisions import ArgMax
from rulekit.graph.nodes import And, Compare, Hidden, Linear, Node, Or, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.logic.meaning import Meaning
from rulekit.numbers import strength_of
from rulekit.program.nodes import Arithmetic, Choice, Greater, Lookup, Number
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.proof.prove import prove, read_artifact

SCHEMA = Schema(tuple(Feature(f"x{i}") for i in range(6)), target="y")
CAUSES = [Compare("x0", ">", 1.0), Compare("x0", ">", 2.0), Compare("x1", "<=", 0.0), Compare("x2", ">", 5.0)]
CAUSES_AND_RULES = [*CAUSES, And((Compare("x3", ">", 0.0), Compare("x4", ">", 0.0)))]
shares = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.999, 1.0, 1e-200])
steps = st.recursive(
    st.tuples(st.integers(0, 4), shares, shares),
    lambda parts: st.tuples(st.sampled_from("+*-"), parts, parts),
    max_leaves=8,
)


def node_of(step: Any) -> Node:
    if isinstance(step[0], int):
        return Choice(CAUSES_AND_RULES[step[0]], Number(step[1]), Number(step[2]))
    return Arithmetic(step[0], node_of(step[1]), node_of(step[2]))


def value_of(step: Any, held: tuple[bool, ...]) -> float:
    if isinstance(step[0], int):
        return float(step[1] if held[step[0]] else step[2])
    left, right = value_of(step[1], held), value_of(step[2], held)
    return left + right if step[0] == "+" else left * right if step[0] == "*" else left - right


@given(steps, st.integers(0, 3))
@example(("-", (0, 0.0, 0.0), ("+", (0, 0.0, 0.1), ("*", (2, 0.3, 0.1), (1, 0.1, 0.3)))), 0)
def test_a_table_of_all_results_is_the_steps(step: Any, start: int) -> None:
    results = [value_of(step, held) for held in product((False, True), repeat=5)]
    places = Linear([(float(1 << (4 - i)), cause) for i, cause in enumerate(CAUSES_AND_RULES)], float(start))
    looked_up, computed = Lookup([0.5] * start + results, places), node_of(step)
    meaning = Meaning(cell_space(SCHEMA, CAUSES_AND_RULES))
    assert meaning.sum(computed) == meaning.sum(looked_up)
    half = Number(0.5)
    assert meaning.truth(Greater(computed, half)) == meaning.truth(Greater(looked_up, half))


def score_of(k: int) -> Node:
    """A noisy formula of eleven conditions over six columns."""
    strengths = [(strength_of(0.9 - 0.05 * i), strength_of(0.01 + 0.02 * k)) for i in range(11)]
    causes = [Compare(f"x{(k + i) % 6}", ">", i + 0.1 * k) for i in range(11)]
    bits = [Hidden(f"{k}.{i}", cause, *strengths[i]) for i, cause in enumerate(causes)]
    inner = Or((*bits[4:7], And((bits[7], Or(bits[8:])))))
    return Probability(Or((bits[0], And((*bits[1:4], inner)))))


def test_classes_of_many_noisy_conditions_are_proved_by_their_formulas() -> None:
    """ONNX looks parts of a circuit up that the model computes: by default 26 classes were only tested."""
    scores = [score_of(k) for k in range(5)]
    graph = RuleGraph(SCHEMA, ("a", "b", "c", "d", "e"), ArgMax(scores, (0.05,) * 5, range(5)))
    for name in ("onnx", "python"):
        target = find_target(name)
        reading = read_artifact(graph, target.emit(graph, {}).main, target)
        found = prove(graph, reading, lambda columns, table: False, few=0, many=0)
        assert found.proved, found.reason
