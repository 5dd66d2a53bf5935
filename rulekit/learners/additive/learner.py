"""The learner additive: a short sum of weighted conjunctions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.errors import InputError
from rulekit.graph.nodes import Linear, Logistic, Node, Not
from rulekit.graph.rule_graph import Required
from rulekit.learners.additive.growth import GrownSum, KnownRule, Role, SumPlan, SumSearch, WeightedRule
from rulekit.learners.additive.literals import Layout, Literal, Literals, Penalties, RuleWeights
from rulekit.learners.contract import NO_WATCH, Ability, Candidate, Frame, Learning, Question, Score, Variants
from rulekit.learners.data.binning import Codes, least_side
from rulekit.learners.data.folds import drawn, folds_of
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.parted import gathered
from rulekit.learners.data.problem import HOLDS, FixedColumn, Problem, with_fixed
from rulekit.learners.models.assembly import Prior
from rulekit.learners.models.plain import (
    Clause,
    Terms,
    covered,
    log_losses,
    refuse_for_sums,
    terms_of_rules,
    weights_on_grid,
)
from rulekit.learners.parameters import (
    PointSettings,
    StartSettings,
    bins,
    number,
    or_automatic,
    setting,
    whole,
    words_or_list,
)
from rulekit.learners.promises.kept import (
    Allowed,
    GivenRules,
    broken_promise,
    check_classes,
    given_rules,
    refuse_broken,
    required_of,
    terms_of_part,
    with_given,
)
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sums_of_rows.histograms import exact_sum
from rulekit.numbers import log_odds
from rulekit.schema import Schema

_BESIDE_OTHERS = 2.0
"""What the sums of several classes are lessened by for their probabilities (docs/additive.md has the measurement)."""


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveRules:
    """The bias and the weights of the clauses that hold are added up, exactly; yes above 0."""

    clauses: tuple[Clause, ...]
    weights: tuple[float, ...]
    bias: float

    def scores(self, codes: Codes, n_rows: int) -> Floats:
        return self.terms().totals(codes, n_rows)

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        return np.asarray(self.scores(codes, n_rows) > 0.0)

    @staticmethod
    def decide_all(models: Sequence[AdditiveRules], codes: Codes, n_rows: int) -> Iterator[Bools]:
        """What each decides [n]; a clause that several of them have is looked at once."""
        known: dict[int, Bools] = {}
        for model in models:
            total = np.full(n_rows, model.bias)
            for clause, weight in zip(model.clauses, model.weights, strict=True):
                if id(clause) not in known:
                    known[id(clause)] = covered(clause, codes, n_rows)
                total += weight * known[id(clause)]
            yield total > 0.0

    def terms(self) -> Terms:
        return Terms(tuple(zip(self.clauses, self.weights, strict=True)), {}, self.bias, fitted=True)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The sum, and 1 / (1 + exp(-sum)) as the probability; of several classes of _BESIDE_OTHERS less than the sum.

        The probabilities of several classes are divided by their total. That of sums as they stand takes each class as
        one against all others; of sums that are much less it would be their soft-max.
        """
        terms, constant = terms_of_rules(zip(self.clauses, self.weights, strict=True), frame.columns)
        total = Linear(terms, self.bias + constant)
        said = Linear([(1.0, total)], -_BESIDE_OTHERS) if frame.kind == "several" else total
        return Score(total, probability=Logistic(said), silent=not terms and self.bias <= 0.0)


def outweighing(rules: Sequence[WeightedRule], weights: Floats, bias: float) -> Floats:
    """The weights [K]; of rules that decide so large that the sum is on their side of 0 whatever other rules hold.

    Those of different signs never hold together.
    """
    decides = np.array([rule.role == "decides" for rule in rules], dtype=bool)
    if not decides.any():
        return weights
    signs, others = np.array([rule.sign for rule in rules]), np.where(decides, 0.0, weights)
    least = math.floor(-(bias + float(np.minimum(others, 0.0).sum()))) + 1
    most = -math.floor(bias + float(np.maximum(others, 0.0).sum())) - 1
    raised = np.where(signs > 0, np.maximum(weights, max(least, 1)), np.minimum(weights, min(most, -1)))
    return np.where(decides, raised, weights)


