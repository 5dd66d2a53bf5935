"""What is done to one model file: show, check, export, import, simplify, resize."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import InputError
from rulekit.exactness import grid_of, span_of_sum
from rulekit.graph.files import model_files
from rulekit.graph.files.model_files import load
from rulekit.graph.language.words import listed, name, number
from rulekit.graph.nodes import LevelPoints, Linear, LinearThreshold, Step, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import ModelSize, counts
from rulekit.graph.variants import resized
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.schema import Feature
from rulekit.targets import Artifact, find_target
from rulekit.work.changes.hand_edits import after_simplification
from rulekit.work.outputs import check_artifact_ending, check_outputs

if TYPE_CHECKING:
    from rulekit.audit.checks.checking import Checked
    from rulekit.audit.zero_one import Tendency
    from rulekit.simplification.passes import Applied

_FADING_SECONDS = 2.0
_FORMS = {"rules": "show", "table": "table", "csv": "csv", "c50": "c50"}  # as the text target says


@dataclass(frozen=True, slots=True)
class Shown:
    """A model as text; stopped: why its training was stopped early; fading: of rules that tend to true or false."""

    text: str
    stopped: str = ""
    fading: tuple[str, ...] = ()


def show(model: Path, form: str = "rules", width: int = 100, *, everything: bool = False) -> Shown:
    """A model as people read it, in so many columns; raises InputError for a form that there is not."""
    if form not in (*_FORMS, "language", "json"):
        raise InputError(f"no format {form!r}", where="--format", fix=f"one of {', '.join(_FORMS)}, language, json")
    if everything and form != "rules":
        raise InputError(f"the format {form} shows every level already", where="--all", fix="leave it out")
    graph = load(model)
    if form == "json":
        from rulekit.graph.files.writing import to_json

        text = to_json(graph)
    elif form == "language":
        text = str(graph)
    else:
        text = (
            find_target("text")
            .emit(graph, {"format": "full" if everything else _FORMS[form], "width": width})
            .main.decode()
        )
    from rulekit.audit.zero_one import tendencies

    found = tendencies(graph, Deadline(_FADING_SECONDS))
    fading = tuple(rule.text for rule in found if rule.limit.outcome in ("0", "1"))
    return Shown(text, str(graph.provenance.get("stopped") or ""), fading)


def export(model: Path, output: Path, target: str, options: Mapping[str, Any]) -> Artifact:
    """Write a model as an artifact of a target; raises InputError and Unsupported, and writes nothing then."""
    check_outputs([output], model)
    check_artifact_ending(output, find_target(target))
    return model_files.export(load(model), output, target, **options)


def check(model: Path, deadline: Deadline = NO_LIMIT) -> Checked:
    """What a model promises, proved or broken by a row, or open at the deadline, and what is odd in its rules."""
    from rulekit.audit.checks.checking import check_model

    return check_model(load(model, meetings=False), deadline=deadline)


def tendency(text: str, graphs_: Collection[str] = ()) -> Tendency:
    """Where the truth of a sentence tends as objects are added; graphs_: the relations that are edges of graphs.

    Raises FormatError for a text that is no sentence, and InputError for a graph that is no relation of two places.
    """
    from rulekit.audit.zero_one import Tendency
    from rulekit.graph.evaluation.structures import graphs
    from rulekit.graph.language.sentences import sentence

    found = sentence(text)
    pairs = {part.name for part in found.atoms() if len(part.terms) == 2}
    if odd := [name for name in graphs_ if name not in pairs]:
        raise InputError(f"{odd[0]!r} is no relation of the sentence", where="--graph", fix="name one of two places")
    return Tendency.of(found, max(3, len(found.free)), relations=graphs(*graphs_))


@dataclass(frozen=True, slots=True, eq=False)
class Imported:
    """The model that was read, its size, and whether label and probability point different ways on some rows.

    inexact: for each sum that may be rounded and each coarse moment, why and what to write instead.
    """

    model: RuleGraph
    size: ModelSize
    disagrees: bool
    inexact: tuple[str, ...] = ()


def import_model(source: Path, output: Path | None = None) -> Imported:
    """The model of a rule text or an artifact, whose digest is computed anew, since an expert may have edited it."""
    check_outputs([], model=output)
    graph = load(source, verify=False)
    if not graph.provenance:  # of a rule text: what was learned and what a person wrote cannot be told apart
        graph = graph.with_(provenance={"imported": True})
    contradicted = len(graph.probability) == 1 and disagrees(graph)
    if output is not None:
        graph.save(output)
    return Imported(graph, counts(graph), contradicted, inexact_numbers(graph))


def disagrees(graph: RuleGraph) -> bool:
    """Whether on some of 2,000 adversarial rows the label is not what the probability says at the model's threshold."""
    from rulekit.graph.evaluation.evaluator import decide, probabilities
    from rulekit.verification.rows import adversarial_rows

    table = adversarial_rows(graph, 2000).table
    threshold = float(graph.provenance.get("threshold", 0.5))
    return bool(((probabilities(graph, table)[:, 1] > threshold) != (decide(graph, table) == 1)).any())


