"""The console script: answers Ctrl-C in one line from its first moment on, while the command is still being read."""

from __future__ import annotations

import contextlib
import signal
import sys

INTERRUPTED, TERMINATED = 130, 143
_DISTRIBUTION = "rulekit-portable"
_REPLACED = (
    "files of rulekit-portable are missing, or an unrelated package named rulekit replaced them; "
    "pip uninstall rulekit, then pip install --force-reinstall rulekit-portable"
)


def main() -> None:
    """Run the `rulekit` command and leave with its exit status."""
    signal.signal(signal.SIGTERM, _terminated)
    import rulekit

    if getattr(rulekit, "DISTRIBUTION", "") != _DISTRIBUTION:
        print(f"rulekit: {_REPLACED}", file=sys.stderr)
        sys.exit(2)
    try:
        from rulekit_cli import main as command

        command.main()
    except KeyboardInterrupt:  # before the command itself listens
        sys.exit(say_interrupted())


def _terminated(number: int, frame: object) -> None:
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
