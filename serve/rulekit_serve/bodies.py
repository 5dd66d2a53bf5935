"""Reading what a call sends: JSON, CSV or an Arrow stream becomes columns. One reader for all endpoints."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import polars as pl
from pydantic_core import from_json
from starlette.requests import Request

from rulekit.errors import RulekitError
from rulekit.graph.files.safe_files import parse_json
from rulekit_serve.failures import Refusal, Within
from rulekit_serve.settings import MEGABYTE, Settings

Columns = Mapping[str, Any]
_MOST_COLUMNS = 10_000
_HOLDERS = {dict, list}
_SCALARS = {str, int, float, bool, type(None)}
_ARROW = ("application/vnd.apache.arrow.stream", "application/x-apache-arrow-stream")


async def body_of(request: Request, settings: Settings) -> bytes:
    """The body; raises Refusal where it is too large, or does not come in time, or not whole."""
    if (packed := request.headers.get("content-encoding", "identity")) != "identity":
        raise Refusal(415, f"a body in the encoding {packed[:40]!r} is not read", fix="send it as it is")
    parts, size, more = [], 0, True
    try:
        with Within(settings.seconds):
            while more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "the body did not come whole")
                more = message.get("more_body", False)
                parts.append(part := message.get("body", b""))
                size += len(part)
                if size > settings.body:
                    what = f"the body has more than {settings.body // MEGABYTE} MB"
                    raise Refusal(413, what, fix="send the rows in several calls")
    except TimeoutError:
        raise Refusal(408, f"the body did not come within {settings.seconds:g} seconds") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def json_of(data: bytes) -> Any:
    """A JSON value; raises Refusal for a key that stands twice, NaN, too many digits or levels."""
    with suppress(ValueError):
        found = from_json(data, allow_inf_nan=False)
        if data.count(b":") == _keys(found):  # each key has a colon, so that none stands twice
            return found
    try:
        return parse_json(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Refusal(400, "the body is not UTF-8") from None
    except RulekitError as error:
        raise Refusal(400, error.what) from None


def _keys(value: Any) -> int:
    """How many keys the objects have; those of lists that begin with something else are passed over."""
    if type(value) is dict:
        own = value.values()
        return len(value) + (0 if _HOLDERS.isdisjoint(map(type, own)) else sum([_keys(o) for o in own if _holds(o)]))
    return sum(map(_keys, value)) if _holds(value) else 0


def _holds(value: Any) -> bool:
    return type(value) is dict or (type(value) is list and bool(value) and type(value[0]) is dict)


def object_of(data: bytes) -> dict[str, Any]:
    """A JSON object."""
    found = json_of(data)
    if not isinstance(found, dict):
        raise Refusal(400, "the body is no JSON object")
    return found


def text_of(given: Mapping[str, Any], key: str, default: str | None = None, most: int = 1_000) -> str:
    """A text of an object; raises Refusal where it is missing, empty, too long or no text."""
    value = given.get(key, default)
    if not isinstance(value, str) or len(value) > most or (default is None and not value.strip()):
        raise Refusal(422, f"{key} is a text of 1 to {most} letters", key)
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise Refusal(422, f"{key} has a letter that no database keeps", key)
    return value


def number_of(given: Mapping[str, Any], key: str, default: float, least: float, most: float) -> float:
    """A number of an object within bounds."""
    value = given.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise Refusal(422, f"{key} is a number from {least:g} to {most:g}", key)
    return float(value)


def columns_of(data: bytes, kind: str, most: int) -> tuple[Columns, int]:
    """The columns of a table that a call sends, and how many rows it has; kind: the content type."""
    kind = kind.partition(";")[0].strip().lower()
    if kind in ("", "application/json"):
        found = json_of(data)
        rows = found.get("rows") if isinstance(found, dict) else found
        return columns_of_rows(rows, most)
    if kind in ("text/csv", *_ARROW):
        try:
            frame = (
                pl.read_csv(io.BytesIO(data), infer_schema=False, n_rows=most + 1)
                if kind == "text/csv"
                else pl.read_ipc_stream(io.BytesIO(data), n_rows=most + 1)
            )
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            raise Refusal(400, f"this is no {kind}: {str(error).splitlines()[0][:200]}") from None
        except BaseException as error:  # a panic of its Rust code
            if isinstance(error, Exception) or "Panic" in type(error).__name__:
                raise Refusal(400, f"this is no {kind}") from None
            raise
        return sized(dict(zip(frame.columns, frame.get_columns(), strict=True)), frame.height, most)
    raise Refusal(415, f"{kind[:60]!r} is not read", fix="send application/json, text/csv or an Arrow stream")


def columns_of_rows(rows: Any, most: int) -> tuple[Columns, int]:
    """The columns of a list of objects, a cell for each; a column that some rows lack is missing there."""
    if not isinstance(rows, list) or not rows:
        raise Refusal(422, "rows is a list of objects, one for each row", "rows")
    if len(rows) > most:
        raise _too_many(most)
    if not all(isinstance(row, dict) for row in rows):
        raise Refusal(422, "each row is an object of cells by column", "rows")
    first = tuple(rows[0])
    if len(rows) == 1 and {*map(type, rows[0].values())} <= _SCALARS and 0 < len(first) <= _MOST_COLUMNS:
        return {name: [cell] for name, cell in rows[0].items()}, 1
    if first and all(tuple(row) == first for row in rows):
        columns = dict(zip(first, map(list, zip(*(row.values() for row in rows), strict=True)), strict=True))
    else:
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
    return sized(columns, len(rows), most)


def bounded(columns: int, n: int, most: int) -> None:
    """Raises Refusal where there are too many columns or rows, or none."""
    if n > most:
        raise _too_many(most)
    if n == 0:
        raise Refusal(422, "there are no rows", "rows")
    if columns > _MOST_COLUMNS:
        raise Refusal(422, f"more than {_MOST_COLUMNS} columns", "rows")


def sized(columns: Columns, n: int, most: int) -> tuple[Columns, int]:
    """The columns, where they are scalars and not too many."""
    bounded(len(columns), n, most)
    for name, cells in columns.items():
        if not isinstance(cells, pl.Series) and not {*map(type, cells)} <= _SCALARS:
            raise Refusal(422, f"a cell of {name[:60]!r} is no text, number, truth value or null", name[:60])
    return columns, n


def cells_of(columns: Columns, names: Sequence[str]) -> dict[str, list[Any]]:
    """The cells of some columns as Python values, those that were sent."""
    return {
        name: columns[name].to_list() if isinstance(columns[name], pl.Series) else columns[name]
        for name in names
        if name in columns
    }


def _too_many(most: int) -> Refusal:
    return Refusal(413, f"more than {most:,} rows in one call", "rows", "send them in several calls")
