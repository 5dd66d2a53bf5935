"""Sampling the rule sets that explain a table, by random walks, and taking one of them as a model."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Floats
from rulekit.audit.figures.curves import PICTURES, picture_bytes, require_matplotlib
from rulekit.audit.figures.metrics import class_indices
from rulekit.audit.reason_codes.reasons import class_of
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.files.model_files import check_outputs, load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, percent, quoted
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import conjuncts, rules_of
from rulekit.learners.mcmc.learner import MCMCClassifier, Sampled
from rulekit.learners.mcmc.posterior import Clauses, WalkedRules
from rulekit.learners.models.assembly import graph_of
from rulekit.learners.models.plain import clause_node
from rulekit.learners.sizes.path import ModelPath
from rulekit.names import label_text
from rulekit.sampling import along, mean_of
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work import learning
from rulekit.work.evaluating import labelled_rows
from rulekit.work.progress import Noticed, Progress, Stage, unseen

MOST, MOST_SETS, _LEAST, _AGREED, _OFTEN, _FEWEST, _APART = 12, 5, 0.01, 1.05, 0.1, 20, 5.0
_MOST_R_HAT, _PARAMETERS = 999.0, ("n_steps", "n_chains", "likelihood", "n_literals", "price", "max_bins")


@dataclass(frozen=True, slots=True)
class Probable:
    """A rule, a condition or a whole rule set with its probability, by walk too.

    same: of a rule set, the share of rows that it decides as the model.
    """

    text: tuple[str, ...]
    probability: float
    by_walk: tuple[float, ...]
    same: float | None = None

    def __str__(self) -> str:
        """The probability in percent, and by walk where the walks differ."""
        low, high = 100.0 * min(self.by_walk), 100.0 * max(self.by_walk)
        apart = f" ({low:.0f} to {high:.0f} by walk)" if high - low > _APART else ""
        return f"{100.0 * self.probability:5.1f} %{apart}"


@dataclass(frozen=True, slots=True)
class Sampling:
    """What walks say; own: the probability of the model's own rule set.

    r_hat, draws: of the log probability and of whether each rule stands in the rule set, those that are worst; an
    infinite R-hat is 999.
    """

    label: ClassLabel
    walks: int
    steps: int
    r_hat: float
    draws: float
    rules: tuple[Probable, ...]
    conditions: tuple[Probable, ...]
    rule_sets: tuple[Probable, ...]
    own: float | None

    def lines(self) -> Iterator[str]:
        """What people read, of which the lines below a heading are indented."""
        yield f"{self.walks} random walks of {self.steps:,} steps over rule sets for {quoted(self.label)}"
        draws = counted(round(self.draws), "independent draw")
        yield f"  R-hat {self.r_hat:.3f}; the second half of the walks tells as much as {draws}."
        agreed = "agree" if self.r_hat < _AGREED else "do not agree: take more --steps before you trust a number"
        yield f"  The walks {agreed}."
        yield "rules: the share of rule sets that have the rule, weighted by how well they explain the rows"
        yield from (f"  {each}  {each.text[0]}" for each in self.rules)
        yield "conditions: the share of rule sets that have the condition in some rule"
        yield from (f"  {each}  {each.text[0]}" for each in self.conditions)
        yield "rule sets: the most probable ones, and the rows that each decides as the model does"
        for number, each in enumerate(self.rule_sets, start=1):
            yield f"  {each}  number {number}, as the model on {percent(each.same or 0.0)} of the rows"
            yield from (f"           {rule}" for rule in each.text or ("no rule",))
        if self.own is not None:
            yield f"  The rules of the model have a probability of {percent(self.own)}."
        if len(self.rule_sets) > 1:
            yield "  The same command with --take 2 -o FILE writes rule set number 2 as a model."


def sample(
    model: Path,
    data: Path,
    *,
    label: str | None = None,
    take: int | None = None,
    output: Path | None = None,
    picture: Path | None = None,
    progress: Progress = unseen,
    **how: Any,
) -> Sampling:
    """Walk over rule sets, and write what was asked for; Ctrl-C and the end of the time keep the steps that are done.

    label: the class that the rules speak for (None: the positive one). take: which rule set is written to `output`.
    picture: a file for the walks and the rules. how: param (K=V of the learner mcmc), steps, seed, time_limit, reading.
    Raises InputError for a label that the model lacks, and for a number that is none of a rule set.
    """
    check_outputs([picture], model, data, model=output)
    if (take is None) != (output is None):
        fix = "give --take N and -o FILE"
        raise InputError("a rule set is taken by its number, and written", where="--take", fix=fix)
    if picture is not None:
        require_matplotlib(str(picture))
        if picture.suffix not in PICTURES:
            raise InputError("no such picture", where=str(picture), fix=f"end it in {', '.join(PICTURES)}")
    graph = load(model)
    k = len(graph.classes) - 1 if label is None else class_of(graph, label, "--label")
    if len(graph.classes) > 2 and label is None:
        shown = quoted(graph.classes[k])
        progress(Noticed((f"of several classes these are the rules of {shown}; --label takes another",)))
    sampled, path, rows = _walked(graph, data, k, progress, **how)
    sets = sampled.parts(lambda state: (state.clauses,), MOST_SETS)
    sets = [each for each in sets if each is sets[0] or np.mean(each[1]) >= _LEAST / 2]
    best = sampled.best(lambda state: state.clauses)
    models = [graph_of(path.frame, [sampled.model(best[each][1])], dict(path.provenance)) for each, _ in sets]
    if output is not None and take is not None:
        if take > len(models):
            fix = f"give a number from 1 to {len(models)}" if len(models) > 1 else "give 1"
            raise InputError(f"there is no rule set number {take}", where="--take", fix=fix)
        taken = path.simplified(models[take - 1])
        taken.with_(statistics=rule_statistics(taken, rows.table, rows.y, rows.weight)).save(output)
    sampling, trace = _summed_up(graph, k, sampled, path, rows, list(zip(sets, models, strict=True)))
    if picture is not None:
        write_atomically(picture, picture_bytes(_picture(sampling, trace), picture.suffix[1:]))
    return sampling


def _summed_up(
    graph: RuleGraph, k: int, sampled: Sampled, path: ModelPath, rows: LabelledTable, sets: Sequence[Any]
) -> tuple[Sampling, Floats]:
    """What the walks say of rules, conditions and the rule sets (with their models), and their trace."""
    decided = decide(graph, rows.table) == k

    def probable(clauses: Clauses, shares: list[float], model: RuleGraph | None = None) -> Probable:
        nodes = [clause_node(sampled.posterior.literals.clause(clause), path.frame.columns) for clause in clauses]
        text = tuple(print_node(node, graph.schema) for node in nodes)
        same = None if model is None else float(np.mean((decide(model, rows.table) == 1) == decided))
        return Probable(text, float(np.mean(shares)), tuple(shares), same)

    clauses = [each for each in sampled.parts(lambda state: state.clauses, MOST) if np.mean(each[1]) >= _LEAST]
    conditions = sampled.parts(lambda state: {*chain(*state.clauses)}, MOST)
    own, trace = sampled.chains[0].start.clauses, sampled.trace()
    often = (clause for clause, shares in clauses if np.mean(shares) >= _OFTEN)
    means = [mean_of(trace), *(mean_of(along(sampled.chains, partial(_has, clause))) for clause in often)]
    return Sampling(
        graph.classes[k],
        len(sampled.chains),
        2 * trace.shape[1],
        min(max(mean.r_hat for mean in means), _MOST_R_HAT),
        min(mean.effective for mean in means),
        tuple(probable((each,), shares) for each, shares in clauses),
        tuple(probable(((each,),), shares) for each, shares in conditions if np.mean(shares) >= _LEAST),
        tuple(probable(clauses, shares, model) for (clauses, shares), model in sets),
        float(along(sampled.chains, lambda state: state.clauses == own).mean()) if own else None,
    ), trace


def _has(clause: tuple[int, ...], state: WalkedRules) -> bool:
    return clause in state.clauses


def _walked(
    graph: RuleGraph,
    data: Path,
    k: int,
    progress: Progress,
    *,
    steps: int = 20_000,
    seed: int = 0,
    param: Sequence[str] = (),
    time_limit: float | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
) -> tuple[Sampled, ModelPath, LabelledTable]:
    """The walks, what makes models of rule sets, and the rows with the labels: the class, or another."""
    found = labelled_rows(graph, data, reading, graph.schema.names).rows
    if found.notes:
        progress(Noticed(found.notes))
    label, many = graph.classes[k], len(graph.classes) > 2
    classes = (f"not {label_text(label)}", label_text(label)) if many else (graph.classes[1 - k], label)
    y = (class_indices(graph, found) == k).astype(np.int64)
    rows = replace(found, y=y, classes=classes, ordered=False, group=None, cost=None, time=None)
    given = {"n_chains": 4, **learning.parse_parameters("mcmc", param), "n_steps": steps}
    unknown = [name for name in given if name not in _PARAMETERS]
    if unknown or given["n_chains"] < 2:
        what = f"sample has no {unknown[0]}" if unknown else "one walk has no other to agree with"
        raise InputError(what, where="--param", fix=f"give {', '.join(_PARAMETERS[1:])}; n_chains is 2 or more")
    given |= {"stopping": "none", "random_state": seed, "time_limit": time_limit}
    learner = MCMCClassifier(**given, target=rows.target, positive=classes[1])
    own = [rule for rule in rules_of(graph.underlying) if rule.class_index == k]
    if all(rule.connective == "or" and not rule.nested for rule in own):
        learner.rules = [conjuncts(rule.node) for rule in own]
    learner.tell = lambda share: progress(Stage("walking", share))
    learner.fit_rules(rows)
    sampled = learner.sampled_
    if sampled is None or min((len(chain.places) for chain in sampled.chains), default=0) < _FEWEST:
        fix = "give more time, or rows that conditions tell apart"
        raise InputError("the walks have too few steps", where=str(data), fix=fix)
    return sampled, learner.path_, rows


def _picture(found: Sampling, trace: Floats) -> Any:
    from matplotlib.figure import Figure

    shown = found.rules[:8]
    figure = Figure(figsize=(10.0, 1.2 + 0.4 * max(6, len(shown))))
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    step = max(1, trace.shape[1] // 1000)
    for number, values in enumerate(trace[:, ::step], start=1):
        left.plot(np.arange(len(values)) * step, values, linewidth=0.7, label=f"walk {number}")
    left.set(xlabel="step after the warm-up", ylabel="log probability")
    left.legend(frameon=False, fontsize=8)
    texts = [textwrap.fill(textwrap.shorten(each.text[0], 80, placeholder=" ..."), 42) for each in shown]
    right.barh(texts[::-1], [100.0 * each.probability for each in shown][::-1], color="tab:blue")
    right.set(xlabel="probability of the rule (%)", xlim=(0.0, 100.0))
    right.tick_params(labelsize=7)
    figure.tight_layout()
    return figure
