"""The algorithms of Yuille & Zheng, Compositional Noisy-Logical Learning (ICML 2009), as the paper has them.

Algorithm I joins each next bit to the whole formula, by and or by or (Fig. 3). Algorithm II joins it to one clause, to
all clauses, or as a new clause (Fig. 4). The paper minimises the weighted errors; `brier` adds the squared error, which
breaks the ties of plain errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.errors import BudgetError
from rulekit.graph.nodes import And, Hidden, IsTrue, Node, Or
from rulekit.graph.probability.circuits import Algebra, build_circuit, fold_circuit
from rulekit.learners.base import RuleClassifier
from rulekit.learners.cnll.best_step import rest_strengths
from rulekit.learners.cnll.formula_on_cells import Formula
from rulekit.learners.cnll.learner import said_of
from rulekit.learners.contract import Ability, Candidate, Learning, Question
from rulekit.learners.learning import Run
from rulekit.learners.models.noisy_formulas import FIRST, Move, NoisyBit, NoisyFormula, Operator, ReadOnceTree
from rulekit.learners.papers.cnll_search import ExhaustiveSearch, SearchRule, Weak, best_prefix, move_lines
from rulekit.learners.parameters import SizeSettings, number, one_of, setting, whole
from rulekit.learners.sizes.path import ModelPath

_FALL = 1e-9
_MOST_CLAUSES, _MOST_LISTED = 10_000, 64


@dataclass(frozen=True)
class CNLLPaperSettings(SizeSettings):
    """The choices that the paper leaves open."""

    n_units: int = setting(20, whole(1), "most conditions in a formula")
    algorithm: Literal["I", "II"] = setting("II", one_of("I", "II"), "where a condition may join (Fig. 3, Fig. 4)")
    weak: Weak = setting(
        "threshold", one_of("threshold", "llr", "pairs"), "conditions: one cut, unions of intervals, or pairs"
    )
    beta: Literal["free", "zero"] = setting("free", one_of("free", "zero"), "zero: no bit fires without its condition")
    init: Literal["or", "and"] = setting("or", one_of("or", "and"), "clauses are joined by or, or by and")
    brier: float = setting(0.0, number(0), "weight of the squared error beside the errors (0: plain errors)")
    refit: int = setting(0, whole(0), "sweeps over all strengths after each step")


@dataclass(eq=False)
class ClauseFormula(Formula):
    """A formula as it grows, with its clauses (tree nodes): inner joins the bits of a clause, outer the clauses."""

    inner: Operator = "and"
    outer: Operator = "or"
    clauses: list[int] = field(default_factory=list)

    def moves(self, algorithm: str) -> list[Move]:
        """Where the algorithm may join the next bit, in the order in which ties are broken."""
        root = self.tree.root
        if root < 0:
            return [FIRST]
        if algorithm == "I":
            return [Move("or", root), Move("and", root)]
        whole_formula = [Move(self.inner, root)] if len(self.clauses) > 1 else []
        return [*(Move(self.inner, clause) for clause in self.clauses), *whole_formula, Move(self.outer, root)]

    def join(self, bit: NoisyBit, move: Move) -> int:
        """Join a bit; the number of its clause from 1, 0 where it stands beside all of them."""
        tree, at_root = self.tree, move.node == self.tree.root
        self.add(bit, move)
        node = leaf = tree.node_of_bit(len(self.bits) - 1)
        if not self.clauses or (at_root and move.operator == self.outer):
            self.clauses.append(leaf)
        elif move.node in self.clauses:
            self.clauses[self.clauses.index(move.node)] = tree.parent[leaf]
        while node >= 0 and node not in self.clauses:
            node = tree.parent[node]
        return 0 if node < 0 else self.clauses.index(node) + 1

    def steps(self, moves: list[Move], rule: SearchRule) -> list[Any]:
        """What each move does to the cells."""
        u, v = (np.ascontiguousarray(own.T) for own in self.lines(moves))
        rest = rest_strengths(self, moves).tolist()
        return [move_lines(u[m], v[m], self.cells.counts, rest[m], rule) for m in range(len(moves))]

    def measured(self, rule: SearchRule) -> tuple[float, float]:
        """The objective, and the weighted training error, as the formula stands."""
        squares, error = self.measure(0.0)
        return error + rule.brier / rule.error * squares, error

    def refit(self, rule: SearchRule) -> bool:
        """Give each bit in turn its best strengths, the others staying; says whether that helped."""
        changed = False
        for t, bit in enumerate(self.bits):
            before, _ = self.measured(rule)
            (lines,) = self.steps([Move("bit", self.tree.node_of_bit(t))], rule)
            holds, counts = self.cells.holds[:, t, None], self.cells.counts
            halves = np.stack([counts * holds, counts * ~holds])
            value, _, _, left, right = best_prefix(halves, counts, np.zeros_like(counts), lines, rule)
            if value < before - _FALL * (1.0 + before):
                self.bits[t], changed = bit.with_strengths(left, right), True
                self._nodes = None
        return changed


class CNLLPaperClassifier(RuleClassifier):
    """A noisy-logical formula of at most `n_units` conditions, grown by algorithm I or II of Yuille and Zheng.

    Each condition fires a hidden bit with probability alpha where it holds, else beta; the formula joins the bits by
    and and or; the positive class is decided where the formula is more probable than 1/2.

    Attributes
    ----------
    clauses_ : list of list of dict
        By formula the statistics of its clauses (Table 4 of the paper).

    """

    word = "cnll-paper"
    settings = CNLLPaperSettings
    abilities: ClassVar[frozenset[Ability]] = frozenset(("missing", "categories", "several", "ranked", "weights"))

    def learn(self, question: Question) -> Learning:
        settings, problem = question.settings, question.problem
        unit = problem.weight_unit
        least = max(1, math.ceil(1.0 / unit - 1e-9))
        rule = SearchRule(unit, settings.brier * unit, least, settings.beta == "zero")
        inner: Operator = "and" if settings.init == "or" else "or"
        formula = ClauseFormula(problem, ReadOnceTree(), inner=inner, outer=settings.init)
        before = math.inf
        while len(formula.bits) < settings.n_units:
            question.watch.check()
            moves = formula.moves(settings.algorithm)
            found = ExhaustiveSearch(problem, formula.cells, formula.steps(moves, rule), rule, settings.weak).best()
            if found is None or not _worth(found.objective, before, settings.brier == 0.0):
                return None
            clause = formula.join(found.bit, moves[found.move])
            for _ in range(settings.refit):
                if not formula.refit(rule):
                    break
            before, error = formula.measured(rule)
            model = NoisyFormula(formula.tree.copy(), tuple(formula.bits))
            said = said_of(found.bit, moves[found.move], problem.columns, clause=clause)
            yield Candidate(len(formula.bits), before, error, model, said=said)
        return None

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Count what the clauses of the chosen formulas are worth on the training rows."""
        self.clauses_ = [
            _clause_records(run, run.grown[place - 1].model, "H" if len(runs) == 1 else f"H{k + 1}.") if place else []
            for k, (run, place) in enumerate(zip(runs, path.chosen, strict=True))
        ]


