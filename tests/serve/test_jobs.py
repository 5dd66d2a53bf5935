"""Uploads and jobs: what comes in, what runs, and how it ends where it is cancelled, late or killed."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs import supervisor, table, uploads
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database
from serving import OTHER, Running, loans, running
from starlette.requests import Request

ROWS = "amount,age,city,granted\n" + "".join(
    f"{amount},{age},{city},{'yes' if (amount > 1000 and age <= 30) or city == 'there' else 'no'}\n"
    for amount in range(500, 2500, 100)
    for age in (20, 30, 40)
    for city in ("here", "there")
)
NOISE = "a,b,granted\n" + "".join(
    f"{i},{i * i % 97},{'yes' if hashlib.sha256(bytes([i])).digest()[0] % 2 else 'no'}\n" for i in range(200)
)
LONG = {"learner": "gramression", "parameters": {"n_steps": 10**9}}
"""A training of hours."""


def _sent(served: Running, rows: str = ROWS, name: str = "loans.csv") -> Any:
    headers = served.as_["train"] | {"x-file-name": name}
    return served.client.post("/uploads", content=rows.encode(), headers=headers)


def _asked(served: Running, kind: str, **given: Any) -> Any:
    return served.client.post("/jobs", json={"kind": kind, "model": "loans"} | given, headers=served.as_["train"])


def _job(served: Running, job: str) -> dict[str, Any]:
    found: dict[str, Any] = served.client.get(f"/jobs/{job}", headers=served.as_["audit"]).json()
    return found


def _until(served: Running, job: str, holds: Callable[[dict[str, Any]], bool], most: float = 60.0) -> dict[str, Any]:
    end = time.monotonic() + most
    while time.monotonic() < end:
        if holds(found := _job(served, job)):
            return found
        time.sleep(0.1)
    raise AssertionError(f"not within {most} seconds: {found}")


def _ended(served: Running, job: str) -> dict[str, Any]:
    return _until(served, job, lambda found: found["state"] not in table.OPEN)


def _done(served: Running, kind: str, **given: Any) -> dict[str, Any]:
    answer = _asked(served, kind, **given)
    assert answer.status_code == 202, answer.text
    found = _ended(served, answer.json()["id"])
    assert found["state"] == "done", found["message"]
    return found


def _learning(served: Running) -> tuple[str, int]:
    """A job that has begun to learn, and its process."""
    upload = _sent(served, NOISE).json()["id"]
    job: str = _asked(served, "train", upload=upload, target="granted", **LONG).json()["id"]
    end = time.monotonic() + 60
    while not any('"learning"' in body for _, body in table.events_after(served.service.database, job, 0)):
        assert time.monotonic() < end, _job(served, job)
        time.sleep(0.1)
    return job, served.service.supervisor._own[job].popen.pid


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


# Uploads --------------------------------------------------------------------------------------------------------------


def test_an_upload_is_kept_under_an_id_of_ours(served: Running) -> None:
    """The name that a client gives is shown, and is part of no path."""
    answer = _sent(served, name="../../loans.csv")
    assert answer.status_code == 201
    kept = answer.json()
    assert kept["sha256"] == hashlib.sha256(ROWS.encode()).hexdigest()
    assert (kept["bytes"], kept["name"]) == (len(ROWS), "../../loans.csv")
    (file,) = served.service.settings.uploads.iterdir()
    assert (file.name, file.read_text()) == (kept["id"], ROWS)
    assert served.client.get("/uploads", headers=served.as_["audit"]).json() == {"uploads": [kept]}


@pytest.mark.parametrize("name", ["", "loans", "loans.exe", "loans.csv.zip", "a" * 200 + ".csv", "loans\t.csv"])
def test_a_name_that_says_no_kind_of_file_is_refused(served: Running, name: str) -> None:
    answer = _sent(served, name=name)
    assert (answer.status_code, answer.json()["field"]) == (422, "x-file-name")
    assert not any(served.service.settings.uploads.iterdir())


def test_too_large_an_upload_leaves_no_file(tmp_path: Path) -> None:
    for served in running(tmp_path, upload=1000, body=100):
        assert _sent(served, "a" * 1000).status_code == 201
        assert _sent(served, "a" * 1001).status_code == 413
        assert len([*served.service.settings.uploads.iterdir()]) == 1


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 507), (errno.EIO, 503)])
def test_a_full_disk_is_told_and_leaves_no_file(
    served: Running, monkeypatch: pytest.MonkeyPatch, number: int, status: int
) -> None:
    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    answer = _sent(served)
    assert answer.status_code == status
    assert not any(served.service.settings.uploads.iterdir())
    assert served.client.get("/uploads", headers=served.as_["audit"]).json() == {"uploads": []}


def test_half_an_upload_leaves_no_file(served: Running) -> None:
    messages: Iterator[Any] = iter(
        [{"type": "http.request", "body": b"a,b\n1,", "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> Any:
        return next(messages)

    service = served.service
    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    with pytest.raises(Refusal) as refused:
        asyncio.run(uploads.kept("a.csv", request.stream(), service.settings, service.database, "train"))
    assert refused.value.status == 400
    assert not any(service.settings.uploads.iterdir())


def test_an_upload_that_no_job_reads_can_be_removed(served: Running) -> None:
    upload = _sent(served).json()["id"]
    job = table.add(served.service.database, "train", {"model": "loans", "upload": upload}, "train")

    def removed(own: str, role: str = "train") -> int:
        return int(served.client.delete(f"/uploads/{own}", headers=served.as_[role]).status_code)

    assert (removed(upload), removed(upload, "audit")) == (409, 403)
    _ended(served, job)
    assert (removed(upload), removed(upload)) == (204, 404)
    assert not any(served.service.settings.uploads.iterdir())
    assert [removed(own) for own in ("..%2ftoken", "%", "0" * 32 + ".csv", "a%00b")] == [404] * 4


# Jobs -----------------------------------------------------------------------------------------------------------------


def test_a_table_that_was_sent_becomes_a_model(on_each: Running) -> None:
    upload = _sent(on_each).json()
    job = _done(on_each, "train", upload=upload["id"], target="granted", options={"seed": 3})
    result = job["result"]
    assert result["figures"]["accuracy"] == 1.0
    assert result["ladder"]
    past = on_each.client.get("/models/loans/history", headers=on_each.as_["audit"]).json()
    assert past["events"][0]["body"] == {
        **{"digest": result["digest"], "how": "trained", "job": job["id"], "learner": "rules"},
        **{"upload": upload["id"], "sha256": upload["sha256"]},
    }
    _until(on_each, job["id"], lambda _: not any(on_each.service.settings.work.iterdir()))
    answer = on_each.client.post(
        f"/score/loans?version={result['version']}",
        json=[{"amount": 1500, "age": 25, "city": "here"}],
        headers=on_each.as_["score"],
    )
    assert answer.json()["decisions"][0]["label"] == "yes"


def test_events_are_told_to_the_end_and_from_any_number_on(served: Running) -> None:
    upload = _sent(served).json()["id"]
    job = _asked(served, "train", upload=upload, target="granted").json()["id"]
    with served.client.stream("GET", f"/jobs/{job}/events", headers=served.as_["train"]) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        first = _events("".join(stream.iter_text()))
    numbers = [number for number, _, _ in first[:-1]]
    assert numbers == [*range(1, len(first))]
    assert len(numbers) >= 2
    assert (first[-1][1], first[-1][2]["state"]) == ("end", "done")
    again = served.client.get(f"/jobs/{job}/events", headers=served.as_["train"] | {"last-event-id": "1"})
    assert _events(again.text) == first[1:]
    odd = served.client.get(f"/jobs/{job}/events", headers=served.as_["train"] | {"last-event-id": "9" * 30})
    assert odd.status_code == 422


def _events(text: str) -> list[tuple[int | None, str, Any]]:
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((int(lines["id"]) if "id" in lines else None, lines["event"], json.loads(lines["data"])))
    return found


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "shell"}, "kind"),
        ({"kind": None}, "kind"),
        ({"model": "../loans"}, "model"),
        ({"upload": "../../etc/passwd"}, "upload"),
        ({"upload": "0" * 32 + ".csv"}, "upload"),
        ({"data": "/etc/passwd"}, "data"),
        ({"target": "a\0b"}, "target"),
        ({"target": "\ud800"}, "target"),
        ({"learner": "os:system"}, "learner"),
        ({"parameters": {"start": "/etc/passwd"}}, "start"),
        ({"parameters": {"max_rules": "many"}}, "max_rules"),
        ({"parameters": [1]}, "parameters"),
        ({"parameters": {"parsimony": 10**400}}, "parsimony"),
        ({"options": {"positive": 10**400}}, "positive"),
        ({"options": {"teacher": "/etc/passwd"}}, "teacher"),
        ({"options": {"output": "/etc/passwd"}}, "output"),
        ({"options": {"holdout": 2}}, "holdout"),
        ({"options": {"seed": True}}, "seed"),
        ({"options": {"types": {"age": "\ud800"}}}, "types"),
        ({"options": {"smallest": True, "size": 3}}, ""),  # two fields, of which none is wrong by itself
    ],
)
def test_a_wrong_field_is_named(standing: Running, given: dict[str, Any], field: str) -> None:
    body = {"kind": "train", "model": "loans", "upload": _sent(standing).json()["id"], "target": "granted"} | given
    answer = standing.client.post("/jobs", content=json.dumps(body), headers=standing.as_["train"])
    assert (answer.status_code, answer.json().get("field", "")) == (422, field)


def test_what_only_the_rows_show_is_told_in_one_line(served: Running) -> None:
    job = _asked(served, "train", upload=_sent(served).json()["id"], target="granted ").json()["id"]
    found = _ended(served, job)
    assert found["state"] == "failed"
    assert "no target column 'granted '" in found["message"]
    assert str(served.service.settings.folder) not in found["message"]


def test_a_cancelled_job_ends_and_leaves_no_model(served: Running) -> None:
    job, process = _learning(served)
    answer = served.client.delete(f"/jobs/{job}", headers=served.as_["train"])
    assert answer.status_code == 202
    assert _ended(served, job)["state"] == "cancelled"
    assert len(served.service.registry.versions("loans")) == 1
    _until(served, job, lambda _: not _alive(process))
    assert served.client.delete(f"/jobs/{job}", headers=served.as_["train"]).status_code == 409


def test_a_killed_process_fails_its_job_which_is_not_repeated(served: Running) -> None:
    job, process = _learning(served)
    begun = _job(served, job)["started"]
    os.kill(process, signal.SIGKILL)
    found = _ended(served, job)
    assert (found["state"], found["message"]) == ("failed", "its process was ended by signal 9, without a result")
    time.sleep(1.0)
    assert _job(served, job)["started"] == begun
    assert not served.service.supervisor._own


def test_a_job_whose_heart_stands_still_is_failed_and_killed(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    job, process = _learning(served)
    os.kill(process, signal.SIGSTOP)
    monkeypatch.setattr(supervisor, "DEAD", 2.0)  # a busy machine may hold up a heart that beats
    found = _ended(served, job)
    assert (found["state"], found["message"]) == ("failed", "its process does not answer: no heartbeat for 2 seconds")
    _until(served, job, lambda _: not _alive(process))


def _run_elsewhere(database: Database) -> str:
    """A job that another server runs, whose clock is an hour ahead; nobody beats for it any more."""
    values: dict[str, Any] = {"id": "0" * 32, "kind": "check", "request": "{}", "state": "running", "by": "train"}
    values |= {"added": time.time(), "started": time.time(), "beat": time.time() + 3600}
    with database.write() as connection:
        connection.execute(table.jobs.insert().values(**values))
    return str(values["id"])


def test_a_job_of_a_server_that_died_is_failed(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "DEAD", 1.0)
    assert _ended(served, _run_elsewhere(served.service.database))["state"] == "failed"


def test_a_database_that_was_away_costs_no_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nobody can look nobody can beat, so that no heartbeat is missed."""
    database = Database(f"sqlite:///{tmp_path / 'rulekit.db'}")
    database.ensure()
    job, clock = _run_elsewhere(database), [0.0]
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: clock[0])
    own = supervisor.Supervisor(Settings(tmp_path), database)
    states = []
    for moment in (0, 4, 8, 100, 104, 108, 111):
        clock[0] = moment
        own._watch()
        states.append(table.one(database, job)["state"])
    assert states == ["running"] * 6 + ["failed"]
    database.engine.dispose()