def candidate_of(found: GrownSum, at: RuleWeights, unit: float) -> Candidate:
    """A sum with these weights, on a grid that leaves every sum exact; its objective is the log loss with the ridge."""
    weights, bias = weights_on_grid(outweighing(found.rules, at.weights, at.bias), at.bias)
    at = replace(at, bias=bias, weights=outweighing(found.rules, weights, bias))
    scores, counts = at.scores(found.cells.holds), found.cells.counts
    error = float(np.where(scores > 0.0, counts[:, 0], counts[:, 1]).sum()) * unit
    model = AdditiveRules(tuple(rule.clause for rule in found.rules), tuple(at.weights.tolist()), at.bias)
    cost = _COST_OF_A_LITERAL * sum(len(rule.literals) for rule in found.rules)
    return Candidate(len(found.rules), at.loss, error, model, bool(found.stay.all()), cost)


# Known rules ------------------------------------------------------------------------------------------------------


def with_known(
    problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
) -> tuple[Problem, list[tuple[KnownRule, ...]]]:
    """The problem with known rules as columns behind its own, and by question these rules.

    A required decision is a rule for or against each question, and its weight has that sign. Raises InputError for a
    start of another form, where rules that must stand break what is promised, and for several classes where a decision
    is required.
    """
    settings, table = questions[0].settings, data.table
    schema = Schema(table.features, settings.target, constraints=table.constraints)
    required = required_of(settings.require or (), schema, classes)
    if required and len(classes) > 2 and settings.ordered is None:
        why = "of several classes the largest sum decides, and none outweighs the sums of the others"
        raise InputError(why, where="require", fix="leave it out, or take another learner")
    free = Allowed.of(problem.columns, table.constraints).free
    started = [GivenRules((), ())] * len(questions)
    if settings.start is not None:
        check_classes(settings.start, classes, settings.ordered is not None)
        terms = [terms_of_part(part) for part in settings.start.decision.parts]
        started = given_rules(settings.start, settings.freeze, classes, terms)
    signs: dict[Node, int | None] = {}
    for node in {} if free else dict.fromkeys(node for own in started for node in (*own.kept, *own.begun)):
        signs[node] = _sign(node, schema)
    conditions = {promise.condition for promise in required}
    started = [
        GivenRules(
            tuple(node for node in own.kept if node not in conditions),
            tuple(node for node in own.begun if node not in conditions and signs.get(node, 0) is not None),
        )
        for own in started
    ]
    for node in (node for own in started for node in own.kept if signs.get(node, 0) is None):
        refuse_broken([node], schema)
    first = len(problem.columns)
    problem = with_fixed(problem, [promise.condition for promise in required], table, schema)
    problem, clauses = with_given(problem, started, table, whole=not free)
    known = []
    for question, own, found in zip(questions, started, clauses, strict=True):
        rules = _required(required, question.index, first, problem, schema)
        sides: tuple[tuple[Role, tuple[Node, ...]], ...] = (("stays", own.kept), ("free", own.begun))
        for (role, nodes), made in zip(sides, found, strict=True):
            rules += [
                KnownRule(_literals(each, problem), signs.get(node) or 0, role)
                for node, each in zip(nodes, made, strict=True)
            ]
        known.append(tuple(rules))
    return problem, known


def _sign(node: Node, schema: Schema) -> int | None:
    """The sign of the weight with which a rule keeps what is promised: 0 for either, None for neither."""
    signs = [sign for sign, root in ((1, node), (-1, Not(node))) if not broken_promise(root, schema)]
    return sum(signs) if signs else None


def _literals(clause: Clause, problem: Problem) -> Literals:
    found = []
    for place, condition in clause.items():
        column = problem.columns[place]
        assert isinstance(column, FixedColumn)
        found.append(Literal(place, condition, 0, column.reads))
    return tuple(found)


