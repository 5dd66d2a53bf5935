"""The ladder of sizes of a model: the models of other sizes that one training gave, with the held-out error of each.

It stands beside the digest of a model, so that another size needs no data and no training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rulekit.errors import GraphError, InputError
from rulekit.views import notebook


@dataclass(frozen=True, slots=True, eq=False)
class Rung:
    """One size: at most so many rules (or units) of each class.

    error, standard_error: the cross-validated error rate of the whole model and its standard error over the folds;
    macro_f1: the mean of the F1 scores of all classes on the same rows; None where they are not known. rules, literals:
    of the model; most: the rules of the class that has most; overrides are not counted. model: the RuleGraph of this
    size, without a ladder.
    """

    size: int
    error: float | None
    standard_error: float | None
    macro_f1: float | None
    rules: int
    literals: int
    most: int
    model: Any


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
        return notebook().html_of(self)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of each row."""
        return tuple(rung.size for rung in self.rungs)

    @property
    def others(self) -> tuple[Any, ...]:
        """The models of the rows that are not the model's own."""
        return tuple(rung.model for rung in self.rungs if rung.size != self.chosen)

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


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))
