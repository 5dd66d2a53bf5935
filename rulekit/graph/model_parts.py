"""The parts of a model, and what follows from them alone; `rulekit.graph.rule_graph` is what can be done with them.

A ladder holds the models of other sizes that one training gave, with the held-out error of each. It stands beside the
digest of a model, so that another size needs no data and no training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Floats
from rulekit.errors import GraphError, InputError
from rulekit.graph.decisions import ArgMax, Decision
from rulekit.graph.leaves import with_named_tokens
from rulekit.graph.nodes import Node, Sided, topological, with_children
from rulekit.graph.overrides import Override, check_overrides, taken_off
from rulekit.graph.probability.exponentials import as_reported
from rulekit.schema import Schema
from rulekit.views import notebook


@dataclass(frozen=True, slots=True, eq=False)
class Rung:
    """One size: at most so many rules (or units) of each class.

    error, standard_error: the cross-validated error rate of the whole model and its standard error over the folds;
    macro_f1: the mean of the F1 scores of all classes on the same rows; None where they are not known. rules, literals:
    of the model; most: the rules of the class that has most; overrides are not counted. model: the RuleGraph of this
    size, without a ladder.
    """

    size: int
    error: float | None
    standard_error: float | None
    macro_f1: float | None
    rules: int
    literals: int
    most: int
    model: Any


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ladder:
    """The rows from the smallest size; each is a model of its own.

    chosen: the size of the row that the model is; smallest: of the smallest row that is not worse than the best one by
    more than a standard error of the difference (None: not known); why: what decided the size, in words.
    Raises GraphError where the rows do not fit.
    """

    rungs: tuple[Rung, ...]
    chosen: int
    smallest: int | None = None
    why: str = ""

    def __post_init__(self) -> None:
        sizes = self.sizes
        if list(sizes) != sorted(set(sizes)):
            raise GraphError(f"the sizes of a ladder ascend, not {list(sizes)}")
        for size in (self.chosen, self.smallest):
            if size is not None and size not in sizes:
                raise GraphError(f"the ladder has no row of size {size}")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{rung.size}*" if rung.size == self.chosen else str(rung.size) for rung in self.rungs)
        return f"<Ladder of sizes {sizes}{f'; {self.why}' if self.why else ''}>"

    def _repr_html_(self) -> str:
        return notebook().html_of(self)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each row."""
        return tuple(rung.size for rung in self.rungs)

    @property
    def others(self) -> tuple[Any, ...]:
        """The models of the rows that are not the model's own."""
        return tuple(rung.model for rung in self.rungs if rung.size != self.chosen)

    def at(self, size: int) -> Rung:
        """The row of a size; raises InputError where there is none."""
        for rung in self.rungs:
            if rung.size == size:
                return rung
        raise InputError(f"the ladder has no row of size {size}", fix=f"it has {', '.join(map(str, self.sizes))}")

    def within(self, rules: int) -> Rung:
        """The largest row in which no class has more rules; raises InputError where there is none."""
        fitting = [rung for rung in self.rungs if rung.most <= rules]
        if not fitting:
            least = min(rung.most for rung in self.rungs)
            raise InputError(f"no row has at most {rules} rules for each class", fix=f"the least is {least}")
        return fitting[-1]


ClassLabel = str | int | bool | float
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Required:
    """A promise of a model: every row on which the Boolean condition holds is decided as the class."""

    class_index: int
    condition: Node


