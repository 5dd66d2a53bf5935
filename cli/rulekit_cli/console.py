"""Where text goes: results to standard output, logs, progress and failures to standard error.

A failing command says one line and has one exit status, with no traceback unless asked for.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, requires
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

import typer

from rulekit.errors import InputError, Interrupted, RulekitError, reason_of
from rulekit.names import printable, wrapped
from rulekit.work.choices import OPTIONS
from rulekit.work.progress import (
    Event,
    Noticed,
    Progress,
    RunProgress,
    Stage,
    Standing,
    deadline_of,
    end_for_time,
    unseen,
)
from rulekit_cli.interruption import INTERRUPTED, say_interrupted

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from rulekit.limits import Deadline

CHECK_FAILED = 1
BAD_INPUT = 2
_NARROWEST, _WIDEST = 40, 120
_SPELLED = str.maketrans({"±": "+-", "…": "...", "–": "-", "—": "-", "“": '"', "”": '"', "’": "'"})


def width() -> int:
    """Columns of the terminal, 80 where there is none, from 40 to 120."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST), _WIDEST)


def log(line: str) -> None:
    """A line for people, broken at the width of the terminal; what a terminal would obey is escaped."""
    for part in wrapped(printable(line), width(), "  "):
        print(part, file=sys.stderr)


class _Notes(logging.Handler):
    """What is logged, as notes for the person at the terminal, each said once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        note = record.getMessage()
        if note not in self._said:
            self._said.add(note)
            log(f"note: {note}")


@contextmanager
def library_heard() -> Iterator[None]:
    """What the library logs is shown."""
    logger, handler = logging.getLogger("rulekit"), _Notes()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def notes(texts: Iterable[str]) -> None:
    """Notes for people, a line each."""
    for text in texts:
        log(f"note: {text}")


def result(*lines: str, hanging: str | None = None) -> None:
    """Lines of the result, broken at the width of the terminal before `hanging` where that is given.

    What a terminal would obey is escaped.
    """
    for line in lines:
        for part in [line] if hanging is None else wrapped(line, width(), hanging):
            write(printable(part) + "\n", exact=False)


def result_words(pairs: Iterable[tuple[str, str]], margin: int, indented: int = 2) -> None:
    """Print texts, each behind its word in a margin; of a text that begins with a blank later lines are indented."""
    for word, text in pairs:
        result(f"{word:{margin}}{text}", hanging=" " * (margin + (indented if text.startswith(" ") else 2)))


def _encodable(text: str) -> str:
    """A text for people, with plain characters for those that the encoding of standard output lacks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_SPELLED).encode(encoding, "backslashreplace").decode(encoding)
    return text


