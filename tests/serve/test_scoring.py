"""Scoring over HTTP: what is answered is what the model decides, and it is recorded before."""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pytest
from rulekit_exporters.sql import SERVER
from rulekit_serve.bodies import json_of
from rulekit_serve.failures import Refusal
from rulekit_serve.store.log import call_of
from rulekit_serve.store.tables import decisions
from serving import OTHER, ROW, Running, loans, running
from sqlalchemy import func, select, text

from rulekit.errors import FormatError
from rulekit.graph.files.safe_files import parse_json

CELLS = [ROW, ROW | {"age": 50}, ROW | {"city": "there", "amount": None}, ROW | {"age": None}, ROW | {"city": "far"}]


def count(served: Running) -> int:
    with served.service.database.read() as connection:
        return int(connection.execute(select(func.sum(decisions.c.n))).scalar() or 0)


def labels(answer: Any) -> list[Any]:
    assert answer.status_code == 200, answer.text
    return [decision["label"] for decision in answer.json()["decisions"]]


def test_a_decision_is_recorded_before_it_is_answered(on_each: Running) -> None:
    answer = on_each.score([ROW, ROW | {"age": 50}])
    assert labels(answer) == ["yes", "no"]
    first = answer.json()["decisions"][0]
    kept = on_each.client.get(f"/decisions/{first['id']}", headers=on_each.as_["audit"]).json()
    assert (kept["row"], kept["label"], kept["masked"]) == (ROW, "yes", [])
    assert kept["rules"] == [rule["id"] for rule in first["rules"]]
    assert first["rules"][0]["text"] == "yes: amount > 1000 and age <= 30"
    assert kept["digest"] == answer.json()["digest"] == loans().digest
    assert sum(first["probabilities"].values()) == pytest.approx(1.0)


def test_every_form_of_rows_is_decided_alike(served: Running) -> None:
    expected = loans().predict(CELLS).tolist()
    frame = pl.DataFrame(CELLS)
    arrow, headers = io.BytesIO(), served.as_["score"]
    frame.write_ipc_stream(arrow, compat_level=pl.CompatLevel.oldest())
    assert labels(served.score(CELLS)) == expected
    assert labels(served.client.post("/score/loans", json={"rows": CELLS}, headers=headers)) == expected
    for data, kind in (
        (frame.write_csv().encode(), "text/csv"),
        (arrow.getvalue(), "application/vnd.apache.arrow.stream"),
    ):
        sent = served.client.post("/score/loans", content=data, headers=headers | {"Content-Type": kind})
        assert labels(sent) == expected, kind
    columns = list(ROW)
    cells = [[row[column] for column in columns] for row in CELLS]
    forms = (
        {"dataframe_records": CELLS},
        {"dataframe_split": {"columns": columns, "data": cells}},
        {"instances": CELLS},
        {"inputs": {column: [row[column] for row in CELLS] for column in columns}},
    )
    for form in forms:
        said = served.client.post("/invocations", json=form, headers=headers)
        assert [one["label"] for one in said.json()["predictions"]] == expected
    sizes = {"amount": "FP64", "age": "INT32", "city": "BYTES"}
    inputs = [
        {"name": column, "datatype": kind, "shape": [5], "data": [row[column] for row in CELLS]}
        for column, kind in sizes.items()
    ]
    said = served.client.post("/v2/models/loans/infer", json={"id": "a", "inputs": inputs}, headers=headers).json()
    outputs = {output["name"]: output for output in said["outputs"]}
    assert outputs["label"]["data"] == expected
    assert outputs["fired"]["shape"] == [5, 2]
    assert outputs["fired"]["data"][:2] == [True, False]
    assert (said["id"], said["parameters"]["digest"]) == ("a", loans().digest)
    assert count(served) == 9 * len(CELLS)


