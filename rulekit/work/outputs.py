"""What must not be written: over a file that is read, two results into one file, a model under a foreign ending."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rulekit.errors import InputError
from rulekit.graph.files.safe_files import ensure_writable
from rulekit.targets import Target, find_target_for


def check_outputs(outputs: Iterable[Path | None], *sources: Path | None, model: Path | None = None) -> None:
    """Raises InputError, before any work, where an output cannot be written, is a source, or is named twice.

    model: an output that is a model file, and must have its ending.
    """
    written = [path for path in (*outputs, model) if path is not None]
    for path in written:
        for source in sources:
            if source is not None and path.is_file() and source.is_file() and path.samefile(source):
                raise InputError("this file is read, and would be lost", where=str(path), fix="give another name")
        ensure_writable(path)
    if len({path.resolve() for path in written}) < len(written):
        raise InputError("two results would be written to one file", where=str(written[-1]), fix="give each its own")
    if model is not None:
        _check_model_ending(model)


def _check_model_ending(output: Path) -> None:
    """Raises InputError unless a model file is called as every command looks for it; a device may bear any name."""
    if output.suffix.lower() == ".json" or (output.exists() and not output.is_file()):
        return
    fix = f"call it {output.stem}.json"
    try:
        target = find_target_for(str(output))
    except InputError:
        ending = f"not in {output.suffix}" if output.suffix else "and this name has no ending"
        raise InputError(f"a model file ends in .json, {ending}", where=str(output), fix=fix) from None
    raise InputError(
        f"a model file cannot have the ending of {target.name} artifacts",
        where=str(output),
        fix=f"{fix}; rulekit export --to {target.name} writes artifacts",
    )


def check_artifact_ending(output: Path, target: Target) -> None:
    """Raises InputError where every command would take the artifact for a model, or for one of another target."""
    if output.name.lower().endswith(target.suffixes):
        return
    taken = "model files"
    if output.suffix.lower() != ".json":
        try:
            taken = f"{find_target_for(str(output)).name} artifacts"
        except InputError:  # an ending that nobody reads by
            return
    raise InputError(
        f"this ending is that of {taken}", where=str(output), fix=f"call it {output.stem}{target.suffixes[0]}"
    )
