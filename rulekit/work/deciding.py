"""A loaded model that decides rows in memory, one or many, from several threads, and says which rules fired.

It decides by ONNX, in one session that is kept, where the export can say which rules fire, else by the evaluator.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.cells.axis import Cells, cells_of, has_few_steps
from rulekit.errors import RulekitError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.model_files import load
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Column
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired, read_of, rules_of
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.tables.kinds.plain_cells import PlainCells
from rulekit.tables.raw.columns import LARGEST_EXACT_INTEGER
from rulekit.targets import Outcome, find_target

if TYPE_CHECKING:
    from rulekit.audit.explaining.explanations import RuleMeaning
    from rulekit.tables.table import Table

MANY_COLUMNS = 64
"""Above it a row is fed to ONNX as one tensor, since each input takes time of its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """Of n rows the class index [n], the probabilities [n, K], and which rules fired [n, rules]."""

    labels: Ints
    probabilities: Floats
    fired: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Decider:
    """A model that decides rows as `graph.decide` does, overrides included.

    rules: id and text of each rule as `rulekit predict --explain` prints them, in the order of `Decided.fired`:
    overrides come first, and of those that fired the first one decides. engine: what computes, `onnx` or `evaluator`.
    """

    graph: RuleGraph
    digest: str
    rules: tuple[RuleMeaning, ...]
    engine: str
    _plain: PlainCells | None
    _run: Callable[[Table], Outcome]
    _places: tuple[tuple[str, Callable[[Any], int | None]], ...] | None

    @classmethod
    def of(cls, model: RuleGraph | Path) -> Decider:
        """Load a model, or an artifact that carries its rules; raises RulekitError for a file that is none."""
        from rulekit.audit.explaining.explanations import meanings_of

        graph = model if isinstance(model, RuleGraph) else load(model)
        kept = _kept_session(graph)
        run, engine = (partial(_evaluated, graph), "evaluator") if kept is None else (kept, "onnx")
        plain = PlainCells.of(graph.schema, graph.used_features)
        places = None if plain is None else _places(graph)
        return cls(graph, graph.digest, meanings_of(graph), engine, plain, run, places)

    def table(self, columns: Mapping[str, Any]) -> Table:
        """Columns of cells, encoded as `predict` does; raises InputError where it does."""
        plain = None if self._plain is None else self._plain.table(columns)
        return self.graph.table(columns) if plain is None else plain

    def cells(self, columns: Mapping[str, Any]) -> list[tuple[int, ...]] | None:
        """Per row the cell that the model sees: rows of one cell have one label, the same probabilities and rules.

        None where a value is not plain, so that `table` reads or refuses it, and where cells do not decide. For few
        rows, as each takes a microsecond a column.
        """
        found = []
        for name, place in self._places or ():
            values = columns.get(name)
            if type(values) is not list:
                return None
            places = [place(value) for value in values]
            if None in places:
                return None
            found.append(places)
        return list(zip(*found, strict=True)) if len({*map(len, found)}) == 1 else None

    def decide(self, table: Table) -> Decided:
        """Labels, probabilities and rules of encoded rows."""
        found = self._run(table)
        said = fired(self.graph, table) if found.fired is None else found.fired
        return Decided(found.labels, found.probabilities, said)

    def fired_ids(self, decided: Decided, row: int) -> list[str]:
        """The ids of the rules that fired on a row."""
        return [rule.id for rule in compress(self.rules, decided.fired[row].tolist())]


def _evaluated(graph: RuleGraph, table: Table) -> Outcome:
    return Outcome(decide(graph, table), probabilities(graph, table), fired(graph, table))


def _kept_session(graph: RuleGraph) -> Callable[[Table], Outcome] | None:
    """What runs the model by ONNX; None where nothing here does, or its export cannot say which rules fire."""
    used = [graph.schema[name].kind for name in graph.used_features]
    codes = {"input": "codes"} if "categorical" in used or len(used) <= MANY_COLUMNS else {}
    with suppress(RulekitError, ImportError):
        target = find_target("onnx")
        if target.runtime.open is not None:
            return target.runtime.open(target.emit(graph, {"fired": True, **codes}).main, graph)
    return None


# Cells of one row -----------------------------------------------------------------------------------------------------


def _places(graph: RuleGraph) -> tuple[tuple[str, Callable[[Any], int | None]], ...] | None:
    """By used column what numbers the cell of a plain value; None where the sums of a model tell values apart."""
    roots = (*graph.decision.roots, *graph.reported, *map(read_of, rules_of(graph)))
    read = readers(roots)
    sums = [node for nodes in read.values() for node in nodes if isinstance(node, Column)]
    if not all(map(has_few_steps, sums)):
        return None
    used = graph.used_features
    return tuple((name, _place(cells_of(graph.schema[name], read.get(name, ()), raw=True))) for name in used)


def _place(cells: Cells) -> Callable[[Any], int | None]:
    feature, missing = cells.feature, len(cells) - 1
    if feature.kind == "categorical":
        by_code = cells.of_values(np.arange(FIRST_LEVEL_CODE + len(feature.levels))).tolist()
        known: dict[Any, int] = {
            None: missing,
            **{text: by_code[code] for text, code in feature.codes_of_texts.items()},
        }
        return lambda cell: known.get(cell) if cell is None or type(cell) is str else None
    cuts = (0.5,) if feature.kind == "boolean" else cells.cuts
    absent, truths = frozenset(feature.missing_numbers), (bool,) if feature.kind == "boolean" else ()

    def place(cell: Any) -> int | None:
        kind = type(cell)
        if kind is float or kind in truths or (kind is int and abs(cell) <= LARGEST_EXACT_INTEGER):
            return missing if cell in absent or cell != cell else bisect_left(cuts, cell)
        return missing if cell is None else None

    return place
