"""verify: does an artifact decide like the graph that it was made from?"""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.errors import FormatError, GraphError, InputError, NoModelError, RulekitError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.evaluation.oracle import evaluate_row
from rulekit.graph.files.safe_files import read_bounded
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.tables.table import Table
from rulekit.targets import Artifact, Outcome, Reading, Target, find_target, find_target_for
from rulekit.verification.proof.prove import Proof, columns_read, guarantee, prove, read_artifact, threshold_differences
from rulekit.verification.report import MAX_GAP, CounterExample, Report, digest_of_labels, digest_of_rows, versions
from rulekit.verification.rows import adversarial_rows, raw_columns

_LOG = logging.getLogger(__name__)
Columns = Mapping[str, Array]
BLOCK_ROWS = 65_536
MAX_BYTES = 1 << 30  # of an exported file
MOST_ANSWERS = 4_000_000  # probabilities of all adversarial rows
MOST_CELLS = 20_000_000  # of the columns that are read, on all adversarial rows
LEAST_PROBABILITY = 1e-30  # that is compared as a share of itself
PROVING = 0.7  # of a limit of time; the rest is for the rows
AMPLE = 0.8  # of a limit of time; where less is left the rows are as many as there is time for
LITTLE = 0.25  # of a limit of time; with less left nothing is spent on finding out how many rows there is time for
FEW_ROWS = 200  # that are run whatever the time
SKIPPED = "no proof was asked for"
OTHER = "it is not what the exporter writes"
RUN_ANYWAY = "rulekit verify --run-untrusted runs it all the same"


