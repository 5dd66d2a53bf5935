"""The forms in which a generated module takes cells, for `rulekit.conformance`, which runs what it just wrote."""

from __future__ import annotations

import csv
import importlib.util
import io
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import (
    BY_PLACE,
    BY_ROW,
    Answer,
    Columns,
    Feed,
    answers,
    arrays,
    holds_array,
    holds_text,
    objects,
    rows_by_name,
    rows_by_place,
)
from rulekit_exporters.python.worker import Kept


def _run(
    decide: Callable[[Any, Columns], Any], artifact: bytes, graph: RuleGraph, tables: Sequence[Columns]
) -> list[Answer]:
    """The answers of a module, which is imported in this process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "artifact.py")
        path.write_bytes(artifact)
        spec = importlib.util.spec_from_file_location("artifact", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    index = {repr(label): k for k, label in enumerate(module.CLASSES)}
    return answers(lambda table: [index[repr(label)] for label in decide(module, table)], tables)


@contextmanager
def _streams(text: str) -> Any:
    """Standard input with a text, and what comes out on standard output and standard error."""
    before = sys.stdin, sys.stdout, sys.stderr
    printed, said = Kept(), io.StringIO()
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(text.encode())), io.TextIOWrapper(printed), said
    try:
        yield printed, said
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def _by_csv(module: Any, table: Columns) -> list[Any]:
    """The labels that the command line of a module prints for a table of texts."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(table)
    writer.writerows(["" if cell is None else cell for cell in row] for row in zip(*table.values(), strict=True))
    with _streams(text.getvalue()) as (printed, said):
        status = module.command_line([])
        output = printed.getvalue().decode()
    if status:
        raise InputError(said.getvalue().strip())
    return [row[0] for row in csv.reader(io.StringIO(output))][1:]


def _in_rows(rows: Callable[[Columns], list[Any]]) -> Callable[..., list[Answer]]:
    return partial(_run, lambda module, table: [module.predict(row) for row in rows(table)])


def _in_columns(make: Callable[[Columns], Any]) -> Callable[..., list[Answer]]:
    return partial(_run, lambda module, table: module.predict_many(make(table)))


HEADER = {"blanks around names": "blanks around the names of a header mean nothing"}
FEEDS = (
    Feed("predict, a mapping", _in_rows(rows_by_name), without=BY_ROW),
    Feed("predict, a sequence", _in_rows(rows_by_place), without=BY_PLACE),
    Feed("predict_many, rows", _in_columns(rows_by_name), without=BY_ROW),
    Feed("predict_many, lists", _in_columns(dict)),
    Feed("predict_many, objects", _in_columns(objects)),
    Feed("predict_many, arrays", _in_columns(arrays), holds_array, mixed=False),
    Feed("CSV", partial(_run, _by_csv), holds_text, without={**BY_ROW, **HEADER}),
)
