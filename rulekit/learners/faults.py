"""Whose fault an error is: a learner's, with its name and its package, or the user's, whose message stays as it is.

A learner may come from another package. What it promises (docs/learners.md) is checked where it enters: its class when
it is made, its entry point when it is loaded, a candidate when it is yielded, a mask when it is computed.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from types import TracebackType
from typing import Any

import numpy as np

from rulekit.errors import GraphError, LearnerError, RulekitError
from rulekit.names import near_names

GROUP = "rulekit.learners"
OWN = "rulekit"
_ALIKE = 0.8
_INSIDE = {OWN, "contextlib", "dataclasses", "numpy"}
"""Where an error arises that is none of a user's callback: what the learner returned caused it."""
_LAST = "_last_hook"
_PARTS = ("size", "objective", "error", "model")


def loaded(point: EntryPoint) -> Any:
    """What an entry point names; raises LearnerError where it cannot be imported."""
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # a module of another package may raise anything
        raise at_fault(_title(point), f"cannot be loaded from {point.value}: {_said(error)}") from error


def at_fault(learner: str, what: str) -> LearnerError:
    """The error that blames a learner."""
    return LearnerError(what, where=f"learner {learner}", fix="its package has to mend that; another learner may do")


@contextmanager
def blamed(learner: type) -> Iterator[None]:
    """Errors that code of a learner raises, or that its results cause, become LearnerError with its name and package.

    Whose code it was, the traceback says: `learner`'s, or that of another one that works for it. Errors that users
    cause pass as they are, and so do those of the learners that come with rulekit.
    """
    try:
        yield
    except LearnerError as error:
        if error.where:
            raise
        raise at_fault(_title(_home(learner), learner), error.what) from error
    except (Exception, SystemExit, GeneratorExit) as error:
        known = isinstance(error, RulekitError) and not isinstance(error, GraphError)
        title = None if known or isinstance(error, MemoryError) else _raiser(learner, error)
        if title is None:
            raise
        raise at_fault(title, f"{_said(error)}, {_place(learner, error)}") from error


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def _place(learner: type, error: BaseException) -> str:
    """Which of the learner's methods raised an error, or returned what rulekit cannot use."""
    own = _top(learner.__module__)
    for module, name in _frames(error.__traceback__):
        if _top(module) not in (OWN, "contextlib") and (own == OWN or _top(module) == own):
            return f"raised in {name}"
    return f"caused by what {getattr(learner, _LAST, 'learn')} or a candidate returned"


def _raiser(learner: type, error: BaseException) -> str | None:
    """The title of the learner whose code or result raised an error; None where that is none of another package."""
    own = _top(learner.__module__)
    tops = {_top(module) for module, _ in _frames(error.__traceback__)}
    if own != OWN and (isinstance(error, GraphError) or own in tops or not tops - _INSIDE):
        return _title(_home(learner), learner)
    points = (point for point in entry_points(group=GROUP) if _top(point.module) in tops - {OWN})
    return next(map(_title, points), None)


def _frames(traceback: TracebackType | None) -> Iterator[tuple[str, str]]:
    """Module and function of each frame, from the outermost."""
    while traceback is not None:
        frame = traceback.tb_frame
        yield str(frame.f_globals.get("__name__", "")), frame.f_code.co_qualname
        traceback = traceback.tb_next


def _top(module: str) -> str:
    return module.partition(".")[0]


def _home(learner: type) -> EntryPoint | None:
    points = [point for point in entry_points(group=GROUP) if _top(point.module) == _top(learner.__module__)]
    word = getattr(learner, "word", "")
    return next((point for point in points if point.name == word), points[0] if points else None)


def _title(point: EntryPoint | None, learner: type | None = None) -> str:
    """A learner with where it comes from: `covering (package covering 1.0)`."""
    name = (getattr(learner, "word", "") or getattr(learner, "__name__", "")) or getattr(point, "name", "")
    if point is not None and point.dist is not None:
        return f"{name} (package {point.dist.name} {point.dist.version})"
    return f"{name} (module {point.module if point is not None else getattr(learner, '__module__', '')})"


# What a class promises --------------------------------------------------------------------------------------------


