"""What is done to model files: show, check, compare, verify, export, import, simplify, resize."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import InputError, NoModelError, RulekitError
from rulekit.exactness import grid_of, span_of_sum
from rulekit.graph.files import model_files
from rulekit.graph.files.model_files import check_artifact_ending, check_outputs, load
from rulekit.graph.files.safe_files import read_bounded, write_atomically
from rulekit.graph.language.words import listed, name, number
from rulekit.graph.nodes import LevelPoints, Linear, LinearThreshold, Step, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import ModelSize, counts
from rulekit.graph.variants import resized
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.schema import require_column
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.targets import Artifact, find_target, find_target_for
from rulekit.work.changes.hand_edits import after_simplification

if TYPE_CHECKING:
    from rulekit.audit.checks.checking import Checked
    from rulekit.audit.differences.compared import Compared
    from rulekit.audit.zero_one import Tendency
    from rulekit.simplification.passes import Applied
    from rulekit.verification.against import Repetition
    from rulekit.verification.report import Report

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
        options = {"format": "full" if everything else _FORMS[form], "width": width}
        text = find_target("text").emit(graph, options).main.decode()
    from rulekit.audit.zero_one import tendencies

    found = tendencies(graph, Deadline(_FADING_SECONDS))
    fading = tuple(rule.text for rule in found if rule.limit.outcome in ("0", "1"))
    return Shown(text, str(graph.provenance.get("stopped") or ""), fading)


def export(model: Path, output: Path, target: str, options: Mapping[str, Any]) -> Artifact:
    """Write a model as an artifact of a target; raises InputError and Unsupported, and writes nothing then."""
    check_outputs([output], model)
    check_artifact_ending(output, find_target(target))
    return model_files.export(load(model), output, target, **options)


def options_of_target(name: str) -> tuple[Field[Any], ...]:
    """The options of an export target, as `rulekit.targets.option` made them; raises InputError where it is none."""
    return fields(find_target(name).options)


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


# Two models, and an artifact with its model ---------------------------------------------------------------------------

MADE_ROWS = 2_000
"""On which an artifact is run, to see that it decides as the rules that it carries."""


def compare(
    first: Path,
    second: Path,
    data: Path | None = None,
    by: Sequence[str] = (),
    reading: ReadingOptions = DEFAULT_OPTIONS,
    deadline: Deadline = NO_LIMIT,
) -> Compared:
    """What differs between two models or artifacts; raises InputError and FormatError where they cannot be compared.

    Of an artifact the rules that it carries are compared, and it is verified that it decides as they do; where it does
    not, or that is not proved, the models are not said to be equal. What is not settled by the deadline is open. data:
    rows on which both are run; by: columns of these by whose values flips are counted.
    """
    from rulekit.audit.differences.compared import compare
    from rulekit.tables.reading import read_columns

    if by and data is None:
        raise InputError("groups of which rows?", where="--by", fix="give --data FILE")
    models = {path: load(path, meetings=False) for path in (first, second)}
    old, new = models[first], models[second]
    raw = None
    if data is not None:
        texts = {feature.name for graph in (old, new) for feature in graph.schema if feature.reads_text}
        columns = {*old.used_features, *new.used_features, *by}
        raw = replace(read_columns(data, reading, columns=columns, keep_text=texts), source=data.name)
        for column in by:
            require_column(column, raw.known_names, raw.source)
    compared = compare(old, new, raw, by, names=(str(first), str(second)), deadline=deadline)
    return compared.with_faults([fault for item in models.items() if (fault := _fault(*item, deadline))])


def _fault(path: Path, graph: RuleGraph, deadline: Deadline) -> str:
    """Why an artifact may not decide as the rules that it carries, "" where it is proved that it does."""
    from rulekit.verification.parity import verify

    try:
        target = find_target_for(str(path))
    except InputError:  # a model file
        return ""
    if target.name == "text":  # the text is the model
        return ""
    try:
        if target.read is not None:
            target.read(read_bounded(path))
        report = verify(graph, path, rows=MADE_ROWS, deadline=deadline)
    except NoModelError:  # of another program: the graph was read from what the file computes
        return ""
    except RulekitError as error:
        return f"{path} could not be verified: {error}"
    if not report.ok:
        why = str(report).partition("\n")[0]
        return f"{path} does not decide as the rules that it carries ({report.failure.lower()}): {why}"
    if report.proof != "proved":
        return f"that {path} decides as the rules that it carries is {report.conclusion}"
    return ""


def verify(
    model: Path,
    artifact: Path,
    data: Path | None = None,
    *,
    rows: int = 20_000,
    report: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
    key: Path | None = None,
    **how: Any,
) -> Report:
    """Compare an artifact with its model on made rows and those of `data`, and prove that they decide alike.

    key: a file whose bytes sign the report, which is written where `report` says. how: seed of the made rows, deadline
    of proofs, run_untrusted (also run what is not as its exporter writes it).

    Raises InputError for files that are none.
    """
    from rulekit.tables.reading import read_table
    from rulekit.verification.parity import verify as compare
    from rulekit.verification.report import read_key

    _refuse_model(artifact)
    if rows == 0 and data is None:
        raise InputError("nothing to compare", fix="give --rows or --data")
    check_outputs([report], model, artifact, data, key)
    secret = None if key is None else read_key(key)
    graph = load(model)
    table = None if data is None else read_table(data, reading, schema=graph.schema, used=graph.used_features)
    found = compare(graph, artifact, data=table, rows=rows, **how)
    if report is not None:
        write_atomically(report, found.to_json(secret).encode())
    return found


def repeat(artifact: Path, report: Path, key: Path | None = None, **how: Any) -> Repetition:
    """Verify again what a report says, on this machine and without the model file; how: run_untrusted, deadline."""
    from rulekit.verification.against import verify_against
    from rulekit.verification.report import read_key

    _refuse_model(artifact)
    return verify_against(artifact, report, key=None if key is None else read_key(key), **how)


def _refuse_model(artifact: Path) -> None:
    if artifact.suffix.lower() == ".json":
        fix = "rulekit compare A B compares two models, and rulekit export MODEL --to TARGET writes an artifact"
        raise InputError("this is a model, not an artifact of one", where=str(artifact), fix=fix)


# Models made of others ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A model that was read or made anew, its size, and that before; changes: which laws of logic changed what.

    disagrees: label and probability point different ways on some rows. inexact: for each sum that may be rounded and
    each coarse moment, why and what to write instead.
    """

    model: RuleGraph
    size: ModelSize
    before: ModelSize
    changes: tuple[Applied, ...] = ()
    disagrees: bool = False
    inexact: tuple[str, ...] = ()


