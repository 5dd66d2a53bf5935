"""The read-once tree: probability, derivative and the line of every move, against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cnll_cases import random_tree, truth

from rulekit.learners.cnll.formula_on_cells import FlatTree, cell_lines, growth_moves
from rulekit.learners.models.noisy_formulas import FIRST, Move, ReadOnceTree


def enumerated(tree: ReadOnceTree, p: np.ndarray) -> float:
    """P(true) as the sum over all states of the bits."""
    total = 0.0
    for states in itertools.product([False, True], repeat=len(p)):
        if truth(tree, tree.root, states):
            total += float(np.prod(np.where(states, p, 1 - p)))
    return total


@pytest.mark.parametrize("seed", range(12))
def test_probability_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 1 + seed % 8)
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
    """U + V a equals the probability after the move, for any strength, or once a bit has it."""
    rng = np.random.default_rng(seed)
    bits = 1 + seed % 6
    tree = random_tree(rng, bits)
    strengths, pattern, p = cells_of(rng, bits)
    moves = growth_moves(tree)
    u, v = cell_lines(FlatTree.of(tree), strengths, pattern, moves)
    assert (v >= 0).all()
    for i, move in enumerate(moves):
        for a in (0.0, 0.3, 1.0):
            after = tree.copy()
            after.join(move, bits)
            expected = after.probabilities(np.vstack([p, np.full((1, 4), a)]))[after.root]
            assert u[:, i] + v[:, i] * a == pytest.approx(expected, abs=1e-14)
    places = [Move("bit", tree.node_of_bit(bit)) for bit in range(bits)]
    u, v = cell_lines(FlatTree.of(tree), strengths, pattern, places)
    for bit in range(bits):
        changed = np.where(np.arange(bits)[:, None] == bit, 0.25, p)
        assert u[:, bit] + v[:, bit] * 0.25 == pytest.approx(tree.probabilities(changed)[tree.root], abs=1e-14)


def test_tree_moves_do_not_repeat_those_of_the_parent() -> None:
    tree = ReadOnceTree()
    tree.join(FIRST, 0)
    tree.join(Move("and", tree.root), 1)
    assert growth_moves(tree) == [
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
    u, _ = cell_lines(FlatTree.of(tree), strengths, np.ones((1, 1000), dtype=bool), [Move("or", tree.root)])
    assert u[0] == p[tree.root]
