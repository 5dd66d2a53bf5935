"""Export targets: what an exporter registers, and how the library finds it.

An exporter is a package with an entry point in the group `rulekit.exporters` whose value is a `Target`. The library
uses targets only through this page, so that a third party can add one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from enum import Enum
from functools import wraps
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import FormatError, InputError, RulekitError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import near_names, printable
from rulekit.schema import Feature

if TYPE_CHECKING:
    from rulekit.graph.decisions import Decision
    from rulekit.graph.nodes import Node
    from rulekit.program.nodes import Labels
    from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True)
class Artifact:
    """What `emit` returns: file contents by suffix ("" is the main file), warnings, the digest of the graph."""

    files: Mapping[str, bytes]
    digest: str
    warnings: tuple[str, ...] = ()
    summary: str = ""

    @property
    def main(self) -> bytes:
        return self.files[""]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `run` returns: class index [n], probabilities [n, K] and, where it is said, which rules fired [n, rules]."""

    labels: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]
    fired: npt.NDArray[np.bool_] | None = None


Answer = list[int] | str
"""What an artifact says of a table of cells: the class index of each row, or in words why it refuses the table."""


def _nothing(*_: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Feed:
    """One form in which an artifact takes cells as users hold them: a mapping, an array, a column type of an engine.

    run(artifact, graph, tables) answers each of some tables, which are columns of cells by name; `answers` makes it of
    a function of one table. A table may be wrong: cells of any type, columns of unequal length, absent or renamed.

    holds(feature, cell) says why this form has no place for such a cell (a float tensor has none for text), "" where it
    has one; without says by the family of `rulekit.conformance.cells.REFUSED` why this form cannot hold such tables.
    mixed: whether one column may hold cells of several types, each of which keeps its meaning.
    """

    name: str
    run: Callable[[bytes, RuleGraph, Sequence[Mapping[str, Any]]], list[Answer]]
    holds: Callable[[Feature, Any], str] = _nothing
    without: Mapping[str, str] = field(default_factory=dict)
    mixed: bool = True


def answers(decide: Callable[[Mapping[str, Any]], Any], tables: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """The class indices that a function gives for each table alone, or the one line of its refusal.

    A refusal is a RulekitError, ValueError, TypeError or KeyError; whatever else is raised is a fault.
    """
    found: list[Answer] = []
    for table in tables:
        try:
            found.append([int(index) for index in decide(table)])
        except (ValueError, TypeError, KeyError) as error:
            found.append(f"{type(error).__name__}: {error}")
    return found


@dataclass(frozen=True, slots=True)
class Reading:
    """What an artifact computes, taken from its operators or its code without running it.

    leaves: Boolean leaves (RawCompare too) over the graph's schema, and Column nodes where numbers
    are added up, by which alone the cells of a row reach the label: two rows on which all agree get the same label. A
    Compare of a float32 column means the rounded value, as in a model; an artifact that compares doubles as it is given
    them (generated Python) has a RawCompare for each. None: not known.

    decision: how the label follows, where that could be read back: a decision over nodes of rulekit.graph and of
    rulekit.program.nodes, with the classes in the graph's order; Labels says for each class when.

    probability_leaves: as leaves, for the reported probabilities; None: not known. probabilities: a Real or Boolean
    node for each class, before any rounding to float32, where that could be read back. texts: by category, the texts
    that the artifact may tell apart otherwise than the schema does (a level with blanks, another missing token); they
    are run one by one. default: the class index where no class of an arg-max takes part. reason: why leaves or decision
    are not there, "" where both are.

    bounded: an artifact that is not as written may still be run unasked by `Runtime.bounded`, as it ends and reads
    nothing. as_written: the artifact is built of nothing but what the exporter writes, so that running it does what
    such an artifact does: compute labels, in bounded memory and time. What is not as written is run on request only.
    misstated: what the artifact says about itself and is not so, one sentence each.
    """

    leaves: frozenset[Node] | None
    decision: Decision | Labels | None = None
    reason: str = ""
    probability_leaves: frozenset[Node] | None = None
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default: int | None = None
    probabilities: tuple[Node, ...] | None = None
    as_written: bool = False
    bounded: bool = False
    misstated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runtime:
    """One way to run the artifacts of a target: an engine, or a form in which it takes rows.

    run(artifact, graph, table) takes the encoded rows of a table; the graph is there for its schema and classes.

    run_raw(artifact, graph, columns) takes values as a user holds them, before any rounding to the model's precision:
    by column name, for every column of the schema that the model uses (and possibly others), numeric and Boolean
    columns as float64 [n] with NaN for missing, categories as object [n] of text or None. Verification runs it on
    doubles between two float32 values, which a table cannot hold. None: this run-time takes encoded values only.

    run_both(artifact, graph, table, columns) is what `run` and `run_raw` give, for an engine that takes long to start.
    None: they are called one after the other.

    open(artifact, graph) gives what `run` would say of one table after the other, from several threads at once, and
    keeps what takes time to begin. None: each run begins anew.

    run_typed(artifact, graph, tables) takes cells of any type, for each table lists by column name: Booleans, integers,
    numbers as text, missing tokens, dates as text or `datetime` objects; docs/numbers.md says what they mean. None: it
    has no types of its own.

    All give Outcomes (the last two one for each table) whose rows are in the order of those that went in. They may
    raise anything: an error that is none of rulekit becomes a FormatError that names it. They run a foreign file, so
    they bound what it does: an engine that can touch files or time is run by `rulekit.verification.isolated`.

    feeds are the forms in which cells of any type go in, each of which `rulekit.conformance` holds to the graph.

    missing() says what is not installed, "" where all is. bounded: the same in a process with limits, for artifacts
    that are not `Reading.as_written`; None: it bounds itself.
    """

    name: str
    run: Callable[[bytes, RuleGraph, Table], Outcome]
    run_raw: Callable[[bytes, RuleGraph, Mapping[str, npt.NDArray[Any]]], Outcome] | None = None
    run_both: Callable[[bytes, RuleGraph, Table, Mapping[str, npt.NDArray[Any]]], list[Outcome]] | None = None
    run_typed: Callable[[bytes, RuleGraph, Sequence[Mapping[str, list[Any]]]], list[Outcome]] | None = None
    missing: Callable[[], str] = str
    bounded: Runtime | None = None
    feeds: tuple[Feed, ...] = ()
    open: Callable[[bytes, RuleGraph], Callable[[Table], Outcome]] | None = None

    def __post_init__(self) -> None:
        _guard(self, f"{self.name} failed", "run", "run_raw", "run_both", "run_typed", "open")


@dataclass(frozen=True, slots=True, eq=False)
class ForeignOutputs:
    """What a model of another program says of n rows: its outputs, arrays [n, ...], and the classes that it names.

    reads: the columns that it takes by name; none where it takes all.
    """

    outputs: Sequence[npt.NDArray[Any]]
    classes: tuple[Any, ...] = ()
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NoOptions:
    """A target without options."""


def option(default: Any, help: str, allowed: Sequence[Any] = ()) -> Any:
    """A field of a dataclass of options: its default, one line of help and, where they are few, the allowed values."""
    return field(default=default, metadata={"help": help, "allowed": tuple(allowed)})


@dataclass(frozen=True, slots=True)
class Target:
    """One way to write a rule graph.

    suffixes: file endings by which a command recognises an artifact. runs: at least one Runtime, the first installed
    one is that of `rulekit predict`. options: a frozen dataclass of `option` fields (bool, int or str), from which
    flags, help and docs are made; its __post_init__ raises InputError for values that do not go together.

    write(graph, options) gives the artifact and is pure: the same bytes for the same graph and options. refuses(graph,
    options) says in one line why a graph cannot be written, "" where it can; `write` may also raise Unsupported for a
    node that it does not know, or InputError.

    read(artifact) gives the graph back where the artifact carries it, FormatError where it does not (NoModelError where
    it may be of another program). read_foreign(artifact, names) reads the graph of such an artifact from what it
    computes, with these names of its columns where some are given. inspect(artifact,
    graph) reads the artifact without running it and without trusting the rules that it carries, for proofs; the graph
    is for its schema and classes. None: nothing can be proved about the target's artifacts. Whatever these two raise is
    a reason that is shown, and no fault of rulekit. run_foreign(artifact, columns) runs an artifact of another program
    within bounds, on float64 with NaN for missing and texts with "" for missing.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    write: Callable[[RuleGraph, Any], Artifact]
    runs: tuple[Runtime, ...]
    read: Callable[[bytes], RuleGraph] | None = None
    inspect: Callable[[bytes, RuleGraph], Reading] | None = None
    options: type = NoOptions
    refuses: Callable[[RuleGraph, Any], str] = _nothing
    read_foreign: Callable[[bytes, Sequence[str]], RuleGraph] | None = None
    run_foreign: Callable[[bytes, Mapping[str, npt.NDArray[Any]]], ForeignOutputs] | None = None

    def __post_init__(self) -> None:
        _guard(self, f"no {self.name} artifact of rulekit", "read", "inspect")
        _guard(self, f"no {self.name} file that rulekit reads", "read_foreign")
        _guard(self, f"this {self.name} file cannot be run", "run_foreign")

    def emit(self, graph: RuleGraph, options: Mapping[str, Any] | None = None) -> Artifact:
        """The artifact of a graph; options by name, as values or their texts.

        Raises InputError for an option that there is not or a wrong value, Unsupported for a graph that is refused.
        """
        parsed = self.parsed(options or {})
        if reason := self.refuses(graph, parsed):
            raise InputError(reason, where=self.name)
        return self.write(graph, parsed)

    def parsed(self, given: Mapping[str, Any]) -> Any:
        """The options from values or their texts; raises InputError naming the one that is wrong."""
        return parsed_options(self.options, given, self.name)

    def installed(self) -> tuple[Runtime, ...]:
        """The run-times that can be used here."""
        return tuple(runtime for runtime in self.runs if not runtime.missing())

    @property
    def runtime(self) -> Runtime:
        """The first run-time that is installed; raises InputError where none is."""
        found = self.installed()
        if not found:
            fix = "; ".join(runtime.missing() for runtime in self.runs)
            raise InputError(f"nothing here runs {self.name}", fix=fix)
        return found[0]

    def bounded(self) -> Target:
        """The same target over its run-time with limits."""
        return replace(self, runs=(self.runtime.bounded or self.runtime,))

    def run(self, artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
        """Labels and probabilities of a table's rows; raises RulekitError."""
        return self.runtime.run(artifact, graph, table)

    @property
    def run_raw(self) -> Callable[[bytes, RuleGraph, Mapping[str, npt.NDArray[Any]]], Outcome] | None:
        return self.runtime.run_raw

    def run_both(
        self, artifact: bytes, graph: RuleGraph, table: Table, columns: Mapping[str, npt.NDArray[Any]]
    ) -> list[Outcome]:
        """The encoded rows of a table and, where the run-time takes them, the same rows raw; raises RulekitError."""
        runtime = self.runtime
        if runtime.run_both is not None:
            return runtime.run_both(artifact, graph, table, columns)
        raw = [] if runtime.run_raw is None else [runtime.run_raw(artifact, graph, columns)]
        return [runtime.run(artifact, graph, table), *raw]


def parsed_options(options: type, given: Mapping[str, Any], where: str) -> Any:
    """A dataclass of options from values or their texts; raises InputError naming the one that is wrong."""
    known = {item.name: item for item in fields(options)}
    values = {}
    for name, value in given.items():
        if name not in known:
            near = near_names(name, known, 1)
            listed = f"options are {', '.join(known)}" if known else "it has none"
            raise InputError(f"no option {name!r}", where=where, fix=f"did you mean {near[0]!r}?" if near else listed)
        values[name] = _parsed(known[name], value, where)
    return options(**values)


def _parsed(item: Field[Any], value: Any, where: str) -> Any:
    allowed = item.metadata.get("allowed", ())
    wanted = f"one of {', '.join(map(str, allowed))}" if allowed else "a text"
    if isinstance(item.default, bool):
        wanted = "true or false"
        if isinstance(value, str):
            value = {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
        right = isinstance(value, bool)
    elif isinstance(item.default, int):
        wanted = wanted if allowed else f"an integer ({item.metadata.get('help', '')})"
        with contextlib.suppress(TypeError, ValueError):
            value = int(value) if isinstance(value, str) else value
        right = isinstance(value, int) and not isinstance(value, bool)
    else:
        right = isinstance(value, str) or (value is None and item.default is None)
    if not right or (allowed and value not in allowed and value != item.default):
        raise InputError(f"{item.name} is {value!r}", where=where, fix=wanted)
    return value


def _guard(owner: object, what: str, *names: str) -> None:
    """Make every error of some functions one of rulekit: an exporter is another's, and may raise anything."""
    for name in names:
        function = getattr(owner, name)
        if function is not None and not hasattr(function, "is_guarded"):
            object.__setattr__(owner, name, _guarded(function, what))


def _guarded(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except RulekitError:
            raise
        except Exception as error:  # whatever another package raises is a reason, not a fault of rulekit
            text = printable(str(error).strip().partition("\n")[0])[:300]
            raise FormatError(f"{what} ({type(error).__name__}: {text})") from error

    call.is_guarded = True  # type: ignore[attr-defined]
    return call


def target_names() -> list[str]:
    """The names of all installed export targets, sorted."""
    return sorted({point.name for point in entry_points(group="rulekit.exporters")})


def find_target(name: str) -> Target:
    """The export target called `name`; raises InputError if none is installed, or its package cannot be loaded."""
    for point in entry_points(group="rulekit.exporters"):
        if point.name == name:
            source = f"package {point.dist.name} {point.dist.version}" if point.dist else f"module {point.module}"
            where, fix = f"export target {name} ({source})", "mend or remove that package"
            try:
                target = point.load()
            except Exception as error:  # another package's module may raise anything
                said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                raise InputError(f"cannot be loaded from {point.value}: {said}", where=where, fix=fix) from error
            if not isinstance(target, Target):
                raise InputError(f"{point.value} is no rulekit.targets.Target", where=where, fix=fix)
            return target
    raise InputError(f"no export target {name!r}", fix=f"one of {', '.join(target_names()) or '(none installed)'}")


def find_target_for(path: str) -> Target:
    """The target whose file ending `path` has; raises InputError if none has.

    A target that fails to load does not stand in the way of the others; the error names it where none has the ending.
    """
    broken, endings = [], [".json"]
    for name in target_names():
        try:
            target = find_target(name)
        except InputError as error:
            broken.append(f"{error.where} {error.what}")
            continue
        if path.lower().endswith(target.suffixes):
            return target
        endings += target.suffixes
    reason = "".join(f"; {failure}" for failure in broken)
    fix = f"a model or artifact ends in {', '.join(dict.fromkeys(endings))}"
    raise InputError(f"the ending of this file belongs to no export target{reason}", where=path, fix=fix)


Columns = Mapping[str, Any]

BY_ROW = {"unequal lengths": "rows have a cell for each column"}
"""By the family of tables why rows cannot hold them."""
_PLACED = ("renamed columns", "blanks around names", "clashing names", "further columns")
BY_PLACE = {**BY_ROW, **dict.fromkeys(_PLACED, "columns are known by place")}


def raw_rows(graph: RuleGraph, columns: Columns) -> list[list[Any]]:
    """The used cells of each row of what `run_raw` gets, in the order of `used_features`; None where one is missing."""
    cells = [[None if cell != cell else cell for cell in columns[name].tolist()] for name in graph.used_features]
    n_rows = len(next(iter(columns.values()), ()))
    return [list(row) for row in zip(*cells, strict=True)] if cells else [[] for _ in range(n_rows)]


def rows_by_name(table: Columns) -> list[dict[str, Any]]:
    """The rows of a table as mappings."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def rows_by_place(table: Columns) -> list[list[Any]]:
    """The rows of a table as sequences."""
    return [list(row) for row in zip(*table.values(), strict=True)]


def objects(table: Columns) -> dict[str, Any]:
    """The columns of a table as arrays of objects, which keep each cell as it is."""
    found = {name: np.empty(len(cells), dtype=object) for name, cells in table.items()}
    for name, cells in table.items():
        for row, cell in enumerate(cells):
            found[name][row] = cell
    return found


def arrays(table: Columns) -> dict[str, Any]:
    """The columns of a table as arrays of the type that numpy gives them."""
    return {name: np.array(cells) for name, cells in table.items()}


def holds_array(feature: Feature, cell: Any) -> str:
    """What numpy changes when it makes an array of a cell; "" where it keeps it."""
    if isinstance(cell, str) and cell.endswith("\0"):
        return "numpy drops NULs at the end of a text"
    if isinstance(cell, Enum):
        return "numpy cuts the members of an enumeration"
    return "numpy unpacks an array within an array" if isinstance(cell, np.ndarray) and not cell.ndim else ""


def holds_text(feature: Feature, cell: Any) -> str:
    """Why a file of texts has no place for a cell, "" where it has one."""
    if not (cell is None or isinstance(cell, str)):
        return "a file of texts holds texts"
    return "a file of texts holds no NUL" if isinstance(cell, str) and "\0" in cell else ""
