"""What `rulekit train` does: read, split, learn, measure, write, report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rulekit.audit.curves import check_curve, curve_bytes
from rulekit.audit.measuring import class_indices, measured
from rulekit.audit.metrics import Figures
from rulekit.audit.statistics import rule_statistics
from rulekit.dates import is_dated
from rulekit.errors import InputError
from rulekit.graph.files.model_files import ensure_writable, write_atomically
from rulekit.graph.language.readable import counted, listed
from rulekit.graph.rule_graph import RuleGraph, class_array
from rulekit.graph.rules import counts
from rulekit.simplification.passes import simplify
from rulekit.tables.labels import LabelledTable, read_for_model, read_labelled
from rulekit.tables.options import ReadingOptions
from rulekit.tables.splitting import SPLIT_BYTES, held_out, share_note
from rulekit.tables.spooling.budget import Budget, parse_memory
from rulekit.tables.spooling.spilling import read_labelled_blocks
from rulekit_cli.console import aligned, log, result, result_json, warnings_hidden, width
from rulekit_cli.learners import check_names, make_learner
from rulekit_cli.outputs import refuse_artifact_ending, refuse_overwriting
from rulekit_cli.progress import learning_progress
from rulekit_cli.start import NO_DECLARATIONS, Start, read_start


@dataclass(frozen=True, slots=True)
class Request:
    """The options of `rulekit train`, as given."""

    data: Path
    target: str
    output: Path
    learner: str
    positive: str | None
    parameters: list[str]
    smallest: bool
    curve: list[Path]
    start: Path | None
    freeze: str | None
    ignore: list[str]
    types: list[str]
    units: list[str]
    roles: list[str]
    unseen: list[str]
    memory: str | None
    missing: list[str]
    ordered: str | None
    weight: str | None
    group: str | None
    cost: str | None
    test: Path | None
    holdout: float | None
    missing_target: str
    precision: list[str]
    delimiter: str | None
    decimal: str | None
    encoding: str | None
    time_limit: float | None
    simplified: bool
    seed: int
    json: bool
    quiet: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures on some rows, and how those rows are called."""

    figures: Figures
    where: str


def run(request: Request) -> None:
    """Train and report; raises InputError before anything is learned where the request makes no sense."""
    parameters = [*request.parameters, *(["parsimony=1"] if request.smallest else [])]
    given = check_names(request.learner, parameters)
    _refuse_two_choices(request)
    if request.test is not None and request.holdout is not None:
        raise InputError("--test and --holdout are two ways to measure", fix="give one")
    refuse_artifact_ending(request.output)
    written = [request.output, *request.curve]
    for path in request.curve:
        check_curve(path, given)
    for path in written:
        refuse_overwriting(path, request.data, request.test, request.start)
        ensure_writable(path)
    if len({path.resolve() for path in written}) < len(written):
        raise InputError("two files of one name", where="--curve", fix="give each its own")
    start = read_start(request.start, request.freeze)
    rows = _read(request, start)
    if start is not None:
        rows = start.read_alike(rows)
    if not request.quiet:
        for note in (*rows.table.notes, *rows.notes):
            log(f"note: {note}")
        log(describe(rows, width()))
    _refuse_many_classes(rows, request)
    if not any(feature.role == "use" for feature in rows.table.features):
        raise InputError("no column is left that a rule may read", where="--role", fix="leave one to use")
    training, held = _split(rows, request)
    started = time.monotonic()
    with learning_progress(request.learner, request.quiet) as progress:
        learner = make_learner(
            request.learner,
            parameters,
            rows,
            seed=request.seed,
            time_limit=request.time_limit,
            memory=request.memory,
            callback=progress.step,
            start=start,
        )
        if request.memory is None:
            learner.fit(
                training.table,
                class_array(rows.classes)[training.y],
                sample_weight=training.training_weight(),
                groups=training.group,
            )
        else:
            learner.fit(training)
    graph: RuleGraph = learner.rule_graph_
    _refuse_nothing_learned(graph, request)
    learned = graph
    if request.simplified:
        with warnings_hidden(request.quiet):
            simpler = simplify(graph, () if start is None else start.hidden_bits())
        # fewer literals may stand in more rules, and a limit is one of the saved model
        if learner.path_.assembly.limits.hold_for(simpler):
            graph = simpler
    # changed rules lose their figures, and a learner that saw costs as weights has figures of costs, not of rows
    if graph is not learned or training.cost is not None:
        graph = _with_statistics(graph, training)
    if not request.quiet:
        log(progress.summary(graph, time.monotonic() - started))
        for note in _surprises(graph, start):
            log(f"note: {note}")
    found = _measure(graph, request, training, held)
    if held is not None:
        graph = _with_held_out(graph, held)
    graph.save(request.output)
    for path in request.curve:
        noun = "clause" if given.get("form") == "dnf" else "unit"
        write_atomically(path, curve_bytes(path, learner.path_.points, request.target, noun))
    _report(request, graph, found, rows.cost)


