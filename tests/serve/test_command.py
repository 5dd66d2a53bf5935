"""What `rulekit serve` does before it listens."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from rulekit_serve import command
from rulekit_serve.app import application
from rulekit_serve.command import Listening
from rulekit_serve.settings import Settings
from serving import OTHER, ROW, loans

from rulekit.errors import InputError, RulekitError


def test_a_model_that_is_given_decides_once_it_is_proved(tmp_path: Path) -> None:
    settings, file = Settings(tmp_path / "data"), tmp_path / "loans.json"
    loans().save(file)
    secret = command.first_token(settings)
    token = tmp_path / "data" / "token"
    assert token.read_text().strip() == secret
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert command.first_token(settings) is None
    assert command.offer(settings, [file]) == [f"loans, version {loans().digest[:12]}"]
    headers = {"Authorization": f"Bearer {secret}"}
    with TestClient(application(settings)) as client:
        until = time.monotonic() + 60.0
        while (answer := client.post("/score/loans", json=[ROW], headers=headers)).status_code == 404:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert answer.json()["digest"] == loans().digest
        event = client.get("/models/loans/history", headers=headers).json()["events"][0]
        assert [gate["held"] for gate in event["body"]["gates"]] == [True, True]
    loans(OTHER).save(file)  # a later one is a version, and no champion without more
    assert command.offer(settings, [file]) == [f"loans, version {loans(OTHER).digest[:12]}"]
    with TestClient(application(settings)) as client:
        assert client.post("/score/loans", json=[ROW], headers=headers).json()["digest"] == loans().digest
        assert len(client.get("/jobs", headers=headers).json()["jobs"]) == 1


def test_what_is_no_model_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{}")
    for name in ("m.json", "missing.json"):
        with pytest.raises(RulekitError, match=name):
            command.offer(Settings(tmp_path / "data"), [tmp_path / name])
    loans().save(tmp_path / "a b.json")
    with pytest.raises(InputError, match="no name of a model"):
        command.offer(Settings(tmp_path / "data"), [tmp_path / "a b.json"])
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("where", [Listening("0.0.0.0"), Listening("example.org"), Listening(certificate=Path("c"))])
def test_tokens_do_not_go_over_the_network_in_the_clear(where: Listening) -> None:
    with pytest.raises(InputError):
        command.check(where)
    command.check(Listening("::1"))
    command.check(Listening("0.0.0.0", behind_proxy=True))
