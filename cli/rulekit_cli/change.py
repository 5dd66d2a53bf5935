"""rulekit threshold, override, import, refit and simplify: a model made from another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import joined, log, notes, result, result_json
from rulekit_cli.progress import shown_search

if TYPE_CHECKING:
    from rulekit.audit.threshold import ThresholdStep
    from rulekit.work.changes.overrides import Written


@options.reads_text
def threshold(
    model: Annotated[Path, typer.Argument(help="A two-class model (.json) that reports a probability.")],
    data: Annotated[Path, typer.Argument(help="Labelled rows; not those that trained the model.")],
    output: options.ModelOutput,
    precision: Annotated[float | None, typer.Option("--precision", help="At least this precision.")] = None,
    recall: Annotated[float | None, typer.Option("--recall", help="At least this recall.")] = None,
    cost: options.Cost = None,
    f1: Annotated[bool, typer.Option("--f1", help="Largest F1 of the positive class.")] = False,
    at: Annotated[float | None, typer.Option("--at", metavar="T", help="This threshold: yes above T.")] = None,
    weight: options.Weight = None,
    text_file: options.TextFile = options.DETECTED,
) -> None:
    """Move the decision threshold for a purpose.

    The purpose is a least precision or recall, the least cost, the largest F1 on the given rows, or a threshold itself.
    A model of few rules has few steps to choose from: those beside the chosen one are printed too. A purpose that no
    step serves is refused, with the steps that there are.

    \b
    Example:
      rulekit threshold model.json validation.csv --precision 0.9 -o careful.json
      rulekit threshold model.json validation.csv --at 0.3 -o lax.json
    """
    given = locals()
    from rulekit.audit.threshold import Purpose
    from rulekit.work.evaluating import move_threshold

    purpose = Purpose.of(precision, recall, cost, f1, at)
    moved = move_threshold(model, data, purpose, output, options.reading({**given, "precision": None}))
    choice = moved.choice
    notes(moved.notes)
    result(*joined([_said(choice.chosen, cost is not None), f"(on {moved.n_rows} rows of {data.name})"]))
    for name, step in (("stricter", choice.stricter), ("laxer", choice.laxer)):
        if step is not None:
            result(f"next {name} step: {_said(step, cost is not None)}", hanging="  ")
    if moved.by_probability:
        log(f"note: the label is now yes where the reported probability is above {choice.chosen.threshold!r}")
    log(f"wrote {output}")


def _said(step: ThresholdStep, with_cost: bool) -> str:
    figures = f"precision {step.precision:.3f}, recall {step.recall:.3f}, F1 {step.f1:.3f}"
    return f"positive above {step.threshold!r}: {figures}" + (f", cost {step.cost:.12g}" if with_cost else "")


_MOST_ROWS = 6


Rules = Annotated[list[str] | None, typer.Argument(metavar="RULE", help='Each such as "amount > 9000 -> yes".')]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="The model file to write (.json).")]
Author = Annotated[str | None, typer.Option("--author", metavar="NAME", help="Who answers for it.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.")]
Date = Annotated[
    str | None, typer.Option("--date", metavar="YYYY-MM-DD", help="From when; never taken from the clock.")
]
Expires = Annotated[
    str | None, typer.Option("--expires", metavar="YYYY-MM-DD", help="The last day on which it is meant to decide.")
]
Id = Annotated[str | None, typer.Option("--id", metavar="ID", help="Its name; o1, o2, ... by default.")]
First = Annotated[bool, typer.Option("--first", help="Let it win over all existing overrides.")]
Source = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Overrides of a TOML file, each signed there.")
]
Remove = Annotated[
    list[str] | None, typer.Option("--remove", metavar="ID", help="Take this override off; signed likewise.")
]
List = Annotated[bool, typer.Option("--list", help="List the overrides of the model, and change nothing.")]
Rows = Annotated[
    Path | None, typer.Option("--data", metavar="FILE", help="Rows, with labels or without: which labels change.")
]


@options.reads_text
def override(
    model: options.Model,
    rules: Rules = None,
    output: Output = None,
    author: Author = None,
    reason: Reason = None,
    date: Date = None,
    expires: Expires = None,
    id_: Id = None,
    first: First = False,
    source: Source = None,
    remove: Remove = None,
    list_: List = False,
    data: Rows = None,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Let a rule of a person win over those of the model, signed and dated.

    Where its condition holds, the model decides its class; elsewhere it decides as before. rulekit proves both. Of
    several overrides the first that holds wins. The override stays when you simplify, resize or refit the model, or
    train with --start. Every list of the rules shows it.

    \b
    Examples:
      rulekit override model.json "amount > 9000 -> yes" --author "A. Jones" --date 2026-11-25 \\
        --expires 2037-06-30 --reason "large loans are seen by a person" --data rows.csv -o model2.json
      rulekit override model.json --from overrides.toml -o model2.json
      rulekit override model2.json --list
      rulekit override model2.json --remove o1 --author "A. Jones" --date 2037-07-01 --reason "over" -o model3.json
    """
    given = locals()
    if list_:
        _list(model, json_)
        return
    from rulekit.work.changes.overrides import OverrideRequest
    from rulekit.work.changes.overrides import override as put

    if output is None:
        raise InputError("where is the model to be written?", fix="give -o MODEL2.json")
    _refuse_unsigned(rules or [], remove or [], given)
    done = put(
        OverrideRequest(
            model,
            _asked(rules or [], source, given),
            tuple(remove or ()),
            author or "",
            date or "",
            reason or "",
            first,
            data,
            output,
            options.reading(given),
        )
    )
    notes(done.notes)
    if json_:
        result_json(done.as_dict())
        return
    result(*done.lines(_MOST_ROWS), hanging="  ")
    log(f"wrote {output}: {done.size}, digest {done.model.digest[:12]}")


