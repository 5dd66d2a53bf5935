"""Refitting: the reported probability learned anew from rows, while every decision stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rulekit.audit.figures.metrics import Figures, measured
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes, probabilities
from rulekit.graph.files.model_files import load
from rulekit.graph.model_parts import on_the_side_of_the_label
from rulekit.graph.nodes import Family, Hidden, Linear, Logistic, Node, Probability, Rescaled, Sided
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import inner_sum
from rulekit.graph.variants import with_overrides
from rulekit.learners.models.integer_points import Links, calibrated, smoothed_counts
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.labels import LabelledTable, data_hash
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.changes.strengths import bits_of, refitted_bits, replaced
from rulekit.work.evaluating import labelled_rows
from rulekit.work.outputs import check_outputs

_STEPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Refitted:
    """The model with the new probabilities, its figures on the rows before and after, and what was noticed.

    sided: the probability is now held on the side of the label, which it could not contradict before by its making.
    """

    model: RuleGraph
    before: Figures
    after: Figures
    sided: bool
    notes: tuple[str, ...] = ()


def refit(
    model: Path,
    data: Path,
    output: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
    deadline: Deadline = NO_LIMIT,
) -> Refitted:
    """Fit the probability that a model reports to the labelled rows of a file; written where `output` says.

    The decision is the same, bit for bit, and the probability never contradicts it. Statistics are those of these rows.
    Of a score card the scale and the offset are fitted. At the deadline the best probabilities so far are taken, with a
    note. Raises InputError where the model reports no probability of hidden bits and no card.
    """
    check_outputs([], data, model=output)
    graph = load(model)
    found = labelled_rows(graph, data, reading)
    refitted = refitted_to(graph, found.rows, deadline)
    if output is not None:
        refitted.save(output)
    before, after = (measured(one, found.rows) for one in (graph, refitted))
    now, once = (one.underlying.probability[0] for one in (refitted, graph))
    sided = isinstance(now, Sided) and not isinstance(once, Sided)
    late = (f"the probabilities are the best so far: {deadline.reason}",) if deadline.over else ()
    return Refitted(refitted, before, after, sided, (*found.notes, *late))


def refitted_to(graph: RuleGraph, rows: LabelledTable, deadline: Deadline = NO_LIMIT) -> RuleGraph:
    """The model with the probabilities of maximum likelihood on the rows; raises InputError as `refit`.

    Where the rows are reported no better, the old probabilities stay.
    """
    if graph.overrides:
        other = with_overrides(refitted_to(graph.underlying, rows, deadline), graph.overrides)
        return other.with_(statistics=rule_statistics(other, rows.table, rows.y, rows.weight))
    reported = []
    for place, (k, formula) in enumerate(_reported(graph, (Probability, Logistic)).items()):
        if isinstance(formula, Linear):
            reported.append(on_the_side_of_the_label(graph, _calibrated(formula, rows, rows.y == k), place))
            continue
        bits = bits_of(formula)
        fitted = refitted_bits(formula, bits, rows.table, rows.y == k, rows.weight, deadline)
        deciding = {part.name for root in graph.decision.roots for part in bits_of(root)}
        if any(bit.name in deciding for bit in bits):  # bits of one name are one bit, and those that decide stay
            taken = deciding | {bit.name for bit in bits}
            fitted = {bit: _renamed(made, taken) for bit, made in fitted.items() if isinstance(made, Hidden)}
        reported.append(on_the_side_of_the_label(graph, Probability(replaced(formula, fitted)), place))
    other = graph.with_(probability=tuple(reported))
    if measured(other, rows).log_loss >= measured(graph, rows).log_loss and _agrees(graph, rows):
        other = graph
    statistics = rule_statistics(other, rows.table, rows.y, rows.weight)
    note = {"data": data_hash(rows), "rows": len(rows)}
    provenance = {**graph.provenance, "refitted": note}
    return other.with_(statistics=statistics, provenance=provenance)


def _calibrated(total: Linear, rows: LabelledTable, positive: npt.NDArray[np.bool_]) -> Logistic:
    """The logistic of the points, scale and offset fitted to rows [n]; where these contradict it, the offset alone."""
    points = inner_sum(total)
    worth, place = np.unique(evaluate_nodes([points], rows.table)[points], return_inverse=True)
    weight = np.ones(len(place)) if rows.weight is None else rows.weight
    counts = np.stack([np.bincount(place, weight * (positive == label), len(worth)) for label in (False, True)], axis=1)
    begun = Links.single(total.terms[0][0] if points is not total else 1.0, 0.0)
    seen = smoothed_counts(counts.astype(np.float64))[None]
    found = calibrated(seen, worth, begun, _STEPS)
    scale, offset, _ = (found if found.scale[0] > 0 else calibrated(seen, worth, begun, _STEPS, fixed=True)).at(0)
    return Logistic(Linear([(float(f"{scale:.4g}"), points)], float(f"{offset:.4g}")))


def formulas_reported(graph: RuleGraph) -> dict[int, Node]:
    """By class index the random formula of each probability that a model reports; raises InputError without any."""
    return _reported(graph, (Probability,))


def _reported(graph: RuleGraph, kinds: tuple[type, ...]) -> dict[int, Node]:
    """By class index the random formula, or the sum, of each reported probability of some kinds."""
    if not isinstance(graph.decision, Fires) and not graph.decision.rule_sets:
        raise InputError(
            "the probabilities of several classes decide which class it is, so they cannot change alone",
            fix="train anew, with --start to keep the rules",
        )
    found = []
    for node in graph.probability or (None,):
        while isinstance(node, Sided | Rescaled):
            node = node.probability
        inner = node.children[0] if node is not None and isinstance(node, kinds) else None
        beside = isinstance(inner, Linear) and all(inner_sum(inner) is not part.score for part in graph.decision.parts)
        if inner is None or not (beside or inner.family is Family.RANDOM):
            why = "this model reports no probability of its own that could be fitted"
            raise InputError(why, fix="a model of the learners rules and cnll does")
        found.append(inner)
    first = len(graph.classes) - len(found)  # of two classes the positive one is reported
    return dict(enumerate(found, start=first))


def _renamed(bit: Hidden, taken: set[str]) -> Hidden:
    number = 2
    while f"{bit.name}.{number}" in taken:
        number += 1
    return Hidden(f"{bit.name}.{number}", bit.cause, bit.on, bit.off)


def _agrees(graph: RuleGraph, rows: LabelledTable) -> bool:
    """Whether label and probability point the same way on all rows."""
    shares, decided = probabilities(graph, rows.table), decide(graph, rows.table)
    if len(graph.classes) > 2:
        return bool((shares.argmax(axis=1) == decided).all())
    chances: npt.NDArray[np.float64] = shares[:, 1]
    return bool(((chances > float(graph.provenance.get("threshold", 0.5))) == (decided == 1)).all())