def check_class(learner: type, base: type, hooks: tuple[str, ...], abilities: tuple[str, ...]) -> None:
    """Check a class of learners as it is made.

    Raises TypeError for an unknown ability, a hook that cannot be called as it is, and a size_parameter that is no
    parameter; warns of a name that looks like a misspelt hook, which nobody would call.
    """
    own = vars(learner)
    for name in sorted(own.get("abilities", ())):
        if name not in abilities:
            alike = near_names(name, abilities)
            meant = f"did you mean {alike[0]}?" if alike else f"one of {', '.join(abilities)}"
            raise TypeError(f"{learner.__name__}: there is no ability {name!r}; {meant}")
    for name in hooks:
        if inspect.isfunction(own.get(name)):
            _check_signature(f"{learner.__name__}.{name}", own[name], getattr(base, name))
    size = own.get("size_parameter")
    if size is not None and size not in getattr(learner, "parameters", ()):
        raise TypeError(f"size_parameter of {learner.__name__} is {size!r}, which is none of its parameters")
    for name, near in misspelt(learner, base, hooks):
        warnings.warn(f"{learner.__name__}.{name} is no hook; did you mean {near}?", stacklevel=4)


def misspelt(learner: type, base: type, hooks: tuple[str, ...]) -> list[tuple[str, str]]:
    """Names of a class that look like a hook or a class attribute of learners which it does not have itself."""
    names = (*hooks, "word", "settings", "abilities", "noun", "size_parameter", "estimator")
    wanted = [name for name in names if name not in vars(learner)]
    public = [name for name in vars(learner) if not name.startswith("_") and not hasattr(base, name)]
    found = ((name, near_names(name, wanted, 1, _ALIKE)) for name in public)
    return [(name, near[0]) for name, near in found if near]


def _check_signature(name: str, hook: Any, expected: Any) -> None:
    places = list(inspect.signature(expected).parameters)
    try:
        inspect.signature(hook).bind(*places)
    except TypeError as error:
        called = f"{expected.__name__}({', '.join(places[1:])})"
        raise TypeError(f"{name} is called as {called}: {error}") from None


# What hooks return ------------------------------------------------------------------------------------------------


def guard(learner: type, hooks: tuple[str, ...]) -> None:
    """Check what the hooks return that a class of another package writes."""
    for name in hooks if _top(learner.__module__) != OWN else ():
        if inspect.isfunction(vars(learner).get(name)):
            setattr(learner, name, _guarded(name, vars(learner)[name]))


def _guarded(name: str, hook: Callable[..., Any]) -> Callable[..., Any]:
    right, wanted = _RETURNS.get(name, (None, ""))

    @functools.wraps(hook)
    def call(self: Any, *args: Any) -> Any:
        setattr(type(self), _LAST, name)
        found = hook(self, *args)
        if right is not None and not right(found, self, args):
            raise LearnerError(f"{name} returned {_shown(found)}; it has to return {wanted}")
        return found

    return call


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 and "object at" not in text else type(value).__name__


def _has(value: Any, *names: str) -> bool:
    return not isinstance(value, type) and all(hasattr(value, name) for name in names)


_RETURNS: Mapping[str, tuple[Callable[[Any, Any, tuple[Any, ...]], bool], str]] = {
    "resolve": (lambda found, learner, _: isinstance(found, learner.settings), "the settings"),
    "ranks": (
        lambda found, _, args: (
            found is None or (_sized(found) and sorted(map(repr, found)) == sorted(map(repr, args[1])))
        ),
        "each class once, or None",
    ),
    "binned": (
        lambda found, _, args: _has(found, "codes", "columns") and len(found.labels) == len(args[1].labels),
        "a Problem with the rows that it was given",
    ),
    "prepare": (
        lambda found, _, args: (
            _sized(found) and len(found) == len(args[1]) and all(_has(each, "problem", "plan") for each in found)
        ),
        "a list of the questions",
    ),
    "nothing": (lambda found, *_: _has(found, *_PARTS) and _has(found.model, "decides", "score"), "a Candidate"),
    "finish": (
        lambda found, *_: found is None or (_has(found, "preferred") and bool(_sized(found.paths) and found.paths)),
        "None, or Variants with at least one path",
    ),
    "seeks_few_errors": (lambda found, *_: isinstance(found, bool | np.bool_), "True or False"),
}


