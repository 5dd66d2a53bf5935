"""What the isolated process runs: imports a generated module and scores rows (rulekit_exporters.python.running)."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def imported(path: str) -> Any:
    """The module of a file."""
    spec = importlib.util.spec_from_file_location("artifact", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(rows_path: str) -> Iterator[tuple[list[str], list[list[Any]]]]:
    """First the names of all columns and the classes, then block by block the columns."""
    with open(rows_path, encoding="ascii") as lines:
        header = json.loads(next(lines))
        yield header["names"], [header["classes"]]
        for line in lines:
            n_rows, given = json.loads(line)
            columns: list[Any] = [[None] * n_rows] * len(header["names"])
            for position, column in zip(header["used"], given, strict=True):
                columns[position] = column
            yield header["names"], columns


def answers_of(module_path: str, rows_path: str, mode: str) -> dict[str, Any]:
    """Class indices and probabilities of all rows.

    mode "all": a row goes in as a mapping ("labels"), as a sequence ("sequences") and in columns ("many"), because each
    has code of its own; `predict_proba` gets the one or the other, row by row in turn. "columns": `predict_many` alone.
    """
    module = imported(module_path)
    index = {repr(label): k for k, label in enumerate(module.CLASSES)}
    found: dict[str, list[Any]] = {"labels": [], "sequences": [], "many": [], "probabilities": []}
    parts = blocks(rows_path)
    names, (classes,) = next(parts)
    if list(index) != classes:
        raise ValueError(f"CLASSES are {', '.join(index)} and not those of the model")
    for _, columns in parts:
        found["many"] += [index[repr(label)] for label in module.predict_many(dict(zip(names, columns, strict=True)))]
        for cells in zip(*columns, strict=True):
            mapping = dict(zip(names, cells, strict=True))
            if mode == "all":
                found["labels"].append(index[repr(module.predict(mapping))])
                found["sequences"].append(index[repr(module.predict(cells))])
            given: Any = cells if len(found["labels"]) % 2 else mapping
            found["probabilities"] += map(float, module.predict_proba(given))
    return found if mode == "all" else {"labels": found["many"], "probabilities": found["probabilities"]}


class Kept(io.BytesIO):
    """Bytes that stay when a wrapper is closed."""

    def close(self) -> None:
        self.flush()


def printed(run: Callable[[], object], names: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[list[str]]:
    """The table that a command line prints for a table on its standard input; raises ValueError where it fails."""
    text, out, said = io.StringIO(newline=""), Kept(), io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    before = sys.stdin, sys.stdout, sys.stderr
    given = io.TextIOWrapper(Kept(text.getvalue().encode()))
    sys.stdin, sys.stdout, sys.stderr = given, io.TextIOWrapper(out), said
    try:
        run()
    except SystemExit as done:
        if done.code:
            raise ValueError(said.getvalue().strip()) from None
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    return list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))


def answers_of_csv(module_path: str, rows_path: str) -> dict[str, Any]:
    """`python module.py < rows.csv`: numbers as their shortest decimals, missing as empty cells.

    Readers of CSV take no NUL, so such a text goes in as another one, which is no level either and has the same words.
    """
    parts = blocks(rows_path)
    names, (classes,) = next(parts)
    given = [map(written, row) for _, columns in parts for row in zip(*columns, strict=True)]
    sys.argv = [module_path]
    header, *rows = printed(lambda: runpy.run_path(module_path, run_name="__main__"), names, given)
    index = {name[len("probability(") : -1]: k for k, name in enumerate(header[1:])}
    if len(index) != len(classes):
        raise ValueError(f"{len(index)} classes, the model has {len(classes)}")
    return {"labels": [index[row[0]] for row in rows], "probabilities": [float(p) for row in rows for p in row[1:]]}


def written(cell: Any) -> Any:
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, str) and "\0" in cell:
        return f"[{cell}]".replace("\0", "\x01")
    return cell


def main(module_path: str, rows_path: str, answers_path: str, mode: str) -> None:
    """Score the rows of a file into another."""
    sys.dont_write_bytecode = True
    answer = answers_of_csv(module_path, rows_path) if mode == "csv" else answers_of(module_path, rows_path, mode)
    with open(answers_path, "w", encoding="ascii") as answers:
        json.dump(answer, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
