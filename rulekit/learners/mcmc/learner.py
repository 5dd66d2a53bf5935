"""MCMCClassifier: of the rule sets of each size that a Metropolis-Hastings walk meets, the most probable one.

A walk adds, drops or replaces a literal or a clause, or changes a strength. Each of these moves is a kernel of its own
with its own ratio log(q(back) / q(there)), so that each leaves the posterior as it is, and so does a walk that draws
one of them at every step.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from random import Random
from time import monotonic
from typing import Any, ClassVar

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.graph.nodes import TRUE, Hidden, Node, Or
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import Ability, Candidate, Frame, Learning, Question, Score
from rulekit.learners.data.binning import Codes
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem, with_fixed
from rulekit.learners.mcmc.posterior import GRID, Literals, Posterior, RuleMoves, WalkedRules, bits_of, weight_planes
from rulekit.learners.models.plain import Clause, covered_by_some, rule_of
from rulekit.learners.parameters import SizeSettings, number, one_of, setting, whole
from rulekit.numbers import short_probability, strength_of
from rulekit.sampling import Chain, kept
from rulekit.schema import Schema

_TOGETHER = 500  # steps of a walk before the next one has its turn
_FLAT, _FEW = 0.3, 500.0  # the least power of a walk beside another one: this, or that of which so many rows are left
_WALKING = 0.9  # the share of a limit of time after which the walks end, so that their rule sets can be taken


@dataclass(frozen=True, slots=True, eq=False)
class NoisyRules:
    """Each group of clauses of which one holds makes a yes with its strength, and so does the leak."""

    groups: tuple[tuple[Clause, ...], ...]
    strengths: tuple[float, ...]
    leak: float

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        stays = np.full(n_rows, 1.0 - self.leak)
        for clauses, strength in zip(self.groups, self.strengths, strict=True):
            stays[covered_by_some(clauses, codes, n_rows)] *= 1.0 - strength
        return np.asarray(stays < 0.5)

    def score(self, frame: Frame, prefix: str) -> Score:
        """A hidden bit for each group, and one for the leak; of one group its rule decides where it can."""
        causes = [rule_of(clauses, frame.columns) for clauses in self.groups]
        named = enumerate(zip([*causes, TRUE], [*self.strengths, self.leak], strict=True), start=1)
        bits = [Hidden(f"{prefix}{k}", cause, strength_of(strength)) for k, (cause, strength) in named]
        alone = len(causes) == 1 and self.leak <= 0.5 < 1.0 - (1.0 - self.leak) * (1.0 - self.strengths[0])
        return Score(Or(bits), causes[0] if alone else None, largest=True)


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Walks of one question, and the log probability that they walk by."""

    posterior: Posterior
    chains: tuple[Chain[WalkedRules], ...]

    def trace(self) -> Floats:
        places = zip(self.chains, kept(self.chains), strict=True)
        return np.stack([np.array(chain.scores)[own] for chain, own in places])

    def parts(self, of: Callable[[WalkedRules], Collection[Any]], most: int) -> list[tuple[Any, list[float]]]:
        """The most probable parts of rule sets, with the share of the steps of each walk in which they stand."""
        counts = [Counter[Any]() for _ in self.chains]
        for chain, places, own in zip(self.chains, kept(self.chains), counts, strict=True):
            for state, count in zip(chain.visited, np.bincount(places).tolist(), strict=False):
                for part in of(state):
                    own[part] += count
        every = sum(counts, Counter[Any]())
        found = sorted(every, key=lambda part: (-every[part], part))[:most]
        steps = len(kept(self.chains)[0])
        return [(part, [own[part] / steps for own in counts]) for part in found]

    def best(self, of: Callable[[WalkedRules], Any]) -> dict[Any, tuple[float, WalkedRules]]:
        """The most probable state of each kind behind its log probability; of: says which kind a state is."""
        best: dict[Any, tuple[float, WalkedRules]] = {}
        for chain in self.chains:
            for found in zip(chain.scores, chain.visited, strict=True):
                kind = of(found[1])
                best[kind] = max(best.get(kind, found), found)
        return best

    def model(self, state: WalkedRules) -> NoisyRules:
        own, grid = [self.posterior.literals.clause(clause) for clause in state.clauses], self.posterior.grid
        if len(grid) > 1:
            strengths = tuple(grid[place] for _, place in state.parts)
            return NoisyRules(tuple((clause,) for clause in own), strengths, grid[state.leak])
        yes, no, other_yes, other_no = self.posterior.counts(state)
        outside = short_probability((other_yes + 1.0) / (other_yes + other_no + 2.0))
        inside = max(outside, (yes + 1.0) / (yes + no + 2.0))
        return NoisyRules((tuple(own),), (short_probability(1.0 - (1.0 - inside) / (1.0 - outside)),), outside)


