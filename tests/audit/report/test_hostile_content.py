"""Foreign text stays text: names, levels, labels, notes and files that hold markup, scripts and signs of Markdown."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import rulekit
from rulekit.audit.report.layouts import escaped, html, json_in_page, markdown
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.work.reporting import report

SCRIPT = "</script><script>alert(1)</script>"
IMAGE = "\"><img src=x onerror='alert(2)'>"
SIGNS = "{{ 7*7 }} $x^2$ | `b` [a](http://evil) \u202e\n# end"
TAGS = (
    "a body button caption circle clippath code dd defs div dl dt figcaption figure footer form g h1 h2 h3 head header "
    "html input label li line link main meta nav noscript ol option output p path rect script section select span "
    "style svg table tbody td text th thead title tr ul use"
)


class Page(HTMLParser):
    """The tags, attributes and scripts of a page, as a browser parts them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A report of which every foreign text is hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    number, level = f"n{SCRIPT}", f"c{IMAGE}"
    schema = Schema(
        (
            Feature(number, unit=IMAGE),
            Feature(level, "categorical", (SCRIPT, IMAGE, SIGNS)),
            Feature(f"audit {SIGNS}", "categorical", (SCRIPT, "b"), role="audit"),
        ),
        target=f"y{SCRIPT}",
    )
    rules = Or([And([Compare(number, ">", 1.0), Among(level, (SCRIPT, IMAGE))]), Among(level, (SIGNS,))])
    note: dict[str, Any] = {
        "learner": SCRIPT,
        "parameters": {IMAGE: SCRIPT},
        "versions": {SCRIPT: IMAGE},
        "edits": [{"author": SCRIPT, "reason": IMAGE, "date": SIGNS, "added": [SCRIPT, 3, None], "removed": SCRIPT}],
        "refitted": {"data": SCRIPT, "rows": SCRIPT},
        "baselines": {"models": [{"name": SCRIPT}], "rows": "x"},
        "measured": {"model": "?", "on": SCRIPT},
        "stopped": SCRIPT,
    }
    graph = RuleGraph(schema, (SCRIPT, IMAGE), Fires(rules), provenance=note)
    graph.save(folder / "model.json")
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([number, level, f"audit {SIGNS}", f"y{SCRIPT}"])
        cells = [(0, SCRIPT, SCRIPT), (2, SCRIPT, "b"), (3, IMAGE, SCRIPT), (1, SIGNS, "b"), (0, "new", IMAGE)]
        for k, (n, c, a) in enumerate(cells * 8):
            writer.writerow([n, c, a, (SCRIPT, IMAGE)[k % 2]])
    (folder / "drift.json").write_text(json.dumps({SCRIPT: [{IMAGE: SIGNS, "n": 1}], "x": {SCRIPT: {IMAGE: [SCRIPT]}}}))
    said = {"title": SCRIPT, "purpose": IMAGE, "author": SIGNS, "date": SCRIPT}
    return report(folder / "model.json", folder / "rows.csv", drift=(folder / "drift.json",), **said)


def test_no_tag_attribute_or_script_comes_from_foreign_text(hostile: Any) -> None:
    assert html(hostile.document) == html(hostile.document)
    assert "NaN" not in json.dumps(hostile.document.data, allow_nan=False)
    page = Page(html(hostile.document))
    assert {tag for tag, _ in page.tags} <= set(TAGS.split())
    names = {name for _, attributes in page.tags for name in attributes}
    assert [name for name in names if name.startswith("on")] == []
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "fields"}, {"type": "module"}]
    links = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("href", "src")]
    assert all(value is not None and (value.startswith("#") or value == "data:,") for value in links)
    assert any(SCRIPT in text for text in page.texts)  # it is shown, as text
    assert "7*7" in "".join(page.texts)


def test_the_policy_allows_the_one_script_and_no_request(hostile: Any) -> None:
    text = html(hostile.document)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    opening = '<script type="module">'
    script = text[text.rindex(opening) + len(opening) : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy[1].split("; ")[:2] == ["default-src 'none'", f"script-src 'sha256-{digest}'"]
    without = re.sub(r'xmlns(:xlink)?="http://www\.w3\.org/[^"]*"', "", text)
    assert re.findall(r"url\((?!#)|@import", without) == []
    assert re.findall(r"https?://(?!evil)", without) == []


def test_the_fields_of_the_page_are_read_back(hostile: Any) -> None:
    text = html(hostile.document)
    inside = re.search(r'<script type="application/json" id="fields">(.*?)</script>', text, re.DOTALL)
    assert inside is not None
    assert json.loads(inside[1]) == hostile.document.section("score").data["form"]
    assert json.loads(str(json_in_page(f"{SCRIPT}<!--\u2028&"))) == f"{SCRIPT}<!--\u2028&"


def test_markdown_holds_no_markup_of_foreign_text(hostile: Any) -> None:
    card = markdown(hostile.document)
    assert re.findall(r"<(?!br>)", card) == []
    assert "[a](http" not in card
    assert "\u202e" not in card
    rows = [line for line in card.splitlines() if line.startswith("|")]
    assert len(rows) > 20
    assert escaped("a|b*c_`d`\n#e") == r"a\|b\*c\_\`d\`\\n\#e"


def test_a_model_file_may_bring_any_note(tmp_path: Path) -> None:
    """Notes that are not what they are taken for are shown as text, or left out."""
    graph = rulekit.RuleGraph(rulekit.Schema((rulekit.Feature("x"),)), ("no", "yes"), Fires(Compare("x", ">", 0.5)))
    strange: list[Any] = [None, "text", 3, [1], {"a": 1}, [{"added": 5}], {"columns": {"x": 3}}]
    keys = ("learner", "baselines", "measured", "refitted", "versions", "data", "rows", "simplified")
    for k, value in enumerate(strange):
        # each note by itself, and all at once
        for noted in (*({key: value} for key in keys[k::3]), dict.fromkeys(keys, value)):
            statistics = {"columns": {"x": value}, "held_out": value}
            graph.with_(provenance=noted, statistics=statistics).save(tmp_path / f"model{k}.json")
            found = report(tmp_path / f"model{k}.json").document
            assert html(found)
            assert markdown(found)