@pytest.mark.parametrize(
    ("limit", "said"), [({"job_seconds": 3.0}, "it was ended after 3 seconds"), ({"job_memory": 1 << 27}, "")]
)
def test_a_job_keeps_to_its_limits(tmp_path: Path, limit: dict[str, Any], said: str) -> None:
    for served in running(tmp_path, **limit):
        upload = _sent(served, NOISE).json()["id"]
        found = _ended(served, _asked(served, "train", upload=upload, target="granted", **LONG).json()["id"])
        assert found["state"] == "failed"
        assert said in found["message"]
        assert "\n" not in found["message"]


def test_two_servers_never_run_one_job_twice_nor_too_many(tmp_path: Path, database: str) -> None:
    url = database or f"sqlite:///{tmp_path / 'rulekit.db'}"
    servers = [Database(url), Database(url)]
    servers[0].ensure()
    own = {table.add(servers[0], "check", {}, "train") for _ in range(12)}
    with ThreadPoolExecutor(8) as pool:
        claimed = [*filter(None, pool.map(lambda i: table.claim(servers[i % 2], 7), range(40)))]
    assert len(claimed) == len({*claimed}) == 7
    assert {*claimed} <= own
    assert table.end(servers[0], claimed[0], "done")
    assert not table.end(servers[1], claimed[0], "failed")
    assert table.claim(servers[1], 7) in own - {*claimed}
    for server in servers:
        server.engine.dispose()


