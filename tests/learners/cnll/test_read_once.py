"""The read-once tree: probability, derivative and the line of every move, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cnll_cases import random_tree, truth

from rulekit.learners.cnll.formula.read_once import FIRST, Move, ReadOnceTree, cell_lines, growth_moves


def enumerated(tree: ReadOnceTree, p: np.ndarray) -> float:
    """P(true) as the sum over all states of the bits."""
    total = 0.0
    for states in itertools.product([False, True], repeat=len(p)):
        if truth(tree, tree.root, states):
            total += float(np.prod(np.where(states, p, 1 - p)))
    return total


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("algorithm", ["I", "II", "tree"])
def test_probability_is_that_of_enumeration(seed: int, algorithm: str) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 1 + seed % 8, algorithm, dual=bool(seed % 2))
    p = rng.random((1 + seed % 8, 3))
    got = tree.probabilities(p)[tree.root]
    assert got == pytest.approx([enumerated(tree, p[:, c]) for c in range(3)], abs=1e-14)


def cells_of(rng: np.random.Generator, bits: int) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """Strengths, patterns of four cells, and the probabilities [bits, 4] that they give; some are 0 and 1."""
    alpha, beta, pattern = rng.random(bits), rng.random(bits), rng.random((4, bits)) < 0.5
    alpha[bits // 2], beta[-1] = 0.0, 1.0  # products of zero must not be divided out again
    return (alpha, beta), pattern, np.where(pattern.T, alpha[:, None], beta[:, None])


@pytest.mark.parametrize("seed", range(12))
def test_each_move_is_its_line(seed: int) -> None:
    """U + V a equals the probability after the move, for any strength."""
    rng = np.random.default_rng(seed)
    bits = 1 + seed % 6
    tree = random_tree(rng, bits)
    strengths, pattern, p = cells_of(rng, bits)
    moves = growth_moves(tree, "tree")
    u, v, whole = cell_lines(tree, strengths, pattern, moves)
    assert whole == pytest.approx(tree.probabilities(p)[tree.root], abs=0)
    assert (v >= 0).all()
    for i, move in enumerate(moves):
        for a in (0.0, 0.3, 1.0):
            after = tree.copy()
            after.join(move, bits)
            expected = after.probabilities(np.vstack([p, np.full((1, 4), a)]))[after.root]
            assert u[:, i] + v[:, i] * a == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_a_bit_is_its_line(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 5)
    strengths, pattern, p = cells_of(rng, 5)
    u, v, _ = cell_lines(tree, strengths, pattern, [Move("bit", tree.node_of_bit(bit)) for bit in range(5)])
    for bit in range(5):
        changed = p.copy()
        changed[bit] = 0.25
        assert u[:, bit] + v[:, bit] * 0.25 == pytest.approx(tree.probabilities(changed)[tree.root], abs=1e-14)


def test_moves_of_algorithm_two_are_those_of_figure_four() -> None:
    tree = ReadOnceTree()
    tree.join(FIRST, 0)
    tree.join(growth_moves(tree, "II")[-1], 1)  # a new clause
    assert [move.operator for move in growth_moves(tree, "II")] == ["and", "and", "and", "or"]
    tree.join(growth_moves(tree, "II")[0], 2)  # to the first clause
    tree.join(growth_moves(tree, "II")[2], 3)  # to all clauses
    tree.join(growth_moves(tree, "II")[-1], 4)
    tree.join(growth_moves(tree, "II")[1], 5)  # the second clause keeps its place inside

    def text(node: int) -> str:
        if tree.bit[node] >= 0:
            return f"H{tree.bit[node]}"
        return "(" + f" {tree.operator[node]} ".join(text(child) for child in tree.children[node]) + ")"

    assert text(tree.root) == "((((H0 and H2) or (H1 and H5)) and H3) or H4)"
    assert [text(clause) for clause in tree.clauses] == ["(H0 and H2)", "(H1 and H5)", "H4"]


def test_tree_moves_do_not_repeat_those_of_the_parent() -> None:
    tree = ReadOnceTree()
    tree.join(FIRST, 0)
    tree.join(Move("and", tree.root), 1)
    assert growth_moves(tree, "tree") == [
        Move("and", tree.root),
        Move("or", tree.root),
        Move("or", tree.node_of_bit(0)),
        Move("or", tree.node_of_bit(1)),
    ]


def test_a_thousand_bits_do_not_recurse() -> None:
    tree = ReadOnceTree()
    tree.join(FIRST, 0)
    for bit in range(1, 1000):
        tree.join(Move("and" if bit % 2 else "or", tree.root), bit)
    p = tree.probabilities(np.full((1000, 1), 0.5))
    assert 0.0 < p[tree.root][0] < 1.0
    strengths = np.full(1000, 0.5), np.full(1000, 0.5)
    assert cell_lines(tree, strengths, np.ones((1, 1000), dtype=bool), [FIRST])[2] == p[tree.root]
