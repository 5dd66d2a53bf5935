"""Pages: who may see them, what forms do, and that what others wrote is shown as text."""

from __future__ import annotations

import hashlib
import json
import re
import time
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from rulekit_serve.access import COOKIE, ROLES, new_token
from rulekit_serve.registry import VERSION
from serving import OTHER, ROW, Running, loans
from sqlalchemy import text

HERE = {"Origin": "http://testserver"}
HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
HOSTILE = """<script>alert(1)</script>"""
SQL = "'; DROP TABLE models; --"
RULES = f"""rulekit rules 1
column "{HOSTILE}": numeric
column city: categorical {{"{HOSTILE}", "{SQL}"}}
label granted: {{"<b>no</b>", "yes"}}
default "<b>no</b>"
decide yes when any of (
  "{HOSTILE}" > 1000,
  city in {{"{SQL}"}},
)
"""


@pytest.fixture
def page(served: Running) -> Running:
    """A service whose client has logged in with all roles; a second version waits."""
    secret = new_token(served.service.database, "anna", ROLES)
    time.sleep(1.1)  # tokens are read once a second
    answer = served.client.post("/login", data={"token": secret, "then": "/"}, headers=HERE, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    served.service.registry.add("loans", loans(OTHER), "test", "test")
    return served


def sent(page: Running, path: str, **given: Any) -> Any:
    """A form as a browser sends it."""
    return page.client.post(path, data=given, headers=HERE, follow_redirects=False)


def second(page: Running) -> str:
    return page.service.registry.versions("loans")[1][:VERSION]


class Outline(HTMLParser):
    """What must be true of every page: labels, captions, scopes, and nothing in it that a browser would run."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def check(self) -> None:
        names = [tag for tag, _ in self.tags]
        ids = [own["id"] for _, own in self.tags if "id" in own]
        labelled = {own.get("for") for tag, own in self.tags if tag == "label"}
        assert len(ids) == len({*ids})
        assert (names.count("h1"), names.count("main"), names.count("title")) == (1, 1, 1)
        assert names.count("caption") == names.count("table")
        for tag, own in self.tags:
            assert not any(key.startswith("on") or key == "style" for key in own)
            assert tag not in ("style", "b", "img")
            assert tag != "th" or "scope" in own
            assert tag != "script" or own["src"] == "/static/htmx.min.js"
            if tag in ("select", "textarea", "input") and own.get("type") not in ("hidden", "checkbox"):
                assert own["id"] in labelled


def test_without_a_token_the_form_asks_for_one_and_leads_back(served: Running) -> None:
    """The cookie is kept from scripts and from other sites."""
    asked = served.client.get("/pages/decisions?model=loans")
    secret = served.as_["audit"]["Authorization"].removeprefix("Bearer ")
    then = re.search(r'name="then" value="([^"]*)"', asked.text)
    assert (asked.status_code, then and then[1]) == (401, "/pages/decisions?model=loans")
    told = {"token": secret, "then": "/pages/decisions?model=loans"}
    answer = served.client.post("/login", data=told, headers=HERE, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, told["then"])
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]
    assert served.client.get(told["then"]).status_code == 200
    assert served.client.post("/pages/sample", headers=HERE).status_code == 403  # this token may read alone
    served.client.post("/logout", headers=HERE)
    assert served.client.get("/").status_code == 401


@pytest.mark.parametrize("then", ["//evil.example", "/\\evil.example", "/\t/evil.example", "https://evil.example", ""])
def test_nobody_is_led_to_another_host(served: Running, then: str) -> None:
    secret = served.as_["audit"]["Authorization"].removeprefix("Bearer ")
    answer = sent(served, "/login", token=secret, then=then)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_forms_of_other_sites_are_refused(page: Running) -> None:
    for path in ("/login", "/logout", "/pages/sample", "/pages/models/loans/champion/score", "/pages/models"):
        for origin in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {}):
            assert page.client.post(path, data={"token": "x"}, headers=origin).status_code == 403
    unknown = sent(page, "/login", token="x")
    assert (unknown.status_code, "set-cookie" in unknown.headers) == (401, False)
    referrer = page.client.get("/").headers["referrer-policy"]
    assert referrer == "same-origin"  # with no-referrer a browser says `null` of our own forms


def test_every_page_has_its_parts(page: Running) -> None:
    sent(page, "/pages/models/loans/champion/score", c0="1500", c1="25", c2="0")
    own = page.client.get("/decisions").json()["decisions"][0]["id"]
    job = sent(page, "/pages/models/loans/champion/jobs", kind="check").headers["location"]
    new = second(page)
    paths = ["/", "/login", "/pages/decisions", f"/pages/decision?id={own}", "/pages/jobs", job, "/pages/models/loans"]
    paths += ["/pages/models/loans/champion", "/pages/models/loans/champion/score", "/pages/models/loans/compare"]
    paths += [
        f"/pages/models/loans/compare?second={new}",
        *(f"/pages/models/loans/{new}/{a}" for a in ("champion", "shadow")),
    ]
    for path in paths:
        answer = page.client.get(path)
        assert answer.status_code == 200, path
        Outline(answer.text).check()
    for path in (
        "/pages/models/none",
        "/pages/decision?id=none",
        "/pages/jobs/none",
        f"/pages/models/loans/{new}/none",
    ):
        answer = page.client.get(path)
        assert answer.status_code == 404, path
        Outline(answer.text).check()


def test_a_row_is_decided_and_recorded_and_a_wrong_cell_is_marked(page: Running) -> None:
    """A number field that is left empty is a missing value, as in a file."""
    path = "/pages/models/loans/champion/score"
    answer = sent(page, path, c0="1500", c1="25", c2="0")
    assert "Decision: yes" in answer.text
    assert "amount is 1500, which is above 1000" in answer.text
    assert "The smallest change that turns it to" in answer.text
    [kept] = page.client.get("/decisions").json()["decisions"]
    assert (kept["row"], kept["label"], kept["by"]) == (ROW, "yes", "anna")
    assert "Decision: no" in sent(page, path, c0="", c1="25", c2="0").text
    wrong = sent(page, path, c0="many", c1="25", c2="0")
    assert wrong.status_code == 422
    assert re.search(r'id="c0" name="c0" aria-invalid="true" aria-describedby="fault" value="many"', wrong.text)
    assert len(page.client.get("/decisions").json()["decisions"]) == 2


def test_what_others_wrote_is_text(page: Running) -> None:
    """HTML and SQL in columns, levels, classes, reasons, file names and cells."""
    answer = sent(page, "/pages/models", name="hostile", text=RULES)
    version = answer.headers["location"]
    assert answer.status_code == 303
    moved = sent(page, f"{version}/shadow", reason=HOSTILE, expect="")
    assert moved.headers["location"] == "/pages/models/hostile"
    scored = sent(page, f"{version}/score", c0="", c1="0")
    assert f"Decision: {escaped('<b>no</b>')}" in scored.text
    sent(page, f"{version}/score", c0="2000", c1="1")
    wrong = sent(page, f"{version}/score", c0=HOSTILE, c1="1")
    table = {"file": (f"{HOSTILE}.csv", "a,b\n1,2\n")}
    refused = page.client.post("/pages/jobs", data={"model": HOSTILE}, files=table, headers=HERE)
    assert (wrong.status_code, refused.status_code) == (422, 422)
    found = [answer.text for answer in (scored, wrong, refused)]
    for path in ("/", "/pages/jobs", "/pages/decisions", "/pages/models/hostile", version, f"{version}/score"):
        found.append(page.client.get(path, params={"label": HOSTILE} if "decisions" in path else {}).text)
    own = page.client.get("/decisions?model=hostile").json()["decisions"][0]["id"]
    found.append(page.client.get("/pages/decision", params={"id": own}).text)
    for source in found:
        Outline(source).check()
        assert HOSTILE not in source
    assert sum(escaped(HOSTILE) in source for source in found) >= 8
    assert page.client.get("/models/hostile").status_code == 200


def escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def test_a_refused_form_keeps_what_was_written_and_marks_the_field(page: Running) -> None:
    model = sent(page, "/pages/models", name="a b", text="rulekit rules 1")
    assert model.status_code == 422
    assert ">rulekit rules 1</textarea>" in model.text
    assert re.search(r'id="text" name="text" aria-invalid="true"', model.text)
    name = sent(page, "/pages/models", name="a b", text=OTHER)
    assert name.status_code == 422
    assert re.search(r'id="name" name="name" aria-invalid="true"[^>]* value="a b"', name.text)
    trained = sent(page, "/pages/jobs", model="x", target="y", learner="rules", holdout="much")
    assert trained.status_code == 422
    assert re.search(r'id="holdout" name="holdout" aria-invalid="true"', trained.text)
    promoted = sent(page, f"/pages/models/loans/{second(page)}/champion", reason=" ", expect="")
    assert promoted.status_code == 422
    assert re.search(r'id="reason" name="reason" aria-invalid="true"', promoted.text)


def test_promotion_tells_its_gates_and_an_exception_needs_a_second_person(page: Running) -> None:
    path = f"/pages/models/loans/{second(page)}/champion"
    form = page.client.get(path).text
    expect = str(re.search(r'name="expect" value="(\w+)"', form)[1])  # type: ignore[index]
    assert [form.count(f'<th scope="row">{gate}</th>') for gate in ("verify", "check", "compare", "figures")] == [1] * 4
    stale = sent(page, path, reason="r", expect="0" * VERSION)
    alone = sent(page, path, reason="r", expect=expect, exception="yes", second="x")
    assert (stale.status_code, alone.status_code) == (409, 403)
    berta = page.as_["promote"]["Authorization"].removeprefix("Bearer ")
    done = sent(page, path, reason="the rate changed", expect=expect, exception="yes", second=berta)
    assert done.headers["location"] == "/pages/models/loans"
    told = page.client.get("/pages/models/loans").text
    assert "An exception" in told
    assert "the rate changed" in told
    assert "The chain of all events is whole" in told


def test_the_sample_leads_to_a_champion(page: Running) -> None:
    """Train, promote with proof, and read the decision, by forms alone."""
    job = sent(page, "/pages/sample").headers["location"]
    version = re.search(r"/pages/models/loans/\w{12}", ended(page, job))
    assert version is not None
    moved = sent(page, f"{version[0]}/candidate", reason="try it", expect="")
    assert moved.status_code == 303
    proof = ended(page, sent(page, f"{version[0]}/jobs", kind="verify").headers["location"])
    assert '<p class="good">' in proof
    assert '<span class="good">passed</span>' in page.client.get(version[0]).text


def test_a_version_gets_a_report_and_a_replay_by_forms(page: Running) -> None:
    """A form that is refused keeps what was written."""
    path, rows = f"/pages/models/loans/{second(page)}/jobs", [{**ROW, "amount": amount} for amount in (500, 1500)]
    headers = page.as_["train"] | {"x-file-name": "rows.csv"}
    table = "amount,age,city,granted\n1500,25,here,yes\n500,25,here,no\n"
    upload = page.client.post("/uploads", content=table, headers=headers).json()["id"]
    refused = sent(page, path, kind="report", target="granted", upload="")
    assert refused.status_code == 422
    assert re.search(r'id="upload" name="upload" aria-invalid="true"', refused.text)
    assert 'value="granted"' in refused.text
    Outline(refused.text).check()
    for target in ("granted", ""):
        made = ended(page, sent(page, path, kind="report", target=target, upload=upload).headers["location"])
        report = re.search(r'href="(/jobs/\w+/report)">Read the report', made)
        assert report, made
        assert page.client.get(report[1]).text.startswith("<!doctype html>")
    page.score(rows)
    replayed = ended(page, sent(page, path, kind="replay", target="", upload=upload).headers["location"])
    assert "1 decision would change" in replayed
    assert "All decisions that would change" in replayed
    Outline(replayed).check()


def ended(page: Running, job: str) -> str:
    """The page of a job that has ended."""
    for _ in range(600):
        answer = page.client.get(job)
        assert answer.status_code == 200
        if "<progress" not in answer.text:
            return str(answer.text)
        assert 'http-equiv="refresh"' in answer.text
        assert 'hx-trigger="every' in answer.text
        time.sleep(0.1)
    raise AssertionError("the job does not end")


def test_a_changed_history_is_told(page: Running) -> None:
    with page.service.database.write() as connection:
        connection.execute(
            text("UPDATE events SET body = :body, time = 1e300 WHERE number = 1"), {"body": '{"digest": 5}'}
        )
    answer = page.client.get("/pages/models/loans")
    assert answer.status_code == 200
    assert "The chain of events is broken at event 1" in answer.text


def test_decisions_come_in_pages_and_by_filter(page: Running) -> None:
    rows = [{**ROW, "city": "there" if i % 2 else "here", "age": 90} for i in range(60)]
    page.score(rows)
    first = page.client.get("/pages/decisions?model=loans&differs=").text
    following = re.search(r'href="(\?[^"]*cursor=[\d.]+)"', first)
    assert first.count("/pages/decision?id=") == 50
    assert following is not None
    rest = page.client.get("/pages/decisions" + following[1].replace("&amp;", "&")).text
    assert rest.count("/pages/decision?id=") == 10
    assert "cursor=" not in rest
    assert page.client.get("/pages/decisions?label=yes").text.count("/pages/decision?id=") == 30
    assert page.client.get(f"/pages/decisions?cursor={10**30}").status_code == 200


def test_htmx_is_the_file_that_was_read() -> None:
    """Version 2.0.11 of htmx.org."""
    data = files("rulekit_serve").joinpath("static", "htmx.min.js").read_bytes()
    assert hashlib.sha256(data).hexdigest() == HTMX


def test_browsers_are_told_to_run_no_other_script(page: Running) -> None:
    answer = page.client.get("/pages/jobs")
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    config = re.search(r"name=\"htmx-config\" content='([^']*)'", answer.text)
    assert config
    assert json.loads(config[1]) == {"includeIndicatorStyles": False, "allowEval": False}
    assert page.client.get("/static/htmx.min.js").headers["content-type"].startswith("text/javascript")
    assert page.client.get("/static/..%2f..%2fapp.py").status_code == 404
    assert COOKIE not in answer.text