def verify(
    graph: RuleGraph,
    artifact: str | os.PathLike[str] | bytes | Artifact,
    *,
    target: str | Target | None = None,
    data: Any = None,
    rows: int = 20_000,
    seed: int = 0,
    proving: bool = True,
    run_untrusted: bool = False,
    deadline: Deadline = NO_LIMIT,
) -> Report:
    """Prove that an artifact decides as `graph` does, and compare them on adversarial rows and on those of `data`.

    Rows are run encoded and, where the target can, as raw doubles and texts.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    artifact : str, path, bytes or Artifact
        A path, the bytes of the main file, or what an exporter returned.
    target : str, Target or None
        The export target; by default told from the ending of the path.
    data : anything that `graph.predict` takes, or None
        Rows to compare as well.
    rows : int
        How many adversarial rows are made, fewer beyond 200 classes or 1,000 columns that are read.
    seed : int
        Of the adversarial rows.
    proving : bool
        False leaves the proof out.
    run_untrusted : bool
        Also run, with limits, what is not `Reading.as_written`; else it is not `ok`.
    deadline : Deadline
        What is not proved in most of its time is tested on rows alone, as many as the rest of the time allows.

    Returns
    -------
    Report
        `ok`, what was proved and compared, and the first row that differs.

    Raises
    ------
    InputError
        Where the artifact cannot be read, belongs to no target or was exported from a model of other columns or
        classes.
    FormatError
        Where it is damaged.

    """
    content, found = _artifact(artifact, target)
    rows = min(rows, MOST_ANSWERS // len(graph.classes), MOST_CELLS // max(1, len(graph.used_features)))
    table = None if data is None else graph.table(data)
    carried, rows_sha256, decisions_sha256 = "none", "", ""
    try:
        carried, inside = _carried(graph, content, found)
        reading = read_artifact(graph, content, found)
        comparison = _Comparison(graph, columns_read(graph, reading))
        not_run = "" if run_untrusted or reading.bounded else _why_not_run(reading, carried)
        found = found if reading.as_written else found.bounded()
        if not_run:
            rows, table = 0, None
        proof = Proof(reason=not_run or SKIPPED, differences=threshold_differences(graph, reading) if not_run else ())
        if proving and not not_run:
            deadline.tell("whether it is the same formula", 0.0)
            part = deadline.within(PROVING * deadline.left) if deadline.seconds is not None else deadline
            proof = prove(graph, reading, partial(comparison.add_cells, found, content), deadline=part)
        deadline.tell("whether they decide alike on rows", 0.7)
        if deadline.seconds is not None and deadline.left <= AMPLE * deadline.seconds:
            most = _affordable(comparison, content, found, deadline)
            rows, table = min(rows, most), None if table is None else _first(table, most)
        if rows > 0:
            made = adversarial_rows(graph, rows, seed, aims=reading.leaves or ())
            rows_sha256 = digest_of_rows(made.table)
            decisions_sha256 = digest_of_labels(comparison.add(made.table, made.columns, found, content))
            if inside is not None and (decide(inside, made.table) != decide(graph, made.table)).any():
                carried += ", which decides otherwise"
        if table is not None:
            comparison.add_given(table, found, content)
    except (InputError, FormatError, GraphError) as error:
        what = f"this was exported from {carried}: {error}" if carried.startswith("another") else str(error)
        raise type(error)(what, where=os.fspath(artifact) if isinstance(artifact, str | os.PathLike) else "") from error
    odd = () if not_run or proof.proved or comparison.different else _read_otherwise(reading)
    return comparison.report(
        proof,
        target=found.name,
        sha256=hashlib.sha256(content).hexdigest(),
        carried=carried,
        not_run=not_run,
        misstated=(*reading.misstated, *odd, *comparison.misstated()),
        adversarial_rows=max(rows, 0),
        given_rows=0 if table is None else table.n_rows,
        seed=seed,
        rows_sha256=rows_sha256,
        decisions_sha256=decisions_sha256,
        versions=versions(),
    )


def _affordable(comparison: _Comparison, content: bytes, target: Target, deadline: Deadline) -> int:
    """How many rows there is time for, made ones and given ones each a half, by the time that some take."""
    if deadline.left <= LITTLE * (deadline.seconds or 0.0):
        return FEW_ROWS
    seconds = []
    for n_rows in (1, FEW_ROWS):
        begun = time.monotonic()
        made = adversarial_rows(comparison.graph, n_rows)
        comparison.expected(made.table)
        target.run_both(content, comparison.graph, made.table, made.columns)
        seconds.append(time.monotonic() - begun)
    each = max(seconds[1] - seconds[0], 0.0) / FEW_ROWS  # without what a run takes whatever its rows
    return max(FEW_ROWS, int((deadline.left - 2 * min(seconds)) / 2 / max(each, 1e-9)))


def _first(table: Table, most: int) -> Table:
    """The first rows of those that are given, with a note where they are not all."""
    if table.n_rows <= most:
        return table
    _LOG.warning("only the first %s of %s given rows are compared: the time is over (--time-limit)", most, table.n_rows)
    return table.take(np.arange(most))


def _why_not_run(reading: Reading, carried: str) -> str:
    """Why an artifact must not be run, "" for none; raises FormatError where nothing at all can be said of it."""
    why = "" if reading.as_written else reading.reason or OTHER
    if why and carried.startswith("unreadable"):
        raise FormatError(why if carried.endswith(why) else f"{why}; {carried}", fix=RUN_ANYWAY)
    return why


def _read_otherwise(reading: Reading) -> tuple[str, ...]:
    """The texts that an artifact tells apart otherwise than its model, where nothing shows that this is harmless."""
    pairs = [(column, text) for column, texts in reading.texts.items() for text in texts]
    return tuple(f"{text!a} of {column!r} is read in another way than by the model" for column, text in pairs[:8])


def check_as_written(graph: RuleGraph, content: bytes, target: Target) -> None:
    """Raises InputError where an artifact is not built of what its exporter writes alone."""
    reading = read_artifact(graph, content, target)
    if not reading.as_written:
        raise InputError(f"not run: {reading.reason or OTHER}", where="artifact", fix="export the model again")


def verify_evaluators(graph: RuleGraph, *, rows: int = 2_000, seed: int = 0) -> Report:
    """Compare the numpy evaluator with the row-by-row oracle on adversarial rows.

    The report's target is "oracle". Decisions must be equal; the oracle takes a reported probability of few hidden bits
    from its definition, a sum over their states, so a gap of some 1e-16 is no fault.
    """
    table = adversarial_rows(graph, rows, seed).table
    columns = raw_columns(table)
    truths = [name for name in graph.used_features if graph.schema[name].kind == "boolean"]
    answers = []
    for i in range(rows):
        row = {name: _cell(columns[name][i]) for name in graph.used_features}
        row |= {name: None if row[name] is None else row[name] > 0.5 for name in truths}
        answers.append(evaluate_row(graph, row))
    labels = np.array([label for label, _ in answers], dtype=np.int64)
    reported = np.array([values for _, values in answers], dtype=np.float64).reshape(rows, len(graph.classes))
    comparison = _Comparison(graph)
    comparison.compare(comparison.expected(table), Outcome(labels, reported), lambda: columns, encoded=True)
    return comparison.report(
        Proof(reason=SKIPPED),
        target="oracle",
        sha256="",
        carried="none",
        adversarial_rows=rows,
        given_rows=0,
        seed=seed,
    )


class _Comparison:
    """Adds up differences over blocks of rows and keeps the first row that differs."""

    def __init__(self, graph: RuleGraph, shown: Sequence[str] = ()) -> None:
        self.graph = graph
        # of the classes whose probability is a product of exponentials, which loses nothing where it is small
        rare = [isinstance(node, Exponentials) for node in graph.reported]
        self.relative = [False, *rare] if len(rare) == 1 else rare or [False]
        self.shown = tuple(shown) or graph.used_features  # the columns of a counter-example
        self.different = 0
        self.gap = 0.0
        self.raw_rows = 0
        self.cells = 0
        self.misfired = 0
        self.example: CounterExample | None = None

    def expected(self, table: Table) -> Outcome:
        return Outcome(decide(self.graph, table), probabilities(self.graph, table), fired(self.graph, table))

    def add(self, table: Table, columns: Columns, target: Target, content: bytes) -> list[Outcome]:
        """One block of rows, encoded and raw; gives what the artifact answered."""
        expected = self.expected(table)
        answers = target.run_both(content, self.graph, table, columns)
        self.compare(expected, answers[0], lambda: raw_columns(table), encoded=True)
        for raw in answers[1:]:
            self.compare(expected, raw, lambda: columns, encoded=False)
            self.raw_rows += table.n_rows
        return answers

    def add_given(self, table: Table, target: Target, content: bytes) -> None:
        for start in range(0, table.n_rows, BLOCK_ROWS):
            block = table.take(np.arange(start, min(start + BLOCK_ROWS, table.n_rows)))
            self.add(block, raw_columns(block), target, content)

    def add_cells(self, target: Target, content: bytes, columns: Columns, table: Table) -> bool:
        """Rows that stand for cells, raw where the target can; says whether some label differs."""
        before, expected, raw = self.different, self.expected(table), target.run_raw
        if raw is None:
            self.compare(expected, target.run(content, self.graph, table), lambda: raw_columns(table), encoded=True)
        else:
            self.compare(expected, raw(content, self.graph, columns), lambda: columns, encoded=False)
        return self.different > before

    def compare(self, expected: Outcome, found: Outcome, columns: Callable[[], Columns], *, encoded: bool) -> None:
        """Counts the rows on which two outcomes differ; `columns` gives the raw values for a counter-example."""
        shape = expected.probabilities.shape
        if found.labels.shape != expected.labels.shape or found.probabilities.shape != shape:
            raise InputError(
                f"labels {found.labels.shape} and probabilities {found.probabilities.shape}, expected {shape}",
                where="artifact",
                fix="export the model again",
            )
        if found.fired is not None and expected.fired is not None:
            alike = found.fired.shape == expected.fired.shape
            self.misfired += int((found.fired != expected.fired).any(axis=1).sum()) if alike else len(found.labels)
        differ = found.labels != expected.labels
        gaps: Array = np.abs(found.probabilities - expected.probabilities)
        shares = np.asarray(self.relative, dtype=bool) & (expected.probabilities >= LEAST_PROBABILITY)
        np.divide(gaps, expected.probabilities, out=gaps, where=shares)
        gaps = np.where(np.isnan(gaps), 1.0, gaps).max(axis=1, initial=0.0)
        self.different += int(np.count_nonzero(differ))
        self.gap = max(self.gap, float(gaps.max(initial=0.0)))
        self.cells += len(differ) * len(self.graph.used_features)
        wrong = differ if differ.any() else gaps > MAX_GAP
        better = self.example is None or (differ.any() and self.example.expected == self.example.found)
        if wrong.any() and better:
            row, classes, raw = int(np.argmax(wrong)), self.graph.classes, columns()
            label = int(found.labels[row])
            self.example = CounterExample(
                {name: _cell(raw[name][row]) for name in self.shown if name in raw},
                encoded,
                classes[int(expected.labels[row])],
                classes[label] if 0 <= label < len(classes) else f"class index {label}",
                tuple(expected.probabilities[row].tolist()),
                tuple(found.probabilities[row].tolist()),
            )

    def misstated(self) -> tuple[str, ...]:
        return (f"which rules fired is not said as in the model on {self.misfired:,} rows",) if self.misfired else ()

    def report(self, proof: Proof, **known: Any) -> Report:
        from rulekit.version import __version__

        basis = guarantee(self.graph)
        return Report(
            proof="proved" if proof.proved and self.different == 0 else "tested",
            proof_reason=proof.reason,
            proof_method=proof.method,
            proof_cells=proof.cells,
            proof_cells_run=proof.cells_run,
            proof_probabilities=proof.probabilities,
            threshold_differences=proof.differences,
            digest=self.graph.digest,
            basis=basis.basis,
            basis_reason=basis.reason,
            raw_rows=self.raw_rows,
            cells=self.cells,
            different_decisions=self.different,
            largest_gap=self.gap,
            counter_example=self.example,
            version=__version__,
            **known,
        )


def _artifact(artifact: str | os.PathLike[str] | bytes | Artifact, target: str | Target | None) -> tuple[bytes, Target]:
    known = find_target(target) if isinstance(target, str) else target
    if isinstance(artifact, Artifact):
        artifact = artifact.main
    if isinstance(artifact, bytes):
        if known is None:
            raise InputError("the target of an artifact in memory must be named", fix="give target=")
        return artifact, known
    return artifact_bytes(artifact), known or find_target_for(os.fspath(artifact))


def artifact_bytes(path: str | os.PathLike[str]) -> bytes:
    """An exported file; raises InputError where it cannot be read, FormatError where it is larger than `MAX_BYTES`."""
    return read_bounded(path, MAX_BYTES)


def _carried(graph: RuleGraph, content: bytes, target: Target) -> tuple[str, RuleGraph | None]:
    """How the graph inside the artifact compares with the one that it is held to be, and, if another, that graph.

    Raises InputError where the two are not comparable.
    """
    if target.read is None:
        return "none", None
    try:
        inside = target.read(content)
    except NoModelError:
        return "none", None
    except RulekitError as error:
        return f"unreadable: {error}", None
    if inside.digest == graph.digest:
        return "same", None
    other = _incomparable(graph, inside)
    if other:
        raise InputError(
            f"this was exported from another model (digest {inside.digest[:12]}), {other}",
            fix="verify it with the model that it was exported from",
        )
    return f"another graph {inside.digest}", inside


def _incomparable(graph: RuleGraph, inside: RuleGraph) -> str:
    """What is different about the rows or labels of another graph, or "" where both take and give the same."""
    if inside.classes != graph.classes or list(map(type, inside.classes)) != list(map(type, graph.classes)):
        theirs, ours = (
            ", ".join(map(repr, classes[:4])) + (", ..." if len(classes) > 4 else "")
            for classes in (inside.classes, graph.classes)
        )
        return f"whose classes are {theirs} and not {ours}"
    for feature in inside.schema:
        if feature.name not in graph.schema.positions:
            return f"which has a column {feature.name!r} that this one has not"
        if feature != graph.schema[feature.name]:
            return f"whose column {feature.name!r} is of another kind or has other levels"
    if inside.schema.names != graph.schema.names:
        return "whose columns are fewer or in another order"
    return ""


def _cell(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and plain != plain else plain
