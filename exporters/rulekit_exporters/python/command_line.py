"""The command line of generated modules: scoring CSV from standard input, the self-test.

Copied into modules word for word, like rulekit_exporters.python.runtime. The functions here get those of the module
that hold its rules as arguments.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rulekit_exporters.python.runtime import BLANKS, CLASSES, COLUMNS, USED, cell, decide, plain, probabilities


def command_line(arguments: list[str]) -> int:
    """Score CSV; returns the exit status: 0 done, 2 bad input or usage."""
    if arguments in (["-h"], ["--help"]):
        print("usage: python THIS.py [--delimiter C] < rows.csv > predictions.csv", __doc__, sep="\n\n")
        return 0
    delimiter, rest = ",", iter(arguments)
    for text in rest:
        name, given, value = text.partition("=")
        fault = f"{text!r}: {'no such option' if text[:1] == '-' else 'rows come on standard input'}"
        if name == "--delimiter":
            value = value if given else next(rest, "")
            delimiter = {"tab": "\t", "\\t": "\t"}.get(value, value)
            if len(delimiter) == 1 and delimiter not in '"\r\n\0':
                continue
            fault = "--delimiter takes one character, or tab"
        elif text in ("--self-test", "--help", "-h"):
            fault = f"{text} stands alone" if arguments[1:] else f"{text}: this module was written without its rows"
        print(f"{fault}; --help tells more", file=sys.stderr)
        return 2
    source = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
    sink = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    writer = csv.writer(sink, lineterminator="\n")
    names = [str(label).lower() if isinstance(label, bool) else str(label) for label in CLASSES]
    try:
        for n, cells in enumerate(csv_rows(source, delimiter)):
            if n == 0:
                writer.writerow(["label", *(f"probability({name})" for name in names)])
            writer.writerow([names[decide(*cells)], *map(repr, probabilities(*cells))])
        sink.flush()
    except BrokenPipeError:
        sys.stdout = sys.stderr  # which is flushed at the end
    except (ValueError, OSError) as error:
        sink.flush()
        print(f"standard input: {error}", file=sys.stderr)
        return 2
    return 0


def csv_rows(lines: Iterable[str], delimiter: str) -> Iterator[list[Any]]:
    """The cells of USED of each row below a header; raises ValueError naming the line."""
    reader, header, picked = csv.reader(lines, delimiter=delimiter, strict=True), [""], []
    blank, rows = 0, -1  # empty lines of one column are rows, but not at the end
    try:
        for row in reader:
            if "\0" in "".join(row):
                raise ValueError("a NUL byte: this is no table of text")
            if rows < 0:
                header, rows = [name.strip(BLANKS) for name in row], 0
                for name, kind, tokens in USED:
                    if header.count(name) != 1:
                        raise ValueError(f"{'more than one' if name in header else 'no'} column {name!r} in the header")
                    picked.append((header.index(name), name, kind, tokens))
            elif row:
                for whole in [*[[""]] * blank, row]:
                    if len(whole) != len(header):
                        raise ValueError(f"{len(whole)} cells, the header has {len(header)}")
                    yield [cell(whole[place], name, kind, tokens) for place, name, kind, tokens in picked]
                blank, rows = 0, rows + 1
            else:
                blank += len(header) == 1
        if rows < 1:
            raise ValueError("there is no header line" if rows else "there is a header but no row")
    except (ValueError, csv.Error) as error:
        raise ValueError(f"line {max(reader.line_num, 1)}: {error}") from None


# Self-test -----------------------------------------------------------------------------------------------------------


def check_rows(
    rows: Sequence[tuple[Sequence[Any], int, Sequence[float]]],
    classes: Sequence[Any],
    ways: Mapping[str, Callable[..., Any]],
) -> int:
    """Score rows in every form of input; returns 0 where each answer is the model's, else 1. Says so in one line.

    rows: cells of the columns of USED, class index and probabilities by the model. classes: its labels. ways: the
    module's functions.
    """
    try:
        fault = first_difference(rows, classes, ways)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        fault = f"{type(error).__name__}: {error}"
    print(f"self-test: {fault or f'{len(rows)} rows, 0 different'}")
    return 1 if fault else 0


def first_difference(
    rows: Sequence[tuple[Sequence[Any], int, Sequence[float]]],
    classes: Sequence[Any],
    ways: Mapping[str, Callable[..., Any]],
) -> str:
    """The first row that some function scores otherwise than the model, in words; "" where there is none."""
    names = [name for name, _, _ in USED]
    given = [dict(zip(names, cells, strict=True)) for cells, _, _ in rows]
    predict, predict_proba, predict_many = ways["predict"], ways["predict_proba"], ways["predict_many"]
    of_columns = predict_many({name: [row[name] for row in given] for name in names}) if names else []
    of_rows = predict_many(given)
    named = all(name == name.strip(BLANKS) for name in names)  # the header's names lose their blanks
    from_text = csv_rows(csv_lines(names, given), ",")
    for number, (row, (_, index, chances)) in enumerate(zip(given, rows, strict=True)):
        blank = {name: None if plain(value) is None else value for name, value in row.items()}
        in_order = [blank.get(name) for name in COLUMNS]
        texts = [repr(value) if isinstance(value, float) else value for value in in_order]
        labels = [
            ("predict of a mapping", predict(row)),
            ("predict of a mapping with None", predict(blank)),
            ("predict of a sequence", predict(in_order)),
            ("predict of a sequence of texts", predict(texts)),
            ("predict_many of rows", of_rows[number]),
            *(("predict_many of columns", label) for label in of_columns[number : number + 1]),
        ]
        reports = [
            ("predict_proba of a mapping", predict_proba(row)),
            ("predict_proba of a sequence", predict_proba(in_order)),
        ]
        if names and named and is_plain(row.values()):
            cells = next(from_text)
            labels.append(("CSV", CLASSES[decide(*cells)]))
            reports.append(("CSV", probabilities(*cells)))
        for way, label in labels:
            if repr(label) != repr(classes[index]):
                return f"row {number + 1}: {way} gives {label!r}, the model {classes[index]!r}: {blank}"
        for way, found in reports:
            if len(found) != len(chances) or any(abs(a - b) > 1e-12 for a, b in zip(found, chances, strict=True)):
                return f"row {number + 1}: {way} gives {found}, the model {list(chances)}: {blank}"
    return ""


def csv_lines(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """CSV of the rows that are the same after it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    for row in rows:
        if is_plain(row.values()):
            writer.writerow(row.values())
    text.seek(0)
    return text


def is_plain(cells: Iterable[Any]) -> bool:
    """Whether no cell holds a NUL, which readers of CSV refuse."""
    return not any(isinstance(value, str) and "\0" in value for value in cells)


def test_rows(
    cells: Sequence[Sequence[Any]], chances: Sequence[Sequence[float]], rows: Sequence[Sequence[int]]
) -> list[tuple[list[Any], int, Sequence[float]]]:
    """Cells, class index and probabilities of each row, which is kept as indices: of these, then of each column's."""
    return [
        ([own[i] for own, i in zip(cells, places, strict=True)], index, chances[chance])
        for index, chance, *places in rows
    ]