def test_proofs_and_a_report_are_kept(served: Running) -> None:
    other = served.service.registry.add("loans", loans(OTHER), "train", "sent")[:12]
    upload = _sent(served).json()["id"]
    assert _done(served, "verify", version="champion")["result"]["said"].startswith("proved")
    assert _done(served, "check", version="champion")["result"]["held"]
    found = _done(served, "compare", version=other, beside="champion", upload=upload)["result"]
    rows = [line.split(",") for line in ROWS.splitlines()[1:]]
    flips = [row for row in rows if 1000 < int(row[0]) <= 2000 and int(row[1]) <= 30 and row[2] == "here"]
    assert found["share"] == len(flips) / len(rows)
    facts = served.client.get("/models/loans/champion", headers=served.as_["audit"]).json()
    assert {proof["gate"]: proof["held"] for proof in facts["proofs"]} == {"verify": True, "check": True}
    job = _done(served, "report", version="champion", upload=upload, target="granted")
    page = served.client.get(job["result"]["report"], headers=served.as_["audit"])
    assert page.text.startswith("<!doctype html>")
    (policy,) = page.headers.get_list("content-security-policy")
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert served.client.get(job["result"]["report"], headers=served.as_["score"]).status_code == 403


def test_who_may_what(served: Running) -> None:
    for role in ("score", "audit", "promote"):
        headers = served.as_[role]
        assert served.client.post("/uploads", content=b"a", headers=headers).status_code == 403
        assert served.client.post("/jobs", json={}, headers=headers).status_code == 403
        assert served.client.post("/import?model=a", content=b"", headers=headers).status_code == 403
    assert served.client.get("/jobs", headers=served.as_["score"]).status_code == 403
    assert served.client.get("/uploads", headers=served.as_["score"]).status_code == 403


