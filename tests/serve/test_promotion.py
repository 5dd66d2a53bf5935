"""Promotion: champion moves with proof, or by two people and a reason; what the history keeps of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rulekit_serve.access import new_token
from rulekit_serve.jobs import table
from rulekit_serve.store import history
from serving import OTHER, RULES, Running, loans, running

ROWS = "amount,age,city,granted\n" + "".join(
    f"{amount},{age},here,{'yes' if amount > 1000 and age <= 30 else 'no'}\n"
    for amount in range(500, 2500, 100)
    for age in (20, 40)
)
"""RULES are right on all, and OTHER on all but 10 of 40: it says no to amounts from 1100 to 2000."""


@pytest.fixture
def lenient(tmp_path: Path) -> Iterator[Running]:
    """A service whose champion may change much."""
    yield from running(tmp_path, flips=0.25, worse=40.0)


def _other(served: Running, text: str = OTHER) -> str:
    digest: str = served.service.registry.add("loans", loans(text), "test", "sent")
    return digest


def _champion(served: Running) -> str:
    served.service.registry.refresh()
    return served.service.registry.digest("loans")


def _upload(served: Running) -> str:
    headers = served.as_["train"] | {"x-file-name": "rows.csv"}
    own: str = served.client.post("/uploads", content=ROWS.encode(), headers=headers).json()["id"]
    return own


def _moved(served: Running, to: str, alias: str = "champion", **given: Any) -> Any:
    body = {"version": to[:12], "reason": "because"} | given
    return served.client.post(f"/models/loans/aliases/{alias}", json=body, headers=served.as_["promote"])


def _proved(served: Running, version: str, **given: Any) -> dict[str, Any]:
    answer = _moved(served, version, **given)
    assert answer.status_code == 202, answer.text
    job, end = answer.json()["id"], time.monotonic() + 60
    while (found := table.one(served.service.database, job))["state"] in table.OPEN:
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


def _last(served: Running) -> dict[str, Any]:
    assert history.broken_at(served.service.database) is None
    body: dict[str, Any] = history.of_model(served.service.database, "loans")[0]["body"]
    return body


def _held(gates: list[dict[str, Any]]) -> dict[str, bool | None]:
    return {gate["name"]: gate["held"] for gate in gates}


def test_candidate_and_shadow_move_at_once_if_nobody_was_faster(served: Running) -> None:
    first, other = _champion(served), _other(served)
    assert _moved(served, other, "candidate", expect="").status_code == 200
    assert _moved(served, first, "candidate", expect="").status_code == 409
    assert _moved(served, first, "candidate", expect=other[:12]).status_code == 200
    assert _moved(served, other, "shadow").status_code == 200
    assert dict(served.service.registry.aliases_of("loans")) == {"candidate": first, "shadow": other, "champion": first}


def test_a_first_champion_needs_verify_and_check(served: Running) -> None:
    digest = served.service.registry.add("fresh", loans(OTHER), "test", "sent")
    body = {"version": digest[:12], "reason": "the first"}
    answer = served.client.post("/models/fresh/aliases/champion", json=body, headers=served.as_["promote"])
    assert answer.status_code == 202
    events = served.client.get(answer.json()["events"], headers=served.as_["promote"]).text
    assert '"state": "done"' in events
    served.service.registry.refresh()
    assert served.service.registry.digest("fresh") == digest
    (moved, _) = history.of_model(served.service.database, "fresh")
    assert (moved["by"], _held(moved["body"]["gates"])) == ("promote", {"verify": True, "check": True})


def test_a_version_that_flips_too_much_or_is_worse_stays_out(served: Running) -> None:
    first, other = _champion(served), _other(served)
    job = _proved(served, other, upload=_upload(served), target="granted")
    assert job["state"] == "failed"
    assert _held(job["result"]["gates"]) == {"verify": True, "check": True, "compare": False, "figures": False}
    assert job["message"] == (
        "champion stays: compare: 25.00% of the rows of the upload get another decision; at most 5.00% may; "
        "figures: balanced accuracy 64.29%; the champion has 100.00%, and at most 1 point less is allowed"
    )
    assert _champion(served) == first
    assert _last(served)["how"] == "sent"


def test_a_version_that_breaks_a_promise_stays_out(lenient: Running) -> None:
    """The promise is of its own text: a customer of 18 is decided no."""
    first, broken = _champion(lenient), _other(lenient, OTHER + "require no when age <= 18\n")
    job = _proved(lenient, broken, upload=_upload(lenient), target="granted")
    assert _held(job["result"]["gates"])["check"] is False
    assert _champion(lenient) == first


def test_proofs_that_are_kept_are_not_made_again(lenient: Running) -> None:
    """A rollback is immediate; a way back from it needs what every promotion needs."""
    first, other, upload = _champion(lenient), _other(lenient), _upload(lenient)
    assert _moved(lenient, other).json()["field"] == "upload"
    job = _proved(lenient, other, upload=upload, target="granted", expect=first[:12])
    assert (job["state"], _champion(lenient)) == ("done", other)
    assert {key: _last(lenient)[key] for key in ("before", "reason", "rollback", "upload", "target")} == {
        **{"before": first, "reason": "because", "rollback": False},
        **{"upload": upload, "target": "granted"},
    }
    assert _held(_last(lenient)["gates"]) == {"verify": True, "check": True, "compare": True, "figures": True}
    job = _proved(lenient, first)
    assert (job["state"], _champion(lenient), _last(lenient)["rollback"]) == ("done", first, True)
    assert _moved(lenient, other).json()["field"] == "upload"
    assert _moved(lenient, other, upload=upload, target="granted").status_code == 200
    assert _moved(lenient, first).status_code == 200
    assert _champion(lenient) == first


def test_who_was_faster_wins(lenient: Running) -> None:
    first, other, upload = _champion(lenient), _other(lenient), _upload(lenient)
    third = _other(lenient, RULES.replace("age <= 30", "age <= 31"))
    assert _moved(lenient, other, upload=upload, target="granted", expect="0" * 12).status_code == 409
    assert _moved(lenient, first).status_code == 409
    answer = _moved(lenient, other, upload=upload, target="granted")
    lenient.service.registry.move("loans", "champion", third, "faster", "now", first)
    end = time.monotonic() + 60
    while (job := table.one(lenient.service.database, answer.json()["id"]))["state"] in table.OPEN:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert (job["state"], _champion(lenient)) == ("failed", third)
    assert job["message"].startswith(f"champion of 'loans' is {third[:12]}, not {first[:12]}")


def test_an_exception_needs_a_second_person_and_says_so(served: Running) -> None:
    other, database = _other(served), served.service.database
    secrets = {role: new_token(database, f"other {role}", (role,)) for role in ("promote", "audit")}
    own = served.as_["promote"]["Authorization"].removeprefix("Bearer ")
    time.sleep(1.1)  # tokens are read anew each second
    first = _champion(served)
    for second in (own, secrets["audit"], "nobody's", ""):
        assert _moved(served, other, exception=True, second=second).status_code in (403, 422)
    assert _moved(served, other, exception=True).status_code == 422
    assert _moved(served, other, exception="yes", second=secrets["promote"]).status_code == 422
    assert _moved(served, other, exception=True, second=secrets["promote"], reason=" ").status_code == 422
    assert _champion(served) == first
    answer = _moved(served, other, exception=True, second=secrets["promote"])
    assert (answer.status_code, _champion(served)) == (200, other)
    kept = _last(served)
    assert (kept["exception"], kept["second"], kept["reason"]) == (True, "other promote", "because")
    assert _held(kept["gates"]) == {"verify": None, "check": None, "compare": None, "figures": None}
    files = [*served.service.settings.folder.glob("rulekit.db*")]
    assert not any(secrets["promote"].encode() in file.read_bytes() for file in files)


@pytest.mark.parametrize(
    "given",
    [
        {"reason": ""},
        {"reason": "a\0b"},
        {"version": "nothing12345"},
        {"version": None},
        {"expect": 3},
        {"upload": "../x"},
        {"path": "/"},
    ],
)
def test_a_wrong_promotion_moves_nothing(served: Running, given: dict[str, Any]) -> None:
    other = _other(served)
    assert _moved(served, other, **given).status_code in (404, 422)
    assert _moved(served, other, "best").status_code == 404
    for role in ("score", "audit", "train"):
        body = {"version": other[:12], "reason": "mine"}
        answer = served.client.post("/models/loans/aliases/shadow", json=body, headers=served.as_[role])
        assert answer.status_code == 403
    assert dict(served.service.registry.aliases_of("loans")).keys() == {"champion"}
