"""The command line of generated modules: scoring CSV from standard input, the self-test.

Copied into modules word for word, like rulekit_exporters.python.runtime. The functions here get those of the module
(`decide`, `probabilities`, ...) as arguments.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from rulekit_exporters.python.runtime import BLANKS, Used, cell, numpy_or_none, plain, rows_of

HELP = """usage: python THIS.py [--delimiter C] < rows.csv > predictions.csv
       python THIS.py --self-test

Reads CSV with a header from standard input (UTF-8; the order of columns is free, others than those of the rules are
ignored) and writes the label and the probability of each class of every row.

  --delimiter C  what stands between cells; "tab" is a tab
  --self-test    score the rows that this module carries in every form of input; status 1 where an answer differs
  --help         this text"""


def command_line(
    arguments: Sequence[str],
    used: Sequence[Used],
    classes: Sequence[Any],
    decide: Callable[[Any], int],
    probabilities: Callable[[Any], list[float]],
    self_test: Callable[[], int] | None,
) -> int:
    """Do what the arguments ask for; returns the exit status: 0 done, 1 the self-test failed, 2 bad input or usage."""
    if list(arguments) in (["-h"], ["--help"]):
        print(HELP)
        return 0
    if list(arguments) == ["--self-test"] and self_test is not None:
        return self_test()
    delimiter, fault = delimiter_of(arguments)
    if list(arguments) == ["--self-test"]:
        fault = "--self-test: this module was written without its rows"
    if fault:
        print(f"{fault}; --help tells more", file=sys.stderr)
        return 2
    return score_csv(delimiter, used, classes, decide, probabilities)


def delimiter_of(arguments: Sequence[str]) -> tuple[str, str]:
    """The delimiter that the arguments ask for, and what is wrong with them ("" where nothing is)."""
    delimiter = ","
    rest = iter(arguments)
    for text in rest:
        name, given, value = text.partition("=")
        if name == "--delimiter":
            value = value if given else next(rest, "")
            delimiter = {"tab": "\t", "\\t": "\t"}.get(value, value)
            if len(delimiter) != 1 or delimiter in '"\r\n\0':
                return "", "--delimiter takes one character, or tab"
        elif text in ("--self-test", "--help", "-h"):
            return "", f"{text} stands alone"
        else:
            return "", f"{text!r}: {'no such option' if text.startswith('-') else 'rows come on standard input'}"
    return delimiter, ""


def csv_rows(lines: Iterable[str], delimiter: str, used: Sequence[Used]) -> Iterator[dict[str, Any]]:
    """The used cells of each row under a header; order is free, other columns are ignored.

    Names lose the blanks around them, cells keep them. Raises ValueError naming the line where a column is missing or
    stands twice, a cell is not a number, a row is longer or shorter than the header, or there is none.
    """
    lines = iter(lines)
    head = reader = csv.reader(without_nul(lines), delimiter=delimiter, strict=True)
    try:
        header = next(head, None)
        if header is None:
            raise ValueError("there is no header line")
        header = [name.strip(BLANKS) for name in header]
        for _, name, _, _ in used:
            if header.count(name) != 1:
                raise ValueError(
                    f"{'no column' if name not in header else 'more than one column'} {name!r} in the header"
                )
        picked = [(header.index(name), name, kind, tokens) for _, name, kind, tokens in used]
        reader = csv.reader(without_nul(lines), delimiter=delimiter, strict=True)
        blank = 0  # empty lines are rows of a table of one column, but not at its end
        found = False
        for row in reader:
            if not row:
                blank += len(header) == 1
                continue
            for whole in [*[[""]] * blank, row]:
                if len(whole) != len(header):
                    raise ValueError(f"{len(whole)} cells, the header has {len(header)}")
                yield {name: cell(whole[at], name, kind, tokens) for at, name, kind, tokens in picked}
            blank, found = 0, True
        if not found:
            raise ValueError("there is a header but no row")
    except (ValueError, csv.Error) as error:
        number = reader.line_num + (head.line_num if reader is not head else 0)
        raise ValueError(f"line {max(number, 1)}: {error}") from None


def without_nul(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a text; raises ValueError where one holds a NUL."""
    for line in lines:
        if "\0" in line:
            raise ValueError("a NUL byte: this is no table of text")
        yield line


