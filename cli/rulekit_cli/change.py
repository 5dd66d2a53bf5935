"""rulekit threshold, override, import, refit and simplify: a model made from another one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import InputError
from rulekit_cli.console import joined, log, notes, result, result_json, shown_search
from rulekit_cli.learn import promised
from rulekit_cli.options import command

if TYPE_CHECKING:
    from rulekit.audit.threshold import ThresholdStep


@command("model.probability data.further output least_precision recall cost f1 at weight text_file")
def threshold(model: Path, data: Path, output: Path, reading: Any, f1: bool, **least: float) -> None:
    """Move the decision threshold for a purpose.

    The purpose is a least precision or recall, the least cost, the largest F1 on the given rows, or a threshold itself.
    A model of few rules has few steps to choose from: those beside the chosen one are printed too. A purpose that no
    step serves is refused, with the steps that there are.

    \b
    Example:
      rulekit threshold model.json validation.csv --precision 0.9 -o careful.json
      rulekit threshold model.json validation.csv --at 0.3 -o lax.json
    """
    from rulekit.audit.threshold import Purpose
    from rulekit.work.evaluating import move_threshold

    cost = reading.cost
    purpose = Purpose.of(least.get("least_precision"), least.get("recall"), cost, f1, least.get("at"))
    moved = move_threshold(model, data, purpose, output, reading)
    choice = moved.choice
    notes(moved.notes)

    def said(step: ThresholdStep) -> str:
        figures = f"precision {step.precision:.3f}, recall {step.recall:.3f}, F1 {step.f1:.3f}"
        return f"positive above {step.threshold!r}: {figures}" + (f", cost {step.cost:.12g}" if cost else "")

    result(*joined([said(choice.chosen), f"(on {moved.n_rows} rows of {data.name})"]))
    for name, step in (("stricter", choice.stricter), ("laxer", choice.laxer)):
        if step is not None:
            result(f"next {name} step: {said(step)}", hanging="  ")
    if moved.by_probability:
        log(f"note: the label is now yes where the reported probability is above {choice.chosen.threshold!r}")
    log(f"wrote {output}")


_MOST_ROWS = 6


@command(
    "model rules output.optional author reason date expires id first.all written remove listing data.changed "
    "text_file json"
)
def override(
    model: Path,
    listing: bool,
    json: bool,
    rules: Sequence[str] = (),
    written: Path | None = None,
    id: str = "",
    expires: str | None = None,
    **asked: Any,
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
    from rulekit.work.changes.overrides import Written, list_overrides, override, read_written

    if listing:
        found, lines = list_overrides(model)
        if json:
            result_json(found)
        else:
            result(*(lines or ["the model has no override"]), hanging="    ")
        return
    if "output" not in asked:
        raise InputError("where is the model to be written?", fix="give -o MODEL2.json")
    signed = {name: asked.get(name, "") for name in ("author", "date", "reason")}
    if (rules or "remove" in asked) and (lacks := next((name for name in signed if not signed[name]), None)):
        fix = f"give --{lacks}" + (" YYYY-MM-DD; it is never taken from the clock" if lacks == "date" else "")
        raise InputError(f"an override has {'an' if lacks == 'author' else 'a'} {lacks}", fix=fix)
    if id and len(rules) != 1:
        raise InputError("--id names one rule", fix="give one rule, or leave it out")
    own = [Written(rule, **signed, expires=expires, id=id) for rule in rules]
    done = override(model, (*own, *(() if written is None else read_written(written))), **asked)
    _print_done(done, asked["output"], json)


def _print_done(done: Any, output: Path, json: bool) -> None:
    """What an edit or overrides change."""
    if json:
        result_json(done.as_dict())
        return
    notes(done.notes)
    result(*done.lines(_MOST_ROWS), hanging="  ")
    log(f"wrote {output}: {done.size}, digest {done.model.digest[:12]}")


@command("source output base data.edited ignore monotone author.edit reason.edit weight missing_target text_file json")
def import_(
    source: Path,
    output: Path,
    json: bool,
    base: Path | None = None,
    data: Path | None = None,
    monotone: dict[str, str] | None = None,
    **record: Any,
) -> None:
    """Make a model from edited rules, an artifact or a forest that another program wrote as ONNX.

    With --base and --data, statistics and the probabilities of edited conditions are computed from the rows, the rows
    whose label changes are listed with the rule that did it, the rest is proved to be decided as before, and the edit
    is recorded in the provenance. Of a forest --data names the columns, and --monotone is a promise for check to prove.

    \b
    Examples:
      rulekit import rules.txt -o model.json
      rulekit import forest.onnx --data loans.csv --ignore approved --monotone income=increasing -o forest.json
      rulekit import edited.txt --base model.json --data rows.csv --author "A. Auditor" --reason "policy 7" -o new.json
    """
    if base is not None and data is not None and not monotone:
        from rulekit.work.changes.editing import edit

        _print_done(edit(source, base, data, output, **record), output, json)
        return
    from rulekit.work.models import import_model

    if base:
        what, fix = "an edit is described by its base and by rows", "give both, --base and --data, and no --monotone"
        raise InputError(what, fix=fix)
    imported = import_model(source, output, data, record["reading"], promised({"monotone": monotone}).get("monotone"))
    if imported.disagrees:
        log("note: on some rows the label and the probability point different ways; edit `report` with `decide`")
    notes(imported.inexact)
    log(f"wrote {output}: {imported.size}, digest {imported.model.digest[:12]}")


@command("model.probability data.labelled output weight missing_target text_file time_limit.fit")
def refit(model: Path, data: Path, output: Path, reading: Any, time_limit: float) -> None:
    """Fit the reported probability to rows; every decision stays as it is.

    The conditions stay, their strengths are those of maximum likelihood on the rows, with four digits. The probability
    is held on the side of the label. Statistics of the rules are those of these rows.

    \b
    Example:
      rulekit refit model.json new_rows.csv -o refitted.json
    """
    from rulekit.work.changes.refitting import refit as fit

    with shown_search(time_limit) as deadline:
        found = fit(model, data, output, reading, deadline)
    notes(found.notes)
    loss = f"log loss {found.before.log_loss:.4f} -> {found.after.log_loss:.4f}"
    result(f"{loss}   (on {found.after.rows} rows of {data.name})")
    result("every decision is as before: what decides is the same, bit for bit")
    if found.sided:
        log("note: the probability is now held on the side of the label, which is decided with the old strengths")
    log(f"wrote {output}, digest {found.model.digest[:12]}")


@command("model output.optional explain.laws")
def simplify(model: Path, explain: bool, output: Path | None = None) -> None:
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
    before, after = simplified.before, simplified.size
    log(f"rules {before.rules} -> {after.rules}, literals {before.literals} -> {after.literals}")
    if output is not None:
        log(f"wrote {output}")