def _refuse_unsigned(rules: list[str], remove: list[str], given: dict[str, Any]) -> None:
    if not rules and not remove:
        return
    for name in ("author", "date", "reason"):
        if not given[name]:
            fix = f"give --{name}" + (" YYYY-MM-DD; it is never taken from the clock" if name == "date" else "")
            raise InputError(f"an override has {'an' if name == 'author' else 'a'} {name}", fix=fix)


def _asked(rules: list[str], source: Path | None, given: dict[str, Any]) -> tuple[Written, ...]:
    from rulekit.work.changes.overrides import Written, read_written

    if given["id_"] and len(rules) != 1:
        raise InputError("--id names one rule", fix="give one rule, or leave it out")
    signed = [given["author"], given["date"], given["reason"], given["expires"], given["id_"] or ""]
    own = [Written(rule, *signed) for rule in rules]
    return (*own, *(() if source is None else read_written(source)))


def _list(model: Path, json: bool) -> None:
    from rulekit.work.changes.overrides import listed_overrides, overrides_of

    graph = overrides_of(model)
    found = listed_overrides(graph)
    if json:
        result_json(found)
        return
    if not found:
        result("the model has no override")
    from rulekit.shown.sections import signature

    for override, each in zip(graph.overrides, found, strict=True):
        expired = "   EXPIRED" if each["expired"] else ""
        rule = f"{override.id}  {each['condition']} -> {each['class']}{expired}"
        result(rule, f"    {signature(override)}", hanging="    ")


@options.reads_text
def import_model(
    source: Annotated[
        Path, typer.Argument(help="A rule text (.txt, .rules), an edited .json, or an artifact that carries its rules.")
    ],
    output: options.ModelOutput,
    base: Annotated[
        Path | None, typer.Option("--base", metavar="MODEL", help="The model (.json) whose rules were edited.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FILE", help="Labelled rows, with --base: what changes on them.")
    ] = None,
    author: Annotated[str | None, typer.Option("--author", metavar="NAME", help="Who edited, for the record.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why, for the record.")] = None,
    weight: options.Weight = None,
    missing_target: options.MissingTarget = "error",
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Make a model from edited rules or an artifact.

    With --base and --data, statistics and the probabilities of edited conditions are computed from the rows, the rows
    whose label changes are listed with the rule that did it, the rest is proved to be decided as before, and the edit
    is recorded in the provenance.

    \b
    Examples:
      rulekit import rules.txt -o model.json
      rulekit import edited.txt --base model.json --data rows.csv --author "A. Auditor" --reason "policy 7" -o new.json
    """
    given = locals()
    if base is None or data is None:
        _imported(source, output, base or data)
        return
    from rulekit.work.changes.editing import edit

    done = edit(source, base, data, output, author=author or "", reason=reason or "", reading=options.reading(given))
    if json_:
        result_json(done.as_dict())
        return
    notes(done.notes)
    result(*done.lines(_MOST_ROWS))
    log(f"wrote {output}: {done.size}, digest {done.model.digest[:12]}")


def _imported(source: Path, output: Path, lone: Path | None) -> None:
    from rulekit.work.models import import_model

    if lone is not None:
        raise InputError("an edit is described by its base and by rows", fix="give both, --base and --data")
    imported = import_model(source, output)
    if imported.disagrees:
        log("note: on some rows the label and the probability point different ways; edit `report` with `decide`")
    for line in imported.inexact:
        log(f"note: {line}")
    log(f"wrote {output}: {imported.size}, digest {imported.model.digest[:12]}")


@options.reads_text
def refit(
    model: Annotated[Path, typer.Argument(help="A two-class model (.json) that reports a probability.")],
    data: Annotated[Path, typer.Argument(help="Labelled rows.")],
    output: options.ModelOutput,
    weight: options.Weight = None,
    missing_target: options.MissingTarget = "error",
    text_file: options.TextFile = options.DETECTED,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="Stop fitting then; take the best so far.", min=0)
    ] = options.SEARCH_SECONDS,
) -> None:
    """Fit the reported probability to rows; every decision stays as it is.

    The conditions stay, their strengths are those of maximum likelihood on the rows, with four digits. The probability
    is held on the side of the label. Statistics of the rules are those of these rows.

    \b
    Example:
      rulekit refit model.json new_rows.csv -o refitted.json
    """
    given = locals()
    from rulekit.work.changes.refitting import refit as fit

    with shown_search(time_limit) as deadline:
        found = fit(model, data, output, options.reading(given), deadline)
    notes(found.notes)
    loss = f"log loss {found.before.log_loss:.4f} -> {found.after.log_loss:.4f}"
    result(f"{loss}   (on {found.after.rows} rows of {data.name})")
    result("every decision is as before: what decides is the same, bit for bit")
    if found.sided:
        log("note: the probability is now held on the side of the label, which is decided with the old strengths")
    log(f"wrote {output}, digest {found.model.digest[:12]}")


def simplify(
    model: options.Model,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The model file to write (.json).")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say which law changed what.")] = False,
) -> None:
    """Simplify a model without changing any decision.

    \b
    Example:
      rulekit simplify model.json -o smaller.json --explain
    """
    from rulekit.work.models import simplify

    if output is None and not explain:
        raise InputError("nothing to do", fix="give -o FILE, --explain or both")
    simplified = simplify(model, output)
    for change in simplified.changes if explain else ():
        result(f"{change.law}: {change.before}  ->  {change.after}")
    before, after = simplified.before, simplified.after
    log(f"rules {before.rules} -> {after.rules}, literals {before.literals} -> {after.literals}")
    if output is not None:
        log(f"wrote {output}")
