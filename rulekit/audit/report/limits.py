"""The first page: what the model does and how well; and the last: what it must not be used for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rulekit.audit.checks.checking import Checked
from rulekit.audit.figures.groups import SMALL, Parity
from rulekit.audit.figures.intervals import calibration
from rulekit.audit.figures.metrics import kept_figures
from rulekit.audit.report.blocks import Block, Cell, Facts, Heading, Items, ReportSection, Text, Tone, table
from rulekit.audit.report.evidence import foreign, of_this_model
from rulekit.audit.report.measured_sections import happened_where_reported
from rulekit.audit.report.rule_sections import FEW_ROWS, RuleEntry
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import bounded_share, number_text, rows_text, share_text
from rulekit.graph.language.words import counted, listed, name, quoted
from rulekit.graph.rules import counts
from rulekit.graph.variants import RARE
from rulekit.schema import UNSEEN_CODE
from rulekit.shown.rule_rows import edits_of, is_learned
from rulekit.shown.table_figures import training_of

_FEW_OF_CLASS = 100
_MISCALIBRATED = 0.05
_MOST_NAMED = 8
_MANY_STRANGE = 0.01
_ELSEWHERE = (
    "Outside the ranges and levels of the training table (section Columns) a rule decides all the same, though nothing "
    "was learned of such rows."
)

ALWAYS = (
    "The rules say what went together in the training table. They do not say why: a change of an input need not change "
    "what happens.",
    "What the rows cannot show, the report cannot: rows that never came into the table, and labels that were wrong.",
)


@dataclass(frozen=True, slots=True)
class ModelLimit:
    """A limit in one sentence; kind: what it is of. serious: something is wrong or unknown, not merely bounded."""

    kind: str
    text: str
    serious: bool = False


def limits_of(
    subject: Subject, checked: Checked, groups: Sequence[Parity], rules: Sequence[RuleEntry]
) -> tuple[ModelLimit, ...]:
    """Every limit that is known, the serious ones first."""
    sources = (
        *_of_figures(subject),
        *_of_rows(subject),
        *_of_classes(subject),
        *_of_rules(rules),
        *_of_groups(groups),
        *_of_proofs(subject, checked),
        *_of_attachments(subject),
        *_of_hands(subject),
    )
    return tuple(sorted(sources, key=lambda limit: not limit.serious))


def limits_section(limits: Sequence[ModelLimit]) -> ReportSection:
    """The limits as a table, then what holds of every model."""
    tones: dict[bool, Tone] = {True: "bad", False: "plain"}
    lines = [(Cell(limit.kind, tone=tones[limit.serious]), limit.text) for limit in limits]
    blocks: list[Block] = [table("", ("of", "limit"), lines)] if lines else []
    blocks += map(Text, ALWAYS)
    return ReportSection("limits", "Limits", blocks, {"limits": [asdict(limit) for limit in limits]})


def _of_figures(subject: Subject) -> Iterator[ModelLimit]:
    rows = subject.rows
    if rows is None:
        kept = kept_figures(subject.graph)
        if kept is None:
            yield ModelLimit("figures", "The model was not measured on any rows here.", True)
        elif "training rows" in kept.measured_on:
            yield ModelLimit("figures", f"The figures are of {kept.measured_on}.", True)
        return
    known = rows.overlap
    if known is None:
        yield ModelLimit("figures", "It is not known whether these rows equal training rows.", True)
    elif known.seen:
        many = known.seen > _MANY_STRANGE * known.sampled  # few equal others by chance
        yield ModelLimit("figures", f"Some of the rows equal training rows: {known}.", many)
    if subject.graph.probability:
        happened, reported, what = happened_where_reported(subject, rows)
        error = calibration(happened, reported, rows.weight).error
        if error > _MISCALIBRATED:
            said = f"The reported probability of {what} is off by {100 * error:.1f} percentage points in the mean."
            yield ModelLimit("probabilities", f"{said} Do not take it for a frequency.")
    else:
        yield ModelLimit("probabilities", "The model reports no probabilities but 0 and 1.")


def _of_rows(subject: Subject) -> Iterator[ModelLimit]:
    """Where the rows that were given are not like those of training, and what the model does elsewhere."""
    yield ModelLimit("rows", _ELSEWHERE)
    graph, rows = subject.graph, subject.rows
    if rows is None:
        return
    strange = {}
    for column, known in training_of(graph).columns.items():
        kind = graph.schema[column].kind if column in graph.used_features else "text"
        if kind == "categorical":
            strange[column] = int((rows.rows.table.array(column) == UNSEEN_CODE).sum())
        elif kind != "text" and known.range is not None:
            array, (low, high) = rows.rows.table.array(column), known.range
            with np.errstate(invalid="ignore"):
                strange[column] = int(((array < low) | (array > high)).sum())
    beyond = [f"{name(c)} ({counted(strange[c], 'row')})" for c in graph.used_features if strange.get(c)]
    if beyond:
        said = f"Values that training never saw stand in {_named(beyond)} of {rows.name}."
        yield ModelLimit("rows", said, max(strange.values()) > _MANY_STRANGE * len(rows))


def _of_classes(subject: Subject) -> Iterator[ModelLimit]:
    rows, kept, classes = subject.rows, kept_figures(subject.graph), subject.graph.classes
    support = counts = np.array([] if kept is None else [each.support for each in kept.figures.classes])
    if rows is not None:
        support, counts = np.bincount(rows.y, rows.mass, len(classes)), np.bincount(rows.y, minlength=len(classes))
    for label, mass, n in zip(classes, support, counts, strict=False):
        if mass < RARE * support.sum() or n < _FEW_OF_CLASS:
            share = share_text(float(mass / support.sum())) if support.sum() else "none"
            said = f"{quoted(label)} is rare: {rows_text(n)} rows, {share}; its rates are uncertain."
            yield ModelLimit("classes", said)


def _of_rules(rules: Sequence[RuleEntry]) -> Iterator[ModelLimit]:
    few = [
        f"{entry.id} ({counted(figure.covered, 'row')} of {figure.table})"
        for entry in rules
        for figure in entry.figures[:1]
        if figure.covered < FEW_ROWS
    ]
    if few:
        yield ModelLimit("rules", f"Rules that rest on fewer than {FEW_ROWS} rows: {_named(few)}.")


def _of_groups(groups: Sequence[Parity]) -> Iterator[ModelLimit]:
    for found in groups:
        small = [f"{group.name} ({counted(group.rows, 'row')})" for group in found.groups if group.effective_n < SMALL]
        if small:
            yield ModelLimit("groups", f"Too few rows to say much of {_named(small)} by {name(found.column)}.")


def _of_proofs(subject: Subject, checked: Checked) -> Iterator[ModelLimit]:
    for verdict in checked.verdicts:
        if verdict.outcome == "fails":
            yield ModelLimit("promises", f"Broken: {verdict.promise.text}.", True)
        elif verdict.outcome != "proved":
            yield ModelLimit("promises", f"Not proved: {verdict.promise.text}: {verdict.reason}.", True)
    if checked.open:
        said = f"{counted(len(checked.open), 'question')} about the rules could not be decided, such as "
        yield ModelLimit("checks", f"{said}{checked.open[0].text}.")
    if not subject.verifications:
        yield ModelLimit("artifacts", "No artifact is shown to decide as the model does.")
    for file, content in subject.verifications.items():
        if foreign(content, subject.graph.digest):
            yield ModelLimit("artifacts", f"{file} verifies another model.", True)
        elif content.get("ok") is not True:
            yield ModelLimit("artifacts", f"{file}: the artifact was not shown to decide as the model does.", True)
        elif content.get("proof") != "proved":
            said = f"{file}: equality was tested on rows, not proved: {content.get('proof_reason')}."
            yield ModelLimit("artifacts", said)
        elif file not in subject.verified:
            said = f"{file} was written elsewhere, and what it says of an artifact was not repeated."
            yield ModelLimit("artifacts", said)


def _of_attachments(subject: Subject) -> Iterator[ModelLimit]:
    """Files that are of other models, and rows that are not like those of training."""
    for kind, files in subject.attachments.items():
        for file, content in files:
            if not isinstance(content, dict):
                continue
            if not of_this_model(kind, content, subject.graph):
                yield ModelLimit(kind, f"{file} is of another model.", True)
            elif kind == "drift" and content.get("alike") is False:
                yield ModelLimit("rows", f"{file}: later rows are not like those of training.", True)


def _of_hands(subject: Subject) -> Iterator[ModelLimit]:
    graph, date = subject.graph, subject.said.date
    if not is_learned(graph):
        yield ModelLimit("history", "Nothing is known of how the rules came about.", True)
    unproved = sum(edit.get("rest_proved") is not True for edit in edits_of(graph))
    if unproved:
        said = f"{counted(unproved, 'edit')} may change more than the rules that were edited."
        yield ModelLimit("history", said, True)
    expired = [each.id for each in graph.overrides if date and each.expires and each.expires < date]
    if expired:
        yield ModelLimit("history", f"Overrides that had expired on {date}: {_named(expired)}.", True)


def _named(items: Sequence[str]) -> str:
    more = len(items) - _MOST_NAMED
    return f"{', '.join(items[:_MOST_NAMED])} and {more} more" if more > 0 else listed(list(items))


def summary_section(
    subject: Subject,
    performance: Mapping[str, Any],
    checked: Checked,
    groups: Sequence[Parity],
    limits: Sequence[ModelLimit],
) -> ReportSection:
    """Facts that are taken from the other sections, and the serious limits."""
    graph, n = subject.graph, len(subject.graph.classes)
    pairs = [
        ("decides", f"{name(graph.schema.target)}: {', '.join([*map(quoted, graph.classes[:6]), '...'][:n])}"),
        ("rules", f"{counts(graph)}, over {len(graph.used_features)} of {counted(len(graph.schema), 'column')}"),
    ]
    measured = performance.get("given") or performance.get("in_training")
    if measured:
        low, high = measured["accuracy_interval"]
        said = f"{bounded_share(measured['accuracy'], low, high)} on {measured['rows_of']}"
        majority = share_text(measured["majority_class_accuracy"])
        pairs.append(("accuracy", f"{said}; the most frequent class alone {majority}"))
        pairs.append(("area under the curve", number_text(measured["auc"], 3)))
    pairs += [("promises", _promises(checked)), ("artifacts", _artifacts(subject))]
    if groups:
        worst = max(groups, key=lambda found: found.spread["selection rate"] or 0.0)
        spread, by = worst.spread["selection rate"], ", ".join(dict.fromkeys(name(found.column) for found in groups))
        most = "" if spread is None else f"{100 * spread:.1f} points (by {name(worst.column)})"
        pairs.append(("groups", f"by {by}" + (f"; selection rates differ by at most {most}" if most else "")))
    serious = [limit.text for limit in limits if limit.serious]
    known = [Heading("To know before anything else"), Items(serious)]
    blocks = [Facts(pairs), *(known if serious else [_nothing_serious(subject, checked)])]
    return ReportSection("summary", "In short", blocks, {"facts": dict(pairs), "to_know": serious})


def _nothing_serious(subject: Subject, checked: Checked) -> Text:
    """What was checked, where nothing serious was found; a report that checked nothing claims nothing."""
    checks = ["no promise is broken"] * bool(checked.verdicts)
    checks += ["no verified artifact decides otherwise than the model"] * bool(subject.verifications)
    if not checks:
        return Text("The model declares no promise, and no artifact was verified. Limits says what bounds it.", "note")
    said = " and ".join(checks)
    return Text(f"{said[:1].upper()}{said[1:]}. Limits says what bounds the model.", "good")


def _promises(checked: Checked) -> str:
    if not checked.verdicts:
        return "none declared"
    proved = sum(verdict.outcome == "proved" for verdict in checked.verdicts)
    broken = sum(verdict.outcome == "fails" for verdict in checked.verdicts)
    left = len(checked.verdicts) - proved - broken
    parts = [f"{proved} proved"] + [f"{broken} broken"] * bool(broken) + [f"{left} not proved"] * bool(left)
    return ", ".join(parts)


def _artifacts(subject: Subject) -> str:
    found = subject.verifications
    if not found:
        return "none verified here"
    parts = []
    for here, words in ((True, "verified"), (False, "verified as a file says, which was not repeated here")):
        some = [content for name, content in found.items() if (name in subject.verified) is here]
        own = [content for content in some if not foreign(content, subject.graph.digest)]
        ok = [content for content in own if content.get("ok") is True]
        proved = sum(content.get("proof") == "proved" for content in ok)
        parts += [f"{len(ok)} of {len(some)} {words}, {proved} proved equal on every row"] * bool(some)
    return "; ".join(parts)
