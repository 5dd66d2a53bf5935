"""Repeating a verification from its report, on another machine and without the model file.

The artifact carries the graph that it was exported from. Where the file is that of the report, the same rows are made
again, the artifact is run in the runtime of this machine, and all that the report states is found again and compared.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rulekit.errors import FormatError, InputError, RulekitError
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.targets import find_target_for
from rulekit.verification.parity import artifact_bytes, verify
from rulekit.verification.report import Report, Requirement, is_signed, read_report

# What hangs on given rows, which a report does not have.
OF_GIVEN_ROWS = {"given_rows", "raw_rows", "cells", "different_decisions", "counter_example", "ok"}


@dataclass(frozen=True, slots=True)
class Repetition:
    """What repeating a verification gave; `ok` where nothing differs.

    stated: what the report says that was repeated; differences: in words, one line each; here: the verification on this
    machine against the graph inside the artifact, None where it carries none that can be read.
    """

    stated: Mapping[str, Any]
    differences: tuple[str, ...]
    here: Report | None = None

    @property
    def ok(self) -> bool:
        return not self.differences

    def meets(self, requirement: Requirement) -> bool:
        """Whether all was found again and, on this machine, what is required is proved."""
        return self.ok and self.here is not None and self.here.meets(requirement)

    @property
    def failure(self) -> str:
        """In a word or two what is wrong where something differs."""
        return "CHANGED" if self.here is None else self.here.failure if not self.here.ok else "OTHER REPORT"

    def to_json(self) -> str:
        """As JSON text: whether it was repeated, what differs, and the report of this machine (or null)."""
        here = None if self.here is None else json.loads(self.here.to_json())
        content = {"repeated": self.ok, "differences": list(self.differences), "here": here}
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    def __str__(self) -> str:
        if self.here is None or not self.ok:
            lines = list(self.differences)
        else:
            counted = f"{self.here.adversarial_rows:,} rows: {self.here.different_decisions:,} different decisions"
            lines = [f"{counted}; all that the report states was found again", self.here.conclusion]
            if self.stated["given_rows"]:
                lines.append(f"the {self.stated['given_rows']:,} given rows of the report are not in it")
            if others := _versions(self.stated, self.here):
                lines.append(f"other versions, which are stated and not checked: {others}")
        if self.here is not None and self.here.counter_example is not None:
            lines.append(str(self.here.counter_example))
        return "\n".join(lines)


def verify_against(
    artifact: str | os.PathLike[str],
    report: str | os.PathLike[str],
    *,
    key: bytes | None = None,
    run_untrusted: bool = False,
    deadline: Deadline = NO_LIMIT,
) -> Repetition:
    """Repeat the verification of `report` with `artifact`; a file that is not that of the report is not run.

    key: the report must have its signature. run_untrusted: see `rulekit.verification.parity.verify`. Raises InputError
    where a file cannot be read or the artifact belongs to no target, FormatError where the report is no report or one
    that cannot be repeated.
    """
    stated = read_report(report)
    if key is not None and not is_signed(stated, key):
        return Repetition(stated, ("the report does not have the signature of this key; nothing was run",))
    if not stated["adversarial_rows"]:
        raise FormatError(
            "the report is about given rows alone, which are not in it",
            where=os.fspath(report),
            fix="verify again without --rows 0",
        )
    content = artifact_bytes(artifact)
    target = find_target_for(os.fspath(artifact))
    found = hashlib.sha256(content).hexdigest()
    if found != stated["sha256"] or target.name != stated["target"]:
        line = f"not the file of the report: SHA-256 {found[:12]}, and the report is about {stated['sha256'][:12]}"
        return Repetition(stated, (line, "it was not run; rulekit verify MODEL ARTIFACT compares it with its model"))
    if target.read is None:
        raise InputError(f"artifacts of {target.name} carry no graph", where=os.fspath(artifact))
    try:
        here = verify(
            target.read(content),
            content,
            target=target,
            rows=stated["adversarial_rows"],
            seed=stated["seed"],
            run_untrusted=run_untrusted,
            deadline=deadline,
        )
    except RulekitError as error:
        return Repetition(stated, (f"the artifact cannot be read or run here: {error}",))
    return Repetition(stated, tuple(_unlike(stated, here)), here)


def _unlike(theirs: Mapping[str, Any], here: Report) -> list[str]:
    """What a report states otherwise than it is found here, of all that can be found again."""
    ours = json.loads(here.to_json())
    if theirs["digest"] != ours["digest"]:
        return [f"the report is about the graph {theirs['digest'][:12]}, and the file carries {ours['digest'][:12]}"]
    if ours["adversarial_rows"] < theirs["adversarial_rows"]:
        few = f"{ours['adversarial_rows']:,} of the {theirs['adversarial_rows']:,} rows of the report"
        return [f"there was time for {few}; give more by --time-limit"]
    if theirs["rows_sha256"] != ours["rows_sha256"]:
        versions = _versions(theirs, here) or "with the same versions"
        return [f"other rows were made from the same seed: {versions}"]
    skipped = {"version", "versions", "largest_gap"} | (OF_GIVEN_ROWS if theirs["given_rows"] else set())
    found = [
        f"{name}: the report says {theirs[name]!r:.80}, here it is {ours[name]!r:.80}"
        for name in ours
        if name not in skipped and theirs[name] != ours[name]
    ]
    gaps = theirs["largest_gap"], ours["largest_gap"]
    numbers = all(isinstance(gap, int | float) for gap in gaps)
    # the last bits of exp differ between machines
    if not theirs["given_rows"] and gaps[0] != gaps[1] and not (numbers and abs(gaps[0] - gaps[1]) <= 1e-7):
        found.append(f"largest_gap: the report says {gaps[0]}, here it is {gaps[1]}")
    return found if theirs["ok"] else [*found, "the report itself says that not all is well"]


def _versions(stated: Mapping[str, Any], here: Report) -> str:
    """The versions that are not the same, of the report and of this machine."""
    theirs = {"rulekit": stated["version"], **stated["versions"]}
    ours = {"rulekit": here.version, **here.versions}
    names = [name for name in dict.fromkeys((*theirs, *ours)) if theirs.get(name) != ours.get(name)]
    return "; ".join(f"{name} {theirs.get(name, 'none')} there, {ours.get(name, 'none')} here" for name in names)
