"""Rule sets are walked over with the probability that the page gives them, by each move."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from rulekit.learners.mcmc.learner import MCMCClassifier
from rulekit.learners.mcmc.posterior import Clauses, Literals, Posterior, RuleMoves, WalkedRules, bits_of
from rulekit.sampling import Chain, Drawn, acceptance

GRIDS = {"bernoulli": (0.0,), "noisy-logical": (0.1, 0.5, 0.9)}


def _posterior(grid: tuple[float, ...], most: int = 3, seed: int = 0) -> Posterior:
    """40 rows with three columns of truth values, of which the first two cause a yes."""
    rng = np.random.default_rng(seed)
    truth = rng.random((40, 3)) < 0.5
    yes = rng.random(40) < np.where(truth[:, 0] & truth[:, 1], 0.8, 0.3)
    rows = [truth[:, 0], ~truth[:, 0], truth[:, 1], truth[:, 2]]
    literals = Literals((), tuple(map(bits_of, rows)), ((0, 1), (0, 1), (2,), (3,)))
    everyone = (1 << 40) - 1
    return Posterior(literals, everyone, bits_of(yes), ((1.0, everyone), (2.0, 0b1011)), 0.7, most, grid)


@cache
def _every(grid: tuple[float, ...]) -> dict[WalkedRules, float]:
    """All states that have a probability, with its logarithm."""
    posterior = _posterior(grid, 3 if len(grid) == 1 else 2)
    clauses = [c for size in range(1, posterior.most + 1) for c in combinations(range(4), size)]
    sets = [
        s for n in range(posterior.most + 1) for s in combinations(clauses, n) if sum(map(len, s)) <= posterior.most
    ]
    levels = range(len(posterior.grid))
    states = [
        WalkedRules(tuple(sorted(zip(s, places, strict=True))), leak)
        for s in sets
        for places in product(levels, repeat=len(s))
        for leak in levels
    ]
    return {state: score for state in states if (score := posterior(state)) > -math.inf}


def _draws(
    propose: Callable[..., Drawn[WalkedRules]], state: WalkedRules
) -> Iterator[tuple[float, Drawn[WalkedRules]]]:
    """Everything that a proposal may draw, with its exact probability: each of its choices is made in every way."""
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        scripted = _Scripted(waiting.pop(), waiting)
        drawn = propose(state, scripted)
        yield scripted.chance, drawn


class _Scripted:
    """Chance that follows a script, takes 0 after its end, and puts the scripts of the other ways on a list."""

    def __init__(self, script: tuple[int, ...], waiting: list[tuple[int, ...]]) -> None:
        self.script, self.waiting, self.taken, self.chance = script, waiting, 0, 1.0

    def __call__(self, n: int) -> int:
        self.chance /= n
        if self.taken == len(self.script):
            self.waiting.extend((*self.script, k) for k in range(1, n))
            self.script = (*self.script, 0)
        self.taken += 1
        return self.script[self.taken - 1]


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("kind", sorted(set(RuleMoves.KINDS), key=lambda kind: kind.__name__))
@pytest.mark.parametrize("known", [(), ((0, 2), (3,))])
def test_each_move_is_in_detailed_balance(
    kind: Callable[..., Drawn[WalkedRules]], grid: tuple[float, ...], known: Clauses
) -> None:
    moves, states = RuleMoves(((0, 1), (0, 1), (2,), (3,)), len(grid), known), _every(grid)
    flow: dict[tuple[WalkedRules, WalkedRules], float] = defaultdict(float)
    for state, here in states.items():
        total = 0.0
        for chance, drawn in _draws(lambda s, below: kind(moves, s, below), state):
            total += chance
            if drawn is not None:
                there, ratio = drawn
                flow[state, there] += chance * math.exp(here) * acceptance(here, states.get(there, -math.inf), ratio)
        assert total == pytest.approx(1.0)
    moved = {pair for pair, mass in flow.items() if mass > 0.0}
    assert moved or (kind is RuleMoves.strength and len(grid) == 1)
    for here, there in moved:
        assert flow[here, there] == pytest.approx(flow[there, here], rel=1e-9)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_walks_draw_from_the_exact_posterior(grid: tuple[float, ...]) -> None:
    posterior, states = _posterior(grid, 3 if len(grid) == 1 else 2), _every(grid)
    mass = np.exp(list(states.values()))
    chain = Chain(WalkedRules(), posterior, RuleMoves(posterior.literals.siblings, len(grid)), 1, (0.4,))
    chain.walk(120_000)
    seen = np.bincount(chain.places, minlength=len(chain.visited)) / len(chain.places)
    shares = dict(zip(chain.visited, seen, strict=True))
    exact, drawn = defaultdict(float), defaultdict(float)  # by clauses: strengths are summed out
    for state, share in zip(states, mass / mass.sum(), strict=True):
        exact[state.clauses] += share
    for state, share in shares.items():
        drawn[state.clauses] += share
    assert set(drawn) <= set(exact)
    distance = 0.5 * sum(abs(exact[clauses] - drawn[clauses]) for clauses in exact)
    assert distance < 0.02


def test_likelihoods_are_those_of_the_rows_one_by_one() -> None:
    """And a literal that follows from another makes no rule set."""
    grid, plain = GRIDS["noisy-logical"], _posterior((0.0,))
    state = WalkedRules((((0, 2), 2), ((3,), 1)), 0)
    noisy = _posterior(grid)
    total = 0.0
    weights = [1 + 2 * (0b1011 >> row & 1) for row in range(40)]
    for row in range(40):
        held = [all(noisy.literals.rows[literal] >> row & 1 for literal in clause) for clause in state.clauses]
        stays = (1 - grid[0]) * (1 - grid[2]) ** held[0] * (1 - grid[1]) ** held[1]
        total += weights[row] * math.log(1 - stays if noisy.positive >> row & 1 else stays)
    assert noisy(state) == pytest.approx(total - 3 * 0.7 - 3 * math.log(3))
    yes, no, other_yes, other_no = plain.counts(WalkedRules((((0, 2), 0),)))
    assert yes + no + other_yes + other_no == sum(weights)
    # the integral of t^yes (1 - t)^no over [0, 1]
    areas = [
        np.mean(t**a * (1 - t) ** b)
        for t in [np.linspace(0, 1, 200_001)]
        for a, b in ((yes, no), (other_yes, other_no))
    ]
    assert plain(WalkedRules((((0, 2), 0),))) == pytest.approx(sum(map(math.log, areas)) - 2 * 0.7, abs=1e-3)
    nested = replace(plain, literals=Literals((), (0b1111, 0b0011), ((0, 1), (0, 1))), _held={})
    for posterior in (plain, nested):  # of the first they are contrary
        assert posterior(WalkedRules((((0, 1), 0),))) == -math.inf


def _noisy_table(seed: int, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Twelve columns, a leak of .05, and three causes: x0 (.6), x1 and x2 (.8), x3 and x4 and x5 (.9)."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 12)) < 0.5
    stays = np.full(n, 0.95)
    for columns, strength in (((0,), 0.6), ((1, 2), 0.8), ((3, 4, 5), 0.9)):
        stays[truth[:, columns].all(axis=1)] *= 1.0 - strength
    return truth, rng.random(n) > stays


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.long) for k in range(1, 20))])
def test_the_causes_of_a_noisy_logical_model_are_found_and_no_others(seed: int) -> None:
    truth, yes = _noisy_table(seed)
    learner = MCMCClassifier(
        likelihood="noisy-logical", n_chains=2, n_steps=6_000, stopping="none", positive=True, random_state=seed
    )
    sampled = learner.fit(truth, yes).sampled_
    columns = [(j, bool(condition[2])) for j, condition in sampled.posterior.literals.conditions]
    rules = {
        tuple(sorted(columns[k] for k in c)): np.mean(p) for c, p in sampled.parts(lambda state: state.clauses, 99)
    }
    for true in ((0,), (1, 2), (3, 4, 5)):
        assert rules[tuple((j, True) for j in true)] > 0.9
    each = sampled.parts(lambda state: {literal for clause in state.clauses for literal in clause}, 99)
    noise = [np.mean(shares) for literal, shares in each if columns[literal] not in [(j, True) for j in range(6)]]
    assert max(noise, default=0.0) < 0.1


def test_a_limit_of_time_leaves_the_best_rule_sets() -> None:
    """The limit was over when the first candidate came, so that the smallest rule set was all that was left."""
    truth, _ = _noisy_table(0, 300)
    yes = truth[:, 0] & truth[:, 1]
    learner = MCMCClassifier(n_steps=10**9, stopping="none", time_limit=1.5, positive=True, random_state=0)
    assert learner.fit(truth, yes).score(truth, yes) == 1.0
    assert learner.rule_graph_.provenance.get("stopped", "") in ("", "time limit")
