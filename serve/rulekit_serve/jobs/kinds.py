"""The work of each kind of job; what it returns is the result, with `failed` where it did not reach its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from rulekit_serve.jobs.running import Job
from rulekit_serve.registry import CHAMPION, VERSION
from rulekit_serve.store.log import calls
from rulekit_serve.store.tables import decisions

_RUNG = ("size", "error", "standard_error", "macro_f1", "rules", "literals")


def _train(job: Job) -> dict[str, Any]:
    upload = uploads.one(job.database, job.asked["upload"])
    found = train(training(job.asked, job.settings.uploads / upload["id"]), job.progress)
    job.check()  # the model so far is not what was asked for
    known = {"job": job.id, "upload": upload["id"], "sha256": upload["sha256"], "learner": job.asked["learner"]}
    name, ladder = job.asked["model"], found.model.ladder
    digest = job.registry.add(name, found.model, job.by, "trained", **known)
    told = {key: getattr(found, key) for key in ("measured_on", "chosen", "seconds")}
    told |= {"figures": found.figures.as_dict(), "notes": [*found.notes, *found.ways_out], "ladder": []}
    if ladder is not None:
        told["ladder"] = [{key: getattr(rung, key) for key in _RUNG} for rung in ladder.rungs]
    return {"model": name, "version": digest[:VERSION], "digest": digest, **told}


def _report(job: Job) -> dict[str, Any]:
    """The report of a version on an upload, as a page."""
    model, data = job.model(job.asked["version"]), job.settings.uploads / job.asked["upload"]
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
    """Which recorded decisions of the model would change under a version; all of them as a table."""
    output = job.folder / "others.csv"
    decider = job.registry.decider(job.asked["model"], job.asked["version"])
    found = replay_decisions(decider, _recorded(job), name=job.asked["version"][:VERSION], output=output)
    return {**found.as_dict(), "lines": list(found.lines()), "report": _kept(job, output)}


def _recorded(job: Job) -> Iterator[list[dict[str, Any]]]:
    """The decisions of the model in the asked time, in blocks from the first to the last one."""
    at = decisions.c
    mine = (at.model == job.asked["model"], at.time >= job.asked["from"], at.time < job.asked["to"])
    with job.database.read() as connection:
        count, last = connection.execute(select(func.sum(at.n), func.max(at.number)).where(*mine)).one()
    done, block = 0, list[dict[str, Any]]()
    for call in calls(job.database, *mine, at.number <= (last or 0)):
        block += [{**one, "time": str(one["time"])} for one in call]
        if len(block) >= BLOCK:
            done += len(block)
            job.stage("deciding again", done / count)
            yield block
            block = []
    if block:
        yield block


def _promote(job: Job) -> dict[str, Any]:
    asked = gates.Promotion(**job.asked)
    found = gates.run(job, asked)
    if failed := [f"{gate['name']}: {gate['said']}" for gate in found if not gate["held"]]:
        return {"gates": found, "failed": f"{CHAMPION} stays: {'; '.join(failed)}"}
    job.check()
    return gates.move(job.registry, asked, job.by, found)


WORK: dict[str, Callable[[Job], dict[str, Any]]] = {
    "train": _train,
    "verify": lambda job: gates.verified(job, job.asked["version"]),
    "check": lambda job: gates.checked(job, job.asked["version"]),
    "compare": lambda job: gates.compared(job, *(job.asked.get(key, "") for key in ("version", "beside", "upload"))),
    "report": _report,
    "replay": _replay,
    "promote": _promote,
}
