"""What decides the label: the decision root of a rule graph.

`probability` is what is reported and never decides; `decision` alone decides. Every form is evaluated without rounding
differences on all targets: truth values of Boolean nodes, and scores that are computed in double, one operation at a
time, in one fixed order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from rulekit.errors import GraphError
from rulekit.graph.node import BOOLEAN, PROBABILITY, REAL, Child, Children, CountsField, Extendeds, Family
from rulekit.graph.nodes import FALSE, TRUE, Above, And, Node, Not, Or, Probability
from rulekit.graph.probability.deciding import gated_of

# A class index, its score and the threshold of it. A decision's `ranked` are those of its classes in order of
# preference where the largest score decides; it is empty where the class is the number of roots that hold.
Ranked = tuple[int, Node, float]


@dataclass(frozen=True, slots=True)
class Part:
    """One question of a decision: does `node` speak for class `class_index` (of a median: for it or a higher one)?

    threshold: what the score must strictly exceed; None for a plain Boolean formula, which is true or false.
    """

    class_index: int
    score: Node
    threshold: float | None

    @classmethod
    def of(cls, class_index: int, node: Node) -> Part:
        """The question whether a Boolean node holds, by its score where it is one above a threshold.

        What tangents decide (rulekit.graph.probability.deciding) is said by the probability that they stand for.
        """
        gated = gated_of(node)
        if gated is not None:
            return cls(class_index, Probability(gated[0]), gated[1])
        if isinstance(node, Above):
            return cls(class_index, node.score, node.threshold)
        return cls(class_index, node, None)


@dataclass(frozen=True, slots=True)
class Fires:
    """Two classes: positive where the Boolean formula is true."""

    formula: Node = field(metadata={"kind": Child(families=(BOOLEAN,))})

    n_classes = 2
    ordered = False
    has_default = False
    rule_sets = False
    ranked: ClassVar[tuple[Ranked, ...]] = ()

    @property
    def roots(self) -> tuple[Node, ...]:
        return (self.formula,)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part.of(1, self.formula),)

    def with_roots(self, roots: tuple[Node, ...]) -> Fires:
        return Fires(*roots)


@dataclass(frozen=True, slots=True)
class ArgMax:
    """K classes: among the classes whose score is strictly above its threshold, the one with the largest score.

    scores: one node per class (Boolean counts as 0 and 1); thresholds: one per class (minus infinity: always takes
    part). Ties go to the class that stands first in `preference`, a permutation of the class indices. Where no class
    takes part, the graph's default decides.
    """

    scores: tuple[Node, ...] = field(metadata={"kind": Children(families=(BOOLEAN, REAL, PROBABILITY))})
    thresholds: tuple[float, ...] = field(metadata={"kind": Extendeds()})
    preference: tuple[int, ...] = field(metadata={"kind": CountsField()})

    ordered = False

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.thresholds) or sorted(self.preference) != list(range(len(self.scores))):
            raise GraphError("an arg-max needs one score, one threshold and one rank per class")
        if any(math.isnan(t) or t == math.inf for t in self.thresholds):
            raise GraphError("the threshold of an arg-max is a number below infinity")

    @property
    def n_classes(self) -> int:
        return len(self.scores)

    @property
    def has_default(self) -> bool:
        """Whether there may be rows where no class takes part."""
        return max(self.thresholds) > -math.inf

    @property
    def roots(self) -> tuple[Node, ...]:
        return self.scores

    @property
    def parts(self) -> tuple[Part, ...]:
        pairs = zip(self.scores, self.thresholds, strict=True)
        return tuple(Part(k, score, threshold) for k, (score, threshold) in enumerate(pairs))

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        return tuple((k, self.scores[k], self.thresholds[k]) for k in self.preference)

    @classmethod
    def first_of(cls, rules: Mapping[int, Node], n_classes: int) -> ArgMax:
        """The first class with a rule that holds; rules: a Boolean node for each class that has some, in order."""
        every = range(n_classes)
        rest = (k for k in every if k not in rules)
        return cls(tuple(rules.get(k, FALSE) for k in every), (0.5,) * n_classes, (*rules, *rest))

    @property
    def in_order(self) -> dict[int, Node]:
        """The classes with rules, as `first_of` takes them; empty where the decision is of another form."""
        rules = {k: score for k, score, _ in self.ranked if score is not FALSE}
        return rules if self.rule_sets and ArgMax.first_of(rules, self.n_classes) == self else {}

    @property
    def rule_sets(self) -> bool:
        """Whether Boolean rules decide: of the classes with a rule that holds the first in order of preference."""
        pairs = zip(self.scores, self.thresholds, strict=True)
        return all(score.family is Family.BOOLEAN and 0.0 <= threshold < 1.0 for score, threshold in pairs)

    def decided(self, default: int) -> tuple[Node, ...]:
        """Of rule sets, by class the Boolean node that holds where it is decided; default: where no rule holds."""
        found = list(self.scores)
        earlier: Node = FALSE
        for k, rules, _ in self.ranked:
            if rules is not FALSE:
                found[k] = rules if earlier is FALSE else And([rules, Not(earlier)])
                earlier = rules if earlier is FALSE else Or([earlier, rules])
        nothing = TRUE if earlier is FALSE else Not(earlier)
        found[default] = nothing if found[default] is FALSE else Or([found[default], nothing])
        return tuple(found)

    def with_roots(self, roots: tuple[Node, ...]) -> ArgMax:
        return ArgMax(roots, self.thresholds, self.preference)


@dataclass(frozen=True, slots=True)
class Median:
    """K ordered classes: the class whose index is the number of `above` nodes that are true.

    above[j] says whether the label lies above class j (K - 1 Boolean nodes), so the class is the median of the
    cumulative distribution.
    """

    above: tuple[Node, ...] = field(metadata={"kind": Children(families=(BOOLEAN,))})

    ordered = True
    has_default = False
    rule_sets = False
    ranked: ClassVar[tuple[Ranked, ...]] = ()

    @property
    def n_classes(self) -> int:
        return len(self.above) + 1

    @property
    def roots(self) -> tuple[Node, ...]:
        return self.above

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(Part.of(k + 1, node) for k, node in enumerate(self.above))

    def with_roots(self, roots: tuple[Node, ...]) -> Median:
        return Median(roots)


Decision = Fires | ArgMax | Median
DECISIONS: dict[str, type[Decision]] = {cls.__name__: cls for cls in (Fires, ArgMax, Median)}
