"""RuleGraph: a schema, classes, a decision and reported probabilities over one graph of nodes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.evaluation.evaluator import decide_data, probabilities_of_data
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.files.writing import digest_of, to_json
from rulekit.graph.language.text import print_graph
from rulekit.graph.language.words import quoted
from rulekit.graph.model_parts import ClassLabel, ModelParts, Required, class_array
from rulekit.graph.rules import counts
from rulekit.names import printable
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table
from rulekit.views import notebook

__all__ = ["ClassLabel", "Required", "RuleGraph", "class_array"]


class RuleGraph(ModelParts):
    """A model: what it reads, what it decides, what it reports.

    Raises GraphError where the parts do not fit; `rulekit.graph.check` looks at every node.

    Parameters
    ----------
    schema : Schema
        The columns; the vocabulary of a text is what the nodes name, whatever the schema that was given says.
    classes : tuple of str, int, bool or float
        The K labels in order of listing; of two, the second is the positive one.
    decision : Fires, ArgMax or Median
        Decides the class index (rulekit.graph.decisions).
    probability : tuple of Node
        Empty (0 or 1 by the decision), one Probability node (the positive of two classes) or one for each class; K
        values are divided by their sum, and all-zero values give the default class probability 1.
    default : int
        Index of the class where no rule of any class fires.
    provenance : mapping
        JSON values on where the model comes from, which stand beside the digest, not in it.
    statistics : mapping
        JSON values on its rules (rulekit.shown.statistics), likewise.
    required : tuple of Required
        What the model promises to decide where a condition holds; it decides nothing by itself.
    overrides : tuple of Override
        The rules of persons that win over all others, the first that holds before the rest; decision and probability
        contain them (rulekit.graph.overrides).
    ladder : Ladder or None
        The models of other sizes that came with it, beside the digest too.

    """

    @property
    def digest(self) -> str:
        """SHA-256 over all but provenance, statistics and ladder, as hex."""
        return digest_of(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleGraph) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Callable[..., RuleGraph], tuple[Any, ...]]:
        return RuleGraph, tuple(getattr(self, item.name) for item in fields(self))

    def __repr__(self) -> str:
        classes = ", ".join(map(quoted, self.classes[:6])) + ", ..." * (len(self.classes) > 6)
        return f"<RuleGraph {printable(self.schema.target)}: {classes}; {counts(self)}; digest {self.digest[:12]}>"

    def _repr_html_(self) -> str:
        return notebook().html_of(self)

    def __str__(self) -> str:
        """The rules in the rule language."""
        return print_graph(self)

    def with_(self, **changes: Any) -> RuleGraph:
        """Make a copy with some fields changed; a ladder stays with the digest that it was made for.

        Parameters
        ----------
        **changes
            Fields by name.

        Returns
        -------
        RuleGraph

        """
        changed = replace(self, **changes)
        if self.ladder is None or "ladder" in changes or changed.digest == self.digest:
            return changed
        return replace(changed, ladder=None)

    def table(self, data: Any) -> Table:
        """Encode rows by the schema of the model.

        Parameters
        ----------
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows; only the columns that the model reads must be there, in any order where they have names.

        Returns
        -------
        Table

        """
        return encode(data, self.schema, used=self.used_features)

    def decide(self, data: Any) -> npt.NDArray[np.int64]:
        """Decide rows.

        Parameters
        ----------
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows; only the columns that the model reads must be there, in any order where they have names.

        Returns
        -------
        ndarray of int [n]
            The index of the class of each row.

        """
        return decide_data(self, data)

    def predict(self, data: Any) -> npt.NDArray[Any]:
        """Decide rows, as labels.

        Parameters
        ----------
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows; only the columns that the model reads must be there, in any order where they have names.

        Returns
        -------
        ndarray [n]
            The class of each row.

        """
        return class_array(self.classes).take(self.decide(data))

    def predict_proba(self, data: Any) -> npt.NDArray[np.float64]:
        """Report probabilities.

        Parameters
        ----------
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows; only the columns that the model reads must be there, in any order where they have names.

        Returns
        -------
        ndarray of float [n, K]
            In the order of `classes`; each row sums to 1.

        """
        return probabilities_of_data(self, data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file (JSON), by way of a temporary file that is renamed.

        Parameters
        ----------
        path : str or path
            The file to write.

        """
        write_atomically(path, to_json(self).encode())
