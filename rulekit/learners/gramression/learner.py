"""The learner gramression: sparse logistic regression over the features of a grammar, and Algorithm 1 as printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from rulekit.arrays import Bools, Floats, distinct_rows
from rulekit.graph.evaluation.structures import unpacked
from rulekit.graph.language.sentences import Sentence
from rulekit.graph.nodes import Linear, Logistic
from rulekit.learners.contract import NO_WATCH, Ability, Candidate, Frame, Learning, Question, Score, Watch
from rulekit.learners.data.binning import Codes
from rulekit.learners.data.folds import fold_of_rows
from rulekit.learners.data.problem import Problem
from rulekit.learners.gramression.grammar import GRAMMARS, MOST_BYTES, MOST_FEATURES, Atoms, Grammar, Vocabulary
from rulekit.learners.gramression.search import Counts, Fitted, Search
from rulekit.learners.learning import Run
from rulekit.learners.models.plain import log_losses, weights_on_grid
from rulekit.learners.parameters import Allowed, SizeSettings, number, one_of, setting, whole
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.path import ModelPath
from rulekit.learners.sums_of_rows.histograms import exact_sum
from rulekit.learners.sums_of_rows.kernels import compiled

_PRICES = (2.0, 0.5, 0.125)
_ENOUGH = 2500.0  # held-out rows by which a price or a penalty is chosen
_GRAMMAR_WORDS = "one of 'auto', 'chain', 'structures', 'tables', or a Grammar"


@dataclass(frozen=True)
class GramressionSettings(SizeSettings):
    """The grammar, the solver, and the parameters of Algorithm 1."""

    n_features: int = setting(30, whole(1), "most features of a class")
    grammar: Any = setting(
        "auto",
        Allowed(lambda value: isinstance(value, Grammar) or value in ("auto", *GRAMMARS), _GRAMMAR_WORDS),
        "where features come from (auto: structures where columns are atoms, else tables)",
    )
    solver: str = setting(
        "search",
        one_of("search", "descent", "descent-own", "descent-l2"),
        "search, or Algorithm 1: descent: as printed; -own: a feature pays no penalty of the time before it; -l2: the "
        "L2 form",
    )
    price: float | None = setting(
        None, number(0, optional=True), "of a literal in the description (None: 2; on tables, held-out rows choose it)"
    )
    feature_length: int = setting(3, whole(1), "most atoms of a feature")
    stopping: Any = setting(
        "none", one_of("cv", "none"), "what chooses the size: cross-validation (cv), or the learner alone (none)"
    )
    penalty: float = setting(8.0, number(0), "descent: C, of the sum of absolute weights (L2: of half the squares)")
    n_steps: int = setting(140_000, whole(1), "descent: K, how many steps there are")
    eta: float = setting(1.0, number(0), "descent: eta0, the learning rate of the first step")
    decay: float = setting(0.8, number(0), "descent: alpha, what is left of the rate after a pass")
    least_weight: float = setting(0.04, number(0), "descent: t, the weight above which rules are applied to a feature")
    rules: str = setting("pass", one_of("pass", "step"), "descent: when rules are applied: after a pass, or each step")


@dataclass(slots=True)
class Course:
    """The weights, the bias first, and after each pass the step, the log-likelihood, |w|_1 and the non-zero weights."""

    weights: Floats
    passes: list[tuple[int, float, float, int]] = field(default_factory=list)


def descend(
    vocabulary: Vocabulary,
    labels: Floats,
    row_weights: Floats,
    settings: GramressionSettings,
    seed: int,
    watch: Watch = NO_WATCH,
) -> Course:
    """The weights after K steps of Algorithm 1, whose learning rate is eta * decay^(k / rows) at step k.

    labels [n]: 0 or 1; a step on a row of weight 2 is twice as long. watch: is asked after each pass.
    """
    rng, n = np.random.default_rng(seed), len(labels)
    columns = _with_bias(vocabulary)
    m = columns.shape[1]
    weights, paid, birth, fired = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m, dtype=bool)
    fired[0] = True
    at_once = settings.rules == "step"
    rates = float(settings.penalty), float(settings.eta), float(settings.decay), settings.solver == "descent-l2"
    course, step, due, order = Course(weights), 0, 0.0, np.arange(n)

    def tell() -> None:
        scores = columns @ weights
        likelihood = -float(np.logaddexp(0.0, np.where(labels == 1.0, -scores, scores)).sum())
        course.passes.append((step, likelihood, float(np.abs(weights[1:]).sum()), int(np.count_nonzero(weights[1:]))))

    while step < settings.n_steps:
        if step % n == 0:
            if step:
                tell()
                if watch.over:
                    break
            rng.shuffle(order)
        ripe = np.flatnonzero(~fired & (weights > settings.least_weight))
        if len(ripe) and (at_once or step % n == 0):
            for feature in ripe:
                fired[feature] = True
                vocabulary.grow(int(feature) - 1)
            columns = _with_bias(vocabulary)
            new = columns.shape[1] - len(weights)
            weights, paid = np.append(weights, np.zeros(new)), np.append(paid, np.zeros(new))
            birth, fired = np.append(birth, np.full(new, due)), np.append(fired, np.zeros(new, dtype=bool))
        clock = birth if settings.solver == "descent-own" else np.zeros(len(weights))
        last = min(settings.n_steps, (step // n + 1) * n)
        threshold = settings.least_weight if at_once else np.inf
        rows, state = (columns, labels, row_weights, order), (weights, paid, clock, fired)
        step, due = _steps(rows, state, step, last, due, threshold, rates)
    course.weights = weights
    tell()
    return course


def _with_bias(vocabulary: Vocabulary) -> Bools:
    own = vocabulary.columns()
    return np.ascontiguousarray(np.column_stack([np.ones(len(own), dtype=bool), own]))


@compiled
def _steps(rows: Any, state: Any, step: Any, last: Any, due: Any, threshold: Any, rates: Any) -> Any:
    """Steps until the last one, or until a weight that has not fired passes the threshold: the next step, the penalty.

    `due` is u, what each weight may have paid so far, and `paid` is q, what it has paid.
    """
    columns, labels, row_weights, order = rows
    weights, paid, clock, fired = state
    n, m = columns.shape
    penalty, eta, decay, squared = rates
    while step < last:
        row = order[step % n]
        score = 0.0
        for j in range(m):
            if columns[row, j]:
                score += weights[j]
        rate = eta * decay ** (step / n)
        due += rate * penalty / n
        change = rate * row_weights[row] * (labels[row] - 1.0 / (1.0 + np.exp(-score)))
        step += 1
        ripe = False
        for j in range(m):
            if columns[row, j]:
                weights[j] += change
            if j == 0:
                continue
            if squared:
                weights[j] -= rate * penalty / n * weights[j]
            else:
                before, owed = weights[j], due - clock[j]
                if before > 0.0:
                    weights[j] = max(0.0, before - (owed + paid[j]))
                elif before < 0.0:
                    weights[j] = min(0.0, before + (owed - paid[j]))
                paid[j] += weights[j] - before
            ripe = ripe or (weights[j] > threshold and not fired[j])
        if ripe:
            break
    return step, due


@dataclass(frozen=True, slots=True, eq=False)
class WeightedFeatures:
    """The bias and the weights of the features that are true are added up, exactly; yes above 0.

    offered: by rule of the grammar, how many features it made, how many of them were new, and how many are in the sum.
    bound: how many features the vocabulary could have, where it had so many; else 0.
    """

    atoms: Atoms
    features: tuple[Sentence, ...]
    weights: tuple[float, ...]
    bias: float
    offered: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    bound: int = 0

    def scores(self, codes: Codes, n_rows: int) -> Floats:
        rows, total = self.atoms.structures(codes, n_rows), np.full(n_rows, self.bias)
        for feature, weight in zip(self.features, self.weights, strict=True):
            total += weight * unpacked(rows.holds(feature), n_rows)
        return total

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        return np.asarray(self.scores(codes, n_rows) > 0.0)

    def score(self, frame: Frame, prefix: str) -> Score:
        nodes = [self.atoms.node(feature, frame.columns) for feature in self.features]
        total = Linear(list(zip(self.weights, nodes, strict=True)), self.bias)
        return Score(total, probability=Logistic(total), silent=not nodes and self.bias <= 0.0)


class Gramression(RuleLearner):
    """Sparse sums of features that a grammar makes; see GramressionClassifier."""

    word = "gramression"
    estimator = "rulekit.learners.gramression.estimator:GramressionClassifier"
    settings = GramressionSettings
    noun = "feature"
    size_parameter = "n_features"
    abilities: ClassVar[frozenset[Ability]] = frozenset({"missing", "categories", "several", "ranked", "weights"})

    features_: tuple[Sentence, ...]
    weights_: tuple[float, ...]
    offered_: Mapping[str, tuple[int, int, int]]

    def learn(self, question: Question) -> Learning:
        """The sums of the path as they are found; then the best sum, and what is left as its weakest features leave."""
        problem, settings = question.problem, question.settings
        atoms, search = search_of(question)
        vocabulary = search.vocabulary
        if settings.solver != "search":
            yield from _descended(question, atoms, vocabulary.grammar)
            return None
        sums, size = list[Fitted](), 1
        for each in search.sums(settings.n_features):
            sums.append(each)
            if size <= len(each.features) <= settings.n_features:
                size = len(each.features)
                yield candidate_of(problem, atoms, vocabulary, each)
        prices, preferred = (settings.price,) if settings.price is not None else _PRICES, 0
        if settings.price is None and not atoms.columns:
            preferred = _preferred(question)
        if preferred < len(prices):
            search = replace(search, price=prices[preferred])
            best = search.best(settings.n_features, sums)
        else:
            best = sums[min(preferred - len(prices), len(sums) - 1)]
        smaller = [each for each in search.eliminated(best) if 0 < len(each.features) < len(best.features)]
        return [candidate_of(problem, atoms, vocabulary, each) for each in (*reversed(smaller), best) if each.features]

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Keep the features of the model, of all questions in their order."""
        chosen = [own.at(place).model for own, place in zip(path.paths, path.chosen, strict=True)]
        models = [model for model in chosen if isinstance(model, WeightedFeatures)]
        self.features_ = tuple(feature for model in models for feature in model.features)
        self.weights_ = tuple(weight for model in models for weight in model.weights)
        offered = [(name, counts) for model in models for name, counts in model.offered.items()]
        self.offered_ = {
            name: tuple(np.sum([counts for own, counts in offered if own == name], axis=0).tolist())
            for name in dict.fromkeys(name for name, _ in offered)
        }
        bound = max((model.bound for model in models), default=0)
        self.remarks_ += (f"the grammar reached its bound of {bound:,} features: others were not tried",) * bool(bound)


