"""MCMCClassifier: of the rule sets of each size that a Metropolis-Hastings walk meets, the most probable one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, ClassVar

from rulekit.graph.nodes import Node
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import Ability, Candidate, Learning, Question
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem, with_fixed
from rulekit.learners.mcmc.posterior import WalkedRules
from rulekit.learners.mcmc.sampled import Sampled, walks_of
from rulekit.learners.parameters import SizeSettings, number, one_of, setting, whole
from rulekit.schema import Schema

_WALKING = 0.9
"""The share of a limit of time after which the walks end, so that their rule sets can be taken."""


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


def _likeliest(best: Mapping[int, tuple[float, WalkedRules]]) -> list[int]:
    """The size of the most probable rule set, where there is one: all that is left of a time that is over."""
    return [max(best, key=lambda size: best[size][0])] if best else []


class MCMCClassifier(RuleClassifier):
    """The most probable rule set of each size that random walks over rule sets meet.

    The walk is the one of J. Kun, Markov Chain Monte Carlo Without all the Bullshit, 2015. docs/sampling.md says how
    probable a rule set is. `sampled_` has the last walks. `rules`, clauses of nodes, are conditions beside those of
    the columns; `tell` hears of the share that is done.
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
        """The most probable rule set of each size."""
        problem, sampled = question.problem, walks_of(question)
        if not question.fold:
            self.sampled_ = sampled
        begun = monotonic()
        over = begun + _WALKING * (question.watch.until - begun)
        sampled.walk(question.settings.n_steps, lambda share: monotonic() > over or (self.tell and self.tell(share)))
        best = sampled.best(lambda state: state.size)
        best.pop(0, None)
        for size in sorted(best) if monotonic() < over else _likeliest(best):
            model = sampled.model(best[size][1])
            wrong = model.decides(problem.codes, len(problem.labels)) != (problem.labels == 1)
            yield Candidate(size, -best[size][0], float(problem.weights[wrong].sum()) * problem.weight_unit, model)
        return None
