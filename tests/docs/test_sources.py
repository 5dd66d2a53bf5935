"""Each command of docs/sources.md runs, on the small tables that the page writes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from samples.commands import run_command
from samples.pages import ROOT, fences, run_python

PAGE = (ROOT / "docs" / "sources.md").read_text("utf-8")
COMMANDS = [found.replace("\\|", "|") for found in re.findall(r"\| `(rulekit [^`]+)` \|", PAGE)]
# What makes a training short, where the command does not say otherwise.
QUICK = {
    "cnll": ("stopping=none", "n_units=3"),
    "noisy-or": ("n_folds=2", "max_causes=2"),
    "ltu-tree": ("max_nodes=3", "n_starts=1"),
    "madaline": ("n_networks=1", "n_passes=2"),
    "mada-winnow": ("n_networks=1", "n_passes=2"),
    "gramression": (),
    "adaboost": ("stopping=none",),
    "mcmc": ("stopping=none", "n_literals=3"),
}
MODULES = re.findall(r"`python -m (benchmarks\.[\w.]+)", PAGE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sources")
    (tables,) = (fence for fence in fences(PAGE) if fence.kind == "python")
    run_python(tables.body, {}, place)
    return place


@pytest.mark.parametrize("command", COMMANDS, ids=range(len(COMMANDS)))
def test_a_command_of_the_page_runs(command: str, folder: Path) -> None:
    """Trainings are short: without cross-validation where they can be, of few units, beside no other models."""
    words = shlex.split(command)[1:]
    if words[0] == "train":
        given = {word.partition("=")[0] for word in words}
        extra = QUICK[words[words.index("--learner") + 1]]
        words += ["--no-baselines", "-q"]
        words += [part for text in extra if text.partition("=")[0] not in given for part in ("--param", text)]

    done = run_command(words, folder)

    assert done.status == 0, f"{command}\n{done.text}"


def test_the_benchmarks_of_the_page_are_there() -> None:
    assert len(COMMANDS) > 40
    assert all((ROOT / f"{name.replace('.', '/')}.py").exists() for name in MODULES)