def score_csv(
    delimiter: str,
    used: Sequence[Used],
    classes: Sequence[Any],
    decide: Callable[[Any], int],
    probabilities: Callable[[Any], list[float]],
) -> int:
    """Score CSV from standard input to standard output: label and probabilities of each row. Returns the exit status.

    0: done; 2: bad input, said in one line on standard error.
    """
    source = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
    sink = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    writer = csv.writer(sink, lineterminator="\n")
    names = [str(label).lower() if isinstance(label, bool) else str(label) for label in classes]
    try:
        rows = csv_rows(source, delimiter, used)
        first = next(rows, None)
        writer.writerow(["label", *(f"probability({name})" for name in names)])
        for row in itertools.chain([] if first is None else [first], rows):
            writer.writerow([names[decide(row)], *map(repr, probabilities(row))])
        sink.flush()
    except BrokenPipeError:  # the reader of our output has gone; silence the interpreter's own flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:  # UnicodeDecodeError is a ValueError
        message = "".join(c if c.isprintable() else repr(c)[1:-1] for c in f"standard input: {error}")
        sink.flush()
        print(message, file=sys.stderr)
        return 2
    return 0


# Self-test -----------------------------------------------------------------------------------------------------------


def check_rows(
    columns: Sequence[str],
    used: Sequence[Used],
    classes: Sequence[Any],
    rows: Sequence[tuple[Sequence[Any], int, Sequence[float]]],
    ways: Mapping[str, Callable[[Any], Any]],
) -> int:
    """Score rows in every form of input; returns 0 where each answer is the model's, else 1. Says so in one line.

    rows: cells of the columns of `used`, class index and probabilities by the model. ways: the module's functions.
    """
    try:
        fault = first_difference(columns, used, classes, rows, ways)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        fault = f"{type(error).__name__}: {error}"
    note = "" if numpy_or_none() is not None else " (without numpy: columns were scored row by row)"
    print(f"self-test: {fault}" if fault else f"self-test: {len(rows)} rows, 0 different{note}")
    return 1 if fault else 0


def first_difference(
    columns: Sequence[str],
    used: Sequence[Used],
    classes: Sequence[Any],
    rows: Sequence[tuple[Sequence[Any], int, Sequence[float]]],
    ways: Mapping[str, Callable[[Any], Any]],
) -> str:
    """The first row that some function scores otherwise than the model, in words; "" where there is none."""
    names = [name for _, name, _, _ in used]
    given = [dict(zip(names, cells, strict=True)) for cells, _, _ in rows]
    predict, predict_proba, predict_many = ways["predict"], ways["predict_proba"], ways["predict_many"]
    by_column = {name: [row[name] for row in given] for name in names}
    of_columns = [predict_many(by_column), [predict(row) for row in rows_of(by_column)]] if names else []
    of_rows = predict_many(given)
    named = all(name == name.strip(BLANKS) for name in names)  # the header's names lose their blanks
    from_text = csv_rows(csv_lines(names, given), ",", used)
    for number, (row, (_, index, chances)) in enumerate(zip(given, rows, strict=True)):
        blank = {name: None if plain(value) is None else value for name, value in row.items()}
        in_order = [blank.get(name) for name in columns]
        texts = [repr(value) if isinstance(value, float) else value for value in in_order]
        labels = [
            ("predict of a mapping", predict(row)),
            ("predict of a mapping with None", predict(blank)),
            ("predict of a sequence", predict(in_order)),
            ("predict of a sequence of texts", predict(texts)),
            ("predict_many of rows", of_rows[number]),
            *(("predict_many of columns", found[number]) for found in of_columns),
        ]
        reports = [
            ("predict_proba of a mapping", predict_proba(row)),
            ("predict_proba of a sequence", predict_proba(in_order)),
        ]
        if names and named and is_plain(row.values()):
            cells = next(from_text)
            labels.append(("CSV", classes[ways["decide"](cells)]))
            reports.append(("CSV", ways["probabilities"](cells)))
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
