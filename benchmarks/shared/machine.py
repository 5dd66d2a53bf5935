"""The line that says when, where and with what a section of results was measured."""

from __future__ import annotations

import datetime
from importlib.metadata import PackageNotFoundError, version

import psutil

from benchmarks.learning.peers.pages import commit
from benchmarks.learning.peers.runner import machine

PACKAGES = ("rulekit-portable", "numpy", "numba", "scikit-learn", "polars", "onnx", "onnxruntime")


def stamp(others: float | None = None, day: str | None = None) -> str:
    """Date (today unless given), commit, machine and versions.

    others: the largest share of the machine that other processes took meanwhile.
    """
    today = day or datetime.datetime.now(tz=datetime.UTC).date()
    memory = psutil.virtual_memory().total / 2**30
    found = f"Run of {today} at {commit()} on {machine()}, {memory:.0f} GiB of memory; {versions()}."
    return found if others is None else f"{found} Other processes took at most {others:.0%} of the machine meanwhile."


def versions(packages: tuple[str, ...] = PACKAGES) -> str:
    """The installed versions of the packages that are compared."""
    return ", ".join(f"{package} {_version(package)}" for package in packages)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
