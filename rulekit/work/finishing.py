"""What follows learning: shorter rules, statistics, figures, baselines, hints. None of it may lose the model.

The model is written before it is measured. What stops a step (the limit of time, Ctrl-C, SIGTERM, a callback that
answers true, an error) ends the steps that are left; the model stays, and a note says what it lacks.
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.audit.figures.baselines import MOST_FREQUENT, SINGLE_CONDITION, Baselines, Measure, reported, sample_of
from rulekit.audit.figures.metrics import Figures, class_indices, measured
from rulekit.audit.training_lines import TableSummary, summary_of
from rulekit.errors import InputError
from rulekit.graph.language.text import promises
from rulekit.graph.language.words import counted, listed, percent
from rulekit.graph.model_parts import RARE, Ladder
from rulekit.graph.nodes import Hidden
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import no_rule_notes, rules_of
from rulekit.learners.models.best_rule import best_rule
from rulekit.limits import Deadline, OutOfTime
from rulekit.shown.rule_rows import Words, hand_made
from rulekit.shown.statistics import Distributions, rule_statistics
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Table
from rulekit.work.learning import GivenStart, KeptOverrides, TrainingRequest
from rulekit.work.progress import Progress, Stage

TRAINING_ROWS = "the training rows, so flattering; --holdout measures honestly"
_SAMPLE = 20_000
"""Rows that are measured where the work was stopped."""


def test_reading(request: TrainingRequest) -> ReadingOptions:
    """How the rows of --test are read: what concerns the learning alone is left out."""
    return replace(request.reading, target=None, group=None, time=None, ordered=(), cost=None, positive=None)


@dataclass(slots=True, eq=False)
class Finish:
    """The steps after learning; stopped: what ended them early, "" if nothing. notes: what they noticed."""

    request: TrainingRequest
    learner: Any
    training: LabelledTable
    held: LabelledTable | None
    start: GivenStart | None
    kept: KeptOverrides
    deadline: Deadline
    progress: Progress
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    _done: dict[tuple[str, str], RuleGraph] = field(default_factory=dict)
    _of_rows: tuple[Distributions, Distributions | None] | None = None
    _together: float = 1.0

    def model(self) -> RuleGraph:
        """The learned model with its ladder; each size simplified within the limits, with statistics of its rules.

        The fitted size comes first, so that it is finished where there is no time for all. Overrides are put on what
        was learned and simplified.
        """
        self.begin("simplifying")
        self._finished(self.learner.rule_graph_)
        ladder = self.learner.path_.ladder(self._finished)
        if self.stopped:
            self.notes.append(f"stopped ({self.stopped}) after learning: rules may be longer, or lack statistics")
        chosen: RuleGraph = ladder.at(ladder.chosen).model
        return chosen.with_(ladder=ladder)

    def summary(self, table: Table) -> TableSummary:
        """What a table has."""
        return summary_of(table)

    def ways_out(self, left_alone: set[str]) -> tuple[str, ...]:
        """What may give rules, where there are none; left_alone: parameters that were not set."""
        return ways_out(self.training, self.request.learner, left_alone)

    def begin(self, what: str) -> None:
        """Tell the callback of a step, which may end all that follow."""
        if self.progress(Stage(what)):
            self.stopped = self.stopped or "cancelled"

    def attempt(self, step: Callable[[], Any], otherwise: Any) -> Any:
        """What a step gives, or `otherwise` where the work is stopped before or within it."""
        if not self.stopped and self.deadline.over:
            self.stopped = "time limit"
        if self.stopped:
            return otherwise
        try:
            return step()
        except (KeyboardInterrupt, OutOfTime) as stop:
            self.stopped = "interrupted" if isinstance(stop, KeyboardInterrupt) else "time limit"
            return otherwise

    def figures(self, model: RuleGraph) -> tuple[Figures, str]:
        """Figures, and of which rows; of a sample of the training rows where nothing else can be measured."""
        rows, which = self.training, TRAINING_ROWS
        if self.held is not None:
            test = self.request.test
            which = f"{counted(len(self.held), 'row')} {'held out' if test is None else f'of {test.name}'}"
            rows = self.held

        def measure() -> tuple[Figures, str]:
            if self.held is not None or self.request.test is None:
                return self.measured(model, rows), which
            from rulekit.work.evaluating import labelled_rows

            test = labelled_rows(model, self.request.test, test_reading(self.request))
            self.notes += test.notes
            return measured(model, test.rows), f"{self.request.test.name}: {len(test.rows)} rows"

        found: tuple[Figures, str] | None = None
        try:
            found = self.attempt(measure, None)
        except InputError as error:
            self.notes.append(f"the model was written, and the test rows could not be measured: {error}")
        if found is not None:
            return found
        if self.stopped and len(rows) > _SAMPLE:
            rows = rows.take(np.arange(0, len(rows), -(-len(rows) // _SAMPLE)))
            which = f"{counted(len(rows), 'row')} of {which}"
        return self.measured(model, rows), which

    def measured(self, model: RuleGraph, rows: LabelledTable) -> Figures:
        """The figures of a model on rows."""
        return measured(model, rows)

    def _finished(self, learned: RuleGraph) -> RuleGraph:
        key = learned.digest, str(learned.provenance.get("units"))
        if key not in self._done:
            simpler = self.attempt(lambda: self.learner.path_.simplified(learned, self.deadline), learned)
            taken = simpler if self.request.simplified else learned
            if self.training.chances is not None:
                from rulekit.work.changes.refitting import with_chances

                taken = self.attempt(lambda: with_chances(taken, self.training, self.deadline), taken)
            model = self._declared(taken)
            self._done[key] = self.attempt(lambda: self._with_statistics(model), model)
        return self._done[key]

    def _declared(self, model: RuleGraph) -> RuleGraph:
        separator = self.request.reading.label_separator
        if separator is not None:
            model = model.with_(provenance={**model.provenance, "label_separator": separator})
        return self.kept.onto(model if self.start is None else with_edits_of(model, self.start.graph.underlying))

    def _with_statistics(self, model: RuleGraph) -> RuleGraph:
        rows, held = self.training, self.held
        if self._of_rows is None:
            of_held = None if held is None else Distributions(held.table, held.weight, bins=False)
            self._of_rows = Distributions(rows.table, rows.weight), of_held
            if held is not None:
                from rulekit.tables.equal_rows import rows_together

                self._together = rows_together(rows.table, rows.y, rows.group)
        statistics = rule_statistics(model, rows.table, class_indices(model, rows), rows.weight, self._of_rows[0])
        if held is not None:
            further = rule_statistics(model, held.table, class_indices(model, held), held.weight, self._of_rows[1])
            statistics = {**statistics, "rows_together": self._together, "held_out": further}
        return model.with_(statistics=statistics)


def with_edits_of(model: RuleGraph, before: RuleGraph) -> RuleGraph:
    """A model that was learned from the rules of another one, with the edits of those that stand in it.

    A rule may have become a hidden bit that it causes.
    """
    edits, made = before.provenance.get("edits"), hand_made(before)
    if not edits:
        return model
    ids = {rule.node: rule.id for rule in rules_of(before) if rule.id in made}
    notes = []
    for rule in rules_of(model):
        name = ids.get(rule.node.cause if isinstance(rule.node, Hidden) else rule.node)
        if name is not None and name != rule.id:
            notes.append({**asdict(made[name]), "base": before.digest, "added": [rule.id], "removed": []})
    return model.with_(provenance={**model.provenance, "edits": [*edits, *notes]})


_LEAST_SECONDS, _SHARE, _BESIDE = 0.5, 0.25, 2.0
_SMALL = 100_000  # cells


@dataclass(slots=True, eq=False)
class TrainingBaselines:
    """Baselines on the rows and folds of a learner.

    They take two seconds beside the learning from a small table, about a quarter of its time after others, and keep to
    what is left of a time limit. measure: begins to measure; None where nobody asked for them, or they have begun.
    wait: waits for them and returns them; None where the learner dealt no folds, or no time was left.
    """

    measure: Measure | None
    rows: LabelledTable
    parameters: Mapping[str, Any]
    deadline: Deadline
    wait: Callable[[], Baselines | None] = lambda: None
    _begun: float = field(default_factory=time.monotonic)

    def meanwhile(self, learner: Any) -> None:
        """Begin, where the table is small and the folds are dealt."""
        if len(self.rows) * len(self.rows.table.features) <= _SMALL and learner.folds_ is not None:
            self._begin(learner, _BESIDE)

    def after(self, learner: Any) -> None:
        """Begin, where that has not been done."""
        self._begin(learner, max(_LEAST_SECONDS, _SHARE * (time.monotonic() - self._begun)))

    def _begin(self, learner: Any, seconds: float) -> None:
        measure, self.measure = self.measure, None
        rows, fold, seconds = self.rows, learner.folds_, min(seconds, self.deadline.left)
        if measure is None or fold is None or seconds <= 0.0 or int(fold.max()) == 0:
            return
        table, y, weight = rows.table, rows.y, np.ones(len(rows)) if rows.weight is None else np.array(rows.weight)
        if not weight.all():
            table, y, weight = table.take(weight > 0), y[weight > 0], weight[weight > 0]
        factors = np.ones(len(rows.classes)) if rows.cost is None else np.array(rows.cost)
        by_class = self.parameters.get("class_weight")
        if by_class == "balanced":
            totals = np.bincount(y, weight, len(factors))
            factors = factors * totals.sum() / (len(totals) * np.maximum(totals, 1e-300))
        elif by_class is not None:
            factors = factors * [float(by_class.get(label, 1.0)) for label in rows.classes]
        weight = weight * factors[y]
        sample = sample_of(table, y, weight, fold)
        wait = measure(sample, seconds)
        self.wait = lambda: reported(wait(self.deadline), sample, y, weight, rows.classes)


# What a reader of a trained model would wonder about, and what may help -----------------------------------------------

HARDLY = 0.5
SELDOM = 1.0 / 3.0
"""The share of the rows below which a class may be outnumbered wherever a rule holds."""
FEW = 500
LOWEST_COST = 5
"""The cost where the best rule pays at any: a learner that adds conditions one by one needs parts of it to pay."""
RULES = "rules"
"""The learner of rules with several conditions."""
MOST_NAMED = 3
_ALONE = "the most frequent class alone"
_HELP = "more rows or other columns may help; rulekit try compares learners"


def surprises(model: RuleGraph, start: GivenStart | None, figures: Figures) -> list[str]:
    """What a reader of the model would wonder about: no rule at all, or a frozen rule that is gone."""
    found = no_rule_notes(model, max(figures.classes, key=lambda c: c.predicted).label)
    if not found and len(answered := [c.label for c in figures.classes if c.predicted]) == 1:
        found.append(f"every row is decided {answered[0]!r}, so that the rules only say how likely another answer is")
    if model.overrides or promises(model):
        from rulekit.audit.checks.checking import unproved

        found += [f"{verdict.promise.text}: {verdict.outcome}, {verdict.reason}" for verdict in unproved(model)]
    covered = [] if start is None else start.covered(model)
    if covered:
        one = len(covered) == 1
        why = f"{'is' if one else 'are'} covered by other rules and left out; --no-simplify keeps all"
        if any(rule.connective == "sum" for rule in rules_of(model)):
            why = f"{'has' if one else 'have'} weight 0 on these rows, or a shorter form"
        found.append(f"{listed(covered)} of --start {why}")
    return found


def hints(
    figures: Figures,
    few_errors: bool,
    weighted: bool = False,
    ladder: Ladder | None = None,
    baselines: Baselines | None = None,
) -> list[str]:
    """What may help a model that is no better than something simpler, or that hardly finds a rare class.

    few_errors: whether these are what was asked for, and not least costs, or that the class is found. weighted: the
    rows have weights. ladder, baselines: what was measured on held-out rows.
    """
    answered = [c for c in figures.classes if c.predicted]
    found = _no_better(figures, ladder, baselines) if few_errors and len(answered) > 1 else []
    total = sum(c.support for c in figures.classes)
    rare = [c for c in figures.classes if 0 < c.support < RARE * total and c.recall < HARDLY]
    if not few_errors or not rare or len(answered) < 2:  # of a model without a rule, `ways_out` says more
        return found
    of_all = "of the weight" if weighted else "of the rows"
    named = [f"{c.label!r} ({percent(c.support / total)} {of_all})" for c in rare]
    shown = ", ".join(named) if len(named) <= MOST_NAMED else f"{', '.join(named[:2])} and {len(named) - 2} more"
    way = "--cost 1:10 makes a missed row weigh more, and rulekit threshold moves the decision"
    more = f"; {way}" if len(figures.classes) == 2 else "; --weight COL makes their rows weigh more"
    found.append(f"{'a rare class that is' if len(rare) == 1 else 'rare classes that are'} hardly found: {shown}{more}")
    return found


def _no_better(figures: Figures, ladder: Ladder | None, baselines: Baselines | None) -> list[str]:
    """A sentence where the model is not clearly better than the most frequent class, or else than one condition.

    By what the ladder shows: errors on held-out rows with their standard error; where a class is rare the macro F1.
    """
    row = None if ladder is None else ladder.at(ladder.chosen)
    models = {} if baselines is None else {model.name: model for model in baselines.models}
    alone, single = models.get(MOST_FREQUENT), models.get(SINGLE_CONDITION)
    total, simple = sum(c.support for c in figures.classes), row is not None and row.literals <= 1
    if any(0 < c.support < RARE * total for c in figures.classes):
        f1 = figures.macro_f1 if row is None or row.macro_f1 is None else row.macro_f1
        part = max(c.support for c in figures.classes) / total
        of_one = 2.0 / len(figures.classes) * part / (1.0 + part) if alone is None else alone.macro_f1
        if round(f1, 2) <= round(of_one, 2):
            return [f"the macro F1 score is no larger than that of {_ALONE} ({of_one:.2f}): {_HELP}"]
        beaten = single is not None and not simple and f1 <= single.macro_f1
        return [f"one condition alone has as large a macro F1 score: {_HELP}"] if beaten else []
    error, slack = 1.0 - figures.accuracy, figures.accuracy_error
    if row is not None and row.error is not None:
        error, slack = row.error, slack if row.standard_error is None else row.standard_error
    most = 1.0 - figures.majority if alone is None else alone.error
    if error >= most - slack:
        return [f"the model errs {'no' if error >= most else 'hardly'} less than {_ALONE} ({percent(most)}): {_HELP}"]
    if ladder is None or row is None or row.error is None or simple:
        return []
    for rung in ladder.rungs:
        if rung.rules == rung.literals == 1 and rung.error is not None and rung.error <= error + slack:
            node = rules_of(rung.model.underlying)[0].node
            text = Words.of([node], rung.model.schema).text(node)
            return [f"one condition ({text}) errs hardly more ({percent(rung.error)}): --size {rung.size} takes it"]
    if single is not None and single.error <= error + slack:
        less = "no" if single.error <= error else "hardly"
        return [f"one condition alone errs {less} more ({percent(single.error)}): {_HELP}"]
    return []


def ways_out(rows: LabelledTable, learner: str, parameters: Collection[str]) -> tuple[str, ...]:
    """What may give rules for training rows from which none were learned.

    learner: its word; parameters: the names that it has. A rule pays where its right rows outweigh its wrong ones. So
    the cost that is named is twice the one from which the best rule that was looked at pays (`best_rule`): on other
    rows it is right less often.
    """
    sums = np.bincount(rows.y, rows.weight, len(rows.classes))
    place, total, found = int(np.argmin(sums)), float(sums.sum()), []
    label, part = rows.classes[place], float(sums[place]) / total
    best = best_rule(rows, place) if rows.cost is None and 0.0 < part < SELDOM else None
    if best is not None and best.precision > 2.0 * part:
        how, all_ = f"{best.right:.0f} of its {counted(best.rows, 'row')}", "the rows"
        if best.weighted:
            how, all_ = f"{percent(best.precision)} of the weight of its rows", "the weight of the rows"
        looked = "of the rules of one or two conditions that were looked at"
        why = f"{label!r} is {percent(part)} of {all_}; {looked}, the best is right on {how}: {best.text}; "
        times = LOWEST_COST if best.precision > 0.5 else math.ceil(2.0 * best.wrong / best.right)
        if best.precision > 0.5 and learner != RULES:
            found.append(f"--learner {RULES} looks for such rules")
        if len(rows.classes) == 2:
            given = "" if place else f"--positive {shlex.quote(str(label))} "
            found.append(f"{given}--cost 1:{times} counts a missed {label!r} as {times} errors")
            if "threshold" in parameters:
                found.append(f"--param threshold=f1 decides where {label!r} is found best, rather than at 1/2")
        elif "class_weight" in parameters:
            found.append("--param class_weight=balanced gives all classes the same weight")
        found[:1] = [why + each for each in found[:1]]
    if len(rows) < FEW:
        found.append(f"{counted(len(rows), 'row')} hardly tell a rule from chance; with more rows there may be some")
    elif not found:
        found.append(f"the columns say little about {rows.target} in these rows; other columns, or more rows, may")
    return tuple(found)
