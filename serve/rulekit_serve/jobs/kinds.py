"""The work of each kind of job; what it returns is the result of the job."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from rulekit.tables.options import DEFAULT_OPTIONS
from rulekit.work.replaying import BLOCK, replay_decisions
from rulekit.work.reporting import report
from rulekit.work.training import train
from rulekit_serve.jobs import gates, uploads
from rulekit_serve.jobs.requests import training
from rulekit_serve.jobs.running import EndedError, Job
from rulekit_serve.registry import CHAMPION, VERSION
from rulekit_serve.store.tables import decisions


class FailedError(Exception):
    """The job did what it could, and did not reach its end; result: what it found."""

    def __init__(self, what: str, result: Mapping[str, Any]) -> None:
        super().__init__(what)
        self.result = result


def _train(job: Job) -> dict[str, Any]:
    upload = uploads.one(job.database, job.asked["upload"])
    found = train(training(job.asked, job.upload(upload["id"])), job.progress)
    if job.heart.is_cancelled():  # the model so far is not what was asked for
        raise EndedError
    known = {"job": job.id, "upload": upload["id"], "sha256": upload["sha256"], "learner": job.asked["learner"]}
    name, ladder = job.asked["model"], found.model.ladder
    digest = job.registry.add(name, found.model, job.by, "trained", **known)
    rungs = [] if ladder is None else ladder.rungs
    columns = ("size", "error", "standard_error", "macro_f1", "rules", "literals")
    return {
        "model": name,
        "version": digest[:VERSION],
        "digest": digest,
        "figures": found.figures.as_dict(),
        "measured_on": found.measured_on,
        "chosen": found.chosen,
        "seconds": found.seconds,
        "notes": [*found.notes, *found.ways_out],
        "ladder": [{key: getattr(rung, key) for key in columns} for rung in rungs],
    }


def _proved(gate: gates.Gate) -> dict[str, Any]:
    return {"held": gate.held, "said": gate.said, "report": gate.report}


def _verify(job: Job) -> dict[str, Any]:
    return _proved(gates.verified(job, job.asked["version"]))


def _check(job: Job) -> dict[str, Any]:
    return _proved(gates.checked(job, job.asked["version"]))


def _compare(job: Job) -> dict[str, Any]:
    return _proved(gates.compared(job, job.asked["version"], job.asked["beside"], job.asked.get("upload", "")))


def _report(job: Job) -> dict[str, Any]:
    """The report of a version on an upload, as a page."""
    model, data = job.model(job.asked["version"]), job.upload(job.asked["upload"])
    output = job.folder / "report.html"
    reading = replace(DEFAULT_OPTIONS, target=job.asked.get("target"))
    found = report(model, data, outputs=[output], reading=reading, deadline=job.deadline())
    return {"report": _kept(job, output), "notes": list(found.notes)}


def _kept(job: Job, output: Path) -> str:
    """Keep a file for those who ask for the report of the job; where it is."""
    job.settings.reports.mkdir(exist_ok=True)
    output.replace(job.settings.reports / f"{job.id}{output.suffix}")
    return f"/jobs/{job.id}/report"


def _replay(job: Job) -> dict[str, Any]:
    """Which recorded decisions of the model would be others under a version; all of them as a table."""
    output = job.folder / "others.csv"
    decider = job.registry.decider(job.asked["model"], job.asked["version"])
    found = replay_decisions(decider, _recorded(job), name=job.asked["version"][:VERSION], output=output)
    return {**found.as_dict(), "lines": list(found.lines()), "report": _kept(job, output)}


def _recorded(job: Job) -> Iterator[list[dict[str, Any]]]:
    """The decisions of the model in the asked time, in blocks from the first to the last one."""
    at = decisions.c
    mine = (at.model == job.asked["model"], at.time >= job.asked["from"], at.time < job.asked["to"])
    with job.database.read() as connection:
        count, last = connection.execute(select(func.count(), func.max(at.number)).where(*mine)).one()
    columns = [at[name] for name in ("number", "id", "time", "model", "digest", "row", "masked", "label", "rules")]
    done, number = 0, 0
    while done < count:
        chosen = select(*columns).where(*mine, at.number > number, at.number <= last).order_by(at.number)
        with job.database.read() as connection:
            rows = connection.execute(chosen.limit(BLOCK)).mappings().all()
        if not rows:
            return
        done, number = done + len(rows), rows[-1]["number"]
        job.stage("deciding again", done / count)
        yield [
            {
                **{key: row[key] for key in ("id", "model", "digest")},
                **{key: json.loads(row[key]) for key in ("row", "masked", "label")},
                "time": str(row["time"]),
                "rules": row["rules"].split(),
            }
            for row in rows
        ]


def _promote(job: Job) -> dict[str, Any]:
    asked = gates.Promotion(**job.asked["promotion"])
    found = gates.run(job, asked)
    result = {"gates": [gate.as_dict() for gate in found]}
    failed = [gate for gate in found if not gate.held]
    if failed:
        what = "; ".join(f"{gate.name}: {gate.said}" for gate in failed)
        raise FailedError(f"{CHAMPION} stays: {what}", result)
    if job.heart.is_cancelled():
        raise EndedError
    event = gates.move(job.registry, asked, job.by, found)
    return {**result, "event": event, "digest": asked.digest}


WORK: dict[str, Callable[[Job], dict[str, Any]]] = {
    "train": _train,
    "verify": _verify,
    "check": _check,
    "compare": _compare,
    "report": _report,
    "replay": _replay,
    "promote": _promote,
}
