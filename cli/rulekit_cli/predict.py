"""rulekit predict: score a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rulekit_cli.console import log

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.tables.table import Table
    from rulekit.targets import Outcome


def predict(
    model: Annotated[Path, typer.Argument(help="A model (.json), or an ONNX file, which then does the scoring.")],
    data: Annotated[Path, typer.Argument(help="A CSV, Parquet or JSON-lines file.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="CSV to write; standard output without it.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also which rules and conditions did it.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COL", help="Copy this column of DATA, an id say.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Cell separator of DATA.")] = None,
    decimal: Annotated[str | None, typer.Option("--decimal", help="Decimal mark of DATA: . or ,")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding of DATA.")] = None,
) -> None:
    """Predict labels and probabilities.

    One row of output for every row: the label, the probability of each class and, if asked, the rules that fired. Rules
    that are enough only together stand as r1+r2; where probabilities decide, the conditions that counted follow.

    Extra columns are ignored and order is free; a missing column or an unparsable number is an error.

    \b
    Example:
      rulekit predict model.json new.csv -o predictions.csv --explain
    """
    from rulekit.audit.explanations import has_conditions
    from rulekit.graph.files.model_files import load, write_atomically
    from rulekit.graph.rule_graph import class_array
    from rulekit.schema import require_column
    from rulekit.tables.kinds.encoding import encode_columns
    from rulekit.tables.options import ReadingOptions
    from rulekit.tables.raw.columns import cells_as_given
    from rulekit.tables.reading import read_columns
    from rulekit_cli.outputs import refuse_overwriting

    refuse_overwriting(output, model, data)
    graph = load(model)
    kept = keep or []
    _refuse_taken_names(kept, graph, explain)
    codes = [feature.name for feature in graph.schema if feature.kind == "categorical"]
    raw = read_columns(
        data,
        ReadingOptions(delimiter=delimiter, decimal=decimal, encoding=encoding),
        columns={*graph.used_features, *kept},
        keep_text=[*codes, *kept],
    )
    table = encode_columns(raw, graph.schema, graph.used_features)
    outcome = _score(model, graph, table)
    columns: dict[str, object] = {}
    for name in kept:
        require_column(name, raw.known_names, raw.source)
    columns.update({column.name: cells_as_given(column) for column in raw.columns if column.name in kept})
    columns["label"] = [_text(label) for label in class_array(graph.classes)[outcome.labels].tolist()]
    for k, label in enumerate(graph.classes):
        columns[f"probability({_text(label)})"] = outcome.probabilities[:, k]
    if explain:
        columns |= _explained(graph.explain(table), conditions=has_conditions(graph))
    content = _csv(columns)
    if output is None:
        import sys

        sys.stdout.write(content.decode())
    else:
        write_atomically(output, content)
        log(f"wrote {output}: {len(table)} rows")
    if explain:
        _explain_rules(graph)


def _score(path: Path, graph: RuleGraph, table: Table) -> Outcome:
    """The model file is scored by the graph; an artifact scores for itself."""
    from rulekit.targets import Outcome, find_target_for

    if path.suffix.lower() == ".json":
        from rulekit.graph.evaluation.evaluator import decide, probabilities

        return Outcome(decide(graph, table), probabilities(graph, table))
    return find_target_for(str(path)).run(path.read_bytes(), graph, table)


def _refuse_taken_names(keep: list[str], graph: RuleGraph, explain: bool) -> None:
    """A column of DATA that is called like one of the results would replace it or be replaced."""
    from rulekit.errors import InputError

    explained = ["rules", "conditions"] if explain else []
    results = {"label", *(f"probability({_text(label)})" for label in graph.classes), *explained}
    taken = [name for name in keep if name in results]
    if taken:
        raise InputError(
            f"the predictions have a column {taken[0]!r} of their own", where="--keep", fix="rename the one of the data"
        )


def _explained(rows: list[dict[str, Any]], *, conditions: bool) -> dict[str, object]:
    """The columns of --explain: ids of rules (`r1 r2`; `r1+r2` where they are enough only together), and conditions.

    A condition stands with what the probability would lose without it: `sex in {female} 0.41; not (age <= 15) 0.08`.
    """
    columns: dict[str, object] = {"rules": [_rule_ids(row["rules"]) or None for row in rows]}
    if conditions:
        columns["conditions"] = [
            "; ".join(f"{condition['said']} {condition['change']:.2g}" for condition in row["conditions"]) or None
            for row in rows
        ]
    return columns


def _rule_ids(rules: list[dict[str, Any]]) -> str:
    """Ids with a blank between them, a plus between those of one class that are enough only together."""
    words: dict[object, str] = {}
    for number, rule in enumerate(rules):
        joint = ("together", rule["class"]) if "together" in rule else number
        words[joint] = f"{words[joint]}+{rule['id']}" if joint in words else rule["id"]
    return " ".join(words.values())


def _text(label: object) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def _csv(columns: dict[str, object]) -> bytes:
    import polars

    return polars.DataFrame(columns).write_csv().encode()


def _explain_rules(graph: RuleGraph) -> None:
    """What the ids of the rules stand for, once, on standard error."""
    from textwrap import wrap

    from rulekit.audit.explanations import without_strengths
    from rulekit.graph.language.text import print_node
    from rulekit.graph.rules import rules_of
    from rulekit_cli.console import width

    rules = rules_of(graph)
    for rule in rules:
        node = without_strengths(rule.node) if rule.nested else rule.node
        line = f"{rule.id}  {_text(graph.classes[rule.class_index])}: {print_node(node, graph.schema)}"
        hanging = " " * (len(rule.id) + 2)
        for part in wrap(line, width(), subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False):
            log(part)
    if any(rule.nested for rule in rules):
        log("their conditions count by strengths, which rulekit show prints")
