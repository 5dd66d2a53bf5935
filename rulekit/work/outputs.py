"""What must not be written: over a file that is read, two results into one file, a model under a foreign ending."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rulekit.errors import InputError
from rulekit.graph.files.safe_files import ensure_writable
from rulekit.targets import Target, find_target_for


def check_outputs(outputs: Iterable[Path | None], *sources: Path | None, model: Path | None = None) -> None:
    """Raises InputError, before any work, where an output cannot be written, is a source, or is named twice.

    model: an output that is a model file, and must have its ending; a device may bear any name.
    """
    written = [path for path in (*outputs, model) if path is not None]
    for path in written:
        for source in sources:
            if source is not None and path.is_file() and source.is_file() and path.samefile(source):
                raise InputError("this file is read, and would be lost", where=str(path), fix="give another name")
        ensure_writable(path)
    if len({path.resolve() for path in written}) < len(written):
        raise InputError("two results would be written to one file", where=str(written[-1]), fix="give each its own")
    if model is None or (owner := _owner(model)) == "model files" or (model.exists() and not model.is_file()):
        return
    what = f"a model file cannot have the ending of {owner}" if owner else "a model file ends in .json"
    raise InputError(what, where=str(model), fix=f"call it {model.stem}.json; rulekit export writes artifacts")


def check_artifact_ending(output: Path, target: Target) -> None:
    """Raises InputError where every command would take the artifact for a model, or for one of another target."""
    if not output.name.lower().endswith(target.suffixes) and (owner := _owner(output)):
        fix = f"call it {output.stem}{target.suffixes[0]}"
        raise InputError(f"this ending is that of {owner}", where=str(output), fix=fix)


def _owner(path: Path) -> str:
    """What commands take a file of this ending for; "" for an ending that nobody reads by."""
    if path.suffix.lower() == ".json":
        return "model files"
    try:
        return f"{find_target_for(str(path)).name} artifacts"
    except InputError:
        return ""
