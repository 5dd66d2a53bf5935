"""A loaded model that decides rows in memory, one or many, from several threads, and says which rules fired.

It decides by ONNX, in one session that is kept, where the export can say which rules fire, else by the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.arrays import Bools, Floats, Ints
from rulekit.errors import RulekitError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.model_files import load
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired
from rulekit.tables.kinds.plain_cells import PlainCells
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

    @classmethod
    def of(cls, model: RuleGraph | Path) -> Decider:
        """Load a model, or an artifact that carries its rules; raises RulekitError for a file that is none."""
        from rulekit.audit.explaining.explanations import meanings_of

        graph = model if isinstance(model, RuleGraph) else load(model)
        kept = _kept_session(graph)
        run, engine = (partial(_evaluated, graph), "evaluator") if kept is None else (kept, "onnx")
        plain = PlainCells.of(graph.schema, graph.used_features)
        return cls(graph, graph.digest, meanings_of(graph), engine, plain, run)

    def table(self, columns: Mapping[str, Any]) -> Table:
        """Columns of cells, encoded as `predict` does; raises InputError where it does."""
        plain = None if self._plain is None else self._plain.table(columns)
        return self.graph.table(columns) if plain is None else plain

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
