"""The work of each kind of job; what it returns is the result of the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rulekit.tables.options import DEFAULT_OPTIONS
from rulekit.work.reporting import report
from rulekit.work.training import train
from rulekit_serve.jobs import gates, uploads
from rulekit_serve.jobs.requests import training
from rulekit_serve.jobs.running import EndedError, Job
from rulekit_serve.registry import CHAMPION, VERSION


class FailedError(Exception):
    """The job did what it could, and did not reach its end; result: what it found."""

    def __init__(self, what: str, result: Mapping[str, Any]) -> None:
        super().__init__(what)
        self.result = result


def _train(job: Job) -> dict[str, Any]:
    upload = uploads.one(job.database, job.asked["upload"])
    found = train(training(job.asked, job.upload(upload["id"])), job.progress)
    if job.heart.cancelled.is_set():  # the model so far is not what was asked for
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
    model, data = job.model(job.asked["version"]), job.upload(job.asked["upload"])
    output = job.folder / "report.html"
    reading = replace(DEFAULT_OPTIONS, target=job.asked.get("target"))
    found = report(model, data, outputs=[output], reading=reading, deadline=job.deadline())
    job.settings.reports.mkdir(exist_ok=True)
    kept = job.settings.reports / f"{job.id}.html"
    part = kept.with_suffix(".part")
    part.write_bytes(output.read_bytes())
    part.replace(kept)
    return {"report": f"/jobs/{job.id}/report", "notes": list(found.notes)}


def _promote(job: Job) -> dict[str, Any]:
    asked = gates.Promotion(**job.asked["promotion"])
    found = gates.run(job, asked)
    result = {"gates": [gate.as_dict() for gate in found]}
    failed = [gate for gate in found if not gate.held]
    if failed:
        what = "; ".join(f"{gate.name}: {gate.said}" for gate in failed)
        raise FailedError(f"{CHAMPION} stays: {what}", result)
    event = gates.move(job.registry, asked, job.by, found)
    return {**result, "event": event, "digest": asked.digest}


WORK: dict[str, Callable[[Job], dict[str, Any]]] = {
    "train": _train,
    "verify": _verify,
    "check": _check,
    "compare": _compare,
    "report": _report,
    "promote": _promote,
}