def _worth(objective: float, before: float, plain: bool) -> bool:
    """Whether a step goes down; plain errors may also stay level, as in the paper, unless there are none left."""
    slack = _FALL * (1.0 + before) if math.isfinite(before) else 0.0
    return objective <= before + slack and before > slack if plain else objective < before - slack


def dnf(tree: ReadOnceTree) -> list[tuple[int, ...]]:
    """The clauses of a formula, each the bits it joins by and; raises BudgetError beyond 10,000."""
    made: dict[int, list[tuple[int, ...]]] = {}
    for node in reversed(tree.order()):
        if tree.bit[node] >= 0:
            made[node] = [(tree.bit[node],)]
            continue
        parts = [made[child] for child in tree.children[node]]
        if (math.prod if tree.operator[node] == "and" else sum)(map(len, parts)) > _MOST_CLAUSES:
            raise BudgetError(f"the formula has more than {_MOST_CLAUSES} clauses", fix="keep the nested form")
        clauses: list[tuple[int, ...]] = [clause for part in parts for clause in part]
        if tree.operator[node] == "and":
            clauses = [()]
            for part in parts:
                clauses = [tuple(sorted((*left, *right))) for left in clauses for right in part]
        made[node] = clauses
    return sorted(made[tree.root])


def clause_rates(tree: ReadOnceTree, fires: Floats, counts: Ints) -> list[dict[str, Any]]:
    """By clause its bits, the share of the positive rows that it decides, and of all rows that it decides wrongly.

    Cumulative: joined with the clauses before it. fires [T, C]: the probability of each bit in each cell; counts
    [C, 2]: weights by label. Raises BudgetError where the clauses are too many; 64 are listed.
    """
    no, yes = counts.T
    leaves = [IsTrue(f"bit {t}") for t in range(len(fires))]
    place: dict[Node, int] = {leaf: t for t, leaf in enumerate(leaves)}
    algebra: Algebra[Floats] = Algebra(
        lambda cause, on, off: fires[place[cause]], lambda value: np.full(fires.shape[1], value)
    )

    def rates(clauses: Sequence[tuple[int, ...]], name: str = "") -> dict[str, float]:
        """Of P(at least one of the clauses), exact though they share bits: the circuit of a stand-in formula."""
        parts = [And([Hidden(leaves[t].feature, leaves[t], 1.0) for t in clause]) for clause in clauses]
        on = fold_circuit(build_circuit(Or(parts)).steps, algebra) > 0.5
        right, wrong = float(yes[on].sum()), float(no[on].sum() + yes[~on].sum())
        return {f"{name}true_positive": right / max(1, yes.sum()), f"{name}error": wrong / max(1, counts.sum())}

    clauses = dnf(tree)[:_MOST_LISTED]
    return [
        {"bits": clause, **rates([clause]), **rates(clauses[: i + 1], "cumulative_")}
        for i, clause in enumerate(clauses)
    ]


def _clause_records(run: Run, model: Any, prefix: str) -> list[dict[str, Any]]:
    """The rates of the clauses of a learned formula; empty where they are too many."""
    problem = run.question.problem
    cells = Formula.of(problem, model.tree, model.bits).cells
    fires = np.stack([np.where(cells.holds[:, t], bit.alpha, bit.beta) for t, bit in enumerate(model.bits)])
    try:
        found = clause_rates(model.tree, fires, cells.counts)
    except BudgetError:
        return []
    names = [[f"{prefix}{bit + 1}" for bit in each["bits"]] for each in found]
    return [
        {"class": run.question.label, "clause": i, **each, "bits": named}
        for i, (each, named) in enumerate(zip(found, names, strict=True), start=1)
    ]