def test_the_same_request_twice_is_one(on_each: Running) -> None:
    known = {"X-Request-Id": "one"}
    first, again = on_each.score(CELLS, **known), on_each.score(CELLS, **known)
    assert first.json() == again.json()
    assert count(on_each) == len(CELLS)
    for rows in (CELLS[:2], [*CELLS, ROW], [ROW, *CELLS[1:4], ROW]):
        assert on_each.score(rows, **known).status_code == 409
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: on_each.score([ROW], **{"X-Request-Id": "two"}).json(), range(16)))
    assert all(answer == answers[0] for answer in answers)
    assert count(on_each) == len(CELLS) + 1


def test_a_lost_database_decides_nothing(served: Running) -> None:
    """And the service goes on by itself once it is back."""
    with served.service.database.write() as connection:
        connection.execute(text("ALTER TABLE decisions RENAME TO gone"))
    assert served.score([ROW]).status_code == 503
    with served.service.database.write() as connection:
        connection.execute(text("ALTER TABLE gone RENAME TO decisions"))
    assert count(served) == 0
    assert served.score([ROW]).status_code == 200


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_stopped_server_decides_nothing(on_each: Running, database: str) -> None:
    """Its connections end, and it lets in no others; then it is back."""
    name = database.partition("?")[0].rpartition("/")[2]

    def admin(*statements: str) -> None:
        with psycopg.connect(os.environ[SERVER], autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)  # type: ignore[arg-type]

    assert on_each.score([ROW]).status_code == 200
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    admin(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false", ended)
    answers = [on_each.score([ROW], **{"X-Request-Id": f"r{i}"}) for i in range(3)]
    assert [answer.status_code for answer in answers] == [503] * 3
    assert "database" in answers[0].json()["error"]
    admin(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    assert on_each.score([ROW], **{"X-Request-Id": "r1"}).status_code == 200
    assert count(on_each) == 2


def test_a_clock_that_is_set_back_loses_nothing(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    served.score([ROW])
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: 1.0)
        assert served.score([ROW]).status_code == 200
    found = served.client.get("/decisions", headers=served.as_["audit"]).json()["decisions"]
    assert [one["time"] == 1.0 for one in found] == [True, False]


def test_masked_columns_are_never_stored(tmp_path: Path) -> None:
    for served in running(tmp_path, masked=("age",)):
        own = served.score([ROW | {"age": 29.015625}]).json()["decisions"][0]["id"]
        kept = served.client.get(f"/decisions/{own}", headers=served.as_["audit"]).json()
        assert kept["row"] == {"amount": 1500, "city": "here"}
        assert kept["masked"] == ["age"]
        served.service.database.engine.dispose()
        assert not any(b"29.015625" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_shadow_decides_beside(served: Running) -> None:
    registry = served.service.registry
    other = registry.add("loans", loans(OTHER), "test", "test")
    registry.move("loans", "shadow", other, "test", "to see", None)
    assert labels(served.score([ROW, ROW | {"amount": 3000}])) == ["yes", "yes"]
    found = served.client.get("/decisions?differs=1", headers=served.as_["audit"]).json()["decisions"]
    assert [one["row"]["amount"] for one in found] == [1500]
    assert found[0]["shadow"] == {"digest": other, "label": "no", "rules": []}


def test_decisions_are_found_by_page_label_and_rule(served: Running) -> None:
    answer = served.score(CELLS).json()["decisions"]
    rule = answer[0]["rules"][0]["id"]
    ask = lambda query: served.client.get(f"/decisions?{query}", headers=served.as_["audit"]).json()  # noqa: E731
    assert [one["id"] for one in ask(f"rule={rule}")["decisions"]] == [answer[4]["id"], answer[0]["id"]]
    assert len(ask("label=yes")["decisions"]) == 3
    assert ask("rule=r%25")["decisions"] == ask("model=other")["decisions"] == []
    seen, cursor = [], ""
    while cursor is not None:
        page = ask(f"limit=2{cursor and f'&cursor={cursor}'}")
        seen += [one["id"] for one in page["decisions"]]
        cursor = page["cursor"]
    assert seen == [one["id"] for one in reversed(answer)]


def test_what_predict_refuses_is_refused(served: Running) -> None:
    refused: Any = (({"amount": 1, "age": 2}, "city"), (ROW | {"age": "old"}, "age"), (ROW | {"age": []}, "age"))
    for row, field in refused:
        answer = served.score([row])
        assert answer.status_code == 422
        assert field in answer.json()["error"] or field in answer.json()["field"]
    assert served.score([]).status_code == 422
    assert served.score([ROW] * 10_001).status_code == 413
    assert count(served) == 0


@pytest.mark.parametrize(
    "body",
    [
        *(b'{"rows":[{"a":NaN}]}', b"[" * 100_000, b'{"a":1,"a":2}', b'[{"a":1' + b"0" * 5000 + b"}]", b"\xff", b""),
        json.dumps([ROW | {"amount": 10**400}]).encode(),
        json.dumps([ROW | {"city": "\ud800"}]).encode(),
        json.dumps([ROW | {"city": "\0"}]).encode(),
        b"x" * (17 << 20),
    ],
)
def test_bodies_that_mean_no_good(on_each: Running, body: bytes) -> None:
    known = on_each.as_["score"] | {"Content-Type": "application/json"}
    for path in ("/score/loans", "/explain/loans", "/v2/models/loans/infer", "/invocations"):
        answer = on_each.client.post(path, content=body, headers=known)
        assert 200 <= answer.status_code < 500, (path, answer.text)
        assert answer.status_code == 200 or "error" in answer.json()


def test_tokens_have_roles(served: Running) -> None:
    calls = [("GET", "/models", "audit"), ("POST", "/score/loans", "score"), ("POST", "/models/loans", "train")]
    calls += [("GET", "/decisions", "audit"), ("GET", "/metrics", "audit"), ("GET", "/v2/models/loans", "score")]
    for method, path, role in calls:
        assert served.client.request(method, path).status_code == 401
        for other, headers in served.as_.items():
            status = served.client.request(method, path, headers=headers).status_code
            assert (status == 403) == (other != role), (path, other)
    assert served.client.get("/v2/health/live").json() == {"live": True}


def test_calls_beyond_the_rate_wait(tmp_path: Path) -> None:
    for served in running(tmp_path, rate=5.0):
        statuses = [served.score([ROW]).status_code for _ in range(12)]
        assert 429 in statuses
        assert statuses[0] == 200


def test_a_change_of_the_champion_is_seen_by_another_process(served: Running) -> None:
    """Whose registry reads the same database."""
    from rulekit_serve.registry import Registry

    registry = Registry(served.service.database)
    registry.refresh()
    other = served.service.registry.add("loans", loans(OTHER), "test", "test")
    served.service.registry.move("loans", "champion", other, "test", "better", loans().digest)
    begun = time.monotonic()
    while registry.digest("loans") != other:
        assert time.monotonic() - begun < 2.0  # a second, and what a busy machine adds
        time.sleep(0.01)
    with pytest.raises(Refusal, match=", not "):
        registry.move("loans", "champion", other, "test", "late", loans().digest)
    registry.close()
    assert labels(served.score([ROW])) == ["no"]


def test_a_call_that_is_given_up_stops_nobody(served: Running) -> None:
    async def given_up() -> None:
        waiting = asyncio.create_task(served.service.log.record({"n": 0}))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(given_up())
    assert served.score([ROW]).status_code == 200


@pytest.mark.parametrize(
    "kind", ["FP16", "FP32", "FP64", "BF16", "INT16", "INT32", "INT64", "UINT16", "UINT32", "UINT64"]
)
def test_tensors_as_bytes(standing: Running, kind: str) -> None:
    """As clients of Triton send them; a number that is none is missing."""
    amounts = np.array([1536.0, 512.0, 2048.0])
    dtype = f"<{'f' if 'F' in kind else 'u' if kind[0] == 'U' else 'i'}{int(kind[-2:]) // 8}"
    data = amounts.astype("<f4").tobytes() if kind == "BF16" else amounts.astype(dtype).tobytes()
    if kind == "BF16":
        data = b"".join(data[i + 2 : i + 4] for i in range(0, len(data), 4))
    city = b"".join(struct.pack("<I", len(text)) + text for text in (b"here", b"there", b"here"))
    age = np.array([25.0, 50.0, np.nan], "<f8").tobytes()
    tensors = (("amount", kind, data), ("city", "BYTES", city), ("age", "FP64", age))
    head: dict[str, Any] = {
        "inputs": [
            {"name": name, "datatype": each, "shape": [3], "parameters": {"binary_data_size": len(own)}}
            for name, each, own in tensors
        ],
        "outputs": [{"name": "label", "parameters": {"binary_data": True}}, {"name": "fired"}],
    }
    text = json.dumps(head).encode()
    headers = standing.as_["score"] | {"Inference-Header-Content-Length": str(len(text))}
    body = b"".join([text, data, city, age])
    answer = standing.client.post("/v2/models/loans/infer", content=body, headers=headers)
    length = int(answer.headers["inference-header-content-length"])
    outputs = json.loads(answer.content[:length])["outputs"]
    assert outputs[1]["data"] == [True, False, False, True, False, False]
    assert outputs[0]["parameters"] == {"binary_data_size": 20}
    assert answer.content[length:] == b"\3\0\0\0yes\3\0\0\0yes\2\0\0\0no"
    for broken in (body[:-1], text, body + b"x"):
        status = standing.client.post("/v2/models/loans/infer", content=broken, headers=headers).status_code
        assert status == (200 if broken is not text and len(broken) > len(body) else 400)


def test_adverse_decisions_have_the_reasons_of_a_catalogue(served: Running) -> None:
    assert "reasons" not in served.score([ROW]).json()["decisions"][0]
    catalogue = b"""adverse = ["yes"]
[[reason]]
code = "R1"
text = "Amount too high for the age"
columns = ["amount", "age"]
[[reason]]
code = "R2"
text = "Place"
columns = ["city"]
"""
    put = lambda data, role: served.client.put("/models/loans/reasons", content=data, headers=served.as_[role])  # noqa: E731
    assert put(catalogue, "score").status_code == 403
    assert put(catalogue.replace(b"amount", b"sum"), "promote").status_code == 422
    assert put(b"\xff[", "promote").status_code == 422
    assert put(catalogue, "promote").status_code == 200
    first, second, third = served.score([ROW, ROW | {"age": 60}, ROW | {"city": "there"}]).json()["decisions"]
    assert [reason["code"] for reason in first["reasons"]] == ["R1"]
    assert second["reasons"] == []
    assert {reason["code"] for reason in third["reasons"]} == {"R1", "R2"}
    past = served.client.get("/models/loans/history", headers=served.as_["audit"]).json()
    assert past["events"][0]["body"]["catalogue"] == catalogue.decode()


@pytest.mark.parametrize(
    ("given", "headers"),
    [
        ({"parameters": {"content_type": "base64"}}, {}),
        ({"parameters": {"content_type": "pd_json"}}, {}),
        ({"shape": [-1]}, {}),
        ({"shape": [True]}, {}),
        ({"datatype": ["BYTES"]}, {}),
        ({"name": 7}, {}),
        ({"datatype": "INT8", "data": [128]}, {}),
        ({"datatype": "FP32", "data": [10**400]}, {}),
        ({}, {"Content-Encoding": "gzip"}),
    ],
)
def test_tensors_that_are_refused(standing: Running, given: dict[str, Any], headers: dict[str, str]) -> None:
    whole = {"name": "city", "datatype": "BYTES", "shape": [1], "data": ["here"]}
    known = standing.as_["score"] | headers
    answer = standing.client.post("/v2/models/loans/infer", json={"inputs": [whole | given]}, headers=known)
    assert answer.status_code in (400, 415), answer.text
    assert answer.json()["error"]


def test_bodies_are_read_alike_on_both_ways() -> None:
    """The fast reader answers as the strict one, or leaves the body to it."""
    rng = random.Random(0)
    seeds = [json.dumps(CELLS), json.dumps({"rows": CELLS, "x": [1, {"a": [True, None]}]}), '{"a":1,"a" :2,"b:c":"d"}']
    for _ in range(4_000):
        text = list(rng.choice(seeds))
        for _ in range(rng.randrange(3)):
            text[rng.randrange(len(text))] = rng.choice('{}[]",: 0123456789.eE-ntf\\u\t')
        body = "".join(text).encode()
        answers = []
        for read in (json_of, lambda data: parse_json(data.decode())):
            try:
                answers.append(repr(read(body)))
            except (Refusal, FormatError):
                answers.append("refused")
        assert answers[0] == answers[1], body


def test_rows_of_one_call_are_found_by_themselves(on_each: Running) -> None:
    """A call is one row of the table; what matches are its decisions."""
    many = [ROW | {"age": 18 + i % 40, "amount": 900 + i} for i in range(300)]
    answer = on_each.score(many).json()["decisions"]
    on_each.score([ROW | {"age": 90}])
    ask = lambda query: on_each.client.get(f"/decisions?{query}", headers=on_each.as_["audit"]).json()  # noqa: E731
    expected = [one["id"] for one in reversed(answer) if one["label"] == "yes"]
    found = ask("label=yes&limit=1000")["decisions"]
    assert [one["id"] for one in found] == expected
    assert [one["row"] for one in reversed(found)] == [
        row for row, one in zip(many, answer, strict=True) if one["label"] == "yes"
    ]
    seen, cursor = [], ""
    while cursor is not None:
        page = ask(f"label=yes&limit=7{cursor and f'&cursor={cursor}'}")
        seen += [one["id"] for one in page["decisions"]]
        cursor = page["cursor"]
    assert seen == expected
    assert ask("cursor=1.x").get("field") == "cursor"
    assert ask("rule=%00")["decisions"] == []
    for wrong in ("none", f"{answer[0]['id']}x", answer[0]["id"].replace(".0", ".300")):
        assert on_each.client.get(f"/decisions/{wrong}", headers=on_each.as_["audit"]).status_code == 404


def test_many_clients_share_a_commit(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, own = [], served.service.log._write
    monkeypatch.setattr(served.service.log, "_write", lambda group: (sizes.append(len(group)), own(group))[1])

    async def many() -> None:
        rows = [row_of_log(f"c{i}") for i in range(64)]
        await asyncio.gather(*(served.service.log.record(row) for row in rows))

    asyncio.run(many())
    assert sum(sizes) == count(served) == 64
    assert len(sizes) < 16


def row_of_log(own: str) -> dict[str, Any]:
    known = {"id": own, "time": 0.0, "model": "m", "digest": "d", "by": "b", "n": 1, "shadow": ""}
    return known | call_of([], {}, [], None)


def test_a_record_that_comes_late_is_found_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for served in running(tmp_path, seconds=0.3):
        assert served.score([ROW]).status_code == 200  # the model is loaded
        own = served.service.log._write
        monkeypatch.setattr(served.service.log, "_write", lambda group, own=own: (time.sleep(1.0), own(group)))
        late = served.score([ROW], **{"X-Request-Id": "late"})
        assert (late.status_code, "within 0.3 seconds" in late.json()["error"]) == (503, True)
        monkeypatch.undo()
        time.sleep(1.5)
        assert labels(served.score([ROW], **{"X-Request-Id": "late"})) == ["yes"]
        assert count(served) == 2


def test_outcomes_that_are_kept_have_a_bound(served: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rulekit_serve.words._KEPT", 2_000)
    known = served.service.registry.words("loans", loans().digest)._known
    expected = loans().predict(CELLS).tolist()
    for _ in range(3):
        for row, label in zip(CELLS, expected, strict=True):
            assert labels(served.score([row])) == [label]
            assert len(known) <= 12
