"""Models made of a model: under other overrides or over anything, and of the other sizes of its ladder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rulekit.errors import InputError
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.leaves import readers
from rulekit.graph.model_parts import on_the_side_of_the_label
from rulekit.graph.nodes import Family, IsTrue, Linear, Node, Probability
from rulekit.graph.overrides import Override, beyond_all, first_deciding, is_beside, laid, layers_of, put_on, size_of
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rung_of
from rulekit.schema import FREE, Feature


def with_overrides(graph: RuleGraph, overrides: Sequence[Override]) -> RuleGraph:
    """The model with these overrides in place of those that it has, in every size of its ladder.

    Raises GraphError where a class cannot be decided by an override, because its score has no bounds or its threshold
    is above every score.
    """
    made = _with_overrides(graph.underlying, tuple(overrides))
    if graph.ladder is None:
        return made
    rungs = []
    for rung in graph.ladder.rungs:
        model = made if rung.size == graph.ladder.chosen else _with_overrides(rung.model.underlying, tuple(overrides))
        rungs.append(rung_of(rung.size, (rung.error, rung.standard_error, rung.macro_f1), model))
    return made.with_(ladder=replace(graph.ladder, rungs=tuple(rungs)))


def _with_overrides(bare: RuleGraph, overrides: tuple[Override, ...]) -> RuleGraph:
    if not overrides:
        return bare
    if isinstance(bare.decision, Fires) and bare.probability and bare.provenance.get("threshold", 0.5) != 0.5:
        (formula,), (reported,) = bare.decision.roots, bare.probability
        if not is_beside(reported, formula) and reported is not Probability(formula):
            bare = bare.with_(probability=(on_the_side_of_the_label(bare, reported),))
    decision, probability = put_on(bare.decision, bare.probability, overrides)
    return bare.with_(decision=decision, probability=probability, overrides=overrides)


def deciding(overrides: Sequence[Override], class_index: int) -> Node:
    """The Boolean node that says that an override decides a class."""
    return first_deciding([(override.condition, override.class_index == class_index) for override in overrides], True)


def with_any_conditions(*lists: Sequence[Override]) -> tuple[tuple[Override, ...], ...]:
    """Lists of overrides with Boolean columns in the place of their conditions: one condition is one column."""
    conditions = dict.fromkeys(override.condition for overrides in lists for override in overrides)
    held = {condition: IsTrue(f"condition {j}") for j, condition in enumerate(conditions, start=1)}
    return tuple(
        tuple(replace(override, condition=held[override.condition]) for override in overrides) for overrides in lists
    )


def over_anything(graph: RuleGraph) -> tuple[RuleGraph, tuple[Node, ...]]:
    """The overrides of a model over anything, with any conditions; and these conditions, which are Boolean columns.

    In the place of each root beneath stands a Boolean column too: the root holds or not, a probability is 1 or 0, a sum
    as far from 0 on either side as it can be. What holds on all rows of this model holds of the overrides whatever
    their conditions are and whatever lies beneath.
    """
    bare = graph.underlying.decision
    names = [f"beneath {j}" for j in range(len(bare.roots))]
    (overrides,) = with_any_conditions(graph.overrides)
    conditions = tuple(override.condition for override in overrides)
    beyond = beyond_all(bare, overrides) if isinstance(bare, ArgMax) else 0.0
    layers = layers_of(bare, overrides, [beyond] * len(names))

    def anything(root: Node, column: str) -> Node:
        if root.family is Family.REAL:
            return Linear([(2.0 * size_of(root), IsTrue(column))], -size_of(root))
        return IsTrue(column) if root.family is Family.BOOLEAN else Probability(IsTrue(column))

    roots = [laid(each, root) for each, root in zip(layers, map(anything, bare.roots, names), strict=True)]
    columns = [Feature(name, "boolean") for name in (*names, *readers(conditions))]
    model = graph.with_(
        schema=replace(graph.schema, features=tuple(columns), constraints=FREE),
        decision=bare.with_roots(tuple(roots)),
        probability=(),
        required=(),
        overrides=(),
        ladder=None,
    )
    return model, conditions


def resized(graph: RuleGraph, size: int) -> RuleGraph:
    """The model of another row of a model's ladder, which stays with it; raises InputError where there is none."""
    ladder = graph.ladder
    if ladder is None:
        raise InputError("the model has no ladder of sizes", fix="train it anew, or with --size")
    if size == ladder.chosen:
        return graph
    wanted = ladder.at(size)
    kept = [
        replace(rung, model=graph.with_(ladder=None)) if rung.size == ladder.chosen else rung for rung in ladder.rungs
    ]
    model: RuleGraph = wanted.model.with_(ladder=replace(ladder, rungs=tuple(kept), chosen=size, why="asked for"))
    return model
