"""Random walks over rule sets (J. Kun, Markov Chain Monte Carlo Without all the Bullshit): known causes, and adult.

    python -m benchmarks.learning.paper_mcmc [noisy|adult ...] [--small] [--write]

Noisy: 2,000 rows of twelve columns, a leak of .05 and three causes, x0 (.6), x1 and x2 (.8), x3 and x4 and x5 (.9); 20
seeds, four walks of 20,000 steps. Adult: rule sets of at most ten conditions on the 32,561 training rows, four walks
for two minutes together, from no given rules. --write replaces the sections of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.learning.peers.data import load
from benchmarks.shared.sections import add_options, markdown, publish
from rulekit import MCMCClassifier
from rulekit.learners.mcmc.posterior import RuleSet
from rulekit.sampling.walks import Mean, mean_of

CAUSES: Mapping[tuple[int, ...], float] = {(0,): 0.6, (1, 2): 0.8, (3, 4, 5): 0.9}


def noisy_rows(seed: int, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Truth values [n, 12] and labels [n]."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 12)) < 0.5
    stays = np.full(n, 0.95)
    for columns, strength in CAUSES.items():
        stays[truth[:, columns].all(axis=1)] *= 1.0 - strength
    return truth, rng.random(n) > stays


def noisy_lines(seeds: int, steps: int) -> list[str]:
    """The least probability of a cause and the largest of a literal that is in no cause, by seed."""
    causes, noise, r_hats, seconds = list[float](), list[float](), list[float](), list[float]()
    for seed in range(seeds):
        began = time.monotonic()
        learner = MCMCClassifier(
            likelihood="noisy-logical",
            n_chains=4,
            n_steps=steps,
            stopping="none",
            positive=True,
            random_state=seed,
        )
        sampled = learner.fit(*noisy_rows(seed)).sampled_
        literals = [(j, bool(holds[2])) for j, holds in sampled.posterior.literals.conditions]
        rules = {
            tuple(literals[k] for k in clause): np.mean(p) for clause, p in sampled.parts(lambda s: s.clauses, 999)
        }
        rules = {tuple(sorted(clause)): share for clause, share in rules.items()}
        causes.append(float(min(rules.get(tuple((j, True) for j in cause), 0.0) for cause in CAUSES)))
        every = sampled.parts(lambda state: {k for clause in state.clauses for k in clause}, 999)
        noise.append(float(max([np.mean(p) for k, p in every if literals[k] not in [(j, True) for j in range(6)]])))
        r_hats.append(mean_of(sampled.along(lambda state: state.size)).r_hat)
        seconds.append(time.monotonic() - began)
        print(seed, causes[-1], noise[-1], r_hats[-1], flush=True)
    head = ("20 seeds" if seeds == 20 else f"{seeds} seeds", "median", "worst")
    rows = [
        ("probability of the least probable cause", f"{np.median(causes):.3f}", f"{min(causes):.3f}"),
        ("probability of the most probable other literal", f"{np.median(noise):.3f}", f"{max(noise):.3f}"),
        ("R-hat of the number of conditions", f"{np.median(r_hats):.3f}", f"{max(r_hats):.3f}"),
        ("seconds", f"{np.median(seconds):.0f}", f"{max(seconds):.0f}"),
    ]
    return [*markdown(head, rows), ""]


def adult_lines(folder: Path, seconds: float) -> list[str]:
    """R-hat and effective size of the log probability, and of whether the most probable rules stand in the rule set."""
    table = load("adult", folder)
    learner = MCMCClassifier(n_chains=4, n_steps=10**9, stopping="none", random_state=0, time_limit=seconds)
    sampled = learner.fit(table.frame, table.labels).sampled_
    means: dict[str, Mean] = {"log probability": mean_of(sampled.along(sampled.posterior))}
    for clause, _ in sampled.parts(lambda state: state.clauses, 5):

        def has(state: RuleSet, clause: tuple[int, ...] = clause) -> bool:
            return clause in state.clauses

        means[f"rule of {len(clause)} conditions"] = mean_of(sampled.along(has))
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
        "noisy": lambda: noisy_lines(2 if arguments.small else 20, 2000 if arguments.small else 20_000),
        "adult": lambda: adult_lines(arguments.data, 5.0 if arguments.small else 120.0),
    }
    for part in made if "all" in arguments.parts else arguments.parts:
        publish(arguments, f"mcmc {part}", made[part]())


if __name__ == "__main__":
    main()
