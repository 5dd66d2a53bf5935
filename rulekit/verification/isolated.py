"""Runs foreign code in a process of its own that is bounded in time, memory, files and processes.

This is a bound and no sandbox: the process may read what its user may read, and may open the network. So an artifact
that is not word for word what its exporter writes is run only where the user asks for it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rulekit.errors import FormatError

SECONDS = 300.0
MEMORY = 4 << 30
FILE_SIZE = 1 << 30
MAX_PROCESSES = 64
MAX_FILES = 256

# Sets the limits, then becomes the command; a limit that the system does not know is left out.
_LIMITED = """
import json, os, resource, sys
for name, most in json.loads(sys.argv[1]).items():
    kind = getattr(resource, name, None)
    if kind is not None:
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
os.execvp(sys.argv[2], sys.argv[2:])
"""
KEPT = ("SYSTEMROOT", "PATH")
_FRAME = re.compile(r"\s+at |\s*File \"|\s*[\^~]+\s*$|Node\.js v|Traceback ")
_FAULT = re.compile(r"\b\w*(error|exception|fatal|panic|cannot|denied|not found)", re.IGNORECASE)


def run_bounded(
    command: Sequence[str], folder: Path, *, seconds: float = SECONDS, memory: int = MEMORY, what: str = "the artifact"
) -> None:
    """Run a command in a folder, with no environment but PATH and no input, and end all that it started.

    seconds, memory (bytes of address space): beyond them the process is ended. Windows has no limit but that of time,
    and what the command started there may live on. Raises FormatError where it fails, with what it said of the reason;
    what: the name of what failed.
    """
    if shutil.which(command[0]) is None:
        raise FormatError(f"{what} cannot be started: {command[0]} is not installed", fix="install it")
    environment = {key: os.environ[key] for key in KEPT if key in os.environ}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a pool of threads takes address space
    limits = {
        "RLIMIT_AS": memory,
        "RLIMIT_FSIZE": FILE_SIZE,
        "RLIMIT_NPROC": MAX_PROCESSES,
        "RLIMIT_NOFILE": MAX_FILES,
        "RLIMIT_CPU": int(seconds) + 1,
        "RLIMIT_CORE": 0,
    }
    limited = [sys.executable, "-I", "-S", "-c", _LIMITED, json.dumps(limits), *command]
    if importlib.util.find_spec("resource") is None:  # on Windows, where `exec` would end the process at once
        limited = list(command)
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            limited,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise FormatError(f"{what} did not finish within {seconds:g} s", fix="allow more time") from None
        finally:
            with contextlib.suppress(OSError, AttributeError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
        if status != 0:
            raise FormatError(f"{what} failed: {_reason(messages.fileno())}", fix="export the model again")


def read_answer(path: Path, most: int) -> bytes:
    """What a bounded process left in a file; raises FormatError where that is no plain file or has too many bytes."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise FormatError(f"the artifact left no answer ({error.strerror})", fix="export the model again") from None
    with os.fdopen(handle, "rb") as answer:
        known = os.fstat(handle)
        if not stat.S_ISREG(known.st_mode) or known.st_size > most:
            raise FormatError("the artifact's answer is no file, or too long", fix="export the model again")
        return answer.read(most)


def answer_of(command: Sequence[str], files: Mapping[str, bytes], most: int, **bounds: Any) -> bytes:
    """What a command leaves in "answers", in a folder of its own with these files; bounds: see `run_bounded`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        run_bounded(command, Path(folder), **bounds)
        return read_answer(Path(folder, "answers"), most)


def _reason(handle: int) -> str:
    """What a process said of its failure: its last lines that name one, without places in code; else its last lines."""
    size = os.fstat(handle).st_size
    os.lseek(handle, max(0, size - 16384), os.SEEK_SET)
    lines = os.read(handle, 16384).decode("utf-8", "replace").splitlines()
    said = [line.strip() for line in lines if line.strip() and not _FRAME.match(line)]
    faults = [line for line in said if _FAULT.search(line)]
    return "; ".join(dict.fromkeys((faults or said)[-2:]))[:300] or "no message"