def result_json(value: Any) -> None:
    """The result for a machine, as JSON."""
    write_json(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def write_json(text: str) -> None:
    """JSON with its escapes for what a terminal would obey or cannot show."""
    text = escaped_json(text)
    plain = _encodable(text) == text
    write((text if plain else "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)) + "\n")


def escaped_json(text: str) -> str:
    """JSON text whose invisible characters but line ends are escaped."""
    lines = text.split("\n")
    return "\n".join(
        line if line.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in line)
        for line in lines
    )


def write(text: str, *, exact: bool = True) -> None:
    """Text that is safe, or data; exact: no character is replaced where the encoding of standard output lacks it.

    Raises InputError where standard output is closed, or lacks a character of an exact text.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed", fix="leave it open, or send it to a file")
    try:
        sys.stdout.write(text if exact else _encodable(text))
    except UnicodeEncodeError as error:
        lacks = f"the encoding {error.encoding} has no {error.object[error.start]!r}"
        raise InputError(lacks, where="standard output", fix="set PYTHONIOENCODING=utf-8, or use -o FILE") from None


def joined(parts: Sequence[str]) -> list[str]:
    """Parts of a result on as many lines as they need, three blanks apart."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= width():
            lines[-1] += f"   {part}"
        else:
            lines.append(part)
    return lines


def red(text: str, stream: TextIO | None) -> str:
    """A text in red on a terminal that takes colours: what is wrong, and nothing else."""
    plain = stream is None or not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[31m{text}\x1b[0m"


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Rows of cells as lines: the first `left` columns flush left, the others flush right."""
    count = max(len(row) for row in rows)
    cells = [[*map(printable, row), *[""] * (count - len(row))] for row in rows]
    widths = [max(len(row[j]) for row in cells) for j in range(count)]
    lines = []
    for row in cells:
        parts = [
            cell.ljust(size) if j < left else cell.rjust(size)
            for j, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
    return lines


def guarded(run: Callable[[], object], *, debug: bool) -> int:
    """Run a command; print what went wrong on one line of standard error; return the exit status."""
    try:
        status = run()
        if sys.stdout is not None:
            sys.stdout.flush()
        if status == INTERRUPTED:  # how typer returns Ctrl-C, without a word
            raise KeyboardInterrupt
        return status if isinstance(status, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return say_interrupted()
    except Interrupted as stop:
        return say_interrupted(str(stop))
    except BrokenPipeError:
        # The reader of a pipe has gone; Python would complain again when it closes standard output.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            traceback.print_exc()
        _say(describe(error))
        return BAD_INPUT


def describe(error: Exception) -> str:
    """One line for a person: what, where, and what would fix it."""
    if isinstance(error, RulekitError):
        return str(error).replace(error.where, OPTIONS.get(error.where) or error.where, 1)
    say = getattr(error, "format_message", None)
    if say is not None:  # a usage error of typer, or of the click that it is built on
        context = getattr(error, "ctx", None)
        command = f"; see {context.command_path} --help" if context is not None else ""
        return f"{_flat(say()).rstrip('.').replace(': Value error, ', ': ')}{command}"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{reason_of(error)}"
    if isinstance(error, MemoryError):
        return "out of memory; use fewer rows or columns"
    if isinstance(error, ModuleNotFoundError) and (package := _package(error.name or "")):
        return f"this needs the package {package}, which is not installed; pip install {package}"
    return f"internal error: {type(error).__name__}: {_flat(str(error))}; run again with --debug for the traceback"


def _package(module: str) -> str:
    """The package of the index that rulekit depends on and that has this module, or ""."""
    name = {"sklearn": "scikit-learn"}.get(module.split(".")[0], module.split(".")[0])
    try:
        needed = requires("rulekit-portable") or []
    except PackageNotFoundError:
        return ""
    return name if any(re.match(rf"{re.escape(name)}\b(?!-)", line) for line in needed) else ""


def _flat(text: str) -> str:
    return " ".join(text.split())


def _say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(red(f"rulekit: {printable(line)}", sys.stderr), file=sys.stderr)


# How far long work has come: notes and what the table holds; on a terminal one bar for the whole run ------------------

_BAR_WIDTH = 20


class _Display:
    """Shows events; the bar is taken away while lines are written."""

    def __init__(self, stack: ExitStack, time_limit: float | None) -> None:
        self._stack = stack
        self._run = RunProgress(time_limit)
        self._bar: tuple[Bars, TaskID] | None = None

    def __call__(self, event: Event) -> bool:
        """Take an event; never cancels."""
        standing = self._run.take(event)
        if isinstance(event, Noticed):
            self._stack.close()
            self._bar = None
            for line in event.lines(width()):
                log(line)
        if sys.stderr.isatty():
            self._move(standing)
        return False

    def _move(self, standing: Standing) -> None:
        if self._bar is None:
            bars = self._stack.enter_context(_bars())
            self._bar = bars, bars.add_task("", total=1.0, said="")
        bars, task = self._bar
        said = "   ".join(filter(None, [f"{100 * standing.share:.0f} %", standing.remaining]))
        room = max(10, width() - _BAR_WIDTH - len(said) - 6)
        shown = standing.label if len(standing.label) <= room else f"{standing.label[: room - 3]}..."
        bars.update(task, description=printable(shown), completed=standing.share, said=said)


@contextmanager
def shown_progress(quiet: bool, time_limit: float | None = None) -> Iterator[Progress]:
    """A callback for long work that shows the events, unless quiet; time_limit: of the learning, in seconds."""
    if not quiet:
        with ExitStack() as stack:
            yield _Display(stack, time_limit)
        return
    logger = logging.getLogger("rulekit")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield unseen
    finally:
        logger.setLevel(before)


@contextmanager
def shown_search(time_limit: float) -> Iterator[Deadline]:
    """The limit of a command's searches, in seconds from now, which shows how far they are."""
    with shown_progress(False) as progress:
        yield deadline_of(time_limit, progress)


@contextmanager
def bounded(seconds: float | None, progress: Progress) -> Iterator[Progress]:
    """Stop a training after this many seconds; yields its callback.

    Most steps check the time themselves. An alarm stops the others, on systems that have one. The steps after learning
    are short.
    """
    if seconds is None or not hasattr(signal, "setitimer") or current_thread() is not main_thread():
        yield progress
        return

    def over(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            name = str(frame.f_globals.get("__name__", ""))
            if name.startswith(("importlib._bootstrap", "numba.", "llvmlite.")):
                return  # half a module or half a kernel would stay; the alarm comes again
            frame = frame.f_back
        end_for_time()

    def tell(event: Event) -> object:
        if event == Stage("measuring"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        return progress(event)

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, 2.0 + 1.05 * seconds, 1.0)
    try:
        yield tell
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    bar = BarColumn(_BAR_WIDTH, complete_style="blue", finished_style="blue")
    texts = TextColumn("{task.fields[said]}"), TextColumn("{task.description}", markup=False)
    return Bars(bar, *texts, console=Console(stderr=True), transient=True)
