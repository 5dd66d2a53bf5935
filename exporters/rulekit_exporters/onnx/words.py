"""Texts in ONNX: a model takes a vector that says of each text which words it has, or the ids of these words.

The operators know no texts: a model over texts is exported as the same model over columns of words
(`rulekit.cells.words`), 1 where a text has a word and 0 where it has not, after one that says whether it is missing.
As ids (`rulekit_exporters.onnx.word_ids`) the places of these columns are given. Whoever runs the model tokenises; the
metadata say which column, or which id, is which word.
"""

from __future__ import annotations

from typing import Any

from rulekit.cells.words import taken_apart
from rulekit.graph.rule_graph import RuleGraph


def described(graph: RuleGraph, numbered: bool = False) -> dict[str, Any]:
    """By text the column that says whether it is missing, and the column of each word; empty without texts.

    numbered: their ids instead of their names. Cells that are one of the missing tokens are missing texts.
    """
    _, words = taken_apart(graph)
    if words is None:
        return {}
    found = {}
    for text, columns in words.columns.items():
        missing, *own = range(len(columns)) if numbered else columns
        feature = graph.schema[text]
        found[text] = {
            "missing": missing,
            "missing_tokens": list(feature.missing_tokens),
            "words": dict(zip(feature.levels, own, strict=True)),
        }
    return found