def walks_of(question: Question) -> Sampled:
    """The walks of a question before their first step.

    Its plan: the conditions of rules, by clause, with which the first walk begins. The next begins with no rule, others
    with a few by chance.
    """
    problem, settings = question.problem, question.settings
    literals, grid = Literals.of(problem), GRID if settings.likelihood == "noisy-logical" else (0.0,)
    count, random, chains = len(literals.rows), Random(question.seed), list[Chain[WalkedRules]]()
    price = math.log(4 * max(1, count)) if settings.price is None else settings.price  # docs/sampling.md
    rows = (1 << len(problem.labels)) - 1, bits_of(np.asarray(problem.labels == 1)), weight_planes(problem)
    posterior = Posterior(literals, *rows, price, settings.n_literals, grid)
    flattest = min(_FLAT, _FEW / max(problem.total, 1.0))
    beside = math.ceil(-2.0 * math.log(flattest))
    powers = tuple(flattest ** ((k / beside) ** 1.3) for k in range(1, beside + 1))
    given = literals.numbers(problem, question.plan or ())
    given = given if sum(map(len, given)) <= settings.n_literals else ()
    moves = RuleMoves(literals.siblings, len(grid), given)
    for place in range(settings.n_chains if count else 0):
        few = random.sample(range(count), min(3, settings.n_literals, count))
        clauses = [given, (), *[tuple((each,) for each in sorted(few))] * place][place]
        start = WalkedRules(tuple((clause, len(grid) // 2) for clause in clauses), 0)
        chains.append(Chain(start, posterior, moves, random.randrange(1 << 62), powers))
    return Sampled(posterior, tuple(chains))


@dataclass(frozen=True)
class MCMCSettings(SizeSettings):
    """The walk, and what it draws from."""

    n_literals: int = setting(10, whole(1), "most literals of a rule set")
    likelihood: str = setting("bernoulli", one_of("bernoulli", "noisy-logical"), "of the labels, given the rules")
    price: float | None = setting(
        None, number(0, optional=True), "of a literal, in nats (None: the log of twice their number)"
    )
    n_chains: int = setting(2, whole(1, 100), "walks, each from another rule set")
    n_steps: int = setting(10_000, whole(1), "steps of each walk")


class MCMCClassifier(RuleClassifier):
    """The most probable rule set of each size that random walks over rule sets meet.

    The walk is the one of J. Kun, Markov Chain Monte Carlo Without all the Bullshit, 2015. docs/sampling.md says how
    probable a rule set is. `sampled_` has the last walks. `rules`, clauses of nodes, are conditions beside those of
    the columns; `tell` hears of the share that is done, and ends the walks where it returns true.
    """

    word = "mcmc"
    settings = MCMCSettings
    noun = "literal"
    size_parameter = "n_literals"
    abilities: ClassVar[frozenset[Ability]] = frozenset({"missing", "categories", "several", "ranked", "weights"})

    rules: Sequence[Sequence[Node]] = ()
    tell: Callable[[float], object] | None = None
    sampled_: Sampled | None = None

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with the conditions of `rules`, with which the first walk begins."""
        nodes = list(dict.fromkeys(node for clause in self.rules for node in clause))
        joined = with_fixed(problem, nodes, data.table, Schema(data.table.features, "target"))
        return [replace(q, problem=replace(joined, labels=q.problem.labels), plan=self.rules) for q in questions]

    def learn(self, question: Question) -> Learning:
        problem, sampled = question.problem, walks_of(question)
        if not question.fold:
            self.sampled_ = sampled
        begun = monotonic()
        over = begun + _WALKING * (question.watch.until - begun)
        steps = question.settings.n_steps
        for done in range(0, steps, _TOGETHER):
            if done and (monotonic() > over or (self.tell and self.tell(done / steps))):
                break
            for chain in sampled.chains:
                chain.walk(min(_TOGETHER, steps - done))
        best = sampled.best(lambda state: state.size)
        best.pop(0, None)
        sizes = sorted(best)
        if monotonic() >= over:  # the most probable rule set is all that is left of a time that is over
            sizes = sorted(sizes, key=lambda size: -best[size][0])[:1]
        for size in sizes:
            model = sampled.model(best[size][1])
            wrong = model.decides(problem.codes, len(problem.labels)) != (problem.labels == 1)
            yield Candidate(size, -best[size][0], problem.weight_of(wrong), model)
        return None
