"""The ladder of sizes of a model: the models of other sizes that one training gave, with the held-out error of each.

It stands beside the digest of a model, so that another size needs no data and no training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import GraphError, InputError
from rulekit.graph.rules import counts, counts_by_class, rules_of

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.graph.rules import Rule

Numbers = npt.NDArray[np.float64]

RARE = 0.1
"""The share of the rows below which a class is rare: always another one is right on nearly all, and finds none."""


def macro_f1(right: Numbers, decided: Numbers, true: Numbers) -> Numbers:
    """The mean [...] of the F1 scores of K classes, by weights [..., K]: decided rightly, decided so, and of the class.

    A class that neither occurs nor is decided has the score 0.
    """
    return np.asarray((2.0 * right / np.maximum(decided + true, 1e-300)).mean(axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class Rung:
    """One size: at most so many rules (or units) of each class.

    error, standard_error: the cross-validated error rate of the whole model and its standard error over the folds;
    macro_f1: the mean of the F1 scores of all classes on the same rows; None where they are not known. rules, literals:
    of the model; most: the rules of the class that has most; overrides are not counted. model: without a ladder.
    """

    size: int
    error: float | None
    standard_error: float | None
    macro_f1: float | None
    rules: int
    literals: int
    most: int
    model: RuleGraph

    @classmethod
    def of(cls, size: int, measured: Sequence[float | None], model: RuleGraph) -> Rung:
        """A row with the counts of its model; measured: error, standard error and macro F1."""
        error, standard_error, macro_f1 = measured
        total, by_class = counts(model.underlying), counts_by_class(model.underlying)
        most = max((each.rules for each in by_class.values()), default=0)
        return cls(size, error, standard_error, macro_f1, total.rules, total.literals, most, model)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ladder:
    """The rows from the smallest size; each is a model of its own.

    chosen: the size of the row that the model is; smallest: of the smallest row that is not worse than the best one by
    more than a standard error of the difference (None: not known); why: what decided the size, in words.
    Raises GraphError where the rows do not fit.
    """

    rungs: tuple[Rung, ...]
    chosen: int
    smallest: int | None = None
    why: str = ""

    def __post_init__(self) -> None:
        sizes = self.sizes
        if list(sizes) != sorted(set(sizes)):
            raise GraphError(f"the sizes of a ladder ascend, not {list(sizes)}")
        for size in (self.chosen, self.smallest):
            if size is not None and size not in sizes:
                raise GraphError(f"the ladder has no row of size {size}")

    def __repr__(self) -> str:
        sizes = ", ".join(f"{rung.size}*" if rung.size == self.chosen else str(rung.size) for rung in self.rungs)
        return f"<Ladder of sizes {sizes}{f'; {self.why}' if self.why else ''}>"

    def _repr_html_(self) -> str:
        from rulekit.notebook.html import ladder_html

        return ladder_html(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the cross-validated error by the number of rules (extra `plot`).

        Parameters
        ----------
        ax : Axes or None
            Axes of matplotlib; None makes a figure.

        Returns
        -------
        Axes

        """
        from rulekit.notebook.pictures import plot_ladder

        return plot_ladder(self, ax)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each row."""
        return tuple(rung.size for rung in self.rungs)

    @property
    def others(self) -> tuple[RuleGraph, ...]:
        """The models of the rows that are not the model's own."""
        return tuple(rung.model for rung in self.rungs if rung.size != self.chosen)

    @property
    def added(self) -> tuple[tuple[Rule, ...], ...]:
        """By row the rules that the row before does not have."""
        found, before = [], frozenset[tuple[int, object]]()
        for rung in self.rungs:
            rules = rules_of(rung.model.underlying)
            found.append(tuple(rule for rule in rules if (rule.class_index, rule.node) not in before))
            before = frozenset((rule.class_index, rule.node) for rule in rules)
        return tuple(found)

    def at(self, size: int) -> Rung:
        """The row of a size; raises InputError where there is none."""
        for rung in self.rungs:
            if rung.size == size:
                return rung
        raise InputError(f"the ladder has no row of size {size}", fix=f"it has {_listed(self.sizes)}")

    def within(self, rules: int) -> Rung:
        """The largest row in which no class has more rules; raises InputError where there is none."""
        fitting = [rung for rung in self.rungs if rung.most <= rules]
        if not fitting:
            least = min(rung.most for rung in self.rungs)
            raise InputError(f"no row has at most {rules} rules for each class", fix=f"the least is {least}")
        return fitting[-1]


def resized(graph: RuleGraph, size: int) -> RuleGraph:
    """The model of another row of a model's ladder, which stays with it; raises InputError where there is none."""
    ladder = graph.ladder
    if ladder is None:
        raise InputError("the model has no ladder of sizes", fix="train it anew, or with --size")
    if size == ladder.chosen:
        return graph
    wanted = ladder.at(size)
    kept = [
        replace(rung, model=graph.with_(ladder=None)) if rung.size == ladder.chosen else rung for rung in ladder.rungs
    ]
    return wanted.model.with_(ladder=replace(ladder, rungs=tuple(kept), chosen=size, why="asked for"))


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))
