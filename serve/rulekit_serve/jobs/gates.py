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
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, select

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
    def compares(self) -> bool:
        """Whether it is judged beside the champion."""
        return bool(self.before) and not self.rollback


# Reports that are kept ------------------------------------------------------------------------------------------------


def _where(digest: str, gate: str, beside: str) -> ColumnElement[bool]:
    return (proofs.c.digest == digest) & (proofs.c.gate == gate) & (proofs.c.beside == beside)


def _keep(job: Job, digest: str, gate: str, body: dict[str, Any], beside: str = "") -> dict[str, Any]:
    """Keep a report in the place of an older one; body: whether it holds, and what is said of it, among others."""
    values = {"digest": digest, "gate": gate, "beside": beside, "time": time.time(), "held": body["held"]}
    with job.database.alone() as connection:
        connection.execute(delete(proofs).where(_where(digest, gate, beside)))
        connection.execute(insert(proofs).values(**values, body=json.dumps(body, default=str)))
    return body


def _kept(database: Database, digest: str, gate: str, beside: str = "") -> dict[str, Any]:
    """What a report says and when it was made; nothing where there is none."""
    row = database.first(select(proofs).where(_where(digest, gate, beside)))
    return {} if row is None else {**json.loads(row["body"]), "time": row["time"], "held": row["held"]}


def _measured_on(upload: str, target: str) -> str:
    return f"{upload} {hashlib.sha256(target.encode()).hexdigest()[:VERSION]}"


def _within(settings: Settings, share: float | None, rows: str) -> dict[str, Any]:
    if share is None:
        return {"held": False, "said": f"how many of {rows} get another decision is not known; give an upload"}
    said = f"{share:.2%} of {rows} get another decision; at most {settings.flips:.2%} may"
    return {"held": share <= settings.flips, "said": said}


def known(database: Database, settings: Settings, asked: Promotion) -> list[dict[str, Any]]:
    """Of each gate that a version must pass its name, whether it holds (None: not known yet), why, and since when."""
    found = {name: _kept(database, asked.digest, name) for name in (VERIFY, CHECK)}
    if asked.compares:
        found |= {COMPARE: _flips(database, settings, asked), FIGURES: _worse(database, settings, asked)}
    open_ = {"held": None, "said": "not run", "time": 0.0}
    return [{"name": name} | {key: kept.get(key, open_[key]) for key in open_} for name, kept in found.items()]


def _flips(database: Database, settings: Settings, asked: Promotion) -> dict[str, Any]:
    pair = (asked.digest, asked.before)
    for digest, other in (pair, pair[::-1]):  # as many rows flip one way as the other
        if kept := _kept(database, digest, COMPARE, f"{other} {asked.upload}".strip()):
            return kept | _within(settings, kept["share"], kept["on"])
    return {}


def _worse(database: Database, settings: Settings, asked: Promotion) -> dict[str, Any]:
    beside = _measured_on(asked.upload, asked.target)
    new, old = (_kept(database, digest, FIGURES, beside) for digest in (asked.digest, asked.before))
    if not new or not old:
        return {}
    here, there = new["balanced_accuracy"], old["balanced_accuracy"]
    points = f"{settings.worse:g} point{'s' * (settings.worse != 1.0)}"
    said = f"balanced accuracy {here:.2%}; the champion has {there:.2%}, and at most {points} less is allowed"
    held = 100.0 * (there - here) <= settings.worse + 1e-9
    return {"held": held, "said": said, "time": max(new["time"], old["time"])}


# Making them ----------------------------------------------------------------------------------------------------------


def run(job: Job, asked: Promotion) -> list[dict[str, Any]]:
    """All gates, those run whose report is not kept or does not hold."""
    todo: dict[str, Callable[[], object]] = {
        VERIFY: lambda: verified(job, asked.digest),
        CHECK: lambda: checked(job, asked.digest),
        COMPARE: lambda: compared(job, asked.digest, asked.before, asked.upload),
        FIGURES: lambda: measured(job, (asked.digest, asked.before), asked.upload, asked.target),
    }
    faults: dict[str, dict[str, Any]] = {}
    for gate in known(job.database, job.settings, asked):
        job.stage(gate["name"], 0.0)
        try:
            if not gate["held"]:
                todo[gate["name"]]()
        except RulekitError as error:
            faults[gate["name"]] = {"held": False, "said": error.what}
    return [gate | faults.get(gate["name"], {}) for gate in known(job.database, job.settings, asked)]


def verified(job: Job, digest: str) -> dict[str, Any]:
    """Whether the ONNX of a version is proved to decide as its rules."""
    model, output = job.model(digest), job.folder / "model.onnx"
    try:
        models.export(model, output, "onnx", {})
        found = models.verify(model, output, deadline=job.deadline())
    except RulekitError as error:  # such as a model that ONNX cannot express
        return _keep(job, digest, VERIFY, {"held": False, "said": error.what})
    said = found.conclusion if found.ok else f"{found.failure.lower()}: {str(found).splitlines()[0]}"
    return _keep(job, digest, VERIFY, json.loads(found.to_json()) | {"held": found.meets("proof"), "said": said})


def checked(job: Job, digest: str) -> dict[str, Any]:
    """Whether no promise of a version is broken."""
    found = models.check(job.model(digest), job.deadline())
    broken = sum(verdict.outcome == "fails" for verdict in found.verdicts)
    said = f"{broken} of {len(found.verdicts)} promises are broken" if broken else "no promise is broken"
    return _keep(job, digest, CHECK, found.as_dict() | {"held": found.ok, "said": said})


def compared(job: Job, digest: str, other: str, upload: str = "") -> dict[str, Any]:
    """Which share of rows a version decides otherwise than another one."""
    old, new = job.model(other, "beside.json"), job.model(digest)
    rows = job.settings.uploads / upload if upload else None
    found = models.compare(old, new, rows, deadline=job.deadline())
    on, share = "the combinations of cells", None
    if found.rows is not None:
        on, share = "the rows of the upload", found.rows.changed / max(1, found.rows.n)
    elif found.equal:
        share = 0.0
    elif found.proved_by == "cells":
        share = sum(flip.cells or 0 for flip in found.flips) / found.cells
    body = replace(found, names=("A", "B")).as_dict() | {"share": share, "on": on}
    return _keep(job, digest, COMPARE, body | _within(job.settings, share, on), f"{other} {upload}".strip())


def measured(job: Job, digests: Sequence[str], upload: str, target: str) -> None:
    """Keep the figures of some versions on an upload."""
    reading = replace(DEFAULT_OPTIONS, target=target)
    for digest in digests:
        found = evaluate(job.model(digest), job.settings.uploads / upload, reading).figures
        recalls = [own.recall for own in found.classes if own.support]
        balanced = sum(recalls) / len(recalls)
        body = {"held": True, "said": f"balanced accuracy {balanced:.2%}", "balanced_accuracy": balanced}
        body |= {"target": target, "figures": found.as_dict()}
        _keep(job, digest, FIGURES, body, _measured_on(upload, target))


def move(registry: Registry, asked: Promotion, by: str, gates: Sequence[Any], **said: Any) -> dict[str, Any]:
    """Make a version champion where `before` still is; the history keeps the gates. What is told of it."""
    kept = {"gates": gates, "rollback": asked.rollback, **said}
    if asked.upload:
        kept |= {"upload": asked.upload, "target": asked.target}
    event = registry.move(asked.model, CHAMPION, asked.digest, by, asked.reason, asked.before, **kept)
    return {"alias": CHAMPION, "digest": asked.digest, "event": event, **kept}