def _made(model: RuleGraph, output: Path | None, before: ModelSize | None = None, **known: Any) -> Made:
    if output is not None:
        model.save(output)
    return Made(model, counts(model), before or counts(model), **known)


def import_model(
    source: Path,
    output: Path | None = None,
    data: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
    monotone: Mapping[str, str] | None = None,
) -> Made:
    """The model of a rule text or an artifact, whose digest is computed anew, since an expert may have edited it.

    data: whose columns of numbers, in order, name those of a forest of another program. monotone: promises by column.
    """
    from rulekit.tables.reading import read_table

    check_outputs([], model=output)
    columns = () if data is None else read_table(data, reading).features
    names = [feature.name for feature in columns if feature.kind in ("numeric", "boolean")]
    graph = load(source, verify=False, names=names)
    if data is not None and list(graph.schema.names) != names:
        raise InputError("rows name the columns of a forest alone", fix="give --base too, or leave --data out")
    if monotone:
        from rulekit.learners.promises.kept import DIRECTIONS, directed

        for column in monotone:
            require_column(column, graph.schema.names, "the model")
        ways = {column: DIRECTIONS[way] for column, way in monotone.items()}
        features = tuple(directed(feature, ways.get(feature.name, 0)) for feature in graph.schema)
        graph = graph.with_(schema=replace(graph.schema, features=features))
    if not graph.provenance:  # of a rule text: what was learned and what a person wrote cannot be told apart
        graph = graph.with_(provenance={"imported": True})
    contradicted = len(graph.probability) == 1 and disagrees(graph)
    return _made(graph, output, disagrees=contradicted, inexact=inexact_numbers(graph))


def disagrees(graph: RuleGraph) -> bool:
    """Whether on some of 2,000 adversarial rows the label is not what the probability says at the model's threshold."""
    from rulekit.graph.evaluation.evaluator import decide, probabilities
    from rulekit.verification.rows import adversarial_rows

    table = adversarial_rows(graph, 2000).table
    threshold = float(graph.provenance.get("threshold", 0.5))
    return bool(((probabilities(graph, table)[:, 1] > threshold) != (decide(graph, table) == 1)).any())


def simplify(model: Path, output: Path | None = None) -> Made:
    """The same decisions with fewer literals; written where `output` says."""
    from rulekit.simplification.passes import simplify_explained

    check_outputs([], model=output)
    graph = load(model)
    simpler, applied = simplify_explained(graph)
    return _made(after_simplification(graph, simpler), output, before=counts(graph), changes=tuple(applied))


def resize(
    model: Path,
    *,
    rules: int | None = None,
    size: int | None = None,
    smallest: bool = False,
    output: Path | None = None,
) -> Made:
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
    return _made(resized(graph, size or 0), output)


_FINEST = -30  # 2^-30: of numbers down to there sums are exact unless some are very large
_BITS = 8
_LARGEST_FACTOR = 10**6
_MOST_NAMED = 3


def inexact_numbers(graph: RuleGraph) -> tuple[str, ...]:
    """A line for each sum that may be rounded and each moment that is too coarse: why, and what would be exact.

    A moment in float32 is one of steps of 128 seconds in this century.
    """
    features = [graph.schema[column] for column in graph.used_features]
    found = [
        f"the moments of {name(each.name)} are compared in steps of 128 seconds; add float64 to its line"
        for each in features
        if each.display == "datetime" and each.precision == "float32"
    ]
    for node in topological(graph.decision.roots):
        if isinstance(node, Linear | LinearThreshold):
            span = span_of_sum(node)
            rough = sorted({value for value in _numbers(node) if grid_of(value) < _FINEST})
            if span is not None and not span.fits() and rough:
                found.append(_sum_said(node, rough))
    return tuple(dict.fromkeys(found))


def _sum_said(node: Linear | LinearThreshold, rough: list[float]) -> str:
    shown = rough[:_MOST_NAMED]
    more = f" and {len(rough) - len(shown)} more" * (len(rough) > len(shown))
    factor = math.lcm(*(Fraction(Decimal(repr(value))).denominator for value in _numbers(node)))
    whole = f", or multiply every number of the sum and its threshold by {factor}" if factor <= _LARGEST_FACTOR else ""
    what = "are no multiples" if len(rough) > 1 else "is no multiple"
    return (
        "the sum may be rounded, so that its exports are tested and not always proved: "
        f"{listed(list(map(number, shown)))}{more} {what} of a power of two; "
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