def _sized(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


@contextmanager
def rows_unchanged(learner: type, problem: Any) -> Iterator[None]:
    """Raises LearnerError where a learner of another package wrote into the rows that it was given to learn from."""
    foreign = _top(learner.__module__) != OWN and hasattr(problem.codes, "arrays")

    def sums() -> list[int]:
        return [zlib.crc32(np.ascontiguousarray(each).data) for each in (problem.labels, *problem.codes.arrays)]

    before = sums() if foreign else []
    yield
    if foreign and sums() != before:
        raise LearnerError("learn or decides changed the labels or codes of the rows; work on a copy")


# What a learning promises ------------------------------------------------------------------------------------------


def candidates_of(learning: Any, what: str = "learn returned") -> Iterator[Any]:
    """The iterator over what `learn` or a path returned; raises LearnerError where it is none and makes none."""
    try:
        return iter(learning)
    except TypeError:
        wanted = "it has to yield candidates, or return an iterable of them"
        raise LearnerError(f"{what} {type(learning).__name__}; {wanted}") from None


def check_candidate(candidate: Any, before: Any, total: float, columns: Any) -> None:
    """Raises LearnerError for what is no candidate, is smaller than the one before, or has no finite figures.

    before: the candidate before it, or None; total: the weight of the training rows; columns: as they are binned.
    """
    for name in _PARTS:
        if not hasattr(candidate, name):
            raise LearnerError(f"learn yielded {type(candidate).__name__}, which has no {name}; yield a Candidate")
    size = candidate.size
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise LearnerError(f"a candidate has the size {size!r}, which is no whole number from 0 on")
    if before is not None and size < before.size:
        raise LearnerError(f"a candidate of size {size} after one of size {before.size}; yield the smallest first")
    for name in ("objective", "error", "cost"):
        value = getattr(candidate, name, 0.0)
        if not isinstance(value, int | float | np.integer | np.floating) or not math.isfinite(value):
            raise LearnerError(f"the {name} of the candidate of size {size} is {_shown(value)}, and no finite number")
    if not -1e-9 * total <= candidate.error <= total * (1.0 + 1e-9):
        raise LearnerError(f"a candidate errs on a weight of {candidate.error:g}, and all rows weigh {total:g}")
    for method in ("decides", "score"):
        if isinstance(candidate.model, type) or not callable(getattr(candidate.model, method, None)):
            raise LearnerError(f"the model {type(candidate.model).__name__} has no method {method}; give an object")
    check = getattr(candidate.model, "check", None)
    if check is not None:
        check(columns)


def check_remarks(remarks: Any) -> None:
    """Raises LearnerError for remarks that are no list of texts: a lone text would be printed letter by letter."""
    if isinstance(remarks, str) or not all(isinstance(remark, str) for remark in remarks):
        raise LearnerError(f"remarks_ is {_shown(remarks)}, and no list of texts")


def check_codes(values: Any, column: Any, dtype: type) -> None:
    """Raises LearnerError where there is not one finite value of a type for each code of a binned column."""
    array, name = np.asarray(values), column.feature.name
    if array.shape != (column.n_codes,):
        shown = "x".join(map(str, array.shape))
        raise LearnerError(f"{shown} values for the {column.n_codes} codes of column {name!r}")
    if dtype is bool and array.dtype != np.bool_:
        raise LearnerError(f"a condition on column {name!r} has values of type {array.dtype}, and not bool")
    if dtype is float and not np.isfinite(array).all():
        raise LearnerError(f"a weight of column {name!r} is not finite")


def checked_mask(mask: Any, model: Any, n_rows: int) -> Any:
    """What a model decided; raises LearnerError where that is not one truth value for each of n_rows."""
    try:
        array = np.asarray(mask)
    except ValueError:
        raise LearnerError(f"{type(model).__name__}.decides returned {_shown(mask)}, and no array") from None
    if array.shape != (n_rows,) or array.dtype != np.bool_:
        shown = f"{array.dtype} of shape {array.shape}"
        raise LearnerError(
            f"{type(model).__name__}.decides returned {shown} for {n_rows} rows, and not bool [{n_rows}]"
        )
    return array
