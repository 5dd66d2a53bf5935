"""What must not be written: a file over the one it was made from, a model under the ending of an artifact."""

from __future__ import annotations

from pathlib import Path

from rulekit.errors import InputError


def refuse_overwriting(output: Path | None, *sources: Path | None) -> None:
    """Raises InputError if `output` is one of the files that are read, by whatever name."""
    for source in sources:
        if output is None or source is None or not output.is_file() or not source.is_file():
            continue
        if output.samefile(source):
            raise InputError("this file is read, and would be lost", where=str(output), fix="give another name")


def refuse_artifact_ending(output: Path) -> None:
    """Raises InputError if a model file is to be called like an artifact (m.onnx), as which it would not load."""
    from rulekit.targets import find_target_for

    if output.suffix.lower() == ".json":
        return
    try:
        target = find_target_for(str(output))
    except InputError:
        return
    raise InputError(
        f"a model file cannot have the ending of {target.name} artifacts",
        where=str(output),
        fix=f"call it {output.stem}.json; rulekit export --to {target.name} writes artifacts",
    )
