"""rulekit import: a model from its rule text or from an artifact that carries it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli.console import log


def import_model(
    source: Annotated[
        Path, typer.Argument(help="A rule text (.txt, .rules), an edited .json, an ONNX file or a generated .py.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
) -> None:
    """Make a model file from rules that a person edited, or from an artifact.

    Example:
    rulekit import rules.txt -o model.json
    """
    from rulekit.graph.files import load
    from rulekit.graph.rules import counts

    graph = load(source, verify=False)  # an expert may have edited it: the digest is computed anew
    graph.save(output)
    size = counts(graph)
    log(f"wrote {output}: {size.rules} rules, {size.literals} literals, digest {graph.digest[:12]}")
