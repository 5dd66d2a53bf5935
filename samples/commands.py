"""Runs commands as a reader of the pages would, and holds what they print."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

WIDTH = "100"


@dataclass(frozen=True, slots=True)
class Ran:
    """The exit status of a command, and its standard output and standard error as they came."""

    status: int
    text: str


def run_command(words: Sequence[str], folder: Path) -> Ran:
    """Run `rulekit WORDS...` in a folder, in this process, as the console script would."""
    from rulekit_cli.main import main

    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n", write_through=True)
    before = sys.argv
    sys.argv = ["rulekit", *words]
    try:
        with within(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                main()
                status = 0
            except SystemExit as stop:
                status = int(stop.code or 0)
    finally:
        sys.argv = before
    printed.seek(0)
    return Ran(status, printed.read())


def run_shell(line: str, folder: Path) -> Ran:
    """Run another command line of a page in a folder, with this interpreter's folder first on the path."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"COLUMNS": WIDTH, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120
    )
    return Ran(done.returncode, done.stdout.decode())


@contextlib.contextmanager
def within(folder: Path) -> Iterator[None]:
    """The folder as working directory, and a terminal of a fixed width."""
    before, width = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(folder)
    os.environ["COLUMNS"] = WIDTH
    try:
        yield
    finally:
        os.chdir(before)
        if width is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = width
