"""What a signal leaves behind: one line and an exit status; imported before the command itself."""

from __future__ import annotations

import contextlib
import signal
import sys

INTERRUPTED, TERMINATED = 130, 143


def terminated(number: int, frame: object) -> None:
    """End as Ctrl-C does, which keeps what was learned; the second time leave at once, without temporary files."""
    signal.signal(number, _leave)
    raise KeyboardInterrupt


def _leave(number: int, frame: object) -> None:
    sys.exit(128 + number)


def say_interrupted(said: str = "stopped before anything was written") -> int:
    """Say what a signal left behind; the exit status of that."""
    with contextlib.suppress(OSError, ValueError):
        print(f"rulekit: {said}", file=sys.stderr)
    return TERMINATED if signal.getsignal(signal.SIGTERM) is _leave else INTERRUPTED
