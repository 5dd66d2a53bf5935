"""The rules that a training goes on from, and what they say about the columns of new data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from rulekit.dates import is_dated
from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import left_out
from rulekit.schema import Feature
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions


@dataclass(frozen=True, slots=True)
class GivenStart:
    """The rules to go on from, and which of them stay: "all", "none" or rule ids; who: what they are, in words."""

    graph: RuleGraph
    freeze: Literal["all", "none"] | list[str]
    who: str = "the start"

    def read_alike(self, rows: LabelledTable) -> LabelledTable:
        """The rows under the columns and levels of the rules; raises InputError where they do not fit."""
        from rulekit.learners.promises.starts import under_start

        return replace(rows, table=under_start(self.graph, rows.table, self.who))

    def covered(self, model: RuleGraph) -> list[str]:
        """The ids of the frozen rules that the model has not."""
        return left_out(self.graph, self.freeze, model)

    def reading(self, options: ReadingOptions) -> ReadingOptions:
        """The options with what the rules say of the columns that they read, where nothing else is asked for."""
        graph = self.graph
        used = [graph.schema[name] for name in graph.used_features]
        kinds: dict[str, str] = {
            f.name: f.display if is_dated(f) else f.kind for f in used if is_dated(f) or _is_unordered(f)
        }
        kinds |= {f.name: f"{kinds.get(f.name, f.kind)}:{f.form}" for f in used if f.form}
        wide = {f.name: "float64" for f in used if f.precision == "float64"}
        tokens = [f"{f.name}={token}" for f in used for token in f.missing_tokens]
        positive = graph.classes[1] if len(graph.classes) == 2 else None
        return replace(
            options,
            types={**kinds, **options.types},
            missing=[*tokens, *options.missing],
            precision={**wide, **options.precision},
            positive=positive if options.positive is None else options.positive,
            ordered=options.ordered or (graph.classes if graph.decision.ordered else ()),
        )


def _is_unordered(feature: Feature) -> bool:
    return feature.kind == "categorical" and not feature.ordered


def read_start(path: Path | None, freeze: str | None) -> GivenStart | None:
    """The options --start and --freeze; raises InputError where the file holds no rules or --start is not given.

    The file may have been edited by an expert, so its digest is not compared.
    """
    if path is None:
        if freeze is not None:
            raise InputError("nothing to freeze", where="--freeze", fix="give the rules with --start FILE")
        return None
    graph = load(path, verify=False)
    if freeze in (None, "all", "none"):
        return GivenStart(graph, "none" if freeze == "none" else "all")
    assert freeze is not None
    return GivenStart(graph, [name.strip() for name in freeze.split(",") if name.strip()])
