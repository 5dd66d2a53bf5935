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
    def gates(self) -> tuple[str, ...]:
        """The gates that it must pass."""
        alone = self.rollback or not self.before
        return (VERIFY, CHECK) if alone else (VERIFY, CHECK, COMPARE, FIGURES)


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate: whether it holds (None: not known yet), in a line, and the time and the JSON of its report."""

    name: str
    held: bool | None
    said: str
    time: float = 0.0
    report: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """What the history keeps; the report stays with the proofs."""
        return {key: value for key, value in asdict(replace(self, report=None)).items() if key != "report"}


# Reports that are kept ------------------------------------------------------------------------------------------------


def _keep(database: Database, digest: str, gate: str, beside: str, held: bool, body: Mapping[str, Any]) -> None:
    key = (proofs.c.digest == digest) & (proofs.c.gate == gate) & (proofs.c.beside == beside)
    values = {"digest": digest, "gate": gate, "beside": beside, "time": time.time(), "held": held}
    with database.write() as connection:
        database.alone(connection)
        connection.execute(delete(proofs).where(key))
        connection.execute(insert(proofs).values(**values, body=json.dumps(body, default=str)))


def _kept(
    connection: Connection, digest: str, gate: str, beside: str = ""
) -> tuple[float, bool, dict[str, Any]] | None:
    key = (proofs.c.digest == digest) & (proofs.c.gate == gate) & (proofs.c.beside == beside)
    row = connection.execute(select(proofs.c.time, proofs.c.held, proofs.c.body).where(key)).first()
    return None if row is None else (row[0], row[1], json.loads(row[2]))


def _beside(other: str, upload: str) -> str:
    return f"{other} {upload}".strip()


def _measured_on(upload: str, target: str) -> str:
    return f"{upload} {hashlib.sha256(target.encode()).hexdigest()[:VERSION]}"


def known(database: Database, settings: Settings, asked: Promotion) -> list[Gate]:
    """What the kept reports say of each gate."""
    with database.read() as connection:
        judge = {VERIFY: _simple, CHECK: _simple, COMPARE: _flips, FIGURES: _worse}
        return [judge[name](connection, settings, asked, name) for name in asked.gates]


def _simple(connection: Connection, _: Settings, asked: Promotion, name: str) -> Gate:
    kept = _kept(connection, asked.digest, name)
    return Gate(name, None, "not run") if kept is None else Gate(name, kept[1], kept[2]["said"], kept[0], kept[2])


def _flips(connection: Connection, settings: Settings, asked: Promotion, name: str) -> Gate:
    pair = (asked.digest, asked.before)
    for digest, other in (pair, pair[::-1]):  # as many rows flip one way as the other
        if (kept := _kept(connection, digest, COMPARE, _beside(other, asked.upload))) is not None:
            held, said = _within(settings, kept[2]["share"], kept[2]["on"])
            return Gate(name, held, said, kept[0], kept[2])
    return Gate(name, None, "not run")


def _within(settings: Settings, share: float | None, rows: str) -> tuple[bool, str]:
    if share is None:
        return False, f"how many {rows} flip is not known; give an upload"
    return share <= settings.flips, f"{share:.2%} of {rows} flip, and {settings.flips:.2%} may"


def _worse(connection: Connection, settings: Settings, asked: Promotion, name: str) -> Gate:
    beside = _measured_on(asked.upload, asked.target)
    new, old = (_kept(connection, digest, FIGURES, beside) for digest in (asked.digest, asked.before))
    if new is None or old is None:
        return Gate(name, None, "not run")
    here, there = (each[2]["balanced_accuracy"] for each in (new, old))
    said = f"balanced accuracy {here:.2%}, of the champion {there:.2%}; {settings.worse:g} points less may be"
    held = 100.0 * (there - here) <= settings.worse + 1e-9
    return Gate(name, held, said, max(new[0], old[0]), {"of_the_version": new[2], "of_the_champion": old[2]})


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
        if not gate.held:
            try:
                todo[gate.name]()
            except RulekitError as error:
                faults[gate.name] = error.what
    found = known(job.database, job.settings, asked)
    return [replace(gate, held=False, said=faults[gate.name]) if gate.name in faults else gate for gate in found]


def _proof(job: Job, digest: str, gate: str, held: bool, said: str, report: Mapping[str, Any]) -> Gate:
    body = {"said": said, **report}
    _keep(job.database, digest, gate, "", held, body)
    return Gate(gate, held, said, time.time(), body)


def verified(job: Job, digest: str) -> Gate:
    """Whether the ONNX of a version is proved to decide as its rules."""
    model, output = job.model(digest), job.folder / "model.onnx"
    try:
        models.export(model, output, "onnx", {})
        found = models.verify(model, output, deadline=job.deadline())
    except RulekitError as error:  # such as texts, which ONNX cannot express
        return _proof(job, digest, VERIFY, False, error.what, {})
    held = found.meets("proof")
    said = found.conclusion if found.ok else f"{found.failure.lower()}: {str(found).partition(chr(10))[0]}"
    return _proof(job, digest, VERIFY, held, said, json.loads(found.to_json()))


def checked(job: Job, digest: str) -> Gate:
    """Whether no promise of a version is broken."""
    found = models.check(job.model(digest), job.deadline())
    broken = [verdict.as_dict() for verdict in found.verdicts if verdict.outcome == "fails"]
    said = f"{len(broken)} promises are broken" if broken else f"no promise is broken, of {len(found.verdicts)}"
    return _proof(job, digest, CHECK, found.ok, said, found.as_dict())


def compared(job: Job, digest: str, other: str, upload: str = "") -> Gate:
    """Which share of rows a version decides otherwise than another one."""
    old, new = job.model(other, "beside.json"), job.model(digest)
    found = models.compare(old, new, job.upload(upload) if upload else None, deadline=job.deadline())
    rows, share = "the combinations of cells", None
    if found.rows is not None:
        rows, share = "the rows of the upload", found.rows.changed / found.rows.n if found.rows.n else None
    elif found.equal:
        share = 0.0
    elif found.proved_by == "cells" and all(flip.cells is not None for flip in found.flips):
        share = sum(flip.cells or 0 for flip in found.flips) / found.cells
    held, said = _within(job.settings, share, rows)
    body = {"said": said, "share": share, "on": rows, "upload": upload, **replace(found, names=("A", "B")).as_dict()}
    _keep(job.database, digest, COMPARE, _beside(other, upload), held, body)
    return Gate(COMPARE, held, said, time.time(), body)


def measured(job: Job, digests: Sequence[str], upload: str, target: str) -> None:
    """Keep the figures of some versions on an upload."""
    reading = replace(DEFAULT_OPTIONS, target=target)
    for digest in digests:
        found = evaluate(job.model(digest), job.upload(upload), reading).figures
        recalls = [own.recall for own in found.classes if own.support]
        balanced = sum(recalls) / len(recalls)
        body: dict[str, Any] = {"said": f"balanced accuracy {balanced:.2%}", "target": target, "upload": upload}
        body |= {"balanced_accuracy": balanced, "figures": found.as_dict()}
        _keep(job.database, digest, FIGURES, _measured_on(upload, target), True, body)


def move(registry: Registry, asked: Promotion, by: str, gates: list[Gate], **said: Any) -> int:
    """Make a version champion where `before` still is; the history keeps the gates."""
    kept = {"gates": [gate.as_dict() for gate in gates], "rollback": asked.rollback, **said}
    if asked.upload:
        kept |= {"upload": asked.upload, "target": asked.target}
    return registry.move(asked.model, CHAMPION, asked.digest, by, asked.reason, asked.before, **kept)