def search_of(question: Question) -> tuple[Atoms, Search]:
    """The atoms of a question, and a search on its rows.

    Equal rows are together, and in an order of their own, so that theirs decides nothing.
    """
    problem, settings = question.problem, question.settings
    atoms, n = Atoms.of(problem, settings.feature_length), len(problem.labels)
    known = [words.reshape(-1, words.shape[-1]) for words in atoms.structures(problem.codes, n).atoms.values()]
    first, place = distinct_rows(unpacked(np.concatenate(known), n).T)
    rows = atoms.structures(problem.codes.take(first), len(first))
    weights = problem.weights.astype(np.float64)
    total, positive = (
        np.asarray(np.bincount(place, own, len(first)) * problem.weight_unit, dtype=np.float64)
        for own in (weights, weights * (problem.labels == 1))
    )
    grammar = settings.grammar
    if not isinstance(grammar, Grammar):
        own = "structures" if atoms.columns else "tables"
        grammar = GRAMMARS[own if grammar == "auto" else grammar]
    least = max(5.0, 0.003 * float(total.sum()))
    most = min(MOST_FEATURES, MOST_BYTES // (8 * -(-len(first) // 64)))
    vocabulary = Vocabulary(atoms.language, rows, total, grammar, least, most)
    return atoms, Search(vocabulary, Counts(total, positive), question.watch.check)


def _preferred(question: Question) -> int:
    """Which of the prices, then of the penalties, has the least log loss on held-out rows.

    The first price where none is better than no feature by two standard errors, over the folds.
    """
    problem, losses, seen = question.problem, list[Floats](), 0.0
    fold = fold_of_rows(problem, question.settings.n_folds, question.groups, question.seed)
    for part in range(int(fold.max(initial=0)) + 1):
        rest, held = problem.take(fold != part), problem.take(fold == part)
        if 0.0 < rest.positive < rest.total and seen < (1.0 if question.fold else _ENOUGH):
            losses.append(_held_out_losses(replace(question, problem=rest), held))
            seen += held.total
    if not losses:
        return 0
    shared = min(map(len, losses))
    nothing, *found = np.transpose([each[:shared] for each in losses])
    best = int(np.argmin([each.sum() for each in found]))
    saved = nothing - found[best]
    clear = saved.sum() > (2.0 * saved.std(ddof=1) * len(saved) ** 0.5 if len(saved) > 1 else 0.0)
    return best if clear else 0


def _held_out_losses(question: Question, held: Problem) -> Floats:
    """The log loss of held-out rows without a feature, at each price and at each penalty; learned from other rows."""
    (atoms, search), most = search_of(question), question.settings.n_features
    sums = list(search.sums(most))
    found = [search.chosen(()), *(replace(search, price=price).best(most, sums) for price in _PRICES)]
    found += [each for each in sums if len(each.features) <= most]
    return np.array(
        [exact_sum(held.weights * log_losses(model_of(atoms, search.vocabulary, each), held)) for each in found]
    )


def _descended(question: Question, atoms: Atoms, grammar: Grammar) -> Iterator[Candidate]:
    """The features of Algorithm 1 that have a weight, on the rows one by one."""
    settings, problem = question.settings, question.problem
    weights = np.asarray(problem.weights * problem.weight_unit, dtype=np.float64)
    vocabulary = Vocabulary(atoms.language, atoms.structures(problem.codes, len(weights)), weights, grammar)
    labels = problem.labels.astype(np.float64)
    course = descend(vocabulary, labels, weights, settings, question.seed, question.watch)
    kept = np.flatnonzero(course.weights[1:])
    if len(kept):
        features, found = tuple(kept.tolist()), course.weights[1:][kept]
        own = Fitted(float(course.weights[0]), found, np.zeros(0), 0.0, features=features)
        yield candidate_of(problem, atoms, vocabulary, own)


def model_of(atoms: Atoms, vocabulary: Vocabulary, found: Fitted) -> WeightedFeatures:
    weights, bias = weights_on_grid(found.weights, found.bias)
    formulas = tuple(vocabulary.formulas[each] for each in found.features)
    new, kept = Counter(vocabulary.rules), Counter(vocabulary.rules[each] for each in found.features)
    offered = {name: (count, new[name], kept[name]) for name, count in vocabulary.offered.items()}
    bound = vocabulary.most * vocabulary.full
    return WeightedFeatures(atoms, formulas, tuple(weights.tolist()), bias, offered, bound)


def candidate_of(problem: Problem, atoms: Atoms, vocabulary: Vocabulary, found: Fitted) -> Candidate:
    """A sum as a candidate; its objective is the log loss."""
    model = model_of(atoms, vocabulary, found)
    wrong = problem.weight_of(model.decides(problem.codes, len(problem.labels)) != (problem.labels == 1))
    loss = exact_sum(problem.weights * log_losses(model, problem)) * problem.weight_unit
    said = {"grammar": {name: list(counts) for name, counts in model.offered.items()}}
    cost = 1e-3 * sum(vocabulary.lengths[each] for each in found.features)
    return Candidate(len(found.features), loss, wrong, model, cost=cost, said=said)
