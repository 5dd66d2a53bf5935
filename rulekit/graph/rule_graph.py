"""RuleGraph: a schema, classes, a decision and reported probabilities over one graph of nodes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import GraphError
from rulekit.graph.decisions import Decision
from rulekit.graph.leaves import with_named_tokens
from rulekit.graph.nodes import Node
from rulekit.graph.override_layers import taken_off
from rulekit.graph.overrides import Override, check_overrides
from rulekit.graph.probability.exponentials import as_reported
from rulekit.graph.traversal import topological
from rulekit.schema import Schema

if TYPE_CHECKING:
    import os

    from rulekit.audit.differences.compared import Compared
    from rulekit.audit.drift.findings import Drift
    from rulekit.graph.ladder import Ladder
    from rulekit.graph.rules import Rule
    from rulekit.tables.table import Table

ClassLabel = str | int | bool | float


@dataclass(frozen=True, slots=True)
class Required:
    """A promise of a model: every row on which the Boolean condition holds is decided as the class."""

    class_index: int
    condition: Node


@dataclass(frozen=True, eq=False, repr=False)
class RuleGraph:
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
        contain them (rulekit.graph.override_layers).
    ladder : Ladder or None
        The models of other sizes that came with it, beside the digest too.

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
    def underlying(self) -> RuleGraph:
        """The model without its overrides and without a ladder, as it decides where no override holds."""
        if not self.overrides:
            return self if self.ladder is None else replace(self, ladder=None)
        decision, probability = taken_off(self.decision, self.probability, self.overrides)
        return replace(self, decision=decision, probability=probability, overrides=(), ladder=None)

    def nodes(self) -> list[Node]:
        """All nodes, children before parents."""
        return topological(self.roots)

    @cached_property
    def deciding_rules(self) -> tuple[Rule, ...]:
        """`rulekit.graph.rules.rules_of` this graph."""
        from rulekit.graph.rules import deciding_rules

        return deciding_rules(self)

    @cached_property
    def used_features(self) -> tuple[str, ...]:
        """The columns that some node reads, in schema order."""
        used = {getattr(node, "feature", None) for node in self.nodes()}
        return tuple(name for name in self.schema.names if name in used)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all but provenance, statistics and ladder, as hex."""
        from rulekit.graph.files.file_format import digest_content

        return hashlib.sha256(json.dumps(digest_content(self), sort_keys=True).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleGraph) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Callable[[str], RuleGraph], tuple[str]]:
        from rulekit.graph.files.file_format import from_json, to_json

        return from_json, (to_json(self),)

    def __repr__(self) -> str:
        from rulekit.graph.language.words import quoted
        from rulekit.graph.rules import counts
        from rulekit.names import printable

        classes = ", ".join(map(quoted, self.classes[:6])) + ", ..." * (len(self.classes) > 6)
        return f"<RuleGraph {printable(self.schema.target)}: {classes}; {counts(self)}; digest {self.digest[:12]}>"

    def _repr_html_(self) -> str:
        from rulekit.notebook.html import graph_html

        return graph_html(self)

    def __str__(self) -> str:
        """The rules in the rule language."""
        from rulekit.graph.language.text import print_graph

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
        from rulekit.tables.kinds.encoding import encode

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
        from rulekit.graph.evaluation.evaluator import decide_data

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
        from rulekit.graph.evaluation.evaluator import probabilities_of_data

        return probabilities_of_data(self, data)

    def explain(self, data: Any) -> list[dict[str, Any]]:
        """Say why rows are decided as they are.

        Parameters
        ----------
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows; only the columns that the model reads must be there, in any order where they have names.

        Returns
        -------
        list of dict
            For each row `label`, `probabilities`, `rules` (those that fired), `nearest_rules`, `change` (the nearest
            that turns the decision), `sentences` (all of it in words), where probabilities decide `conditions`, and
            where sums do `scores` (rulekit.audit.explaining.explanations).

        """
        from rulekit.audit.explaining.explanations import explain

        return explain(self, self.table(data))

    def monitor(self, data: Any, y: Any = None) -> Drift:
        """Compare rows with those that trained the model.

        Parameters
        ----------
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows; only the columns that the model reads must be there, in any order where they have names.
        y : array [n] or None
            Their labels.

        Returns
        -------
        Drift
            What changed, by column, rule and class (rulekit.audit.drift.findings); print it, or take `as_dict()`.

        Raises
        ------
        InputError
            Where the model has no statistics of the rows that trained it.

        """
        from rulekit.audit.drift.monitoring import monitor_data

        return monitor_data(self, data, y)

    def compare(self, other: RuleGraph, data: Any = None, by: Sequence[str] = ()) -> Compared:
        """Tell this model, the old one, and another one apart, or prove that they decide every row alike.

        Parameters
        ----------
        other : RuleGraph
            The new model, of any kind, with at least one class in common.
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table, or None
            Rows that both decide; columns that neither reads may be among them.
        by : sequence of str
            Columns of the data by whose values flips are counted as well.

        Returns
        -------
        Compared
            `equal`, `outcome`, `flips` (each with a row and the conditions), `rules`, `declared`; printed, it is what
            `rulekit compare` prints (rulekit.audit.differences.compared).

        Raises
        ------
        InputError
            Where no row means the same to both, no class is common, or the data cannot be read.

        """
        from rulekit.audit.differences.compared import compare_models

        return compare_models(self, other, data, by)

    def show(self, full: bool = False, width: int | None = None) -> None:
        """Show the rules to a person: as HTML in a notebook, else as text on standard output.

        Parameters
        ----------
        full : bool
            With every level of every set, and the weighted rules behind reported probabilities.
        width : int or None
            Columns of text; None asks the terminal.

        """
        from rulekit.notebook.display import show_rules

        show_rules(self, full, width)

    def to_frame(self, library: str = "polars") -> Any:
        """Give the rules as a frame, one row a rule.

        Parameters
        ----------
        library : "polars" or "pandas"
            Whose frame.

        Returns
        -------
        DataFrame
            id, class, rule, literals, weight, then of the training rows: rows, right, low, high, base_rate, and of
            held-out rows the same under held_out_rows, ... (rulekit.notebook.frames).

        """
        from rulekit.notebook.frames import rules_frame

        return rules_frame(self, library)

    def plot_rules(self, ax: Any = None) -> Any:
        """Draw for each rule the share of its rows that is right (extra `plot`).

        Parameters
        ----------
        ax : Axes or None
            Axes of matplotlib; None makes a figure.

        Returns
        -------
        Axes

        """
        from rulekit.notebook.pictures import plot_rules

        return plot_rules(self, ax)

    def plot_roc(self, data: Any, y: Any, weight: Any = None, ax: Any = None) -> Any:
        """Draw the receiver operating characteristic, and where the model decides (extra `plot`).

        Parameters
        ----------
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows; only the columns that the model reads must be there, in any order where they have names.
        y : array [n]
            Their labels.
        weight : array [n] or None
            Weights of the rows.
        ax : Axes or None
            Axes of matplotlib; None makes a figure.

        Returns
        -------
        Axes

        """
        from rulekit.notebook.pictures import plot_roc

        return plot_roc(self, data, y, weight, ax)

    def plot_calibration(self, data: Any, y: Any, weight: Any = None, ax: Any = None) -> Any:
        """Draw how often a class occurs where the model reports a probability of it (extra `plot`).

        Parameters
        ----------
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows; only the columns that the model reads must be there, in any order where they have names.
        y : array [n]
            Their labels.
        weight : array [n] or None
            Weights of the rows.
        ax : Axes or None
            Axes of matplotlib; None makes a figure.

        Returns
        -------
        Axes

        """
        from rulekit.notebook.pictures import plot_calibration

        return plot_calibration(self, data, y, weight, ax)

    def plot_boundary(self, columns: tuple[str, str], data: Any, y: Any, ax: Any = None) -> Any:
        """Draw what is decided over two numeric columns, the others held at their medians (extra `plot`).

        Parameters
        ----------
        columns : tuple of two str
            The columns of the horizontal and of the vertical axis.
        data : array [n, d], frame, mapping of columns, sequence of mappings or Table
            The rows, which are drawn as points; only the columns that the model reads must be there.
        y : array [n]
            Their labels.
        ax : Axes or None
            Axes of matplotlib; None makes a figure.

        Returns
        -------
        Axes

        Raises
        ------
        InputError
            Where a column is not a numeric one of the model.

        """
        from rulekit.notebook.boundaries import plot_boundary

        return plot_boundary(self, columns, data, y, ax)

    def export(self, path: str | os.PathLike[str], to: str, **options: Any) -> None:
        """Write an artifact that decides as the model does.

        Parameters
        ----------
        path : str or path
            The file to write.
        to : str
            The export target: onnx, python, sql, text, or one of another package.
        **options
            Those of `rulekit export --to TARGET`.

        Raises
        ------
        Unsupported
            Where the target cannot write a node.
        InputError
            Where there is no such target or option.

        """
        from rulekit.graph.files.model_files import export

        export(self, path, to, options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file (JSON), by way of a temporary file that is renamed.

        Parameters
        ----------
        path : str or path
            The file to write.

        """
        from rulekit.graph.files.model_files import save

        save(self, path)


def class_array(classes: tuple[ClassLabel, ...]) -> npt.NDArray[Any]:
    """The classes as an array of their natural type (object where the types differ)."""
    if len({type(label) for label in classes}) > 1:
        mixed = np.empty(len(classes), dtype=object)
        mixed[:] = classes
        return mixed
    return np.asarray(classes)
