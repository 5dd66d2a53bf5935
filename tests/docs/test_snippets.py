"""README.md and docs/ say what is true: transcripts and code are run, options and links are looked up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

import rulekit
from rulekit.audit.figures import baselines
from rulekit.audit.figures.baselines import Found, Sample
from samples.pages import (
    ROOT,
    SHARED_OPTIONS,
    alike,
    command_options,
    differences,
    fences,
    page_paths,
    prepare,
    runs,
    with_options,
)

PAGES = page_paths()
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def _at_once(sample: Sample, seconds: float) -> Callable[..., Found]:
    return lambda deadline: baselines.measured_here(sample, 10.0)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


LONG = ("adaboost", "cnll", "learners", "ltu", "noisy-or", "papers", "stability", "try")  # pages that learn many models
RUN = [
    pytest.param(page, marks=[pytest.mark.long] * (page.stem in LONG), id=name_of(page))
    for page in PAGES
    if runs(page.read_text("utf-8"))
]


@pytest.mark.parametrize("page", RUN)
def test_what_a_page_shows_is_what_comes_out(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every baseline beside a training is a single condition: the others take long, and may vary on a page."""
    names = [name for name, _ in baselines._models()]
    monkeypatch.setattr(baselines, "_models", lambda: iter((name, baselines.one_condition) for name in names))
    monkeypatch.setattr(baselines, "measured_beside", lambda: nullcontext(_at_once))
    prepare(tmp_path)

    found = [f"written:\n{d.fence.body}\nprinted:\n{d.actual}" for d in differences(page.read_text("utf-8"), tmp_path)]

    assert not found, "run `python -m samples.make --pages`\n" + "\n".join(found)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    broken = []
    for link in _LINK.findall(text):
        path, _, anchor = link.partition("#")
        target = page if not path else (page.parent / path)
        if link.startswith(("http:", "https:")):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            broken.append(link)

    assert broken == []


def anchors(text: str) -> set[str]:
    """The anchors that headings give, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("command", sorted(command_options()))
def test_every_option_is_in_the_page_of_the_command(command: str) -> None:
    text = (ROOT / "docs" / "command.md").read_text("utf-8")
    start = text.index(f"\n## rulekit {command.split()[0]}\n")
    section = text[start : text.find("\n## ", start + 1)]
    names = [name for option in command_options()[command] for name in option.names]

    assert names
    assert [name for name in names if f"`{name}`" not in section] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_tables_of_options_and_parameters_are_up_to_date(page: Path) -> None:
    text = page.read_text("utf-8")

    assert with_options(text) == text, "run `python -m samples.make --pages`"


def test_every_page_of_the_docs_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "docs" / "index.md").read_text("utf-8")
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in PAGES if path.parent != ROOT} - {"index.md"}

    assert {page for page in pages if f"]({page})" not in contents} == set()
    assert {page for page in pages if f"- {page}\n" not in site} == set()


def test_the_page_of_the_library_lists_every_public_name() -> None:
    text = (ROOT / "docs" / "api.md").read_text("utf-8")

    assert set(re.findall(r"^::: rulekit\.(\w+)$", text, re.MULTILINE)) == set(rulekit.__all__)


def test_what_pages_share_stands_once() -> None:
    """Options of reading and of columns, and the parameters of all learners, have one table each."""
    tables = Counter(
        found
        for page in PAGES
        for found in re.findall(r"<!-- (?:options|parameters) [^>]+ -->", page.read_text("utf-8"))
    )

    assert {table: count for table, count in tables.items() if count > 1 or "shared" in table} == {
        "<!-- parameters shared -->": 1
    }
    assert {f"<!-- options {group} -->" for group in SHARED_OPTIONS} <= set(tables)
    for page in PAGES:
        text = page.read_text("utf-8")
        if page.name not in ("reading.md", "check.md"):
            assert not re.search(r"^\| `--(delimiter|type|monotone)`", text, re.MULTILINE), page


def test_pages_name_no_place_of_one_machine() -> None:
    for page in PAGES:
        assert not re.search(r"(?<![\w.])/(work|tmp|home|root|Users)/", page.read_text("utf-8")), page


def test_a_wrong_transcript_is_noticed(tmp_path: Path) -> None:
    text = "```console\n$ rulekit --version\nrulekit 99\n```\n\n```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"

    found = list(differences(text, tmp_path))

    assert [d.fence.kind for d in found] == ["console", "text"]
    assert found[1].actual == "2\n"


def test_only_seconds_sizes_and_dots_may_vary() -> None:
    assert alike("a\n...\nb 2.4 s, 8.1 kB\n", "a\nx\ny\nb 9.9 s, 7.0 kB\n")
    assert alike("a 1\ntree of depth 4  5.9 ± 0.6\nb\n", "a 1\nb\nno time for: tree of depth 4\n")
    assert not alike("a\n...\nb\n", "a\nx\nc\n")
    assert not alike("0.942 of 500 rows\n", "0.943 of 500 rows\n")


def test_every_option_says_what_it_does() -> None:
    silent = [(command, o.names) for command, options in command_options().items() for o in options if not o.help]

    assert silent == []


def test_fences_are_found() -> None:
    assert [fence.kind for fence in fences("```console\n$ rulekit\n```\ntext\n```\nplain\n```\n")] == ["console"]
