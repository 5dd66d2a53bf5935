"""Random walks over rule sets (J. Kun, Markov Chain Monte Carlo Without all the Bullshit): known causes, and adult.

    python -m benchmarks.learning.paper_mcmc [noisy|adult ...] [--small] [--write]

Noisy: 2,000 rows of twelve columns, a leak of .05 and three causes, x0 (.6), x1 and x2 (.8), x3 and x4 and x5
(.9); 20 seeds, four walks of 20,000 steps. Adult: rule sets of at most ten conditions on the 32,561 training rows, four
walks for two minutes together, from no given rules. --write replaces the sections of docs/benchmarks/.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.learning.peers.data import load
from benchmarks.shared.machine import stamp
from benchmarks.shared.sections import add_options, markdown, publish
from rulekit import MCMCClassifier
from rulekit.learners.mcmc.posterior import WalkedRules
from rulekit.sampling import Mean, along, mean_of

CAUSES: Mapping[tuple[int, ...], float] = {(0,): 0.6, (1, 2): 0.8, (3, 4, 5): 0.9}


def noisy_rows(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Truth values [n, 12] and labels [n]."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 12)) < 0.5
    stays = np.full(n, 0.95)
    for columns, strength in CAUSES.items():
        stays[truth[:, columns].all(axis=1)] *= 1.0 - strength
    return truth, rng.random(n) > stays


def noisy_figures(seed: int, n: int, steps: int) -> tuple[float, float, float]:
    """The least probability of a cause, the largest of a literal that is in no cause, R-hat of the size."""
    learner = MCMCClassifier(
        likelihood="noisy-logical", n_chains=4, n_steps=steps, stopping="none", positive=True, random_state=seed
    )
    sampled = learner.fit(*noisy_rows(seed, n)).sampled_
    literals = [(j, bool(holds[2])) for j, holds in sampled.posterior.literals.conditions]
    found = sampled.parts(lambda state: state.clauses, 999)
    rules = {tuple(sorted(literals[k] for k in clause)): np.mean(shares) for clause, shares in found}
    least = min(rules.get(tuple((j, True) for j in cause), 0.0) for cause in CAUSES)
    every = sampled.parts(lambda state: {k for clause in state.clauses for k in clause}, 999)
    noise = max(np.mean(shares) for k, shares in every if literals[k] not in [(j, True) for j in range(6)])
    r_hat = mean_of(along(sampled.chains, lambda state: state.size)).r_hat
    print(n, seed, least, noise, r_hat, flush=True)
    return float(least), float(noise), r_hat


def noisy_lines(seeds: int, sizes: Sequence[int], steps: int) -> list[str]:
    """Those of all seeds: the median, and the worst in parentheses."""
    found = [np.array([noisy_figures(seed, n, steps) for seed in range(seeds)]).T for n in sizes]
    names = (
        *("probability of the least probable cause", "probability of the most probable other literal"),
        *("the same, seeds below .1", "R-hat of the number of conditions"),
    )
    cells = [
        (
            f"{np.median(least):.3f} ({min(least):.3f})",
            f"{np.median(noise):.3f} ({max(noise):.3f})",
            f"{np.count_nonzero(noise < 0.1)} of {seeds}",
            f"{np.median(r_hat):.3f} ({max(r_hat):.3f})",
        )
        for least, noise, r_hat in found
    ]
    head = (f"{seeds} seeds, median (worst)", *(f"{n:,} rows" for n in sizes))
    return [*markdown(head, list(zip(names, *cells, strict=True))), ""]


def adult_lines(folder: Path, seconds: float) -> list[str]:
    """R-hat and effective size of the log probability, and of whether the most probable rules stand in the rule set."""
    table = load("adult", folder)
    learner = MCMCClassifier(n_chains=4, n_steps=10**9, stopping="none", random_state=0, time_limit=seconds)
    sampled = learner.fit(table.frame, table.labels).sampled_
    means: dict[str, Mean] = {"log probability": mean_of(sampled.trace())}
    for clause, _ in sampled.parts(lambda state: state.clauses, 5):

        def has(state: WalkedRules, clause: tuple[int, ...] = clause) -> bool:
            return clause in state.clauses

        means[f"rule of {len(clause)} conditions"] = mean_of(along(sampled.chains, has))
    rows = [(name, f"{mean.value:,.2f}", f"{mean.r_hat:.2f}", f"{mean.effective:,.0f}") for name, mean in means.items()]
    steps = min(len(chain.places) for chain in sampled.chains)
    said = (
        f"{len(table.labels):,} rows, {len(sampled.posterior.literals.rows)} conditions, four walks of {steps:,} steps."
    )
    return [said, "", *markdown(("mean over the walks of", "mean", "R-hat", "effective size"), rows), ""]


def main() -> None:
    """Measure what is named, by default both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["noisy", "adult", "all"], default="all")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    add_options(parser)
    arguments = parser.parse_args()
    made: Mapping[str, Callable[[], list[str]]] = {
        "noisy": lambda: noisy_lines(*((2, (500,), 2000) if arguments.small else (20, (2000,), 20_000))),
        "adult": lambda: adult_lines(arguments.data, 5.0 if arguments.small else 120.0),
    }
    for part in made if "all" in arguments.parts else arguments.parts:
        publish(arguments, f"mcmc {part}", [stamp(), "", *made[part]()])


if __name__ == "__main__":
    main()
