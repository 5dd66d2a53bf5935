"""What a version must prove before it becomes champion, by reports that are kept and not made twice.

verify: its ONNX is proved to decide as its rules. check: no promise is broken. compare: it flips at most a stated share
of the rows of an upload, or of all combinations of cells. figures: its balanced accuracy on an upload is lower than
that of the champion by at most some percentage points. The first champion needs verify and check alone, and so does
the version that the present champion replaced.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from rulekit.errors import RulekitError
from rulekit.tables.options import DEFAULT_OPTIONS
from rulekit.work import models
from rulekit.work.evaluating import evaluate
from rulekit_serve.jobs.running import Job
from rulekit_serve.registry import CHAMPION, VERSION, Registry
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import proofs

VERIFY, CHECK, COMPARE, FIGURES = "verify", "check", "compare", "figures"
_EVERY = "the combinations of cells"


@dataclass(frozen=True, slots=True)
class Promotion:
    """Which version of a model is to be champion in the place of `before` ("" for none), and the rows that judge it.

    rollback: it is the version that the present champion replaced.
    """

    model: str
    digest: str
    before: str
    reason: str
    upload: str = ""
    target: str = ""
    rollback: bool = False

    @property
    def compares(self) -> bool:
        """Whether it is judged beside the champion."""
        return bool(self.before) and not self.rollback


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate: whether it holds (None: not known yet), in a line, and the time of its report."""

    name: str
    held: bool | None = None
    said: str = "not run"
    time: float = 0.0


# Reports that are kept ------------------------------------------------------------------------------------------------


def _keep(job: Job, digest: str, gate: str, held: bool, body: Mapping[str, Any], beside: str = "") -> dict[str, Any]:
    """Keep a report in the place of an older one; its JSON values."""
    key = (proofs.c.digest == digest) & (proofs.c.gate == gate) & (proofs.c.beside == beside)
    values = {"digest": digest, "gate": gate, "beside": beside, "time": time.time(), "held": held}
    with job.database.alone() as connection:
        connection.execute(delete(proofs).where(key))
        connection.execute(insert(proofs).values(**values, body=json.dumps(body, default=str)))
    return {"held": held, **body}


def _kept(connection: Connection, digest: str, gate: str, beside: str = "") -> dict[str, Any] | None:
    key = (proofs.c.digest == digest) & (proofs.c.gate == gate) & (proofs.c.beside == beside)
    row = connection.execute(select(proofs.c.time, proofs.c.held, proofs.c.body).where(key)).first()
    return None if row is None else {**json.loads(row.body), "time": row.time, "held": row.held}


def _measured_on(upload: str, target: str) -> str:
    return f"{upload} {hashlib.sha256(target.encode()).hexdigest()[:VERSION]}"


def _within(settings: Settings, share: float | None, rows: str) -> tuple[bool, str]:
    if share is None:
        return False, f"how many of {rows} get another decision is not known; give an upload"
    return share <= settings.flips, f"{share:.2%} of {rows} get another decision; at most {settings.flips:.2%} may"


def known(database: Database, settings: Settings, asked: Promotion) -> list[Gate]:
    """What the kept reports say of each gate that a version must pass."""
    found = []
    with database.read() as connection:
        for name in (VERIFY, CHECK):
            kept = _kept(connection, asked.digest, name)
            found.append(Gate(name, kept["held"], kept["said"], kept["time"]) if kept else Gate(name))
        if asked.compares:
            found += [_flips(connection, settings, asked), _worse(connection, settings, asked)]
    return found


def _flips(connection: Connection, settings: Settings, asked: Promotion) -> Gate:
    pair = (asked.digest, asked.before)
    for digest, other in (pair, pair[::-1]):  # as many rows flip one way as the other
        if kept := _kept(connection, digest, COMPARE, f"{other} {asked.upload}".strip()):
            return Gate(COMPARE, *_within(settings, kept["share"], kept["on"]), kept["time"])
    return Gate(COMPARE)


def _worse(connection: Connection, settings: Settings, asked: Promotion) -> Gate:
    beside = _measured_on(asked.upload, asked.target)
    new, old = (_kept(connection, digest, FIGURES, beside) for digest in (asked.digest, asked.before))
    if new is None or old is None:
        return Gate(FIGURES)
    here, there = new["balanced_accuracy"], old["balanced_accuracy"]
    points = f"{settings.worse:g} point{'s' * (settings.worse != 1.0)}"
    said = f"balanced accuracy {here:.2%}; the champion has {there:.2%}, and at most {points} less is allowed"
    return Gate(FIGURES, 100.0 * (there - here) <= settings.worse + 1e-9, said, max(new["time"], old["time"]))