@dataclass(frozen=True, slots=True, eq=False)
class Simplified:
    """The simplified model, which laws changed what, and the sizes before and after."""

    model: RuleGraph
    changes: tuple[Applied, ...]
    before: ModelSize
    after: ModelSize


def simplify(model: Path, output: Path | None = None) -> Simplified:
    """The same decisions with fewer literals; written where `output` says."""
    from rulekit.simplification.passes import simplify_explained

    check_outputs([], model=output)
    graph = load(model)
    simpler, applied = simplify_explained(graph)
    simpler = after_simplification(graph, simpler)
    if output is not None:
        simpler.save(output)
    return Simplified(simpler, tuple(applied), counts(graph), counts(simpler))


@dataclass(frozen=True, slots=True, eq=False)
class Resized:
    """The model of another row, and its rules and literals."""

    model: RuleGraph
    size: ModelSize


def resize(
    model: Path,
    *,
    rules: int | None = None,
    size: int | None = None,
    smallest: bool = False,
    output: Path | None = None,
) -> Resized:
    """The model of another row of the ladder, written where `output` says; the ladder stays with it.

    rules: the largest row in which no class has more rules. size: the row of this size. smallest: the smallest row
    within one standard error of the best. Raises InputError where there is no such row, or not one of the three is
    given.
    """
    if (rules is not None) + (size is not None) + smallest != 1:
        raise InputError("which size?", fix="give one of --rules N, --size N and --smallest")
    check_outputs([], model=output)
    graph = load(model)
    if graph.ladder is not None and rules is not None:
        size = graph.ladder.within(rules).size
    if graph.ladder is not None and smallest and (size := graph.ladder.smallest) is None:
        fix = "give --size N: --smallest compares held-out errors, which training did not measure"
        raise InputError("the ladder of this model has no errors", where=str(model), fix=fix)
    other = resized(graph, size or 0)
    if output is not None:
        other.save(output)
    return Resized(other, counts(other))


_FINEST = -30  # 2^-30: of numbers down to there sums are exact unless some are very large
_BITS = 8
_LARGEST_FACTOR = 10**6
_MOST_NAMED = 3


def inexact_numbers(graph: RuleGraph) -> tuple[str, ...]:
    """A line for each sum that may be rounded and each moment that is too coarse: why, and what would be exact."""
    coarse = [name(column) for column in graph.used_features if _is_coarse(graph.schema[column])]
    found = [
        f"the moments of {column} are compared in steps of 128 seconds; add float64 to its line" for column in coarse
    ]
    for node in topological(graph.decision.roots):
        if not isinstance(node, Linear | LinearThreshold):
            continue
        span = span_of_sum(node)
        rough = sorted({value for value in _numbers(node) if grid_of(value) < _FINEST})
        if span is not None and not span.fits() and rough:
            found.append(_sum_said(node, rough))
    return tuple(dict.fromkeys(found))


def _is_coarse(feature: Feature) -> bool:
    """Whether a moment is held in float32, whose steps are 128 seconds in this century."""
    return feature.display == "datetime" and feature.precision == "float32"


def _sum_said(node: Linear | LinearThreshold, rough: list[float]) -> str:
    shown = rough[:_MOST_NAMED]
    more = f" and {len(rough) - len(shown)} more" * (len(rough) > len(shown))
    many = len(rough) > 1
    factor = math.lcm(*(Fraction(Decimal(repr(value))).denominator for value in _numbers(node)))
    whole = f", or multiply every number of the sum and its threshold by {factor}" if factor <= _LARGEST_FACTOR else ""
    what = f"{'are' if many else 'is'} no {'multiples' if many else 'multiple'} of a power of two"
    return (
        "the sum may be rounded, so that its exports are tested and not always proved: "
        f"{listed(list(map(number, shown)))}{more} {what}; "
        f"write {listed([number(on_grid(value)) for value in shown])}{whole}"
    )


def on_grid(value: float) -> float:
    """The nearest number of eight binary digits behind the first: within a five-hundredth of the value."""
    if value == 0.0:
        return value
    step = 2.0 ** (math.floor(math.log2(abs(value))) - _BITS)
    return round(value / step) * step


def _numbers(node: Linear | LinearThreshold) -> Iterator[float]:
    """The numbers of a sum as its text has them."""
    yield node.bias
    for weight, child in node.terms:
        yield weight
        if isinstance(child, Step):
            yield from (*child.values, child.missing)
        if isinstance(child, LevelPoints):
            yield from (*(points for _, points in child.points), child.missing, child.unseen)
