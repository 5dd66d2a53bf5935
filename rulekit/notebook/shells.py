"""Where Python runs: in a notebook or elsewhere."""

from __future__ import annotations

import sys
from typing import Any


def shell() -> Any:
    """The running notebook's shell, None where there is none: on a terminal, IPython's too, and in a script."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None
