"""check_target: one suite for every export target, of this project or of another package.

    from rulekit.conformance.targets import check_target
    check_target(find_target("sql"), options=({}, {"dialect": "duckdb"}))

Every check compares what the target runs with the graph on rows that are made to show a difference: at, below and above
every threshold, missing and unseen values, unused columns filled with anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from rulekit.conformance.cells import KINDS, Fed, fed_cells, fed_tables, graph_feeds
from rulekit.conformance.models import MODELS, NODES, Models, graph_of, random_legal_graph
from rulekit.errors import RulekitError, Unsupported
from rulekit.graph.check import check
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import Among, And, Compare, Family, Linear, Node, Not, Or, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold
from rulekit.schema import Feature, Precision, Schema
from rulekit.simplification.passes import simplify
from rulekit.tables.table import Table
from rulekit.targets import Artifact, Feed, Outcome, Runtime, Target
from rulekit.verification.parity import verify, verify_evaluators
from rulekit.verification.rows import adversarial_rows

Options = Mapping[str, Any]

MISREAD = (0.0518, 0.00140772, 0.1, 1 / 3, 5e-324, 1e-45, 2.0**-126, 16777217.0, 2.0**53 - 1, 1e22, 1e23, 9.5e-4)
LONG_TABLE = 5_000  # rows; some engines keep the order of rows up to 2,048 only

TYPED_MODEL = """rulekit rules 1
column n: numeric, missing {"?"}
column d: numeric, float64, date
column b: boolean, missing {"-"}
column c: categorical {"0", "1", "2"}, missing {"9"}
column t: categorical {"true", "false"}
label y: {1.0, true}
default 1.0

decide true when any of (
  n > 2.5,
  d > 10957 and not n is missing,
  b and c in {"1"},
  t in {"true"} and c is missing,
)
"""
TYPED_CELLS: dict[str, list[list[Any]]] = {  # by column: its cells in one type after the other
    "n": [[1, 3, -2, None], [2.5, 3.0, math.nan], ["3", "?", "2.5", "-inf", None], [True, False, None]],
    "d": [["2000-01-02", "1999-12-31", None], [10957.5, 10957.0, math.nan], [10957, 10958, None]],
    "b": [[True, False, None], [1, 0, None], [1.0, 0.0, math.nan], ["true", "FALSE", "1", "0", "-", None]],
    "c": [[0, 1, 2, 9, None], ["1", "0", "01", "9", "x", None], [True, False, None], [1.0, 2.0, math.nan]],
    "t": [[True, False, None], ["true", "false", "True", "yes", "1", None], [1, 0, None]],
}


def require(holds: bool, what: str) -> None:
    """Raises AssertionError with `what` is wrong unless `holds`, with Python's -O too."""
    if not holds:
        raise AssertionError(what)


@dataclass(frozen=True, slots=True)
class Check:
    """One question to a target; `run` raises AssertionError with what is wrong."""

    name: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return self.name


def check_target(
    target: Target,
    options: Sequence[Options] = ({},),
    *,
    rows: int = 300,
    seed: int = 0,
    gaps: Mapping[str, str] | None = None,
    models: Models = MODELS,
    kinds: Sequence[str] = tuple(KINDS),
) -> None:
    """Run every check of `target_checks` with each of the options; raises AssertionError that lists all failures.

    A graph that the target refuses must be refused by name. Every run-time that is installed is checked. gaps: by the
    name of a check, why the target does not pass it; a gap that has closed is a failure too.
    """
    wrong = []
    for runtime, each in product(target.installed(), options):
        here = replace(target, runs=(runtime,))
        checks = target_checks(here, each, rows=rows, seed=seed, models=models, kinds=kinds)
        wrong += [f"{runtime.name} {dict(each)}, {fault}" for fault in faults(checks, gaps or {})]
    require(not wrong, "\n".join(wrong))


def faults(checks: Iterable[Check], gaps: Mapping[str, str]) -> list[str]:
    """What is wrong with each check that fails; a gap that has closed, or that is none, is wrong too."""
    wrong, open_gaps, names = [], dict(gaps), list[str]()
    for one in checks:
        names.append(one.name)
        reason = open_gaps.pop(one.name, "")
        try:
            one.run()
            fault = f"passes, but is declared as a gap ({reason})" if reason else ""
        except Exception as error:  # what another package wrote may raise anything
            fault = "" if reason else f"{type(error).__name__}: {error}"
        if fault:
            wrong.append(f"{one.name}: {fault}")
    return wrong + [f"{name}: no such check; the checks are {'; '.join(names)}" for name in open_gaps]


