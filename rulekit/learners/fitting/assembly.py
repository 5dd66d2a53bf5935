"""From the scores of all questions to a rule graph, with reported probabilities."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import FALSE, TRUE, Above, And, Family, Hidden, Node, Not, Or, Probability
from rulekit.graph.probability.prime_implicants import threshold_rule
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.binned.codes import Codes
from rulekit.learners.contract import Frame, Model, Score
from rulekit.learners.counting.histograms import Bools
from rulekit.numbers import strength_of

_FLOOR = 0.51
_MOST_LITERALS = 400


@dataclass(frozen=True, slots=True)
class Prior:
    """The model without any unit: the share of the positive rows."""

    share: float

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        return np.full(n_rows, self.share > 0.5)

    def score(self, frame: Frame, prefix: str) -> Score:
        yes = self.share > 0.5
        return Score(Hidden(f"{prefix}1", TRUE, strength_of(self.share), 0.0), TRUE if yes else FALSE, silent=not yes)


def prefixes(n: int) -> list[str]:
    """How the names of the hidden bits of each of n scores begin."""
    return ["H"] if n == 1 else [f"H{k + 1}." for k in range(n)]


def graph_of(frame: Frame, models: Sequence[Model], provenance: dict[str, Any]) -> RuleGraph:
    """The model that joins the models of all questions."""
    scores = [model.score(frame, prefix) for model, prefix in zip(models, prefixes(len(models)), strict=True)]
    if frame.kind == "two":
        decision, report = Fires(_decides(scores[0])), (_reported(scores[0]),)
        return RuleGraph(frame.schema, frame.classes, decision, report, 0, provenance)
    if frame.kind == "ranked":
        return _ranked_graph(frame, scores, provenance)
    return _graph_of_several(frame, scores, provenance)


def _decides(score: Score) -> Node:
    """The Boolean node that holds where a question is answered by yes."""
    if score.rule is not None:
        return score.rule
    if score.node.family is Family.RANDOM:
        return Above(Probability(score.node), 0.5)
    return score.node if score.node.family is Family.BOOLEAN else Above(score.node, 0.0)


def _reported(score: Score) -> Node:
    """The probability of yes."""
    return Probability(score.node) if score.probability is None else score.probability


def _graph_of_several(frame: Frame, scores: Sequence[Score], provenance: dict[str, Any]) -> RuleGraph:
    """Of the classes whose question is answered by yes the one with the largest score; of none the default.

    Where the scores are no sums, the reported probability of the default class gets a floor of just above 1/2 where no
    class is above it, so that the class that is decided is also the most probable one that is reported.
    """
    sums = any(score.node.family is Family.REAL for score in scores)
    deciding = tuple(FALSE if score.silent else _compared(score) for score in scores)
    decision = ArgMax(deciding, (0.0 if sums else 0.5,) * len(scores), frame.preference)
    reported = list(map(_reported, scores))
    if not sums:
        reported[frame.default] = Probability(_with_floor(frame, scores))
    return RuleGraph(frame.schema, frame.classes, decision, tuple(reported), frame.default, provenance)


def _compared(score: Score) -> Node:
    """What the classes are compared by."""
    return Probability(score.node) if score.node.family is Family.RANDOM else score.node


def _with_floor(frame: Frame, scores: Sequence[Score]) -> Node:
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
        return Or([formulas[frame.default], Hidden("otherwise", Not(Or(found)), strength_of(_FLOOR))])
    others = [Not(formula) for k, formula in enumerate(formulas) if k != frame.default]
    return Or([formulas[frame.default], And(others)])


def _ranked_graph(frame: Frame, scores: Sequence[Score], provenance: dict[str, Any]) -> RuleGraph:
    """Ranked classes: question j asks whether the label lies above class j, and the median of the ranks is decided.

    The reported probability of a class is that its lower cut holds and its upper one does not, over their sum. Sums
    have none: no node is the difference of two of their probabilities.
    """
    formulas = [score.node for score in scores]
    reported: tuple[Node, ...] = ()
    if not any(formula.family is Family.REAL for formula in formulas):
        inner = [And([low, Not(high)]) for low, high in itertools.pairwise(formulas)]
        reported = tuple(Probability(node) for node in (Not(formulas[0]), *inner, formulas[-1]))
    decision = Median(tuple(map(_decides, scores)))
    return RuleGraph(frame.schema, frame.classes, decision, reported, 0, provenance)


def preference_of(weights: npt.NDArray[np.float64]) -> tuple[int, ...]:
    """Classes by falling training weight, then in their order."""
    return tuple(int(k) for k in np.lexsort((np.arange(len(weights)), -weights)))
