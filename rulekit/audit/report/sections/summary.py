"""The first page: what the model does, how well, what is proved, and what a reader must know before anything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rulekit.audit.checks.checking import Checked
from rulekit.audit.figures.groups import Parity
from rulekit.audit.report.blocks import Block, Facts, Heading, Items, Section, Text
from rulekit.audit.report.numbers import bounded_share, number_text, share_text
from rulekit.audit.report.sections.limits import Limit
from rulekit.audit.report.sections.verified_artifacts import foreign
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.readable import counted
from rulekit.graph.language.words import name, quoted
from rulekit.graph.rules import counts


def summary_section(
    subject: Subject,
    performance: Mapping[str, Any],
    checked: Checked,
    groups: Sequence[Parity],
    limits: Sequence[Limit],
) -> Section:
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
    return Section("summary", "In short", tuple(blocks), data)


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