def target_checks(
    target: Target,
    options: Options,
    *,
    rows: int = 300,
    seed: int = 0,
    random_graphs: int = 12,
    thresholds: int = 200,
    models: Models = MODELS,
    kinds: Sequence[str] = tuple(KINDS),
) -> Iterator[Check]:
    """The checks of one target with one set of options.

    rows: adversarial rows of each graph; models: by name, functions that make one; random_graphs, thresholds: how many
    of them, drawn from `seed`; kinds: of column, whose cells are fed. Cells as users hold them (Booleans, numbers,
    numeric text, missing tokens, dates) go into a run-time that takes them.
    """
    alike = partial(decides_alike, target, options)
    for name, make in models.items():
        yield Check(name, lambda make=make: alike(make(), rows=rows, seed=seed))  # type: ignore[misc]
    for k in range(seed, seed + random_graphs):
        yield Check(f"random graph {k}", lambda k=k: alike(random_legal_graph(k), rows=rows, seed=k))  # type: ignore[misc]
    for precision in ("float32", "float64"):
        for name, graph in hard_thresholds(precision, thresholds, seed).items():
            yield Check(f"{name}, {precision}", partial(alike, graph, rows=12 * thresholds, seed=seed))
    yield Check("rows in their order", partial(alike, NODES["LTU on a grid"](), rows=LONG_TABLE, seed=seed))
    yield Check("an artifact that was damaged", partial(_damaged, target, options))
    yield Check("the same bytes twice", partial(_pure, target, options))
    for feed in target.runtime.feeds:
        cells = partial(fed_cells, kinds=kinds)
        yield Check(f"fed cells, {feed.name}", partial(_fed, cells, target, options, feed))
        yield Check(f"fed tables, {feed.name}", partial(_fed, fed_tables, target, options, feed))
    if target.runtime.run_typed is not None:
        yield Check("cells as users hold them", partial(_typed, target, options, target.runtime.run_typed))


def decides_alike(target: Target, options: Options, graph: RuleGraph, *, rows: int, seed: int = 0) -> None:
    """The artifact answers as the graph on every row and carries it, or is refused by name where it must be."""
    reason = target.refuses(graph, target.parsed(options))
    if reason:
        try:
            target.emit(graph, options)
        except RulekitError:
            return
        require(False, f"took a graph that it is said to refuse: {reason}")
    report = verify(
        graph, target.emit(graph, options), target=target, rows=rows, seed=seed, proving=False, run_untrusted=True
    )
    require(report.ok, str(report))
    require(target.read is None or report.carried == "same", f"carries {report.carried}")


def hard_thresholds(precision: Precision, count: int, seed: int = 0) -> dict[str, RuleGraph]:
    """Two graphs in which every one of so many decimal thresholds decides some rows alone.

    The decimals have 1 to 17 digits and exponents from -320 to 300, as far as the precision goes; an engine that reads
    a decimal wrongly by one unit in the last place differs on the rows beside it.
    """
    rng = np.random.default_rng(seed)
    most = 300 if precision == "float64" else 37
    scales = [0, 0, 1, 4, most]
    texts = [
        f"{rng.random() * 10:.{rng.integers(0, 17)}f}e{rng.integers(-s, s + 1) if s else -1}"
        for s in rng.choice(scales, count)
    ]
    numbers = (*MISREAD, *(float(text) * (-1) ** k for k, text in enumerate(texts)))
    cuts = sorted({canonical_threshold(number, precision) for number in numbers})
    levels = tuple(f"v{k}" for k in range(len(cuts)))
    schema = Schema((Feature("x", precision=precision), Feature("which", "categorical", levels)), target="y")
    rules = [And((Among("which", (level,)), Compare("x", ">", cut))) for level, cut in zip(levels, cuts, strict=True)]
    values = tuple(float(k % 2) for k in range(len(cuts) + 1))
    score = Linear([(1.0, Step("x", tuple(cuts), values, 0.0))], 0.0)
    return {
        "hard thresholds in comparisons": graph_of(Or(rules), schema),
        "hard thresholds in steps": graph_of(score, Schema(schema.features[:1], "y")),
    }