def _required(
    required: Sequence[Required], question: int, first: int, problem: Problem, schema: Schema
) -> list[KnownRule]:
    """What is required as rules for or against a question; first: the column of the first one."""
    speaks = [promise.class_index > question for promise in required]
    told = list(zip((promise.condition for promise in required), speaks, strict=True))
    refuse_broken([node for node, own in told if own], schema, [node for node, own in told if not own])
    return [
        KnownRule(_literals({first + place: HOLDS}, problem), 1 if own else -1, "decides")
        for place, own in enumerate(speaks)
    ]


@dataclass(frozen=True)
class AdditiveRulesSettings(PointSettings, StartSettings):
    """How many rules there are, how long they may be, and how hard is looked for them; all else is shared."""

    max_rules: int = setting(20, whole(1), "most rules of a class")
    rule_length: Any = setting(
        "auto", or_automatic(whole(1)), "most literals of a rule (auto: the best of 1, 2 and 4 on held-out rows)"
    )
    ridge: Any = setting(
        "auto", or_automatic(number(0)), "penalty of large weights, in rows (auto: 5, and 0.3 for bold rules)"
    )
    beam: int = setting(5, whole(1), "rules that are kept while one more literal is looked for")
    polish: int = setting(2, whole(0), "times that all rules are looked at once more when the last one is found")
    max_bins: Any = bins(128)
    freeze: Any = setting(
        "all",
        words_or_list("all", "none"),
        "which of its rules stay as they are, with new weights: all, none, or their ids",
    )
    n_folds: int = setting(3, whole(2), "folds of the cross-validation, inside the training rows")


_ROWS_OF_A_FOLD, _ROWS = 1 << 15, 1 << 17
"""From how many rows rules are looked for at most, where sizes are compared and where they are kept."""
_PARTS = 3
_NEVER = 1e-9
_COST_OF_A_LITERAL = 1e-3


class WeightedRules(RuleLearner):
    """Short sums of weighted conjunctions; see AdditiveRulesClassifier."""

    word = "additive"
    estimator = "rulekit.learners.additive.estimator:AdditiveRulesClassifier"
    settings = AdditiveRulesSettings
    noun = "rule"
    size_parameter = "max_rules"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (
            *("missing", "categories", "start", "memory", "parts", "several", "ranked", "weights"),
            *("monotone", "apart", "require", "missing_never_helps"),
        )
    )

    def check(self, settings: AdditiveRulesSettings) -> None:
        """Raise InputError where whole points are to outweigh all others."""
        if settings.require and settings.points:
            why = "a required decision outweighs all other rules, which no point of limited size does"
            raise InputError(why, where="points", fix="leave out points or require")

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with their plan; raises InputError for promises or a start that sums cannot keep."""
        settings: AdditiveRulesSettings = questions[0].settings
        if problem.elsewhere is not None and problem.is_few(_ROWS):  # rules are looked for on all rows
            problem, questions = problem.here(), gathered(questions)
        refuse_for_sums(settings, classes)
        layout = Layout.of(problem.columns, Allowed.of(problem.columns, data.table.constraints))
        plan = SumPlan(
            layout, complexities(settings, problem.total), settings.max_rules, settings.beam, settings.polish
        )
        further, known = with_known(problem, questions, data, classes)
        found = list[Question]()
        for question, own in zip(questions, known, strict=True):
            rows = question.problem if further is problem else replace(further, labels=question.problem.labels)
            found.append(replace(question, problem=rows, plan=replace(plan, known=own)))
        return found

    def nothing(self, question: Question) -> Candidate:
        """The rules that stay, or the share of the positive rows where there are none."""
        plan: SumPlan = question.plan
        found = _search(question, plan.complexities[0], question.problem).begun()
        own = candidate_of(found, found.at, question.problem.weight_unit)
        return own if found.rules else replace(super().nothing(question), objective=own.objective)

    def learn(self, question: Question) -> Learning:
        """The sums of 1, 2, ... rules by the first complexity."""
        yield from _sums(question, question.plan.complexities[0], _seen(question))
        return None

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same by every complexity; the one that is taken is looked at once more."""
        plan: SumPlan = question.plan
        seen = _seen(question)

        def others(penalties: Penalties) -> list[Candidate]:
            return list(_sums(question, penalties, seen))

        def best(variant: int) -> list[Candidate]:
            """The rules are those of the rows that are seen, the weights those of all rows."""
            search = _search(question, plan.complexities[variant], seen)
            path, own = search.path(), question.problem
            if seen is not own:
                search = replace(search, problem=own)
                path = search.refitted(path)
            return [candidate_of(found, search.shortened(found), own.weight_unit) for found in path]

        return Variants(
            [lambda: candidates, *(partial(others, each) for each in plan.complexities[1:])],
            partial(_raced, question),
            loss=_held_out_losses,
            bold=frozenset(v for v, each in enumerate(plan.complexities) if each.bold),
            final=best,
        )


