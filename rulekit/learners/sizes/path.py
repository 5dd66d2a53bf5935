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
from rulekit.graph.model_parts import Ladder, Rung, macro_f1
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import rung_of
from rulekit.learners.contract import NO_LIMITS, Candidate, Frame
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import LearningPlan, Run
from rulekit.learners.models.assembly import decision_of, default_of, graph_of, prefixes
from rulekit.learners.promises.kept import clauses_of, unproved
from rulekit.learners.sizes.choice import Curve
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import label_text
from rulekit.shown.path_points import PathPoint
from rulekit.simplification.passes import simplify
from rulekit.tables.table import Table
from rulekit.views import notebook

_NAMED = 4


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
            held = (None, None, None) if self.curve is None else self.curve.at(n)[:3]
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
        holds = self.frame.limits.hold_for
        kept = holds(simpler) or not holds(learned)
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
            made = [path.at(place) for path, place in zip(self.paths, places, strict=True) if place]
            if any(each.size > 0 or each.start for each in made):
                found.setdefault(places, size)
        return {size: places for places, size in found.items()}

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
        limits = self.frame.limits
        while limits != NO_LIMITS and any(places) and not limits.hold_for(self.graph(places)):
            rise = [cost[n - 1] - cost[n] if n else np.inf for n, cost in zip(places, costs, strict=True)]
            least = int(np.argmin(rise))
            if self.frame.kind == "several" and places[default := default_of(self.frame)]:
                least = default if sum(places) - places[default] == 1 else least
            places[least] -= 1
        return tuple(places)


def _counted(graph: RuleGraph) -> RuleGraph:
    """The graph with the rules of each class in its provenance, without those left out, and its digest for rounds."""
    if "rounds" in graph.provenance:
        graph = graph.with_(provenance={**graph.provenance, "rounds_of": graph.digest})
    units = graph.provenance["units"]
    if not graph.decision.rule_sets or len(units) != len(graph.decision.roots):
        return graph
    units = [min(size, len(clauses_of(rules))) for size, rules in zip(units, graph.decision.roots, strict=True)]
    return graph.with_(provenance={**graph.provenance, "units": units})


MOST_ROWS = 12
_EVERY = 8


def row_sizes(longest: int) -> tuple[int, ...]:
    """At most twelve sizes up to the longest: every one up to eight, then ever fewer."""
    few = min(longest, _EVERY)
    sizes = set(range(1, few + 1))
    if longest > _EVERY:
        ratio = (longest / few) ** (1.0 / (MOST_ROWS - few))
        sizes |= {round(few * ratio**n) for n in range(1, MOST_ROWS - few + 1)}
    return tuple(sorted(sizes))


def sized(path: ModelPath, run: Run, plan: LearningPlan) -> ModelPath:
    """The path of one question with its rows, of which one is the model."""
    curve, chosen = run.curve, path.within_limits([run.chosen])
    smallest = None if curve is None else min(curve.best(1.0), run.longest)
    rows = path.rows_of({*row_sizes(run.longest), *chosen, *(() if smallest is None else (smallest,))} - {0})
    found = {} if curve is None else {size: curve.at(*places) for size, places in rows.items()}
    errors = {size: (error, deviation, f1) for size, (error, deviation, _, f1) in found.items() if error is not None}
    if curve is None:
        own = {size: path.paths[0].at(*places).held_out for size, places in rows.items()}
        errors = {size: (*found, None) for size, found in own.items() if found is not None}
    least = None if smallest is None else next(iter(path.rows_of([smallest]).values()), None)
    lowered = chosen != (run.chosen,)
    path = replace(path, chosen=chosen, rows=rows, errors=errors, smallest=_size_of(rows, least))
    nothing, enough = run.chosen == 0 < run.longest, run.all_stay
    return _with_words(path, curve, plan, checked=run.checked, nothing=nothing, lowered=lowered, enough=enough)


