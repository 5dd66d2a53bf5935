"""The path of sizes: one fit grows a formula unit by unit, so that the models of every smaller size come with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.cnll.assembly import Assembly
from rulekit.learners.cnll.search.growth import Grown
from rulekit.learners.fitting.stopping import Curve


@dataclass(frozen=True, slots=True)
class PathPoint:
    """A formula at one size: the class it speaks for, its place on the path from 1, its units, and how well it does.

    objective: J on the training rows; training_error, held_out_error, standard_error (over folds), smoothed: rates
    (None without cross-validation); chosen: whether the model has this size.
    """

    label: Any
    size: int
    units: int
    objective: float
    training_error: float
    held_out_error: float | None
    standard_error: float | None
    smoothed: float | None
    chosen: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class ModelPath:
    """The models of one fit by size, assembled when they are asked for.

    A size is a number of units; where learning went on from given rules, size 1 is these, each further one a unit more.
    points: one per formula and size; chosen: the size of each formula in the fitted model.
    """

    assembly: Assembly
    points: tuple[PathPoint, ...]
    chosen: tuple[int, ...]
    provenance: Mapping[str, Any]

    def __len__(self) -> int:
        """The largest size that a formula reached."""
        return max(map(len, self.assembly.paths), default=0)

    def __iter__(self) -> Iterator[RuleGraph]:
        """The models of size 1, 2, ..."""
        return (self.graph_at(size) for size in range(1, len(self) + 1))

    def graph_at(self, size: int) -> RuleGraph:
        """The model whose formulas have this size, or the largest that they reached where that is less.

        It has no statistics of its rules, and the limits on the size of the fitted model do not bind it. Raises
        InputError where `size` is not one of 1 .. len(path).
        """
        if not 1 <= size <= len(self):
            raise InputError(f"the path has no model of size {size}", where="graph_at", fix=f"1 to {len(self)}")
        sizes = [min(size, len(path)) for path in self.assembly.paths]
        return self.assembly.graph(sizes, {**self.provenance, "units": self.assembly.learned(sizes)})


def points_of(
    measured: Sequence[tuple[float, float]],
    total: float,
    costs: Sequence[float],
    label: Any,
    before: int,
    curve: Curve | None,
    chosen: int,
) -> list[PathPoint]:
    """The points of one formula: objective and error by size, the weight of the rows, the units before size 1."""
    points = []
    for n, (_, error) in enumerate(measured, start=1):
        held, deviation, smooth = (None, None, None) if curve is None else _at(curve, n)
        points.append(PathPoint(label, n, before + n, costs[n], error / total, held, deviation, smooth, n == chosen))
    return points


def measured_formulas(grown: Grown) -> list[tuple[float, float]]:
    """Objective and weighted training error of each formula of the path: those after the last step that made it."""
    found = [] if grown.begun is None else [grown.begun]
    for step in grown.steps:
        if step.action == "add":
            found.append((step.after, step.error))
        elif found:
            found[-1] = (step.after, step.error)
    return found[: len(grown.path)]


def _at(curve: Curve, n: int) -> tuple[float, float, float]:
    return float(curve.error[n - 1]), float(curve.standard_error[n - 1]), float(curve.smooth[n - 1])
