"""What the isolated process runs: imports a generated module and scores rows (rulekit_exporters.python.running)."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any


def read_number(cell: str | None) -> float:
    """A double from its hexadecimal text; NaN for null."""
    return float("nan") if cell is None else float.fromhex(cell)


def main(module_path: str, rows_path: str, answers_path: str) -> None:
    """Read blocks of columns, write class indices and probabilities as hexadecimal text.

    Every row goes in as a mapping ("labels") and as a sequence ("sequences"), because each may have code of its own;
    `predict_proba` gets the one or the other, row by row in turn. Where the module has `predict_many`, every
    block goes through it too, as a mapping of columns ("many").
    """
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("artifact", module_path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    index = {repr(label): k for k, label in enumerate(module.CLASSES)}
    predict_many = getattr(module, "predict_many", None)
    labels: list[int] = []
    sequences: list[int] = []
    many: list[int] = []
    probabilities: list[str] = []
    with open(rows_path, encoding="ascii") as lines:
        header = json.loads(next(lines))
        names = header["names"]
        if list(index) != header["classes"]:
            raise ValueError(f"CLASSES are {', '.join(index)} and not those of the model")
        for line in lines:
            n_rows, encoded = json.loads(line)
            columns: list[Any] = [[None] * n_rows] * len(names)
            for position, column, numeric in zip(header["used"], encoded, header["numeric"], strict=True):
                columns[position] = [read_number(cell) for cell in column] if numeric else column
            for cells in zip(*columns, strict=True):
                mapping = dict(zip(names, cells, strict=True))
                labels.append(index[repr(module.predict(mapping))])
                sequences.append(index[repr(module.predict(cells))])
                given: Any = cells if len(labels) % 2 else mapping
                probabilities.extend(float(p).hex() for p in module.predict_proba(given))
            if predict_many is not None:
                many.extend(index[repr(label)] for label in predict_many(dict(zip(names, columns, strict=True))))
    with open(answers_path, "w", encoding="ascii") as answers:
        answer: dict[str, Any] = {"labels": labels, "sequences": sequences, "probabilities": probabilities}
        json.dump(answer if predict_many is None else {**answer, "many": many}, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