def _damaged(target: Target, options: Options) -> None:
    """What is no artifact is refused in one line, whatever the engine says of it."""
    graph = next(g for g in (make() for make in NODES.values()) if not target.refuses(g, target.parsed(options)))
    whole = target.emit(graph, options).main
    for content in (b"", b"\0\xff" * 100, whole[: len(whole) // 3]):
        try:
            report = verify(graph, content, target=target, rows=50, proving=False, run_untrusted=True)
        except RulekitError as error:
            require("\n" not in str(error), f"more than one line: {error}")
        else:
            require(not report.ok, f"{len(content)} bytes of an artifact of {len(whole)} are taken for the whole")


def _pure(target: Target, options: Options) -> None:
    for name in ("noisy-or", "look-alikes", "3 classes, noisy"):
        made: list[Any] = []
        for _ in range(2):
            try:
                made.append(dict(target.emit(NODES[name](), options).files))
            except RulekitError as error:
                made.append(str(error))
        require(made[0] == made[1], f"two exports of {name!r} differ")


def _fed(questions: Callable[..., Iterator[Fed]], target: Target, options: Options, feed: Feed) -> None:
    """Every cell of the table in one form of input, or every table that is refused whole."""
    wrong = [f"{fed.question}: {fault}" for fed in questions(target, options, feed) for fault in fed.wrong]
    require(not wrong, f"{len(wrong)} answers are not the graph's\n" + "\n".join(wrong[:10]))


def _typed(target: Target, options: Options, run: Callable[..., list[Outcome]]) -> None:
    """Every type of cells of each column beside every type of the others, as rulekit itself reads them."""
    graph = parse_graph(TYPED_MODEL)
    rng = np.random.default_rng(0)
    tables = []
    for _ in range(60):
        types = {name: cells[rng.integers(len(cells))] for name, cells in TYPED_CELLS.items()}
        tables.append({name: [one[k] for k in rng.integers(len(one), size=20)] for name, one in types.items()})
    outcomes = run(target.emit(graph, options).main, graph, tables)
    for columns, found in zip(tables, outcomes, strict=True):
        wrong = np.flatnonzero(decide(graph, graph.table(columns)) != found.labels)
        first = {name: column[wrong[0]] for name, column in columns.items()} if len(wrong) else {}
        require(not first, f"{len(wrong)} of 20 rows differ, first {first}")


def _file_of(artifact: bytes) -> RuleGraph:
    return from_json(artifact.decode("utf-8", "replace"))


def _run_file(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    loaded = _file_of(artifact)
    return Outcome(decide(loaded, table), probabilities(loaded, table))


def _run_file_raw(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Any]) -> Outcome:
    return _run_file(artifact, graph, _file_of(artifact).table(columns))


FILE = Target(  # the model file as a target, the smallest one that there is
    "file",
    "the model file",
    (".json",),
    lambda graph, options: Artifact({"": to_json(graph).encode()}, graph.digest),
    (Runtime("rulekit", _run_file, _run_file_raw, feeds=graph_feeds()),),
    read=_file_of,
)


def check_node(node: Node, schema: Schema, targets: Collection[Target] = (), *, rows: int = 500, seed: int = 0) -> None:
    """Raises AssertionError where a part of the library reads the node otherwise than the oracle does.

    Checks, files, rule texts, the evaluators, negation and the simplifier; every target must decide alike or refuse
    the node by name.
    """
    graph = graph_of(node, schema)
    check(graph)
    require(from_json(to_json(graph)).digest == graph.digest, "a model file does not give the node back")
    require(parse_graph(print_graph(graph)).digest == graph.digest, "its rule text does not give the node back")
    report = verify_evaluators(graph, rows=rows, seed=seed)
    require(report.ok, f"numpy and the oracle differ: {report}")
    table = adversarial_rows(graph, rows, seed).table
    labels = decide(graph, table)
    require(bool((decide(simplify(graph), table) == labels).all()), "the simplified model decides otherwise")
    if node.family is Family.BOOLEAN:
        contrary = decide(graph_of(Not(node), schema), table)
        require(bool((contrary == 1 - labels).all()), "its negation is not its contrary")
    for target in targets:
        try:
            decides_alike(target, {}, graph, rows=rows, seed=seed)
        except Unsupported:
            continue
