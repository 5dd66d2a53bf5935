"""The console script: answers Ctrl-C in one line from its first moment on, while the command is still being read."""

from __future__ import annotations

import signal
import sys

from rulekit_cli.interruption import say_interrupted, terminated

_DISTRIBUTION = "rulekit-portable"
_REPLACED = (
    "files of rulekit-portable are missing, or an unrelated package named rulekit replaced them; "
    "pip uninstall rulekit, then pip install --force-reinstall rulekit-portable"
)


def main() -> None:
    """Run the `rulekit` command and leave with its exit status."""
    signal.signal(signal.SIGTERM, terminated)
    import rulekit

    if getattr(rulekit, "DISTRIBUTION", "") != _DISTRIBUTION:
        print(f"rulekit: {_REPLACED}", file=sys.stderr)
        sys.exit(2)
    try:
        from rulekit_cli import main as command

        command.main()
    except KeyboardInterrupt:  # before the command itself listens
        sys.exit(say_interrupted())