# Replay ---------------------------------------------------------------------------------------------------------------


def test_replay_says_which_decisions_would_be_others(on_each: Running) -> None:
    """Those of the model in the asked time, and no others."""
    other = on_each.service.registry.add("loans", loans(OTHER), "train", "sent")
    rows = [{"amount": amount, "age": 20, "city": "here"} for amount in (500, 1500, 1600, 2500)]
    on_each.score(rows)
    between = time.time()
    said = on_each.score([*rows, *rows]).json()["decisions"]
    found = _done(on_each, "replay", version=other[:12])["result"]
    assert (found["recorded"], found["replayed"], found["others"]) == (12, 12, 6)
    assert found["flips"] == [{"before": "yes", "after": "no", "decisions": 6}]
    late = _done(on_each, "replay", version=other[:12], **{"from": between})["result"]
    assert (late["recorded"], late["others"]) == (8, 4)
    assert _done(on_each, "replay", version=other[:12], to=1)["result"]["recorded"] == 0
    table_of = on_each.client.get(late["report"], headers=on_each.as_["audit"])
    assert table_of.headers["content-type"] == "text/csv; charset=utf-8"
    ids = [line.split(",")[0] for line in table_of.text.splitlines()[1:]]
    assert ids == [said[i]["id"] for i in (1, 2, 5, 6)]
    assert _asked(on_each, "replay", version=other[:12], **{"from": "now"}).json()["field"] == "from"
