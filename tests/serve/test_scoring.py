"""Scoring over HTTP: what is answered is what the model decides, and what is recorded."""

from __future__ import annotations

from serving import ROW, Running


def test_a_decision_is_recorded_before_it_is_answered(served: Running) -> None:
    answer = served.score([ROW, ROW | {"age": 50}])
    assert answer.status_code == 200
    first, second = answer.json()["decisions"]
    assert (first["label"], second["label"]) == ("yes", "no")
    kept = served.client.get(f"/decisions/{first['id']}", headers=served.as_["audit"]).json()
    assert kept["row"] == ROW
    assert kept["label"] == "yes"
    assert kept["rules"] == [rule["id"] for rule in first["rules"]]
    assert kept["digest"] == answer.json()["digest"]
