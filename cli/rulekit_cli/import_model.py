"""rulekit import: a model from its rule text or from an artifact that carries it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rulekit_cli.console import log

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph


def disagreements(graph: RuleGraph) -> int:
    """On how many of 2,000 adversarial rows the label is not what the probability says at the model's threshold."""
    from rulekit.graph.evaluation.evaluator import decide, probabilities
    from rulekit.verification.rows.adversarial import adversarial_rows

    table = adversarial_rows(graph, 2000).table
    threshold = float(graph.provenance.get("threshold", 0.5))
    return int(((probabilities(graph, table)[:, 1] > threshold) != (decide(graph, table) == 1)).sum())


def import_model(
    source: Annotated[
        Path, typer.Argument(help="A rule text (.txt, .rules), an edited .json, an ONNX file or a generated .py.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
) -> None:
    """Make a model from edited rules or an artifact.

    \b
    Example:
      rulekit import rules.txt -o model.json
    """
    from rulekit.graph.files.model_files import load
    from rulekit.graph.language.readable import counted
    from rulekit.graph.rules import counts
    from rulekit_cli.outputs import refuse_artifact_ending

    refuse_artifact_ending(output)
    graph = load(source, verify=False)  # an expert may have edited it: the digest is computed anew
    graph.save(output)
    if len(graph.probability) == 1 and disagreements(graph):
        log("note: on some rows the label and the probability point different ways; edit `report` with `decide`")
    size = counts(graph)
    words = f"{counted(size.rules, 'rule')}, {counted(size.literals, 'literal')}"
    log(f"wrote {output}: {words}, digest {graph.digest[:12]}")
