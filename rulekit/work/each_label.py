"""Training a model for each label of a table whose cells hold several, in a folder of their files."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from rulekit.errors import InputError, Interrupted, RulekitError
from rulekit.graph.language.words import counted
from rulekit.limits import Deadline
from rulekit.tables.labels import label_counts
from rulekit.work.learning import TrainingRequest
from rulekit.work.progress import Progress, unseen
from rulekit.work.training import TrainingResult, train

LEAST_ROWS = 10
"""Rows of a label below which there is no model of it."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelModels:
    """What was learned of each label, and what was noticed."""

    trained: dict[str, TrainingResult]
    notes: tuple[str, ...] = ()


def train_labels(
    request: TrainingRequest, progress: Progress = unseen, begun: Callable[[str, int], object] | None = None
) -> LabelModels:
    """Train a model for each label of at least LEAST_ROWS rows; `output` is the folder of their files.

    begun: called with each label before its model is learned, and how many models there will be. A label that cannot be
    learned is a note. Raises InputError where the folder holds other files, or no label can be learned.
    """
    if request.held_rows is not None or request.curves or request.start or request.overrides:
        why = "a file of one model is asked for, and there is a model for each label"
        raise InputError(why, where="--label-separator", fix="name one label with --positive")
    counts = label_counts(request.data, request.reading)
    asked = [label for label, rows in counts.items() if rows >= LEAST_ROWS]
    if not asked:
        raise InputError(f"no label has {LEAST_ROWS} rows", where=str(request.data), fix="give more rows")
    files, trained, failed = _files(request.output, asked), dict[str, TrainingResult](), dict[str, str]()
    deadline = Deadline(request.time_limit)
    with _folder(request.output):
        for number, (label, file) in enumerate(zip(asked, files, strict=True)):
            if begun is not None:
                begun(label, len(asked))
            limit = None if request.time_limit is None else deadline.left / (len(asked) - number)
            reading = replace(request.reading, positive=label)
            try:
                trained[label] = train(replace(request, reading=reading, output=file, time_limit=limit), progress)
            except (KeyboardInterrupt, Interrupted):
                if not trained:
                    raise
                failed |= dict.fromkeys(asked[number:], "interrupted")
                break
            except RulekitError as error:  # one label must not cost the models of the others
                failed[label] = str(error)
    if not trained:
        label, first = next(iter(failed.items()))
        raise InputError(first, where=f"label {label!r}")
    notes = [f"label {label!r} got no model: {error}" for label, error in failed.items()]
    rare = len(counts) - len(asked)
    if rare:
        notes.append(f"{counted(rare, 'label')} of fewer than {LEAST_ROWS} rows got no model")
    return LabelModels(trained, tuple(notes))


_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\xb9\xb2\xb3])(\.|$)", re.IGNORECASE)
"""Names that Windows keeps for devices, whatever their ending."""

_LONGEST = 120
"""Bytes of a name before its ending."""


def file_names(labels: Sequence[str]) -> list[str]:
    """A name for the file of each label that any system takes, and that no two share where capitals do not count."""
    names, taken = list[str](), set[str]()
    for label in labels:
        stem = re.sub(r"[^\w.-]", "_", unicodedata.normalize("NFC", label)).lstrip(".")
        stem = stem.encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore").rstrip(". ")
        stem = f"_{stem}" if not stem or _RESERVED.match(stem) else stem
        name = next(n for n in chain([stem], (f"{stem}-{k}" for k in count(2))) if _alike(n) not in taken)
        taken.add(_alike(name))
        names.append(f"{name}.json")
    return names


def _alike(name: str) -> str:
    """What names have in common that are one file on some system."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _files(folder: Path | None, labels: Sequence[str]) -> list[Path | None]:
    """The files of the models of some labels; raises InputError where a folder cannot hold them."""
    if folder is None:
        return [None] * len(labels)
    if folder.suffix.lower() == ".json" or folder.is_file():
        fix = f"call it {folder.stem}, or name one label with --positive"
        raise InputError(f"a folder is needed for the models of {len(labels)} labels", where=str(folder), fix=fix)
    names = file_names(labels)
    strange = sorted(path.name for path in folder.iterdir() if path.name not in names) if folder.is_dir() else []
    if strange:
        raise InputError(f"the folder holds another file, {strange[0]}", where=str(folder), fix="name a new folder")
    return [folder / name for name in names]


@contextlib.contextmanager
def _folder(path: Path | None) -> Iterator[None]:
    """A folder that is made where there is none, and does not stay where nothing was written."""
    if path is None or path.is_dir():
        yield
        return
    try:
        path.mkdir()
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", where=str(path), fix="name another folder") from None
    try:
        yield
    finally:
        if not any(path.iterdir()):
            path.rmdir()
