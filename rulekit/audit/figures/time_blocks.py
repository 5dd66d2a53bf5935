"""The error of a model by blocks of time: rows in their order, cut into blocks of about as many rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rulekit.audit.figures.metrics import class_indices
from rulekit.dates import moment_text
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language.readable import amount
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.labels import LabelledTable

BLOCKS = 5


@dataclass(frozen=True, slots=True)
class TimeBlock:
    """The rows from one moment to another, as texts; error: the share of their weight, with its standard error."""

    first: str
    last: str
    rows: int
    error: float
    standard_error: float


def time_blocks(graph: RuleGraph, rows: LabelledTable, blocks: int = BLOCKS) -> tuple[TimeBlock, ...]:
    """The blocks of labelled rows that have a time, the earliest first; rows of one moment share a block."""
    assert rows.time is not None
    wrong = decide(graph, rows.table) != class_indices(graph, rows)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    moments, moment = np.unique(rows.time, return_inverse=True)
    counts = np.bincount(moment)
    place = (np.cumsum(counts) - counts / 2.0) / len(rows) * blocks
    block = np.minimum(place.astype(np.int64), blocks - 1)
    found = []
    for k in np.unique(block):
        own, times = block[moment] == k, moments[block == k]
        mass = float(weight[own].sum())
        error = float(weight[own & wrong].sum()) / mass if mass else 0.0
        effective = mass**2 / float((weight[own] ** 2).sum()) if mass else 1.0
        deviation = math.sqrt(error * (1.0 - error) / effective)
        first, last = (_text(float(t), rows.time_shown) for t in (times[0], times[-1]))
        found.append(TimeBlock(first, last, int(own.sum()), error, deviation))
    return tuple(found)


def _text(time: float, display: str) -> str:
    if display in ("date", "datetime"):
        return moment_text(time, display) or moment_text(float(round(time)), display)
    return amount(time, None)