def complexities(settings: AdditiveRulesSettings, rows: float) -> tuple[Penalties, ...]:
    """What is compared on held-out rows: rules of up to 1, 2 and 4 literals, and bold ones of up to 4."""
    careful, bold = least_side(rows) * 2.0, least_side(rows)
    lengths = (1, 2, 4) if settings.rule_length == "auto" else (settings.rule_length,)
    ridge = 5.0 if settings.ridge == "auto" else float(settings.ridge)
    found = [Penalties(ridge, 20.0, careful, 1.0, length) for length in lengths]
    if settings.ridge == "auto":
        found.append(Penalties(0.3, 1.0, bold, 0.3, max(lengths), bold=True))
    return tuple(found)


def _seen(question: Question) -> Problem:
    """The rows from which rules are looked for; those that are kept weigh as much as all rows do."""
    problem, most = question.problem, _ROWS_OF_A_FOLD if question.fold else _ROWS
    if problem.is_few(most):
        return problem.here()
    drawn_last = question.plan.drawn
    seen = next((rows for of, rows in drawn_last if of is problem), None)
    if seen is None:
        seen = drawn(problem, most, question.seed + 1)
        drawn_last[:] = [*drawn_last[-1:], (problem, seen)]
    return seen if question.fold else replace(seen, weight_unit=problem.total / most)


def _search(question: Question, penalties: Penalties, problem: Problem) -> SumSearch:
    return SumSearch(problem, question.plan, penalties, question.n_threads, question.watch)


def _sums(question: Question, penalties: Penalties, seen: Problem) -> Iterator[Candidate]:
    """The sums as they grow; in a fold each literal is the best one, without a second look."""
    search = _search(question, penalties, seen)
    search = replace(search, plan=replace(search.plan, width=1)) if question.fold else search
    return (candidate_of(found, found.at, seen.weight_unit) for found in search.grown())


def _held_out_losses(candidate: Candidate, held: Problem) -> Floats:
    model = candidate.model
    if isinstance(model, Prior):
        model = AdditiveRules((), (), log_odds(min(max(model.share, _NEVER), 1.0 - _NEVER)))
    assert isinstance(model, AdditiveRules)
    return log_losses(model, held)


def _raced(question: Question) -> int:
    """The complexity of the least log loss on a third of the rows, learned on the others."""
    problem, plan = question.problem, question.plan
    folds = folds_of(problem, _PARTS, question.groups, question.seed)
    if len(plan.complexities) == 1 or folds.count() == 1:
        return 0
    held = folds.held(problem, 0)
    held = held.here() if held.is_few(_ROWS) else drawn(held, _ROWS, question.seed)
    question = replace(question, problem=folds.training(problem, 0), watch=NO_WATCH, fold=True)
    seen = _seen(question)
    paths = [list(_sums(question, each, seen)) for each in plan.complexities]
    losses = [exact_sum(held.weights * _held_out_losses(path[-1], held)) if path else np.inf for path in paths]
    return int(np.argmin(losses))
