"""What a training goes on from and what is kept through it: given rules, and overrides on whatever is learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rulekit.dates import is_dated
from rulekit.errors import GraphError, InputError
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.files.model_files import load
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Or
from rulekit.graph.overrides import Override, is_date, relabelled
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import left_out
from rulekit.graph.variants import with_overrides
from rulekit.schema import Feature, Schema
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.work.changes.hand_edits import today

if TYPE_CHECKING:
    from rulekit.work.changes.overrides import Written


@dataclass(frozen=True, slots=True)
class GivenStart:
    """The rules to go on from, and which of them stay: "all", "none" or rule ids; who: what they are, in words."""

    graph: RuleGraph
    freeze: Literal["all", "none"] | list[str]
    who: str = "the start"

    def read_alike(self, rows: LabelledTable) -> LabelledTable:
        """The rows under the columns and levels of the rules; raises InputError where they do not fit."""
        from rulekit.learners.promises.kept import under_start

        return replace(rows, table=under_start(self.graph, rows.table, self.who))

    def covered(self, model: RuleGraph) -> list[str]:
        """The ids of the frozen rules that the model has not."""
        return left_out(self.graph, self.freeze, model)

    def reading(self, options: ReadingOptions) -> ReadingOptions:
        """The options with what the rules say of the columns that they read, where nothing else is asked for."""
        graph = self.graph
        used = [graph.schema[name] for name in graph.used_features]
        kinds: dict[str, str] = {
            f.name: f.display if is_dated(f) else f.kind for f in used if is_dated(f) or _is_unordered(f)
        }
        kinds |= {f.name: f"{kinds.get(f.name, f.kind)}:{f.form}" for f in used if f.form}
        wide = {f.name: "float64" for f in used if f.precision == "float64"}
        tokens = [f"{f.name}={token}" for f in used for token in f.missing_tokens]
        positive = graph.classes[1] if len(graph.classes) == 2 else None
        return replace(
            options,
            types={**kinds, **options.types},
            missing=[*tokens, *options.missing],
            precision={**wide, **options.precision},
            positive=positive if options.positive is None else options.positive,
            ordered=options.ordered or (graph.classes if graph.decision.ordered else ()),
        )


def _is_unordered(feature: Feature) -> bool:
    return feature.kind == "categorical" and not feature.ordered


def read_start(path: Path | None, freeze: str | None) -> GivenStart | None:
    """The options --start and --freeze; raises InputError where the file holds no rules or --start is not given.

    The file may have been edited by an expert, so its digest is not compared.
    """
    if path is None:
        if freeze is not None:
            raise InputError("nothing to freeze", where="--freeze", fix="give the rules with --start FILE")
        return None
    graph = load(path, verify=False)
    if freeze in (None, "all", "none"):
        return GivenStart(graph, "none" if freeze == "none" else "all")
    assert freeze is not None
    return GivenStart(graph, [name.strip() for name in freeze.split(",") if name.strip()])


@dataclass(frozen=True, slots=True)
class KeptOverrides:
    """Overrides with the classes that they were made for; columns: those that they read, as a start has them.

    written: overrides of a TOML file, which are read under the columns of the data. notes: which are kept, and which
    are left out since they have expired.
    """

    overrides: tuple[Override, ...] = ()
    classes: tuple[ClassLabel, ...] = ()
    columns: GivenStart | None = None
    written: tuple[Written, ...] = ()
    notes: tuple[str, ...] = ()

    def reading(self, options: ReadingOptions) -> ReadingOptions:
        """The options with what is known of the columns that are read, where nothing else is asked for."""
        if self.columns is None:
            return options
        found = self.columns.reading(options)
        return replace(options, types=found.types, missing=found.missing, precision=found.precision)

    def for_rows(self, rows: LabelledTable) -> tuple[LabelledTable, KeptOverrides]:
        """The rows under the columns of the overrides, and these for the classes of the rows.

        Raises InputError where they do not fit.
        """
        if self.columns is not None:
            rows = self.columns.read_alike(rows)
        if not self.overrides and not self.written:
            return rows, replace(self, classes=rows.classes)
        from rulekit.work.changes.overrides import bound, put_on

        schema = Schema(rows.table.features, rows.target, constraints=rows.table.constraints)
        try:
            own = relabelled(self.overrides, self.classes, rows.classes)
        except GraphError as error:
            raise InputError(str(error)) from None
        own = (*own, *bound(self.written, schema, rows.classes, [override.id for override in own]))
        put_on(RuleGraph(schema, rows.classes, ArgMax.first_of({}, len(rows.classes))), own)
        return rows, replace(self, overrides=own, classes=rows.classes, written=())

    def onto(self, model: RuleGraph) -> RuleGraph:
        """A learned model under the overrides."""
        if not self.overrides:
            return model
        return with_overrides(model, relabelled(self.overrides, self.classes, model.classes))


def read_kept(start: GivenStart | None, path: Path | None, day: str | None = None) -> KeptOverrides:
    """The overrides of a file (a model, a rule text, TOML), without one those of the start.

    day: the ISO date before which an override has expired, today by default. Raises InputError for a file that holds
    none.
    """
    if day is not None and not is_date(day):
        raise InputError(f"{day!r} is no date", where="--date", fix="write one as in 2026-11-25")
    now = day or today()
    if path is not None and path.suffix.lower() == ".toml":
        from rulekit.work.changes.overrides import read_written

        written = read_written(path)
        past = [one for one in written if one.expires is not None and one.expires < now]
        said = [_left_out(one.id or one.rule, one.expires) for one in past]
        return KeptOverrides(written=tuple(one for one in written if one not in past), notes=tuple(said))
    graph = load(path, verify=False) if path is not None else None if start is None else start.graph
    if graph is None:
        return KeptOverrides()
    if path is not None and not graph.overrides:
        raise InputError("this file holds no override", where=str(path), fix="leave --overrides out")
    kept = tuple(override for override in graph.overrides if not override.expired(now))
    notes = [_left_out(one.id, one.expires) for one in graph.overrides if one.expired(now)]
    notes += [f"override {one.id} is kept, by {one.author} on {one.date}" for one in kept]
    columns = _columns(graph, kept) if kept else None
    return KeptOverrides(kept, graph.classes, columns, notes=tuple(notes))


def _left_out(name: str, expires: str | None) -> str:
    return f"override {name} expired on {expires} and is left out; to keep it, give it another date (rulekit override)"


def _columns(graph: RuleGraph, overrides: Sequence[Override]) -> GivenStart:
    """A start that reads what the overrides read, and declares nothing else of the columns."""
    conditions = [override.condition for override in overrides]
    used = readers(conditions)
    features = tuple(replace(f, monotone=0, role="use") for f in graph.schema if f.name in used)
    return GivenStart(RuleGraph(Schema(features), ("no", "yes"), Fires(Or(conditions))), "none", "an override")
