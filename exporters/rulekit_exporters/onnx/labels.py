"""Class labels as an output: integers where the classes are integers or Boolean, else text."""

from __future__ import annotations

import numpy as np

from rulekit.errors import Unsupported
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.tables.table import Array


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


def class_text(label: ClassLabel) -> str:
    """A label's text: true and false, integral numbers without a point."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float):
        return str(int(label)) if label.is_integer() and abs(label) < 2**53 else repr(label)
    return str(label)