# Making them ----------------------------------------------------------------------------------------------------------


def run(job: Job, asked: Promotion) -> list[Gate]:
    """All gates, those run whose report is not kept or does not hold."""
    todo: dict[str, Callable[[], object]] = {
        VERIFY: lambda: verified(job, asked.digest),
        CHECK: lambda: checked(job, asked.digest),
        COMPARE: lambda: compared(job, asked.digest, asked.before, asked.upload),
        FIGURES: lambda: measured(job, (asked.digest, asked.before), asked.upload, asked.target),
    }
    faults: dict[str, str] = {}
    for gate in known(job.database, job.settings, asked):
        job.stage(gate.name, 0.0)
        try:
            if not gate.held:
                todo[gate.name]()
        except RulekitError as error:
            faults[gate.name] = error.what
    found = known(job.database, job.settings, asked)
    return [replace(gate, held=False, said=faults[gate.name]) if gate.name in faults else gate for gate in found]


def verified(job: Job, digest: str) -> dict[str, Any]:
    """Whether the ONNX of a version is proved to decide as its rules."""
    model, output = job.model(digest), job.folder / "model.onnx"
    try:
        models.export(model, output, "onnx", {})
        found = models.verify(model, output, deadline=job.deadline())
    except RulekitError as error:  # such as texts, which ONNX cannot express
        return _keep(job, digest, VERIFY, False, {"said": error.what})
    said = found.conclusion if found.ok else f"{found.failure.lower()}: {str(found).splitlines()[0]}"
    return _keep(job, digest, VERIFY, found.meets("proof"), {"said": said, **json.loads(found.to_json())})


def checked(job: Job, digest: str) -> dict[str, Any]:
    """Whether no promise of a version is broken."""
    found = models.check(job.model(digest), job.deadline())
    broken = sum(verdict.outcome == "fails" for verdict in found.verdicts)
    said = f"{broken} of {len(found.verdicts)} promises are broken" if broken else "no promise is broken"
    return _keep(job, digest, CHECK, found.ok, {"said": said, **found.as_dict()})


def compared(job: Job, digest: str, other: str, upload: str = "") -> dict[str, Any]:
    """Which share of rows a version decides otherwise than another one."""
    old, new = job.model(other, "beside.json"), job.model(digest)
    found = models.compare(old, new, job.upload(upload) if upload else None, deadline=job.deadline())
    rows, share = _EVERY, None
    if found.rows is not None:
        rows, share = "the rows of the upload", found.rows.changed / max(1, found.rows.n)
    elif found.equal:
        share = 0.0
    elif found.proved_by == "cells":
        share = sum(flip.cells or 0 for flip in found.flips) / found.cells
    held, said = _within(job.settings, share, rows)
    body = {"said": said, "share": share, "on": rows, **replace(found, names=("A", "B")).as_dict()}
    return _keep(job, digest, COMPARE, held, body, f"{other} {upload}".strip())


def measured(job: Job, digests: Sequence[str], upload: str, target: str) -> None:
    """Keep the figures of some versions on an upload."""
    reading = replace(DEFAULT_OPTIONS, target=target)
    for digest in digests:
        found = evaluate(job.model(digest), job.upload(upload), reading).figures
        recalls = [own.recall for own in found.classes if own.support]
        balanced = sum(recalls) / len(recalls)
        body = {"said": f"balanced accuracy {balanced:.2%}", "balanced_accuracy": balanced, "target": target}
        _keep(job, digest, FIGURES, True, {**body, "figures": found.as_dict()}, _measured_on(upload, target))


def move(registry: Registry, asked: Promotion, by: str, gates: Sequence[Gate], **said: Any) -> dict[str, Any]:
    """Make a version champion where `before` still is; the history keeps the gates. What is told of it."""
    kept = {"gates": [asdict(gate) for gate in gates], "rollback": asked.rollback, **said}
    if asked.upload:
        kept |= {"upload": asked.upload, "target": asked.target}
    event = registry.move(asked.model, CHAMPION, asked.digest, by, asked.reason, asked.before, **kept)
    return {"alias": CHAMPION, "digest": asked.digest, "event": event, **kept}
