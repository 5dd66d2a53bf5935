"""rulekit simplify: the same decisions with fewer literals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli.console import log, result


def simplify(
    model: Annotated[Path, typer.Argument(help="A model or an artifact that carries its rules.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The model file to write.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say which law fired where.")] = False,
) -> None:
    """Simplify a model without changing any decision.

    \b
    Example:
      rulekit simplify model.json -o smaller.json --explain
    """
    from rulekit.errors import InputError
    from rulekit.graph.files.model_files import load
    from rulekit.graph.rules import counts
    from rulekit.simplification.passes import simplify_explained
    from rulekit_cli.outputs import refuse_artifact_ending

    if output is None and not explain:
        raise InputError("nothing to do", fix="give -o FILE, --explain or both")
    if output is not None:
        refuse_artifact_ending(output)
    graph = load(model)
    simpler, applied = simplify_explained(graph)
    if explain:
        for step in applied:
            result(f"{step.law}: {step.before}  ->  {step.after}")
    before, after = counts(graph), counts(simpler)
    log(f"rules {before.rules} -> {after.rules}, literals {before.literals} -> {after.literals}")
    if output is not None:
        simpler.save(output)
        log(f"wrote {output}")
