"""Made-up data whose true rule is known: the exclusive or and the noisy-logical data of Yuille & Zheng, the function of
five bits of Sahami, blocks of bits that are counted, structures of objects, and loans.

Every function is deterministic for a seed and returns plain arrays or columns.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.evaluation.structures import random_structures, unpacked
from rulekit.graph.language.sentences import sentence


def exclusive_or(seed: int = 0) -> tuple[Floats, Ints]:
    """3,000 points [n, 2] on [0, 2] x [0, 2] and their labels [n] (paper, section 4.1).

    1,000 in the lower left square and 500 in the upper right one are positive; 400 in the lower right and 1,100 in the
    upper left one are negative.
    """
    rng = np.random.default_rng(seed)
    squares = ((1000, 0, 0, 1), (500, 1, 1, 1), (400, 1, 0, 0), (1100, 0, 1, 0))
    points = np.concatenate([rng.random((n, 2)) + np.array([left, bottom]) for n, left, bottom, _ in squares])
    return points, np.repeat([label for *_, label in squares], [n for n, *_ in squares])


def noisy_logical(case: Literal["I", "II"] = "I", n_per_class: int = 1000, seed: int = 0) -> tuple[Floats, Ints]:
    """Rows [2 n, 50] of 0 and 1 and labels [2 n] of the rule (H1 and H2) or (H3 and H4) (paper, section 4.1).

    In case I each of the first four features equals its hidden bit with probability 0.95, in case II always; the other
    46 are coin tosses.
    """
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], n_per_class)
    n = len(labels)
    # Of the positive rows 30 % have the first clause alone, 30 % the second alone, 40 % both.
    which = rng.choice(3, n, p=[0.3, 0.3, 0.4])
    clauses = np.stack([(labels == 1) & (which != 1), (labels == 1) & (which != 0)], axis=1)
    pair = rng.choice(3, (n, 2), p=[0.4, 0.4, 0.2])
    hidden = np.stack([clauses | (pair == 0), clauses | (pair == 1)], axis=2).reshape(n, 4)
    flips = rng.random((n, 4)) < (0.05 if case == "I" else 0.0)
    noise = rng.random((n, 46)) < 0.5
    return np.concatenate([hidden ^ flips, noise], axis=1).astype(np.float64), labels


def five_bits(n: int = 1000, n_bits: int = 20, seed: int = 0, noise: float = 0.0) -> tuple[Floats, Ints]:
    """Rows [n, n_bits] of coin tosses, labels [n]: 1 where at most one or at least four of the first five bits are 1.

    The function of M. Sahami, Learning Non-Linearly Separable Boolean Functions, "Experimental Results": no single
    threshold unit is it, and two are. noise: the probability that a label is turned round. At least five bits.
    """
    rng = np.random.default_rng(seed)
    rows = (rng.random((n, n_bits)) < 0.5).astype(np.float64)
    counts = rows[:, :5].sum(axis=1)
    positive = (counts <= 1) | (counts >= 4)
    return rows, (positive ^ (rng.random(n) < noise)).astype(np.int64)


def threshold_blocks(
    n: int = 1000,
    n_bits: int = 20,
    seed: int = 0,
    *,
    blocks: int = 2,
    least: int = 4,
    of: int = 5,
    together: Literal["or", "xor"] = "or",
    noise: float = 0.0,
) -> tuple[Floats, Ints]:
    """Rows [n, n_bits] of coin tosses, labels [n]: the or, or the exclusive or, of blocks of bits, one after another.

    A block is true where at least `least` of its `of` bits are 1: one threshold unit each. Blocks of one bit make, by
    exclusive or, a parity. noise: the probability that a label is turned round. At least blocks * of bits.
    """
    rng = np.random.default_rng(seed)
    rows = (rng.random((n, n_bits)) < 0.5).astype(np.float64)
    true = rows[:, : blocks * of].reshape(n, blocks, of).sum(axis=2) >= least
    positive = true.any(axis=1) if together == "or" else true.sum(axis=1) % 2 == 1
    return rows, (positive ^ (rng.random(n) < noise)).astype(np.int64)


SENTENCES = MappingProxyType({"exists x: P0(x) and R0(x, a)": 1.5, "P1(a) and P1(b)": -1.4})


def structures(
    n: int = 3000,
    seed: int = 0,
    *,
    sentences: Mapping[str, float] = SENTENCES,
    bias: float = -0.5,
    arities: Mapping[str, int] = MappingProxyType({"P0": 1, "P1": 1, "R0": 2}),
    objects: tuple[str, ...] = ("a", "b", "c"),
    p: float = 0.5,
) -> tuple[dict[str, Bools], Ints]:
    """Random structures as columns [n] of atoms, `P0(a)` and `R0(a, b)`, and labels [n] of a logistic model.

    sentences: to the weight of each; arities: the number of places of each predicate; p: the probability of an atom.
    Raises FormatError for a text that is no sentence.
    """
    drawn = random_structures(arities, objects, n, p=p, seed=seed)
    scores = np.full(n, bias)
    for text, weight in sentences.items():
        scores += weight * unpacked(drawn.holds(sentence(text)), n)
    labels = np.random.default_rng([seed, 1]).random(n) < 1.0 / (1.0 + np.exp(-scores))
    return drawn.columns(), labels.astype(np.int64)


def loans(n: int = 1000, seed: int = 0) -> dict[str, list[Any]]:
    """A table of n loans as columns of plain values (None is missing), with the label `default`.

    A loan defaults if (income < 25000 and amount > 8000), or (late payments >= 3 and not homeowner), or purpose is
    "gambling"; 5 % of the labels are flipped. About 4 % of incomes and 6 % of employments are missing.
    """
    rng = np.random.default_rng(seed)
    income = np.round(np.exp(rng.normal(10.4, 0.55, n)), -2)
    amount = np.round(np.exp(rng.normal(8.9, 0.7, n)), -2)
    late = rng.poisson(1.2, n)
    age = rng.integers(19, 76, n)
    owner = rng.random(n) < 0.45
    purposes = np.array(["car", "home", "education", "furniture", "gambling"])
    purpose = purposes[rng.choice(5, n, p=[0.35, 0.25, 0.18, 0.17, 0.05])]
    employments = np.array(["employed", "self-employed", "unemployed", "retired"])
    employment = employments[rng.choice(4, n, p=[0.62, 0.18, 0.08, 0.12])]
    bad = ((income < 25000) & (amount > 8000)) | ((late >= 3) & ~owner) | (purpose == "gambling")
    bad ^= rng.random(n) < 0.05
    no_income, no_employment = rng.random(n) < 0.04, rng.random(n) < 0.06
    return {
        "income": [None if gone else float(v) for v, gone in zip(income, no_income, strict=True)],
        "amount": amount.tolist(),
        "late_payments": late.tolist(),
        "age": age.tolist(),
        "homeowner": owner.tolist(),
        "purpose": purpose.tolist(),
        "employment": [None if gone else str(v) for v, gone in zip(employment, no_employment, strict=True)],
        "default": ["yes" if b else "no" for b in bad],
    }


def write_csv(columns: dict[str, list[Any]], path: str | os.PathLike[str]) -> None:
    """Columns as a CSV file: missing is the empty cell, Booleans are true and false, whole numbers lose `.0`."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
