"""The paper's CNLL: its moves, its search against brute force, the exclusive or, pairs, and Table 4."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from cnll_cases import loan_rows, random_problem, truth

from rulekit import simplify
from rulekit.errors import BudgetError
from rulekit.graph.check import check
from rulekit.graph.nodes import Hidden
from rulekit.learners.data.problem import Problem
from rulekit.learners.models.noisy_formulas import FIRST, Move, NoisyBit, Operator, ReadOnceTree
from rulekit.learners.papers import cnll_search
from rulekit.learners.papers.cnll_paper import ClauseFormula, CNLLPaperClassifier, clause_rates, dnf
from rulekit.learners.papers.cnll_search import ExhaustiveSearch, SearchRule, Weak, contrary, move_lines
from rulekit.synthetic import exclusive_or

STEPS = [(1.0, "threshold", False), (0.0, "threshold", False), (1.0, "threshold", True), (0.1, "llr", False),
         (1.0, "pairs", False), (0.0, "pairs", True)]  # fmt: skip


def rule_of(problem: Problem, brier: float, zero: bool = False) -> SearchRule:
    return SearchRule(problem.weight_unit, brier * problem.weight_unit, 1, zero)


def grown(problem: Problem, rule: SearchRule, weak: Weak, algorithm: str, most: int) -> tuple[ClauseFormula, list[Any]]:
    """A formula of at most so many bits, and by step what was claimed and what was measured."""
    formula, steps = ClauseFormula(problem, ReadOnceTree()), []
    for _ in range(most):
        moves = formula.moves(algorithm)
        lines = formula.steps(moves, rule)
        found = ExhaustiveSearch(problem, formula.cells, lines, rule, weak).best()
        assert found is not None
        formula.join(found.bit, moves[found.move])
        steps.append((found.objective, formula.measured(rule)[0]))
    return formula, steps


@pytest.mark.parametrize(("brier", "weak", "zero"), STEPS, ids=str)
@pytest.mark.parametrize("algorithm", ["I", "II"])
def test_every_step_does_what_it_claims(brier: float, weak: Weak, zero: bool, algorithm: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(cnll_search, "MOST_FIRST", 128 if algorithm == "I" else 0)  # all first conditions, or the best
    problem = random_problem(np.random.default_rng(5), n=120, d=4, values=5)
    rule = rule_of(problem, brier, zero)
    formula, steps = grown(problem, rule, weak, algorithm, 4)
    for claimed, measured in steps:
        assert measured == pytest.approx(claimed, abs=1e-9)
    if brier:
        before = formula.measured(rule)[0]
        assert formula.refit(rule) == (formula.measured(rule)[0] < before)
    if zero:
        assert {bit.beta for bit in formula.bits} == {0.0}
    for bit in formula.bits:
        assert np.array_equal(bit.holds(problem.codes), ~contrary(bit).holds(problem.codes))


def conditions(problem: Problem) -> list[np.ndarray]:
    """The rows of every cut, missing cells on either side."""
    found = []
    for column in range(len(problem.columns)):
        codes = problem.codes[column]
        present = np.unique(codes)
        for order in (present, np.roll(present, -1) if present[0] == 0 else present):
            found += [np.isin(codes, order[:k]) for k in range(1, len(order))]
    return found


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_first_bit_is_the_best_of_all(seed: int, pairs: bool) -> None:
    """Between 0 and 1 there is one edge, 1/2: a side has the best strength of either half that the margin leaves."""
    problem = random_problem(np.random.default_rng(seed), n=70, d=3, values=4)
    y, w = problem.labels == 1, problem.weights * problem.weight_unit

    def cost(side: np.ndarray) -> float:
        yes, no = w[side & y].sum(), w[side & ~y].sum()
        costs = []
        for low, high in ((0.05, 0.45), (0.55, 0.95)):
            s = np.clip(yes / (yes + no), low, high)
            costs.append((no if s > 0.5 else yes) + yes * (1 - s) ** 2 + no * s**2)
        return float(min(costs))

    cuts = [side for cut in conditions(problem) for side in (cut, ~cut)]
    sides = [each for a, b in itertools.product(cuts, cuts) for each in (a & b, a ^ b)] if pairs else cuts
    best = min(cost(side) + cost(~side) for side in sides if side.any() and not side.all())
    _, ((claimed, _),) = grown(problem, rule_of(problem, 1.0), "pairs" if pairs else "threshold", "II", 1)
    assert claimed == pytest.approx(best, rel=1e-9)


def test_intervals_by_hand() -> None:
    u, v = np.array([0.0, 0.2, 0.9, 0.0, 0.1]), np.array([1.0, 0.4, 0.1, 0.3, 0.0])
    got = move_lines(u, v, np.ones((5, 2), dtype=np.int64), 0.0, SearchRule(1.0, 1.0, 1, False))
    assert got.low == pytest.approx([0.05, 0.525, 0.775])
    assert got.high == pytest.approx([0.45, 0.725, 0.975])
    assert got.bucket.tolist() == [1, 2, 0, 3, 3]  # ratios .5, .75, below 0, above 1, never


def test_moves_of_algorithm_two_are_those_of_figure_four() -> None:
    problem = random_problem(np.random.default_rng(0))
    formula = ClauseFormula(problem, ReadOnceTree())
    half = np.arange(problem.columns[0].n_codes) > 1

    def join(which: int) -> int:
        return formula.join(NoisyBit(0, half, half | True, 0.9, 0.1, 0.0), formula.moves("II")[which])

    # A new clause, one to the first clause, one to all clauses, a new clause, one to the second inside.
    assert [join(which) for which in (0, -1, 0, 2, -1, 1)] == [1, 2, 1, 0, 3, 2]
    assert [move.operator for move in formula.moves("II")] == ["and", "and", "and", "and", "or"]
    tree = formula.tree

    def text(node: int) -> str:
        if tree.bit[node] >= 0:
            return f"H{tree.bit[node]}"
        return "(" + f" {tree.operator[node]} ".join(text(child) for child in tree.children[node]) + ")"

    assert text(tree.root) == "((((H0 and H2) or (H1 and H5)) and H3) or H4)"
    assert [text(clause) for clause in formula.clauses] == ["(H0 and H2)", "(H1 and H5)", "H4"]
    assert [move.operator for move in formula.moves("I")] == ["or", "and"]


def test_exclusive_or() -> None:
    """Table 1; and of the complement, which needs (a or b) and (c or d), with init="and"."""
    X, y = exclusive_or(0)
    X = np.floor(X * 10) / 10
    model = CNLLPaperClassifier(4, brier=1.0, stopping="none").fit(X, y)
    assert [step["error"] for step in model.history_] == pytest.approx([0.3, 0.1333, 0.1333, 0.0], abs=1e-3)
    rules = model.rule_graph_.statistics["rules"]
    assert sorted((rule["n"], rule["precision"]) for rule in rules) == [(500, 1.0), (1000, 1.0)]
    ((first, second),) = model.clauses_
    assert (first["bits"], second["bits"]) == (["H1", "H3"], ["H2", "H4"])
    # Rows of (x1 <= 1, x2 <= 1) and (x1 > 1, x2 > 1): two thirds and one third of the positive ones.
    assert first["true_positive"] == pytest.approx(2 / 3)
    assert first["error"] == pytest.approx(500 / 3000)
    assert (second["cumulative_true_positive"], second["cumulative_error"]) == (1.0, 0.0)
    dual = CNLLPaperClassifier(4, init="and", brier=1.0, stopping="none").fit(X, 1 - y)
    assert dual.score(X, 1 - y) == 1.0
    assert [step["move"] for step in dual.history_] == ["bit", "and", "or", "or"]


def test_beta_zero_and_costs_reach_the_search() -> None:
    X, y = loan_rows(400)
    model = CNLLPaperClassifier(6, beta="zero", stopping="none", cost={"yes": 20}, positive="yes").fit(X, y)
    assert {step["beta"] for step in model.history_} == {0.0}
    plain = CNLLPaperClassifier(6, beta="zero", stopping="none", positive="yes").fit(X, y)
    missed, before = (np.sum((m.predict(X) == "no") & (y == "yes")) for m in (model, plain))
    assert missed < before


@pytest.mark.parametrize("positive", ["odd", "even"])
def test_a_parity_among_noise_takes_one_unit(positive: str) -> None:
    X = np.random.default_rng(0).integers(0, 2, (300, 12)).astype(bool)
    y = np.where(X[:, 0] ^ X[:, 1], "odd", "even")
    model = CNLLPaperClassifier(4, n_folds=2, weak="pairs", positive=positive).fit(X, y)
    graph = simplify(model.rule_graph_)
    check(graph)
    assert graph.provenance["units"] == [1]
    assert set(graph.used_features) == {"x0", "x1"}
    assert model.score(X, y) == 1.0
    assert model.clauses_[0][0]["true_positive"] == 1.0


def test_pairs_of_categories_and_missing_cells_decide_alike_in_the_graph() -> None:
    rng = np.random.default_rng(7)
    n = 400
    colour = rng.choice(["red", "green", "blue", "rare"], n, p=[0.4, 0.3, 0.29, 0.01])
    size = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 9, n))
    rows = {"colour": colour, "size": size, "flag": rng.random(n) < 0.5}
    y = ((colour == "red") ^ (np.nan_to_num(size, nan=0) > 4)).astype(int)
    model = CNLLPaperClassifier(3, weak="pairs", brier=1.0, refit=1, stopping="none").fit(rows, y)
    graph = model.rule_graph_
    check(graph)
    assert model.score(rows, y) > 0.97
    assert np.mean(graph.predict(rows) != y) == pytest.approx(model.history_[-1]["error"])
    assert any(isinstance(node, Hidden) and len(node.cause.children) == 2 for node in graph.nodes())


@pytest.mark.parametrize("seed", range(6))
def test_the_clauses_are_the_formula(seed: int) -> None:
    rng, tree = np.random.default_rng(seed), ReadOnceTree()
    bits = 1 + seed
    operators: tuple[Operator, ...] = ("and", "or")
    for bit in range(bits):
        move = Move(operators[rng.integers(2)], int(rng.integers(len(tree)))) if bit else FIRST
        tree.join(move, bit)
    clauses = dnf(tree)
    assert not any(set(a) < set(b) for a in clauses for b in clauses)
    for states in itertools.product([False, True], repeat=bits):
        assert any(all(states[bit] for bit in clause) for clause in clauses) == truth(tree, tree.root, states)
    # With bits that are sure, together they decide what the formula does.
    fires = np.array(list(itertools.product([0.0, 1.0], repeat=bits))).T
    fired = tree.probabilities(fires)[tree.root] > 0.5
    rates = clause_rates(tree, fires, np.stack([~fired, fired], axis=1).astype(np.int64))
    assert (rates[-1]["cumulative_true_positive"], rates[-1]["cumulative_error"]) == (1.0, 0.0)


def test_too_many_clauses_are_refused_by_name() -> None:
    tree = ReadOnceTree()
    tree.join(FIRST, 0)
    for pair in range(20):  # (a or b) and (c or d) and ... has 2^20 clauses
        tree.join(Move("and", tree.root), 2 * pair + 1)
        tree.join(Move("or", tree.node_of_bit(2 * pair + 1)), 2 * pair + 2)
    with pytest.raises(BudgetError, match="10000 clauses"):
        dnf(tree)
