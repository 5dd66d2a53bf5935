"""A report in headless Chromium, opened as a file: no request, no fault, keyboard, phones, print, no scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from report_models import loans

import rulekit
from benchmarks.proofs.runtimes.devtools import Page, devtools, file_url
from benchmarks.proofs.runtimes.environments import browser
from rulekit.graph.rules import fired, rules_of
from rulekit.work.reporting import report

pytestmark = pytest.mark.skipif(browser() is None, reason="no Chromium on this machine")

TAB = ("Tab", 9)


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with devtools() as made:
        yield made


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = loans()
    output = tmp_path_factory.mktemp("page") / "report.html"
    report(made.model, made.held, outputs=(output,), by=("purpose",), title="Loans", reading=made.reading)
    assert output.stat().st_size < 1 << 20
    return file_url(output)


def test_it_asks_for_nothing_and_complains_of_nothing(page: Page, address: str) -> None:
    page.open(address)
    assert [url for url in page.requests if not url.startswith("data:")] == [address]
    assert page.faults == []
    assert page.value("document.fonts.size") == 0
    assert page.value("document.title") == "Loans"


def test_what_is_typed_is_scored_as_the_model_does(page: Page, address: str) -> None:
    page.open(address)
    graph = rulekit.load(loans().model)
    assert page.value("!document.getElementById('scorer').hidden")
    rows: list[dict[str, Any]] = [
        {"income": "24900", "amount": "8000.01"},
        {"income": "24900.002", "amount": "8000.01"},
        {"amount": "9000", "late_payments": "3"},
        {"purpose": "gambling"},
        {"purpose": "(another level)", "income": ""},
    ]
    fields = page.value("JSON.parse(document.getElementById('fields').textContent).columns.map(c => c.name)")
    for row in rows:
        page.value("document.getElementById('score-form').reset()")
        for k, name in enumerate(fields):
            if name in row:
                choose = f"[...field.options].find(o => o.text === '{row[name]}').value"
                page.value(
                    f"(() => {{ const field = document.getElementById('field-{k}');"
                    f"field.value = field.options ? {choose} : '{row[name]}';"
                    "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
                )
        cells = {name: [row.get(name) or None] for name in graph.used_features}
        table = graph.table(cells)
        assert page.value("document.getElementById('score-label').textContent") == graph.predict(table)[0]
        shown = page.value("[...document.querySelectorAll('#score-rules code')].map(e => e.textContent)")
        holds = fired(graph, table)[0]
        assert shown == [rule.id for rule, held in zip(rules_of(graph), holds, strict=True) if held]
    page.value(
        "(() => { const field = document.getElementById('field-0'); field.value = 'many';"
        "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    assert page.value("document.getElementById('field-0-said').textContent") == '"many" is not a number'
    assert page.value("document.getElementById('field-0').getAttribute('aria-invalid')") == "true"


def test_it_is_used_by_keyboard(page: Page, address: str) -> None:
    page.window(1280, 900)
    page.open(address)
    last = page.value("document.querySelectorAll('.field').length") - 1
    order = []
    for _ in range(40):
        page.press(*TAB)
        found = page.value(
            "(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();"
            "return {name: e.id || e.getAttribute('href'), outline: s.outlineStyle !== 'none' && s.outlineWidth,"
            "seen: r.width > 0 && r.bottom > 0 && r.top < innerHeight}; })()"
        )
        order.append(found)
        if found["name"] == f"field-{last}":
            break
    names = [each["name"] for each in order]
    assert names[:2] == ["#summary", "#summary"]  # to the content, then the contents
    assert names[-1 - last :] == [f"field-{k}" for k in range(last + 1)]
    assert [each for each in order if each["outline"] != "2px" or not each["seen"]] == []
    page.value("document.getElementById('field-0').focus()")
    page.type("12")
    assert page.value("document.getElementById('field-0').value") == "12"


@pytest.mark.parametrize("width", [320, 400, 768, 1280])
def test_nothing_overflows(page: Page, address: str, width: int) -> None:
    page.window(width, 900)
    page.open(address)
    assert page.value("document.documentElement.scrollWidth") <= width
    beyond = page.value(
        "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1"
        " && !e.closest('svg') && !e.classList.contains('hidden')).map(e => e.outerHTML.slice(0, 80))"
    )
    assert beyond == []


def test_it_prints_without_its_form(page: Page, address: str) -> None:
    page.window(1280, 900)
    page.media("print")
    page.open(address)
    assert page.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.value("getComputedStyle(document.getElementById('score')).display") == "none"
    page.media()
    content = page.pdf()
    assert content.startswith(b"%PDF")
    assert len(content) < 1 << 20


def test_it_is_read_without_scripts(page: Page, address: str) -> None:
    page.scripts(False)
    try:
        page.open(address)
        counted = "document.querySelectorAll('main section').length"
        assert page.value(counted) == 20
        assert page.value("document.getElementById('scorer').hidden")
        assert page.value("document.querySelectorAll('main table').length") > 15
    finally:
        page.scripts(True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_take_the_colours_of_the_page(page: Page, address: str, scheme: str) -> None:
    page.window(1280, 900)
    page.media("", scheme)
    page.open(address)
    ink = page.value("getComputedStyle(document.body).color")
    texts = page.value("[...document.querySelectorAll('figure svg text')].map(e => getComputedStyle(e).fill)")
    assert len(texts) > 10
    assert set(texts) == {ink}
    light = np.mean(
        [int(part) for part in page.value("getComputedStyle(document.body).backgroundColor")[4:-1].split(",")]
    )
    assert (light > 128) == (scheme == "light")
    page.media()


def test_tables_and_fields_have_names(page: Page, address: str) -> None:
    page.open(address)
    assert page.value("[...document.querySelectorAll('th')].filter(e => !e.textContent.trim()).length") == 0
    assert page.value("[...document.querySelectorAll('input, select, textarea')].every(e => e.labels.length === 1)")
    assert page.value("[...document.querySelectorAll('figure svg')].every(e => e.getAttribute('aria-label'))")
    ids = page.value("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    targets = page.value("[...document.querySelectorAll('a')].map(e => e.getAttribute('href').slice(1))")
    assert set(targets) <= set(ids)
