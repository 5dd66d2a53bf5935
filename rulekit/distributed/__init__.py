"""Rows on many machines: what workers compute is what one process computes, bit for bit."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rulekit.distributed.scoring import score as score

if TYPE_CHECKING:
    from rulekit.distributed.training import fit as fit


def __getattr__(name: str) -> Any:
    """Training is imported on first use: workers of Spark score without Dask."""
    if name == "fit":
        return import_module("rulekit.distributed.training").fit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
