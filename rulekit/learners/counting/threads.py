"""Work on several cores at once, with answers that do not depend on how many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def available_threads(asked: int | None = None) -> int:
    """As many threads as asked, or else one for each core that this process may use."""
    if asked is not None:
        return asked
    cores = getattr(os, "sched_getaffinity", None)
    return len(cores(0)) if cores else os.cpu_count() or 1


def run_threads(task: Callable[[Item], Answer], items: Iterable[Item], n_threads: int) -> list[Answer]:
    """The answers to all items, in their order; each thread takes every n-th item.

    The task must release the interpreter lock where it works, and the answers must not depend on each other.
    """
    waiting = list(items)
    n = min(n_threads, len(waiting))
    if n <= 1:
        return [task(item) for item in waiting]

    def share(first: int) -> list[Answer]:
        return [task(item) for item in waiting[first::n]]

    # The calling thread works too: one hand-over less for each share.
    others = [_pool(n_threads).submit(share, i) for i in range(1, n)]
    shares = [share(0), *(other.result() for other in others)]
    return [shares[i % n][i // n] for i in range(len(waiting))]


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="rulekit")


if hasattr(os, "register_at_fork"):
    # A forked process has the pool but none of its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)
