"""The baselines in a process of its own: it imports scikit-learn while the model is learned, and ends with the caller.

The numbers go to it as an .npz archive, without pickled objects, and what it found comes back as JSON. Where it cannot
be started, or gives no answer, the calling process measures.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from functools import partial
from importlib import import_module
from threading import Thread, Timer

import numpy as np

from rulekit.audit.figures.baselines import Baseline, Found, Sample, measured_here
from rulekit.limits import NO_LIMIT, Deadline

Measure = Callable[[Sample, float], Callable[..., Found]]
"""Begins to measure the baselines on a sample in so many seconds; what is returned waits for them until a deadline."""

_CHILD = "from rulekit.audit.figures.baselines_beside import answer; answer()"
_NEEDED = ("sklearn.tree", "sklearn.linear_model", "sklearn.ensemble")
_ENDED = (OSError, ValueError, TypeError)  # what a process that has ended early leaves to be read


@contextlib.contextmanager
def measured_beside() -> Iterator[Measure]:
    """A process that is ready to measure soon, and is ended with the block."""
    try:
        # A session of its own: Ctrl-C ends the learning, and what was learned so far is still compared.
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        yield lambda sample, seconds: lambda deadline=NO_LIMIT: measured_here(sample, min(seconds, deadline.left))
        return
    with contextlib.suppress(OSError), process:  # which closes its pipes and waits for it
        try:
            yield partial(_asked, process)
        finally:
            process.kill()


def _asked(process: subprocess.Popen[bytes], sample: Sample, seconds: float) -> Callable[..., Found]:
    arrays = {item.name: getattr(sample, item.name) for item in fields(Sample)}
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, seconds=seconds, **arrays)
    assert process.stdin is not None
    stdin = process.stdin

    def send() -> None:
        with contextlib.suppress(*_ENDED), stdin:
            stdin.write(file.getvalue())

    sending = Thread(target=send, daemon=True)  # the process reads once it has imported what it needs
    sending.start()

    def wait(deadline: Deadline = NO_LIMIT) -> Found:
        late = Timer(deadline.left, process.kill) if deadline.seconds is not None else None
        if late is not None:
            late.start()
        try:
            assert process.stdout is not None
            sending.join()
            models, left_out = json.loads(process.stdout.read())
            return tuple(Baseline(**model) for model in models), tuple(left_out)
        except _ENDED:
            return measured_here(sample, min(seconds, deadline.left))
        finally:
            if late is not None:
                late.cancel()

    return wait


def answer() -> None:
    """What the process does."""
    for module in _NEEDED:
        import_module(module)
    # Where the caller has ended there is nothing to be read, and nothing is done.
    if content := sys.stdin.buffer.read():
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            sample = Sample(*(arrays[item.name] for item in fields(Sample)))
            models, left_out = measured_here(sample, float(arrays["seconds"]))
        sys.stdout.write(json.dumps([[asdict(model) for model in models], left_out]))