def sized_jointly(
    path: ModelPath, runs: Sequence[Run], plan: LearningPlan, table: Table, problem: Problem
) -> ModelPath:
    """The path of several questions with its rows, measured as whole models, of which one is the model.

    Of a fold that was cut short, sizes are known as far as it came. table, problem: the training rows, labels are
    class indices.
    """
    longest = max(run.longest for run in runs)
    rows = path.rows_of({*row_sizes(longest), *(() if plan.size is None else (plan.size,))})
    known = min((run.curve.wrong.shape[1] for run in runs if run.curve is not None and run.curve.cut), default=longest)
    measured = {size: places for size, places in rows.items() if size <= known}
    curve = None
    if plan.folds is not None:
        curve = joint_curve(path.frame, runs, list(measured.values()), table, problem, plan.folds)
    smallest, checked, nothing = None, False, False
    chosen = list(rows.values())[-1] if rows else tuple(0 for _ in runs)
    if curve is not None:
        places = list(measured.values())
        smallest = places[curve.best(1.0) - 1]
        if plan.size is None:
            all_stay = all(run.all_stay for run in runs)
            place = curve.taken(len(places), plan.parsimony, all_stay=all_stay, jointly=True)
            chosen = places[place - 1] if place else tuple(0 for _ in runs)
            checked, nothing = not all_stay or chosen != places[-1], not place
    if plan.size is not None:
        chosen = path.within_limits([run.chosen for run in runs])
    found = {} if curve is None else {size: curve.at(n) for n, size in enumerate(measured, start=1)}
    errors = {size: (error, deviation, f1) for size, (error, deviation, _, f1) in found.items() if error is not None}
    path = replace(path, chosen=chosen, rows=rows, errors=errors, smallest=_size_of(rows, smallest))
    return _with_words(path, curve, plan, checked=checked, nothing=nothing, lowered=False, enough=True)


def _size_of(rows: dict[int, tuple[int, ...]], places: Iterable[int] | None) -> int | None:
    return None if places is None else next((size for size, each in rows.items() if each == tuple(places)), None)


def _with_words(
    path: ModelPath,
    curve: Curve | None,
    plan: LearningPlan,
    *,
    checked: bool,
    nothing: bool,
    lowered: bool,
    enough: bool,
) -> ModelPath:
    """The path with what decided its size, in words; enough: by a loss, the units that help."""
    folds = 0 if curve is None else curve.folds
    n_folds = 0 if plan.folds is None else plan.folds.n_folds
    by = f"{folds}-fold cross-validation" if folds > 1 else "one held-out fold"
    if 1 < folds < n_folds:
        by = f"{folds} of {n_folds} folds"
    if not path.rows:
        why = "no rule was found"
    elif plan.size is not None:
        why = f"size {plan.size} was asked for"
        if path.size != plan.size:
            why += f", the largest that was found is {path.size}"
    elif nothing:
        better = "the share of the class" if curve is not None and curve.lost is not None else "the most frequent class"
        why = f"no rule: by {by} rules do no better than {better}"
    elif curve is None and path.errors:
        why = f"fewest {path.noun}s that err no more on rows which the learner held out"
    elif not checked:
        why = f"all {path.noun}s that were found"
        why += ", without a check on held-out rows" if n_folds and not path.errors else ""
    elif curve is not None and curve.lost is not None and not plan.parsimony:
        why = f"least log loss by {by}"
        if enough and len(path.paths) > 1:
            why = f"larger sizes make no fewer errors on held-out rows, and hardly less log loss ({by})"
        elif enough:
            lost = curve.lost.sum(axis=0) / curve.weights.sum()
            known = f"{lost[min(*path.chosen, len(lost) - 1)]:.3f} by {by}, {lost[0]:.3f} without a rule"
            why = f"larger sizes hardly fit the training rows better, or have more log loss on held-out rows ({known})"
        elif curve.errors_first:
            why = f"fewest errors, and of as many the least log loss, by {by}"
    elif curve is not None and curve.rare and not plan.parsimony:
        why = f"largest macro F1 where the error is near the least ({by})"
    elif plan.parsimony:
        why = f"the smallest that is not worse than the best by {plan.parsimony:g} standard errors ({by})"
    elif curve is not None and curve.by_error:
        why = f"least error by {by}, and of two that are alike the smaller"
    else:
        why = f"least error by {by}, smoothed over neighbouring sizes"
    if lowered or (path.frame.limits != NO_LIMITS and path.size and path.size == max(path.rows)):
        why += ", within the limits of size" if not nothing else ""
    return replace(path, choice=by if checked else "", why=why)


