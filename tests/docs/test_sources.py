"""Each command of docs/sources.md runs, on the small tables that the page writes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from samples.commands import run_command
from samples.pages import ROOT, fences, run_python

PAGE = (ROOT / "docs" / "sources.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = {
    title: [found.replace("\\|", "|") for found in re.findall(r"\| `(rulekit [^`]+)` \|", text)]
    for title, text in SECTIONS.items()
}
# What makes a training short, where the command does not say otherwise.
QUICK = {
    "cnll": ("stopping=none", "n_units=3"),
    "cnll-paper": ("stopping=none", "n_units=3"),
    "noisy-or": ("n_folds=2", "max_causes=2"),
    "noisy-or-paper": ("n_folds=2", "max_causes=2"),
    "noisy-or-gated": ("n_folds=2", "max_causes=2"),
    "noisy-count": ("n_folds=2",),
    "ltu-tree": ("max_nodes=3", "n_starts=1"),
    "ltu-tree-paper": ("max_depth=2", "n_epochs=2"),
    "madaline": ("n_networks=1", "n_passes=2"),
    "mada-winnow": ("n_networks=1", "n_passes=2"),
    "gramression": ("n_features=2", "feature_length=2"),
    "adaboost": ("stopping=none",),
    "adaboost-paper": ("stopping=none",),
    "boosted": ("stopping=none",),
    "mcmc": ("stopping=none", "n_literals=3"),
}
MODULES = re.findall(r"`python -m (benchmarks\.[\w.]+)", PAGE)


@pytest.mark.parametrize("title", COMMANDS)
def test_the_commands_of_a_paper_run(title: str, tmp_path: Path) -> None:
    """Trainings are short: of some of the rows, without cross-validation where they can be, of few units."""
    (tables,) = (fence for fence in fences(PAGE) if fence.kind == "python")
    run_python(tables.body, {}, tmp_path)
    for table in tmp_path.glob("*.csv"):
        head, *rows = table.read_text().splitlines(keepends=True)
        table.write_text(head + "".join(rows[:: max(1, len(rows) // 400)]))
    for command in COMMANDS[title]:
        done = run_command(_shortened(shlex.split(command)[1:]), tmp_path)
        assert done.status == 0, f"{command}\n{done.text}"


def _shortened(words: list[str]) -> list[str]:
    if words[0] != "train":
        return words
    given = {word.partition("=")[0] for word in words}
    quick = [text for text in QUICK[words[words.index("--learner") + 1]] if text.partition("=")[0] not in given]
    return [*words, "--no-baselines", "-q", *(part for text in quick for part in ("--param", text))]


def test_the_page_has_the_parts_of_five_papers() -> None:
    assert [len(commands) for commands in COMMANDS.values()] == [9, 15, 13, 6, 12]
    assert all((ROOT / f"{name.replace('.', '/')}.py").exists() for name in MODULES)
