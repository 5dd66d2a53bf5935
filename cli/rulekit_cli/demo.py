"""rulekit demo: the whole chain on a bundled sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    context: typer.Context,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Keep the files here; a temporary folder without it.")
    ] = None,
) -> None:
    """Run the whole chain on a bundled sample.

    Train, show, export, predict, evaluate and verify, on a table of loans.
    """
    import os
    import shlex
    import shutil
    import sys
    import tempfile
    from contextlib import ExitStack
    from functools import partial
    from importlib.resources import files

    from rulekit_cli.console import guarded

    steps = [
        "train loans.csv --target default --holdout 0.25 -o model.json",
        "show model.json",
        "export model.json --to onnx -o model.onnx",
        "export model.json --to python -o model.py",
        "export model.json --to text -o rules.txt",
        "predict model.onnx loans.csv -o predictions.csv",
        "evaluate model.json loans.csv",
        "verify model.json model.onnx --data loans.csv --report parity.json",
        "verify model.json model.py --data loans.csv",
        "verify model.json rules.txt --data loans.csv",
    ]
    with ExitStack() as stack:
        if folder is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rulekit-demo-")))
        else:
            place = folder
            place.mkdir(parents=True, exist_ok=True)
        with (files("rulekit_cli") / "loans.csv").open("rb") as source, (place / "loans.csv").open("wb") as copy:
            shutil.copyfileobj(source, copy)
        stack.callback(os.chdir, Path.cwd())
        os.chdir(place)
        command = context.find_root().command
        for step in steps:
            print(f"\n$ rulekit {step}", flush=True)
            status = guarded(partial(command, shlex.split(step), "rulekit", standalone_mode=False), debug=False)
            sys.stdout.flush()
            if status:
                raise typer.Exit(status)
    print("\nThe same steps work on your own table: see rulekit train --help.")