def joint_curve(
    frame: Frame, runs: Sequence[Run], rows: Sequence[Sequence[int]], table: Table, problem: Problem, folds: Folds
) -> Curve | None:
    """The held-out errors of the whole model by the places of the questions on their paths, which a row lists.

    Each question's own error, of its class against the rest, says little of the model: classes compete. What every
    fold has learned is kept, so that its models are joined as the final model is, and decide the rows of that fold.
    table: the training rows; problem: the same, labels are class indices. Only folds that all questions have finished
    count; None without any.
    """
    n_folds = min(len(run.folds) for run in runs)
    if not n_folds or not rows:
        return None
    made = [
        [[_candidate(run, k, place) for run, place in zip(runs, row, strict=True)] for row in rows]
        for k in range(n_folds)
    ]
    decisions = [_decisions(frame, [[run.folds[k].nothing for run in runs], *made[k]]) for k in range(n_folds)]
    n_classes = len(frame.classes)
    default = default_of(frame) if frame.kind == "several" else 0
    confusion = folds.confusions(table, frame.classes, decisions, default)
    right = confusion.diagonal(axis1=2, axis2=3)
    wrong = (confusion.sum(axis=(2, 3)) - right.sum(axis=2)) * problem.weight_unit
    weights = confusion[:, 0].sum(axis=(1, 2)) * problem.weight_unit
    of_all = confusion[:, 1:].sum(axis=0)
    f1 = macro_f1(right[:, 1:].sum(axis=0), of_all.sum(axis=1), of_all.sum(axis=2))
    rare = any(run.curve is not None and run.curve.rare for run in runs)
    by_error = any(run.curve is not None and run.curve.by_error for run in runs)
    cost = np.mean([[sum(each.cost for each in row) for row in fold] for fold in made], axis=0)
    lost = None
    for run, places in zip(runs, np.array(rows).T, strict=True):  # each class against the rest
        if run.all_stay and run.curve is not None and (own := run.curve.lost) is not None:
            own = own[:n_folds, np.minimum([0, *places], own.shape[1] - 1)] / run.curve.weights[:n_folds, None]
            lost = own * weights[:, None] + (0.0 if lost is None else lost)
    known = {"nothing": wrong[:, 0], "cost": cost, "macro_f1": f1, "lost": lost}
    return Curve(wrong[:, 1:], weights, **known, rare=rare, classes=n_classes, by_error=by_error)


def _decisions(frame: Frame, rows: Sequence[Sequence[Candidate]]) -> list[Decision]:
    frame, found = replace(frame, unreported=True), []
    for candidates in rows:
        models = [candidate.model for candidate in candidates]
        scores = [model.score(frame, prefix) for model, prefix in zip(models, prefixes(len(models)), strict=True)]
        found.append(decision_of(frame, models, scores))
    return found


def _candidate(run: Run, k: int, place: int) -> Candidate:
    """What fold k has learned in the place of a candidate, by the variant that was taken; a short path goes on."""
    fold = run.folds[k]
    path = fold.paths[0 if run.curve is None or len(fold.paths) == 1 else run.curve.variant]
    begins = bool(path) and path[0].start
    return path[min(max(place, 1), len(path)) - 1] if path and (place or begins) else fold.nothing
