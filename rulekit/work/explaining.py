"""Explaining rows of a table: why each is decided as it is, what would turn it, and the reasons to give."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import label_text, printable
from rulekit.schema import require_column
from rulekit.search.moves import Direction, Wishes
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import RawTable, cells_as_given
from rulekit.tables.reading import read_columns
from rulekit.work.outputs import check_outputs
from rulekit.work.reason_catalogues import catalogue_for, without_catalogue

MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ExplanationRequest:
    """Rows of `data` to be explained under a model.

    rows: their numbers, from 1; ids: by column the value that a row must have; neither: all rows. immutable and
    directions: which changes of a row are allowed; to: the class that is wanted. catalogue: a file of reasons for the
    adverse classes, of which a row gets at most `most`. output: the file to write, JSON where `as_json`.
    """

    model: Path
    data: Path
    rows: Sequence[int] = ()
    ids: Mapping[str, str] = field(default_factory=dict)
    immutable: Sequence[str] = ()
    directions: Mapping[str, Direction] = field(default_factory=dict)
    to: str | None = None
    catalogue: Path | None = None
    adverse: Sequence[str] = ()
    most: int = 4
    as_json: bool = False
    output: Path | None = None
    reading: ReadingOptions = DEFAULT_OPTIONS


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is explained of one row, by its number from 1."""

    number: int
    facts: Mapping[str, Any]

    def lines(self) -> Iterator[str]:
        """The number of the row, and its sentences below."""
        yield f"Row {self.number}"
        yield from (f"  {sentence}" for sentence in self.facts["sentences"])

    def as_dict(self) -> dict[str, Any]:
        """JSON values: the number under `row`, then what `RuleGraph.explain` says."""
        return {"row": self.number, **self.facts}


@dataclass(frozen=True, slots=True)
class Explanations:
    """The rows that were asked for, in the order of the file."""

    rows: tuple[Explanation, ...]

    def lines(self) -> Iterator[str]:
        """The sentences of all rows."""
        for row in self.rows:
            yield from row.lines()

    def as_json(self) -> str:
        """All rows as JSON; many of them a line each, which takes a third of the time and of the room."""
        rows = [row.as_dict() for row in self.rows]
        if len(rows) <= MOST_SHOWN:
            return json.dumps(rows, indent=2, ensure_ascii=False, default=_plain)
        lines = (json.dumps(row, ensure_ascii=False, default=_plain) for row in rows)
        return "[\n" + ",\n".join(lines) + "\n]"


def explain(request: ExplanationRequest, deadline: Deadline = NO_LIMIT) -> Explanations:
    """Why rows are decided as they are; after the deadline no changes are looked for any more.

    Raises InputError for rows, columns or classes that there are not.
    """
    from rulekit.audit.explaining.explanations import ExplainOptions
    from rulekit.audit.explaining.explanations import explain as explained
    from rulekit.audit.reason_codes.reasons import class_of

    check_outputs([request.output], request.model, request.data, request.catalogue)
    graph = load(request.model)
    wishes = Wishes(frozenset(request.immutable), request.directions)
    wishes.check(graph.schema)
    to = None if request.to is None else class_of(graph, request.to, "--to")
    asked = ExplainOptions(wishes, to, deadline=deadline)
    if request.catalogue is not None:
        reasons, adverse = catalogue_for(graph, request.catalogue, request.adverse)
        asked = replace(asked, reasons=reasons, adverse=adverse, most=request.most)
    else:
        without_catalogue(request.adverse)
    columns = {*graph.used_features, *request.ids}
    raw = read_columns(request.data, request.reading, columns=columns, keep_text=request.ids, schema=graph.schema)
    table = encode(raw, graph.schema, graph.used_features)
    chosen = _chosen(request, raw, table.n_rows)
    facts = explained(graph, table.take(np.array(chosen, dtype=np.int64) - 1), asked)
    found = Explanations(tuple(map(Explanation, chosen, facts)))
    if request.output is not None:
        write_atomically(request.output, _content(found, request.as_json))
    return found


def _chosen(request: ExplanationRequest, raw: RawTable, n_rows: int) -> list[int]:
    for number in request.rows:
        if not 1 <= number <= n_rows:
            fix = f"rows are 1 to {n_rows}; the header is none"
            raise InputError(f"there is no row {number}", where="--row", fix=fix)
    numbers = sorted(set(request.rows)) if request.rows else list(range(1, n_rows + 1))
    for column, value in request.ids.items():
        require_column(column, raw.known_names, raw.source)
        (cells,) = (cells_as_given(own) for own in raw.columns if own.name == column)
        held = [None if cell is None else str(cell).strip() for cell in cells]
        numbers = [number for number in numbers if held[number - 1] == value]
    if not numbers:
        said = ", ".join(f"{column}={value}" for column, value in request.ids.items())
        raise InputError(
            f"no row has {printable(said)}", where="--id", fix="values are compared as the file writes them"
        )
    if len(numbers) > MOST_SHOWN and not (request.as_json or request.output):
        fix = f"name one by --row N (1 to {n_rows}) or --id COL=VALUE, or take them all by --json or -o FILE"
        raise InputError(f"{len(numbers)} rows are more than one reads", where=raw.source, fix=fix)
    return numbers


def _content(found: Explanations, as_json: bool) -> bytes:
    if as_json:
        return (found.as_json() + "\n").encode()
    return "".join(f"{line}\n" for line in found.lines()).encode()


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else label_text(value)
