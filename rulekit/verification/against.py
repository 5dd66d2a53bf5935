"""Repeating a verification from its report, on another machine and without the model file.

The artifact carries the graph that it was exported from. Where its digest is that of the report, the same rows are made
again, the artifact is run in the runtime of this machine, and rows, decisions and the file itself are compared by their
digests; row by row, what it answers is compared with the graph inside of it.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass

from rulekit.errors import FormatError, InputError, RulekitError
from rulekit.graph.files.model_files import read_bounded
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Target, find_target_for
from rulekit.verification.parity import verify
from rulekit.verification.report import Report
from rulekit.verification.report_file import Stated, read_report

MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Repetition:
    """What repeating a verification gave; `ok` where nothing differs.

    differences: in words, one line each; here: the verification on this machine against the graph inside the artifact,
    None where it carries none that can be read; stated: the report that was repeated.
    """

    stated: Stated
    differences: tuple[str, ...]
    here: Report | None = None

    @property
    def ok(self) -> bool:
        return not self.differences

    def to_json(self) -> str:
        """As JSON text: whether it was repeated, what differs, and the report of this machine (or null)."""
        here = None if self.here is None else json.loads(self.here.to_json())
        content = {"repeated": self.ok, "differences": list(self.differences), "here": here}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def __str__(self) -> str:
        if self.here is None:
            return "\n".join(self.differences)
        counted = f"{self.here.adversarial_rows:,} rows: {self.here.different_decisions:,} different decisions"
        if not self.ok:
            lines = [f"{counted} from the graph inside the artifact", *self.differences]
        else:
            lines = [f"{counted}; file, graph, rows and decisions are those of the report", self.here.conclusion]
            if self.stated.given_rows:
                lines.append(f"the {self.stated.given_rows:,} given rows of the report are not in it")
        if self.here.counter_example is not None:
            lines.append(str(self.here.counter_example))
        return "\n".join(lines)


def verify_against(artifact: str | os.PathLike[str], report: str | os.PathLike[str]) -> Repetition:
    """Repeat the verification of `report` with `artifact`.

    Raises InputError where a file cannot be read or the artifact belongs to no target, FormatError where the report is
    no report or one that cannot be repeated.
    """
    stated = read_report(report)
    if not stated.adversarial_rows:
        raise FormatError(
            "the report is about given rows alone, which are not in it",
            where=os.fspath(report),
            fix="verify again without --rows 0",
        )
    content = read_bounded(artifact, MAX_BYTES)
    where = os.fspath(artifact)
    target = find_target_for(where)
    changed = hashlib.sha256(content).hexdigest() != stated.sha256
    differences = []
    if target.name != stated.target:
        differences.append(
            f"another target: an artifact of {target.name}, and the report is about one of {stated.target}"
        )
    if not stated.ok:
        differences.append("the report itself says that the artifact differs from its model")
    try:
        graph = _carried(target, content)
    except RulekitError as error:
        state = "damaged" if changed else "unreadable"
        line = f"{state}: {error}; there is no graph to compare with"
        return Repetition(stated, (*differences, line))
    try:
        here = verify(graph, content, target=target, rows=stated.adversarial_rows, seed=stated.seed)
    except (InputError, FormatError) as error:
        line = f"{'tampered: ' if changed else ''}the artifact cannot be run here: {error}"
        return Repetition(stated, (*differences, line))
    differences += _of_file(stated, here, graph, changed)
    return Repetition(stated, tuple(differences), here)


def _carried(target: Target, content: bytes) -> RuleGraph:
    if target.read is None:
        raise InputError(f"artifacts of {target.name} carry no graph")
    return target.read(content)


def _of_file(stated: Stated, here: Report, graph: RuleGraph, changed: bool) -> list[str]:
    """What is not as the report says: the file, the graph, the rows, the decisions."""
    found = []
    same_graph = graph.digest == stated.digest
    if not same_graph:
        found.append(
            f"foreign: it carries the graph {graph.digest[:12]}, and the report is about {stated.digest[:12]}"
            if changed
            else f"the report compared it with the graph {stated.digest[:12]}, which it does not carry"
        )
    elif changed and here.ok:
        found.append("changed: not the file of the report, though it carries the same graph and decides like it")
    elif changed:
        found.append("tampered: not the file of the report; it carries the same graph and does not answer like it")
    elif not here.ok:
        found.append("this machine answers otherwise than the graph inside")
    if changed or not same_graph:
        return found
    if here.rows_sha256 != stated.rows_sha256:
        found.append(f"other rows were made from the same seed: {_versions(stated, here)}")
    elif here.decisions_sha256 != stated.decisions_sha256:
        found.append(f"decisions differ from those of the report: {_versions(stated, here)}")
    if stated.proof == "proved" and here.proof != "proved":
        found.append(f"the report says proved, here it is {here.conclusion}")
    return found


def _versions(stated: Stated, here: Report) -> str:
    """The versions that are not the same, of the report and of this machine."""
    theirs = {"rulekit": stated.version, **stated.versions}
    ours = {"rulekit": here.version, **here.versions}
    names = [name for name in dict.fromkeys((*theirs, *ours)) if theirs.get(name) != ours.get(name)]
    listed = (f"{name} {theirs.get(name, 'none')} there, {ours.get(name, 'none')} here" for name in names)
    return "; ".join(listed) or "with the same versions"
