"""From the scores of all questions to a rule graph: its decision, reported probabilities, and provenance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.errors import LearnerError
from rulekit.graph import nodes as rg
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Decision, Fires, Median
from rulekit.graph.nodes import FALSE, TRUE, Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import disjuncts
from rulekit.learners.contract import Frame, Model, Score
from rulekit.learners.data.binning import Codes
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.models.plain import truths_on_cells
from rulekit.learners.parameters import ReadingSettings
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.numbers import log_odds, short_probability, strength_of
from rulekit.schema import Schema
from rulekit.tables.equal_rows import data_hash
from rulekit.version import __version__

_FLOOR = 0.51
_BESIDE = 0.002
_MOST_LITERALS = 400
_CERTAIN = rg.Probability(TRUE)
_GRID, _LEAST_SHARE = 2.0**-10, 1e-6


@dataclass(frozen=True, slots=True)
class Prior:
    """The model without any unit: the share of the positive rows."""

    share: float

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        return np.full(n_rows, self.share > 0.5)

    def score(self, frame: Frame, prefix: str) -> Score:
        yes = self.share > 0.5
        share = short_probability(self.share)
        node = rg.Hidden(f"{prefix}1", TRUE, strength_of(share), 0.0)
        return Score(node, TRUE if yes else FALSE, silent=not yes, precedence=-1.0)


def prefixes(n: int) -> list[str]:
    """How the names of the hidden bits of each of n scores begin."""
    return ["H"] if n == 1 else [f"H{k + 1}." for k in range(n)]


def graph_of(frame: Frame, models: Sequence[Model], provenance: dict[str, Any]) -> RuleGraph:
    """The model that joins the models of all questions, with what it promises."""
    graph = _joined(frame, models, provenance).with_(required=frame.required)
    if not all(type(model).__module__.startswith("rulekit.") for model in models):
        check(graph)
    return graph


def _scored(model: Model, frame: Frame, prefix: str) -> Score:
    score = model.score(frame, prefix)
    if isinstance(score, Score):
        given = (score.node, score.rule or score.node, score.probability or score.node)
        if all(isinstance(node, Node) for node in given) and math.isfinite(score.precedence):
            return score
    raise LearnerError(f"{type(model).__name__}.score returned {type(score).__name__}, and no Score of nodes")


def _joined(frame: Frame, models: Sequence[Model], provenance: dict[str, Any]) -> RuleGraph:
    scores = [_scored(model, frame, prefix) for model, prefix in zip(models, prefixes(len(models)), strict=True)]
    reported = [_reported(score, odds) for score, odds in zip(scores, frame.odds, strict=True)]
    decision, default = decision_of(frame, models, scores), 0
    if frame.kind == "two":
        if frame.odds[0] != 1.0:  # where 1/2 of the weighted rows is of the rows as they are
            provenance = {**provenance, "threshold": frame.odds[0] / (1.0 + frame.odds[0])}
    elif frame.kind == "ranked":
        reported = _reported_ranks(frame, scores, reported)
    else:
        default = default_of(frame)
        if isinstance(decision, ArgMax) and decision.rule_sets:
            reported = _reported_of_sets(frame, scores, decision.decided(default))
        elif not _are_sums(scores) and not all(score.largest for score in scores):
            reported = _reported_of_several(frame, scores, reported)
    return RuleGraph(frame.schema, frame.classes, decision, tuple(reported), default, provenance)


def decision_of(frame: Frame, models: Sequence[Model], scores: Sequence[Score]) -> Decision:
    """What decides the class. Of several classes with rules: the first with a rule that holds, of none the default.
    With formulas: of those whose question is answered by yes the one with the largest score, of none the default; or
    the largest where they are to be compared so. With sums: the class with the largest sum; where a default was asked
    for, it decides where no sum is above 0. Of ranked classes: the median (question j asks whether the label lies above
    class j).
    """
    if frame.kind == "two":
        return Fires(deciding_node(scores[0]))
    if frame.kind == "ranked":
        return Median(tuple(map(deciding_node, scores)))
    if _are_sums(scores):
        least = -math.inf if frame.default is None else 0.0
        sums = (_as_sum(model, score) for model, score in zip(models, scores, strict=True))
        return ArgMax(tuple(map(_compared, sums)), (least,) * len(scores), frame.preference)
    if all(score.largest for score in scores):
        at_least = -math.inf if frame.default is None else 0.5
        return ArgMax(tuple(map(_compared, scores)), (at_least,) * len(scores), frame.preference)
    if all(score.rule is not None for score in scores):
        return _first_of(frame, scores)
    deciding = tuple(FALSE if score.silent else _compared(score) for score in scores)
    return ArgMax(deciding, (0.5,) * len(scores), frame.preference)


def _first_of(frame: Frame, scores: Sequence[Score]) -> ArgMax:
    """The first class by precedence with a rule that holds.

    A rule of the default that holds on no row with a rule of a class after it would change nothing, and is left out.
    """
    order = sorted(frame.preference, key=lambda k: -scores[k].precedence)
    rules = {k: deciding_node(scores[k]) for k in order if scores[k].rule is not FALSE}
    default, speaking = default_of(frame), list(rules)
    if default in rules and not scores[default].stays:
        later = speaking[speaking.index(default) + 1 :]
        if not later:
            del rules[default]
        elif not frame.unreported:  # where only decisions count, it may stand
            after = [rule for k in later for rule in disjuncts(rules[k])]
            own = [rule for rule in disjuncts(rules[default]) if any(_meet(rule, q, frame.schema) for q in after)]
            rules[default] = own[0] if len(own) == 1 else rg.Or(own)
            if not own:
                del rules[default]
    return ArgMax.first_of(rules, len(scores))


def _meet(one: Node, other: Node, schema: Schema) -> bool:
    truths = truths_on_cells(one, other, schema)
    return truths is None or bool((truths[0] & truths[1]).any())


def _are_sums(scores: Sequence[Score]) -> bool:
    return any(score.node.family is Family.REAL for score in scores)


def deciding_node(score: Score) -> Node:
    """The Boolean node that holds where a question is answered by yes."""
    if score.rule is not None:
        return score.rule
    if score.node.family is Family.RANDOM:
        return rg.Above(rg.Probability(score.node), 0.5)
    return score.node if score.node.family is Family.BOOLEAN else rg.Above(score.node, 0.0)


def _reported(score: Score, odds: float) -> Node:
    """The probability of yes among the rows as they are, whatever their classes weighed."""
    node = rg.Probability(score.node) if score.probability is None else score.probability
    if odds != 1.0 and (score.probability is not None or score.node.family is not Family.BOOLEAN):
        node = rg.Rescaled(node, odds)
    if not score.sided:
        return node
    # where one half of the weighted rows is of the rows as they are
    half = odds / (1.0 + odds)
    beside = min(half, 1.0 - half) * _BESIDE
    return rg.Sided(node, deciding_node(score), *(float(f"{p:.4g}") for p in (half + beside, half - beside)))


def _reported_of_sets(frame: Frame, scores: Sequence[Score], decided: Sequence[Node]) -> list[Node]:
    """The probability of each class on the side of what is decided; of plain rules alone it is that."""
    plain = (score.node.family is Family.BOOLEAN and score.probability is None for score in scores)
    return [
        rg.Probability(rule) if alone else _reported(replace(score, rule=rule, sided=True), odds)
        for alone, score, rule, odds in zip(plain, scores, decided, frame.odds, strict=True)
    ]


def _reported_of_several(frame: Frame, scores: Sequence[Score], reported: Sequence[Node]) -> list[Node]:
    """The reported probability of the default class gets a floor of just above 1/2 where no class is above it.

    So the class that is decided is also the most probable one that is reported, where all classes weighed the same.
    """
    default = default_of(frame)
    floor = _reported(Score(_with_floor(frame, scores, default)), frame.odds[default])
    return [floor if k == default else node for k, node in enumerate(reported)]


def _as_sum(model: Model, score: Score) -> Score:
    """The log of the odds of a share, rounded to a grid, where it stands beside sums."""
    if not isinstance(model, Prior):
        return score
    share = min(max(model.share, _LEAST_SHARE), 1.0 - _LEAST_SHARE)
    return replace(score, node=rg.Linear((), round(log_odds(share) / _GRID) * _GRID), rule=None)


def default_of(frame: Frame) -> int:
    """The class that is decided where nothing speaks: the one that was asked for, or the most frequent."""
    return frame.preference[0] if frame.default is None else frame.default


def _compared(score: Score) -> Node:
    return rg.Probability(score.node) if score.node.family is Family.RANDOM else score.node


def _with_floor(frame: Frame, scores: Sequence[Score], default: int) -> Node:
    """The default's formula, or else a bit that fires where no class is decided.

    Where some class's rule is too long to be written as a Boolean one, the bit stands under the formulas themselves.
    """
    rules = [
        threshold_rule(score.node, 0.5, _MOST_LITERALS, schema=frame.schema) if score.rule is None else score.rule
        for score in scores
    ]
    formulas = [score.node for score in scores]
    found = [rule for rule in rules if rule is not None]
    if len(found) == len(rules):
        return rg.Or([formulas[default], rg.Hidden("otherwise", rg.Not(rg.Or(found)), strength_of(_FLOOR))])
    others = [rg.Not(formula) for k, formula in enumerate(formulas) if k != default]
    return rg.Or([formulas[default], rg.And(others)])


def _reported_ranks(frame: Frame, scores: Sequence[Score], above: Sequence[Node]) -> list[Node]:
    """Ranked classes: the reported probability of one is that its lower cut holds and its upper one does not.

    Over their sum: of formulas by their bits, else the difference of the two (E. Frank and M. Hall, A Simple Approach
    to Ordinal Classification, 2001, have both). above: the probability that is reported of each cut.
    """
    formulas = [score.node for score in scores]
    own = any(score.probability is not None for score in scores)
    if own or _are_sums(scores) or set(frame.odds) != {1.0}:
        return [*(rg.Difference(low, high) for low, high in itertools.pairwise((_CERTAIN, *above))), above[-1]]
    inner = [rg.And([low, rg.Not(high)]) for low, high in itertools.pairwise(formulas)]
    return [rg.Probability(node) for node in (rg.Not(formulas[0]), *inner, formulas[-1])]


def preference_of(weights: Floats) -> tuple[int, ...]:
    """Classes by falling training weight, then in their order."""
    return tuple(int(k) for k in np.lexsort((np.arange(len(weights)), -weights)))


_NOT_THE_MODEL = ("callback", "n_threads", "memory", "verbose")
_SAID_WHERE_GIVEN = (*(item.name for item in fields(ReadingSettings)), "cost")


def provenance_of(
    learner: str, parameters: Mapping[str, Any], data: TrainingData, target: str, stopped: str
) -> dict[str, Any]:
    """The provenance of a fitted model as JSON values; parameters: as they were used, nothing is "auto"."""
    said = [
        name
        for name in sorted(parameters)
        if name not in _NOT_THE_MODEL and (name not in _SAID_WHERE_GIVEN or parameters[name] is not None)
    ]
    sums = data.row_sums()
    return {
        "learner": learner,
        "parameters": {name: _json(parameters[name]) for name in said},
        "units": [],
        "rows": sums.rows,
        "data": data_hash(data.labelled(target), sums),
        "row_hashes": sums.sample.as_json(),
        "versions": {"rulekit": __version__, "numpy": np.__version__},
        **({"stopped": stopped} if stopped else {}),
    }


def _json(value: Any) -> Any:
    if isinstance(value, RuleGraph):
        return value.digest
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float | list | tuple) for item in value):
        return [_json(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    return repr(type(value).__name__)
