"""The parts of a model, and what follows from them alone; `rulekit.graph.rule_graph` is what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from rulekit.errors import GraphError
from rulekit.graph.decisions import Decision
from rulekit.graph.ladder import Ladder
from rulekit.graph.leaves import with_named_tokens
from rulekit.graph.nodes import Node
from rulekit.graph.override_layers import taken_off
from rulekit.graph.overrides import Override, check_overrides
from rulekit.graph.probability.exponentials import as_reported
from rulekit.graph.traversal import topological
from rulekit.schema import Schema

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
