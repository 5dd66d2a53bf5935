"""Class labels as an output: integers where the classes are integers or Boolean, else text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from rulekit.arrays import Array
from rulekit.errors import Unsupported
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import rules_of
from rulekit_exporters.onnx.options import FIRED, LABEL, PROBABILITIES

if TYPE_CHECKING:
    from rulekit_exporters.onnx.builder import Port


def integer_labels(classes: tuple[ClassLabel, ...]) -> list[int] | None:
    """The class values as integers if they are the integers 0..K-1 or Booleans; None where labels are text."""
    if all(isinstance(label, bool) for label in classes):
        return [int(label) for label in classes]
    if all(isinstance(label, int) and not isinstance(label, bool) for label in classes):
        values = [int(label) for label in classes]
        return values if sorted(values) == list(range(len(classes))) else None
    return None


def is_largest(labels: Array, chances: Array) -> bool:
    """Whether in every row of `chances` [n, K] that of its label [n] is above all others."""
    best = np.take_along_axis(chances, labels[:, None], axis=1)
    return bool(np.all((chances < best).sum(axis=1) == chances.shape[1] - 1))


def label_texts(graph: RuleGraph) -> list[str]:
    """The classes as text; raises Unsupported where two of them read alike."""
    texts = [class_text(label) for label in graph.classes]
    for i, text in enumerate(texts):
        if text in texts[:i]:
            raise Unsupported(f"two classes that both read {text!r}", "onnx", "rename one of them")
    return texts


def roles_of(graph: RuleGraph, frame: bool, fired: bool) -> tuple[str, ...]:
    """The outputs: the label, the probabilities (frame: an output for each class), and which rules fired."""
    shares = [f"probability_{text}" for text in label_texts(graph)] if frame else [PROBABILITIES]
    return LABEL, *shares, *([FIRED] if fired else [])


def kinds_of_outputs(graph: RuleGraph, roles: Iterable[str]) -> list[tuple[int, tuple[int | str, ...]]]:
    """Element type and shape of each output."""
    label = TensorProto.STRING if integer_labels(graph.classes) is None else TensorProto.INT64
    kinds: dict[str, tuple[int, tuple[int | str, ...]]] = {
        LABEL: (label, ("N",)),
        PROBABILITIES: (TensorProto.FLOAT, ("N", len(graph.classes))),
        FIRED: (TensorProto.BOOL, ("N", len(rules_of(graph)))),
    }
    return [kinds.get(role, (TensorProto.FLOAT, ("N",))) for role in roles]


def is_by_class(outputs: Sequence[Port]) -> bool:
    """Whether there is an output for the probability of each class."""
    return len(outputs) > 1 and len(outputs[1].shape) == 1


def class_text(label: ClassLabel) -> str:
    """A label's text: true and false, integral numbers without a point."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float):
        return str(int(label)) if label.is_integer() and abs(label) < 2**53 else repr(label)
    return str(label)
