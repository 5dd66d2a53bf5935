"""The path of sizes.

One fit makes a candidate of every size, so that the models of all smaller sizes come with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.graph.decisions import Decision
from rulekit.graph.language.words import counted, listed
from rulekit.graph.model_parts import Ladder, Rung
from rulekit.graph.nodes import FALSE, Node, Or
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.variants import rung_of
from rulekit.learners.contract import Candidate, Frame
from rulekit.learners.models.assembly import default_of, graph_of
from rulekit.learners.promises.constraints import unproved
from rulekit.learners.sizes.choice import Curve
from rulekit.learners.sizes.limits import NO_LIMITS
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import label_text
from rulekit.shown.path_points import PathPoint
from rulekit.simplification.passes import simplify
from rulekit.views import notebook

_NAMED = 4


def rule_count(formula: Node) -> int:
    """The rules of a Boolean formula that decides."""
    if isinstance(formula, Or):
        return len(formula.children)
    return 0 if formula is FALSE else 1


@dataclass(frozen=True, slots=True, eq=False)
class QuestionPath:
    """The candidates of one question, and what stands in the model where none of them does.

    longest: the place up to which it goes where all questions have one size.
    """

    label: ClassLabel
    total: float
    nothing: Candidate
    candidates: tuple[Candidate, ...]
    curve: Curve | None = None
    longest: int = 0

    def at(self, place: int) -> Candidate:
        """The candidate at a place from 1; at 0 nothing, or what learning went on from."""
        begins = bool(self.candidates) and self.candidates[0].start
        return self.candidates[max(place, 1) - 1] if place or begins else self.nothing

    @property
    def objectives(self) -> list[float]:
        """The training objective at place 0, 1, ..."""
        return [self.nothing.objective, *(candidate.objective for candidate in self.candidates)]

    def points(self, chosen: int) -> list[PathPoint]:
        """A point for each candidate, of which one is in the model."""
        points = []
        for n, made in enumerate(self.candidates, start=1):
            held = (None, None, None) if self.curve is None else self.curve.at(n)
            error = made.error / self.total
            points.append(PathPoint(self.label, n, made.size, made.objective, error, *held, n == chosen))
        return points


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelPath:
    """The models of one fit by size, assembled when they are asked for.

    A size is a place on the paths; where learning went on from given rules, size 1 is these. chosen: the place of each
    question in the fitted model; noun: what units are called; most: the largest size that was asked for; choice: how
    the places were chosen, in words.
    rows: the places of each size that is a row of the ladder, from the smallest; errors: held-out error of the whole
    model at these, its standard error and the macro F1 score, as far as they are known; smallest: the size that is not
    worse than the best by a standard error; why: what decided the size, in words. keep: nodes that simplification
    leaves as they are.
    """

    frame: Frame
    paths: tuple[QuestionPath, ...]
    chosen: tuple[int, ...]
    provenance: dict[str, Any]
    noun: str = "unit"
    most: int = 0
    choice: str = ""
    rows: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    errors: Mapping[int, tuple[float, float | None, float | None]] = field(default_factory=dict)
    smallest: int | None = None
    why: str = ""
    keep: tuple[Node, ...] = ()

    def __repr__(self) -> str:
        how = f" (chosen by {self.choice})" if self.choice else ""
        taken = self.size_text(self.graph(self.chosen).provenance["units"])
        return f"<ModelPath of {len(self)} sizes; the model has {taken}{how}>"

    def size_text(self, units: Sequence[int]) -> str:
        """`4 rules; none for class c`: the units of all questions, and the questions without a unit."""
        mark = " or higher" if self.frame.kind == "ranked" else ""
        empty = [label_text(path.label) + mark for path, n in zip(self.paths, units, strict=True) if not n]
        if not any(units) or not empty:
            return counted(sum(units), self.noun)
        named = empty if len(empty) <= _NAMED else [*empty[: _NAMED - 1], f"{len(empty) - _NAMED + 1} more"]
        return f"{counted(sum(units), self.noun)}; none for {'class' if len(empty) == 1 else 'classes'} {listed(named)}"

    def _repr_html_(self) -> str:
        return notebook().html_of(self)

    def __len__(self) -> int:
        """The largest size that a path reached."""
        return max((len(path.candidates) for path in self.paths), default=0)

    def __iter__(self) -> Iterator[RuleGraph]:
        """The models of size 1, 2, ..."""
        return (self.graph_at(size) for size in range(1, len(self) + 1))

    @property
    def points(self) -> tuple[PathPoint, ...]:
        """One point for each question and size."""
        both = zip(self.paths, self.chosen, strict=True)
        return tuple(point for path, chosen in both for point in path.points(chosen))

    def graph_at(self, size: int) -> RuleGraph:
        """The simplified model in which all paths have this size, or the largest that they reached where that is less.

        It has no statistics of its rules, and the limits on the size of the fitted model do not bind it. Raises
        InputError where `size` is not one of 1 .. len(path).
        """
        if not 1 <= size <= len(self):
            raise InputError(f"the path has no model of size {size}", where="graph_at", fix=f"1 to {len(self)}")
        return self.simplified(self.graph([min(size, len(path.candidates)) for path in self.paths]))

    def simplified(self, learned: RuleGraph, deadline: Deadline = NO_LIMIT) -> RuleGraph:
        """The same decisions with fewer literals; as learned where these would break a limit of size or a promise."""
        simpler = simplify(learned, self.keep, deadline=deadline)
        # Fewer literals may need more rules. A model that breaks the limits as learned may break them here too.
        kept = self.keeps_limits(simpler) or not self.keeps_limits(learned)
        return _counted(simpler if kept and len(unproved(simpler)) <= len(unproved(learned)) else learned)

    def graph(self, places: Sequence[int]) -> RuleGraph:
        """The model whose questions are answered by the candidates at these places."""
        made = [path.at(place) for path, place in zip(self.paths, places, strict=True)]
        graph = graph_of(self.frame, [candidate.model for candidate in made], dict(self.provenance))
        return _counted(graph.with_(provenance={**graph.provenance, "units": [candidate.size for candidate in made]}))

    def rows_of(self, sizes: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """The places of models in which no question has more units than a size, within the limits; each model once."""
        found: dict[tuple[int, ...], int] = {}
        for size in sorted(sizes):
            places = self.within_limits([min(size, path.longest) for path in self.paths])
            if any(self._has_rules(path, place) for path, place in zip(self.paths, places, strict=True)):
                found.setdefault(places, size)
        return {size: places for places, size in found.items()}

    @staticmethod
    def _has_rules(path: QuestionPath, place: int) -> bool:
        """Whether a place of a path stands for some rules, found or given."""
        return place > 0 and (path.at(place).size > 0 or path.at(place).start)

    @property
    def size(self) -> int:
        """The row of the ladder that is the fitted model; 0 where it has no rule."""
        return next((size for size, places in self.rows.items() if places == self.chosen), 0)

    def ladder(self, finish: Callable[[RuleGraph], RuleGraph] = lambda graph: graph) -> Ladder:
        """The rows with their models, without those that decide as a smaller one.

        finish: what is made of the graph of each, for instance simplified, with statistics. Of sizes that then decide
        alike the smallest is a row; where one of them is the fitted model, the row has that model.
        """
        rungs: dict[Decision, Rung] = {}
        chosen, smallest = self.size, self.smallest
        for size, places in (self.rows if self.size else {0: self.chosen, **self.rows}).items():
            graph = finish(self.graph(places))
            kept = rungs.get(graph.decision)
            measured = self.errors.get(size, (None, None, None))
            if kept is None:
                rungs[graph.decision] = rung_of(size, measured, graph)
            else:
                if kept.error is None:
                    kept = rung_of(kept.size, measured, kept.model)
                rungs[graph.decision] = replace(kept, model=graph) if size == self.size else kept
            if size == self.size:
                chosen = rungs[graph.decision].size
            if size == self.smallest:
                smallest = rungs[graph.decision].size
        why = self.why if chosen == self.size else f"{self.why}; size {self.size} decides as size {chosen} does"
        return Ladder(tuple(rungs.values()), chosen, smallest, why)

    def within_limits(self, wanted: Sequence[int]) -> tuple[int, ...]:
        """The places that are wanted, lowered until the model keeps to its limits.

        The unit whose loss raises the objective least leaves first; of several classes one other than the default keeps
        its last unit longest, without which all rows would be the default.
        """
        places, costs = list(wanted), [path.objectives for path in self.paths]
        while self.frame.limits != NO_LIMITS and any(places) and not self.keeps_limits(self.graph(places)):
            rise = [cost[n - 1] - cost[n] if n else np.inf for n, cost in zip(places, costs, strict=True)]
            least = int(np.argmin(rise))
            if self.frame.kind == "several" and places[default := default_of(self.frame)]:
                least = default if sum(places) - places[default] == 1 else least
            places[least] -= 1
        return tuple(places)

    def keeps_limits(self, graph: RuleGraph) -> bool:
        """Whether a model keeps to the limits of size that were asked for."""
        return self.frame.limits.hold_for(graph)


def _counted(graph: RuleGraph) -> RuleGraph:
    """The graph with the rules of each class in its provenance, without those left out, and its digest for rounds."""
    if "rounds" in graph.provenance:
        graph = graph.with_(provenance={**graph.provenance, "rounds_of": graph.digest})
    units = graph.provenance["units"]
    if not graph.decision.rule_sets or len(units) != len(graph.decision.roots):
        return graph
    units = [min(size, rule_count(rules)) for size, rules in zip(units, graph.decision.roots, strict=True)]
    return graph.with_(provenance={**graph.provenance, "units": units})
