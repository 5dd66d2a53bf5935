"""The first page: what the model does and how well; and the last: what it must not be used for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rulekit.audit.checks.checking import Checked
from rulekit.audit.figures.groups import SMALL, Parity
from rulekit.audit.figures.kept_figures import kept_figures
from rulekit.audit.figures.operating import calibration
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Facts,
    Heading,
    Items,
    ReportSection,
    ReportTable,
    Text,
    Tone,
    cells,
    columns,
)
from rulekit.audit.report.sections.attached import of_this_model
from rulekit.audit.report.sections.performance import happened_where_reported
from rulekit.audit.report.sections.proofs import foreign
from rulekit.audit.report.sections.rule_tables import FEW_ROWS, RuleEntry
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import bounded_share, number_text, rows_text, share_text
from rulekit.graph.language.words import counted, listed, name, quoted
from rulekit.graph.rules import counts
from rulekit.graph.variants import RARE
from rulekit.schema import UNSEEN_CODE
from rulekit.shown.hand_made import edits_of, is_learned
from rulekit.shown.table_figures import training_of

_FEW_OF_CLASS = 100
_MISCALIBRATED = 0.05
_MOST_NAMED = 8
_MANY_STRANGE = 0.01

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
    lines = tuple(cells(Cell(limit.kind, tone=tones[limit.serious]), limit.text) for limit in limits)
    blocks: list[Block] = [ReportTable("", columns("of", "limit"), lines)] if lines else []
    blocks += [Text(text) for text in ALWAYS]
    return ReportSection("limits", "Limits", tuple(blocks), {"limits": [asdict(limit) for limit in limits]})


def _of_figures(subject: Subject) -> Iterator[ModelLimit]:
    rows = subject.rows
    if rows is None:
        kept = kept_figures(subject.graph)
        if kept is None:
            yield ModelLimit("figures", "The model was not measured on any rows here.", True)
        elif "training rows" in kept.measured_on:
            yield ModelLimit("figures", f"The figures are of {kept.measured_on}.", True)
        return
    if rows.flatter:
        known = rows.overlap
        many = known is None or known.seen > _MANY_STRANGE * known.sampled  # few equal others by chance
        yield ModelLimit("figures", f"Some of the rows equal training rows: {known}.", many)
    elif rows.overlap is None:
        yield ModelLimit("figures", "It is not known whether these rows equal training rows.", True)
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
    yield ModelLimit(
        "rows",
        "Outside the ranges and levels of the training table (section Columns) a rule decides all the same, though "
        "nothing was learned of such rows.",
    )
    if subject.rows is None:
        return
    training = training_of(subject.graph).columns
    table = subject.rows.rows.table
    beyond, many = [], False
    for column in subject.graph.used_features:
        if column not in training or subject.graph.schema[column].kind == "text":
            continue
        array = table.array(column)
        if subject.graph.schema[column].kind == "categorical":
            strange = int((array == UNSEEN_CODE).sum())
        else:
            known = training[column].range
            if known is None:
                continue
            with np.errstate(invalid="ignore"):
                strange = int(((array < known[0]) | (array > known[1])).sum())
        if strange:
            beyond.append(f"{name(column)} ({counted(strange, 'row')})")
            many = many or strange > _MANY_STRANGE * table.n_rows
    if beyond:
        said = f"Values that training never saw stand in {_named(beyond)} of {subject.rows.name}."
        yield ModelLimit("rows", said, many)


def _of_classes(subject: Subject) -> Iterator[ModelLimit]:
    rows, kept = subject.rows, kept_figures(subject.graph)
    if rows is not None:
        support = np.bincount(rows.y, rows.mass, len(subject.graph.classes))
        counts = np.bincount(rows.y, minlength=len(subject.graph.classes))
    elif kept is not None:
        support = np.array([each.support for each in kept.figures.classes])
        counts = support
    else:
        return
    for label, mass, n in zip(subject.graph.classes, support, counts, strict=True):
        if mass < RARE * support.sum() or n < _FEW_OF_CLASS:
            share = share_text(float(mass / support.sum())) if support.sum() else "none"
            yield ModelLimit(
                "classes", f"{quoted(label)} is rare: {rows_text(n)} rows, {share}; its rates are uncertain."
            )


def _of_rules(rules: Sequence[RuleEntry]) -> Iterator[ModelLimit]:
    few = []
    for entry in rules:
        for figure in entry.figures[:1]:
            if figure.covered < FEW_ROWS:
                few.append(f"{entry.id} ({counted(figure.covered, 'row')} of {figure.table})")
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
            yield ModelLimit(
                "artifacts", f"{file}: equality was tested on rows, not proved: {content.get('proof_reason')}."
            )
        elif file not in subject.verified:
            yield ModelLimit(
                "artifacts", f"{file} was written elsewhere, and what it says of an artifact was not repeated."
            )


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
        yield ModelLimit(
            "history", f"{counted(unproved, 'edit')} may change more than the rules that were edited.", True
        )
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
    pairs.append(("promises", _promises(checked)))
    pairs.append(("artifacts", _artifacts(subject)))
    if groups:
        worst = max(groups, key=lambda found: found.spread["selection rate"] or 0.0)
        spread = worst.spread["selection rate"]
        most = "" if spread is None else f"{100 * spread:.1f} points (by {name(worst.column)})"
        said = f"; selection rates differ by at most {most}" if most else ""
        columns = list(dict.fromkeys(name(found.column) for found in groups))
        pairs.append(("groups", f"by {', '.join(columns)}{said}"))
    serious = [limit.text for limit in limits if limit.serious]
    blocks: list[Block] = [Facts(tuple(pairs))]
    if serious:
        blocks += [Heading("To know before anything else"), Items(tuple(serious))]
    else:
        blocks.append(_nothing_serious(subject, checked))
    data = {"facts": dict(pairs), "to_know": serious}
    return ReportSection("summary", "In short", tuple(blocks), data)


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
