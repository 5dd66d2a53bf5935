"""Another size of a model that was trained, from the ladder in its file: no data, no training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.ladder import resized
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import ModelSize, counts
from rulekit.work.outputs import check_outputs


@dataclass(frozen=True, slots=True, eq=False)
class Resized:
    """The model of another row, and its rules and literals."""

    model: RuleGraph
    size: ModelSize


def resize(
    model: Path,
    *,
    rules: int | None = None,
    size: int | None = None,
    smallest: bool = False,
    output: Path | None = None,
) -> Resized:
    """The model of another row of the ladder, written where `output` says; the ladder stays with it.

    rules: the largest row in which no class has more rules. size: the row of this size. smallest: the smallest row
    within one standard error of the best. Raises InputError where there is no such row, or not one of the three is
    given.
    """
    if (rules is not None) + (size is not None) + smallest != 1:
        raise InputError("which size?", fix="give one of --rules N, --size N and --smallest")
    check_outputs([], model=output)
    graph = load(model)
    if graph.ladder is not None and rules is not None:
        size = graph.ladder.within(rules).size
    if graph.ladder is not None and smallest and (size := graph.ladder.smallest) is None:
        fix = "give --size N: --smallest compares held-out errors, which training did not measure"
        raise InputError("the ladder of this model has no errors", where=str(model), fix=fix)
    other = resized(graph, size or 0)
    if output is not None:
        other.save(output)
    return Resized(other, counts(other))