def _refuse_two_choices(request: Request) -> None:
    """--smallest is a word for a parameter, so it cannot stand beside another value of it, nor without its choice."""
    if not request.smallest:
        return
    for name in ("parsimony", "stopping"):
        if any(item.partition("=")[0] == name for item in request.parameters):
            raise InputError(f"--smallest and --param {name} both say which size is taken", fix="give one")


def describe(rows: LabelledTable, line_width: int) -> str:
    """Rows, columns by kind, which have missing values; then the names by kind, cut to the line."""
    features = rows.table.features
    by_kind: dict[str, list[str]] = {kind: [] for kind in ("numeric", "date", "datetime", "categorical", "boolean")}
    for feature in features:
        by_kind[feature.display if is_dated(feature) else feature.kind].append(_shown(feature.name))
    kinds = ", ".join(f"{len(names)} {kind}" for kind, names in by_kind.items() if names)
    gaps = [
        feature.name
        for feature, array in zip(features, rows.table.arrays, strict=True)
        if (np.isnan(array) if array.dtype.kind == "f" else array == 0).any()
    ]
    text = ""
    if gaps:
        more = f" and {len(gaps) - 1} more" if len(gaps) > 1 else ""
        text = f" ({gaps[0]}{more} {'have' if more else 'has'} missing values)"
    lines = [f"{counted(len(rows), 'row')}, {counted(len(features), 'column')}: {kinds}{text}"]
    for kind, names in by_kind.items():
        if names:
            line = f"  {kind:<12} {', '.join(names)}"
            lines.append(line if len(line) <= line_width else f"{line[: line_width - 4]} ...")
    return "\n".join(lines)


def _shown(name: str) -> str:
    return name if name.isprintable() else repr(name)


def _surprises(graph: RuleGraph, start: Start | None) -> list[str]:
    """What a reader of the model would wonder about: no rule at all, or a frozen rule that is gone."""
    found = []
    if not counts(graph).rules:
        found.append(f"no rule was found, every row is decided {graph.classes[graph.default]!r}")
    covered = [] if start is None else start.covered(graph)
    if covered:
        verb = "is" if len(covered) == 1 else "are"
        found.append(
            f"{listed(covered)} of --start {verb} covered by other rules and left out; --no-simplify keeps all"
        )
    return found


def _refuse_nothing_learned(graph: RuleGraph, request: Request) -> None:
    """A run that was stopped before its first unit has no model worth writing."""
    stopped, units = graph.provenance.get("stopped"), graph.provenance.get("units")
    if not stopped or units is None or np.any(units):
        return
    if stopped == "interrupted":
        raise KeyboardInterrupt
    raise InputError(
        f"{request.time_limit:g} seconds were over before the first unit", where="--time-limit", fix="give more time"
    )


def _refuse_many_classes(rows: LabelledTable, request: Request) -> None:
    """A number with many or fractional values is hardly meant as classes."""
    insisted = any(item.startswith(f"{request.target}=") for item in request.types)
    if any(isinstance(label, float) for label in rows.classes):
        raise InputError(
            "the labels are fractional numbers",
            where=f"{request.data.name}, column {request.target!r}",
            fix=f"group the values, or take them as names with --type {request.target}=categorical",
        )
    if len(rows.classes) > MANY_CLASSES and not insisted:
        raise InputError(
            f"{len(rows.classes)} different labels",
            where=f"{request.data.name}, column {request.target!r}",
            fix=f"rules decide classes: group the values, or insist with --type {request.target}=categorical",
        )


MANY_CLASSES = 50


def _read(request: Request, start: Start | None) -> LabelledTable:
    given = NO_DECLARATIONS if start is None else start.declarations()
    options = ReadingOptions(
        target=request.target,
        positive=given.positive if request.positive is None else request.positive,
        missing_target=request.missing_target,
        weight=request.weight,
        group=request.group,
        ordered=given.ordered if request.ordered is None else tuple(map(str.strip, request.ordered.split(","))),
        cost=request.cost,
        types={**given.types, **pairs(request.types, "--type")},
        missing=[*given.missing, *request.missing],
        ignore=request.ignore,
        precision={**given.precision, **pairs(request.precision, "--precision")},
        unseen=pairs(request.unseen, "--unseen"),
        units=pairs(request.units, "--unit"),
        roles=pairs(request.roles, "--role"),
        delimiter=request.delimiter,
        decimal=request.decimal,
        encoding=request.encoding,
    )
    if request.memory is None:
        return read_labelled(request.data, options)
    budget = Budget(parse_memory(request.memory, "--memory"))
    with learning_progress("reading", request.quiet) as progress:
        return read_labelled_blocks(request.data, options, budget, reading=progress.read)