@dataclass(frozen=True, eq=False, repr=False)
class ModelParts:
    """The parts of a model: what it reads, what it decides, what it reports.

    Raises GraphError where the parts do not fit. `rulekit.graph.rule_graph.RuleGraph` says what each part is.
    """

    schema: Schema
    classes: tuple[ClassLabel, ...]
    decision: Decision
    probability: tuple[Node, ...] = ()
    default: int = 0
    provenance: Mapping[str, Any] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[Required, ...] = ()
    overrides: tuple[Override, ...] = ()
    ladder: Ladder | None = None

    def __post_init__(self) -> None:
        k = len(self.classes)
        if k < 2 or len(set(map(repr, self.classes))) != k:
            raise GraphError(f"a model has two or more different classes, not {list(self.classes)!r}")
        if not 0 <= self.default < k:
            raise GraphError(f"the default class {self.default} is not one of {k}")
        if self.decision.n_classes != k:
            raise GraphError(f"the decision is over {self.decision.n_classes} classes, the model has {k}")
        if len(self.probability) not in {0, k} - {2} | ({0, 1} if k == 2 else set()):
            raise GraphError(f"{len(self.probability)} probabilities for {k} classes")
        for promise in self.required:
            if not 0 <= promise.class_index < k:
                raise GraphError(f"class {promise.class_index}, which is required somewhere, is not one of {k}")
        if self.overrides:
            check_overrides(self.overrides, k)
            taken_off(self.decision, self.probability, self.overrides)
        if any(feature.kind == "text" for feature in self.schema):
            object.__setattr__(self, "schema", with_named_tokens(self.schema, self.written))

    @property
    def roots(self) -> tuple[Node, ...]:
        """Every root node: those of the decision, then those of the probability."""
        return (*self.decision.roots, *self.probability)

    @cached_property
    def reported(self) -> tuple[Node, ...]:
        """The nodes of `probability` as they are computed: products of exponentials where they are such."""
        return tuple(map(as_reported, self.probability))

    @property
    def written(self) -> tuple[Node, ...]:
        """Every node that the model is written with: the roots, then the conditions of promises and overrides."""
        required = (promise.condition for promise in self.required)
        return (*self.roots, *required, *(override.condition for override in self.overrides))

    @cached_property
    def underlying(self) -> Self:
        """The model without its overrides and without a ladder, as it decides where no override holds."""
        if not self.overrides:
            return self if self.ladder is None else replace(self, ladder=None)
        decision, probability = taken_off(self.decision, self.probability, self.overrides)
        return replace(self, decision=decision, probability=probability, overrides=(), ladder=None)

    def nodes(self) -> list[Node]:
        """All nodes, children before parents."""
        return topological(self.roots)

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """The columns that some node reads, in schema order."""
        used = {getattr(node, "feature", None) for node in self.nodes()}
        return tuple(name for name in self.schema.names if name in used)

    def once(self, question: Callable[[Self], T]) -> T:
        """What a function says of this model, which is asked once."""
        answers: dict[Any, Any] = self._answers
        if question not in answers:
            answers[question] = question(self)
        answer: T = answers[question]
        return answer

    @cached_property
    def _answers(self) -> dict[Any, Any]:
        return {}


def class_array(classes: tuple[ClassLabel, ...]) -> npt.NDArray[Any]:
    """The classes as an array of their natural type (object where the types differ)."""
    if len({type(label) for label in classes}) > 1:
        mixed = np.empty(len(classes), dtype=object)
        mixed[:] = classes
        return mixed
    return np.asarray(classes)


M = TypeVar("M", bound=ModelParts)
_BESIDE = 0.002
"""How far from the threshold a probability is held on the side of the label, as a share of the threshold."""


def on_the_side_of_the_decision(graph: ModelParts) -> list[bool]:
    """By reported probability whether its rule is that by which its class is decided."""
    if not isinstance(graph.decision, ArgMax) or not graph.decision.rule_sets:
        return [False] * len(graph.probability)
    pairs = zip(graph.probability, graph.decision.decided(graph.default), strict=bool(graph.probability))
    return [isinstance(node, Sided) and node.rule is rule for node, rule in pairs]


def with_sides(graph: M, chosen: Sequence[bool], rules: Sequence[Node]) -> M:
    """The graph with the chosen ones of its probabilities on the side of other rules, which are listed by class."""
    if not any(chosen):
        return graph
    triples = zip(graph.probability, chosen, rules, strict=True)
    sided = [with_children(node, (node.children[0], rule)) if own else node for node, own, rule in triples]
    return replace(graph, probability=tuple(sided), ladder=None)


def on_the_side_of_the_label(graph: ModelParts, probability: Node, place: int = 0) -> Node:
    """The probability that takes the place of a reported one, held on the side of the label that the model decides."""
    old, decision = graph.probability[place], graph.decision
    rule = decision.decided(graph.default)[place] if isinstance(decision, ArgMax) else decision.roots[0]
    if isinstance(old, Sided) and old.rule is rule:
        return Sided(probability, rule, old.above, old.below)
    threshold = float(graph.provenance.get("threshold", 0.5))
    beside = _BESIDE * min(threshold, 1.0 - threshold)
    return Sided(probability, rule, float(f"{threshold + beside:.4g}"), float(f"{threshold - beside:.4g}"))


RARE = 0.1
"""The share of the rows below which a class is rare: always another one is right on nearly all, and finds none."""


def macro_f1(right: Floats, decided: Floats, true: Floats) -> Floats:
    """The mean [...] of the F1 scores of K classes, by weights [..., K]: decided rightly, decided so, and of the class.

    A class that neither occurs nor is decided has the score 0.
    """
    return np.asarray((2.0 * right / np.maximum(decided + true, 1e-300)).mean(axis=-1))
