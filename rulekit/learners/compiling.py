"""Compiled kernels: numba where it is there, with a numpy twin beside each kernel that gives the same bits.

The compiled code holds no interpreter lock, keeps every operation on doubles as it is written (no fast mathematics,
no contraction), and is kept in the user's cache folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_DISABLE = "RULEKIT_NO_NUMBA"


def compiled(kernel: Callable[..., Any]) -> Callable[..., Any] | None:
    """The compiled form of a kernel, or None where numba is absent or switched off (RULEKIT_NO_NUMBA=1)."""
    return None if os.environ.get(_DISABLE, "") not in ("", "0") else _compile(kernel)


@cache
def _compile(kernel: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba
        from numba.core import config
    except ImportError:
        return None
    # The cache must never land beside the installed files, which may be read-only or shared.
    chosen = config.CACHE_DIR
    try:
        folder = Path(chosen or cache_folder() / "numba")
        folder.mkdir(parents=True, exist_ok=True)
        config.CACHE_DIR = str(folder)
        return numba.njit(cache=True, nogil=True, fastmath=False)(kernel)  # type: ignore[no-any-return]
    except (OSError, RuntimeError):
        return numba.njit(nogil=True, fastmath=False)(kernel)  # type: ignore[no-any-return]
    finally:
        config.CACHE_DIR = chosen


def cache_folder() -> Path:
    """The folder of this user for compiled code."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "rulekit" if base else Path.home() / "AppData" / "Local" / "rulekit"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rulekit"
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "rulekit" if base else Path.home() / ".cache" / "rulekit"
