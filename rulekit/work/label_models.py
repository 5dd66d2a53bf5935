"""Rows with several labels each: a model for every label, in one folder, and figures of them together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from rulekit.audit.figures.curves import (
    Judged,
    LabelFigures,
    ThresholdCurve,
    check_curve,
    macro_average,
    micro_average,
    threshold_curve,
    threshold_curve_bytes,
)
from rulekit.errors import InputError, Interrupted, RulekitError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.language.words import counted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import Deadline
from rulekit.tables.labels import label_counts
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.evaluating import labelled_rows
from rulekit.work.outputs import check_outputs
from rulekit.work.progress import Progress, unseen
from rulekit.work.training import TrainingRequest, TrainingResult, train

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


@contextmanager
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


@dataclass(frozen=True, slots=True, eq=False)
class LabelEvaluation:
    """Figures of the models of some labels on the same rows, and their precision and recall against one threshold."""

    figures: tuple[LabelFigures, ...]
    curve: ThresholdCurve
    rows: int
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """JSON values."""
        averages = {"macro": macro_average(self.figures), "micro": micro_average(self.figures)}
        found = self.curve.break_even
        return {
            "rows": self.rows,
            "per_label": [each.as_dict() for each in self.figures],
            **{name: {"precision": r.precision, "recall": r.recall, "f1": r.f1} for name, r in averages.items()},
            "break_even": {"threshold": found.threshold, "rate": found.rate},
        }


def _model_paths(model: Path) -> list[Path]:
    """The models of a folder, by name, or the one model that a path names; raises InputError for an empty folder."""
    if not model.is_dir():
        return [model]
    found = sorted(path for path in model.iterdir() if path.suffix.lower() == ".json")
    if not found:
        raise InputError("the folder holds no model", where=str(model), fix="name a model, or a folder of models")
    return found


def evaluate_labels(
    model: Path, data: Path, reading: ReadingOptions = DEFAULT_OPTIONS, curves: Sequence[Path] = ()
) -> LabelEvaluation:
    """Measure a model that tells one label from the rest, or those of a folder, on the labelled rows of a file.

    curves: files to which precision and recall against the threshold are written, as their endings say. Raises
    InputError for a model with more than two classes, or one that reports no probability.
    """
    models = _model_paths(model)
    check_outputs(curves, data, *models)
    for path in curves:
        check_curve(path)
    figures, judged, notes, rows = list[LabelFigures](), list[Judged](), dict[str, None](), 0
    for path in models:
        graph = load(path)
        _refuse_unlike(graph, path)
        found = labelled_rows(graph, data, reading)
        notes |= dict.fromkeys(found.notes)
        has, given = found.rows.y == 1, decide(graph, found.rows.table) == 1
        figures.append(LabelFigures.of(graph.classes[1], has, given, found.rows.weight))
        judged.append((has, probabilities(graph, found.rows.table)[:, 1], found.rows.weight))
        rows = len(has)
    curve = threshold_curve(judged)
    for path in curves:
        write_atomically(path, threshold_curve_bytes(path, curve))
    return LabelEvaluation(tuple(figures), curve, rows, tuple(notes))


def _refuse_unlike(graph: RuleGraph, path: Path) -> None:
    if len(graph.classes) != 2:
        why = f"this model has {len(graph.classes)} classes, and does not tell one label from the rest"
        raise InputError(why, where=str(path), fix="evaluate it by itself, without --curve")
    if not graph.probability:
        raise InputError("this model reports no probability", where=str(path), fix="evaluate it without --curve")