def pairs(items: list[str], option: str) -> dict[str, str]:
    """COL=VALUE items as a mapping; a column name may hold `=`, its value may not."""
    found = {}
    for item in items:
        name, equals, value = item.rpartition("=")
        if not equals or not name:
            raise InputError(f"{item!r} is not COL=VALUE", where=option)
        found[name] = value
    return found


def _split(rows: LabelledTable, request: Request) -> tuple[LabelledTable, LabelledTable | None]:
    if request.holdout is None:
        return rows, None
    if request.memory is not None:
        Budget(parse_memory(request.memory)).require_rows(len(rows), "--holdout", SPLIT_BYTES)
    mask = held_out(rows.table, rows.y, request.holdout, group=rows.group, seed=request.seed)
    note = share_note(mask, request.holdout, grouped=rows.group is not None)
    if note is not None and not request.quiet:
        log(f"note: {note}")
    return rows.take(~mask), rows.take(mask)


def _measure(graph: RuleGraph, request: Request, training: LabelledTable, held: LabelledTable | None) -> Measured:
    if held is not None:
        return Measured(measure(graph, held), f"held out: {len(held)} rows")
    if request.test is not None:
        test = read_for_model(
            request.test,
            graph.schema,
            graph.classes,
            ReadingOptions(
                missing_target=request.missing_target,
                missing=request.missing,
                weight=request.weight,
                delimiter=request.delimiter,
                decimal=request.decimal,
                encoding=request.encoding,
            ),
            used=graph.used_features,
        )
        return Measured(measure(graph, test), f"{request.test.name}: {len(test)} rows")
    return Measured(measure(graph, training), "the training rows, so flattering; --holdout measures honestly")


def measure(graph: RuleGraph, rows: LabelledTable) -> Figures:
    """Figures of the model on labelled rows."""
    return measured(graph, rows)


def _with_held_out(graph: RuleGraph, held: LabelledTable) -> RuleGraph:
    """The statistics of the rules on the held-out rows beside those of training."""
    statistics = rule_statistics(graph, held.table, class_indices(graph, held), held.weight)
    return graph.with_(statistics={**graph.statistics, "held_out": statistics})


def _with_statistics(graph: RuleGraph, rows: LabelledTable) -> RuleGraph:
    """The statistics of the rules on training rows with their own weights."""
    return graph.with_(statistics=rule_statistics(graph, rows.table, class_indices(graph, rows), rows.weight))


def _report(request: Request, graph: RuleGraph, measured: Measured, rows_cost: tuple[float, float] | None) -> None:
    size, found = counts(graph), measured.figures
    if request.json:
        result_json(
            {
                "model": str(request.output),
                "measured_on": measured.where,
                **found.as_dict(),
                "rules": size.rules,
                "literals": size.literals,
                "units": graph.provenance.get("units"),
                "stopped": graph.provenance.get("stopped"),
                "digest": graph.digest,
            }
        )
        return
    f1 = found.classes[1].f1 if len(graph.classes) == 2 else found.macro_f1
    area = "-" if found.auc is None else f"{found.auc:.3f}"
    result(
        aligned(
            [
                ["", "rules", "literals", "accuracy", "F1" if len(graph.classes) == 2 else "macro F1", "AUC", ""],
                [
                    request.output.name,
                    str(size.rules),
                    str(size.literals),
                    f"{found.accuracy:.3f} ± {found.accuracy_error:.3f}",
                    f"{f1:.2f}",
                    area,
                    f"({measured.where})",
                ],
                ["majority class", "-", "-", f"{found.majority:.3f}        "],
            ]
        )
    )
    if rows_cost is not None:
        cost, without = _cost_per_row(found, rows_cost), _cost_of_majority(found, rows_cost)
        result(f"cost of errors: {cost:.4f} a row, {without:.4f} without a model")
    if not request.quiet:
        log(f"wrote {request.output}   next: rulekit show {request.output}")


def _cost_per_row(found: Figures, cost: tuple[float, float]) -> float:
    (_, false_positive), (false_negative, _) = found.confusion
    return (cost[0] * false_positive + cost[1] * false_negative) / sum(map(sum, found.confusion))


def _cost_of_majority(found: Figures, cost: tuple[float, float]) -> float:
    """The cost of one constant answer, the cheaper of the two."""
    negatives, positives = map(sum, found.confusion)
    return min(cost[0] * negatives, cost[1] * positives) / (negatives + positives)
