"""What a failing command says: one line, one exit status, no traceback unless asked for."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, requires

import typer

from rulekit.errors import Interrupted, RulekitError, reason_of
from rulekit.names import printable
from rulekit.work.choices import OPTIONS
from rulekit_cli.console import red
from rulekit_cli.interruption import INTERRUPTED, say_interrupted

CHECK_FAILED = 1
BAD_INPUT = 2


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
