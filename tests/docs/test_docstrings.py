"""The public interface is documented in numpydoc's form: each parameter on a line of its own, in its order."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rulekit
from rulekit.learners.contract import find_estimator, learner_names
from rulekit.learners.rule_learner import HOOKS, RuleLearner
from rulekit.tables.options import ReadingOptions

_NAME = re.compile(r"^\*{0,2}(\w+)(?: : \S.*)?$")


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public names, and the methods of public classes that the project itself wrote."""
    for thing in (*(getattr(rulekit, name) for name in rulekit.__all__), ReadingOptions):
        yield thing.__name__, thing
        for name, method in inspect.getmembers(thing, inspect.isfunction):
            if (
                not name.startswith("_")
                and method.__module__.startswith("rulekit.")
                and name in INTERFACE | set(vars(thing))
            ):
                yield f"{thing.__name__}.{name}", method


INTERFACE = {"fit", "predict", "predict_proba", "decision_function"}
INTERNAL = set(HOOKS) | {"fit_rules"}
INTERNAL |= {"dropped", "categories", "label_columns", "features", "missing_tokens", "over", "says"}  # of options


def documented(docstring: str) -> list[str]:
    """The names in the section of parameters."""
    found = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    lines = [] if found is None else [line for line in found[1].splitlines() if not line.startswith(" ")]
    assert all(_NAME.match(line) for line in lines), lines
    return [_NAME.sub(r"\1", line) for line in lines]


@pytest.mark.parametrize(("name", "thing"), [pair for pair in public() if pair[0].split(".")[-1] not in INTERNAL])
def test_every_parameter_is_documented_on_a_line_of_its_own(name: str, thing: Callable[..., Any]) -> None:
    docstring = inspect.cleandoc(thing.__doc__ or "")
    taken = [parameter for parameter in inspect.signature(thing).parameters if parameter != "self"]
    assert docstring
    assert documented(docstring) == taken
    assert max(map(len, docstring.splitlines())) < 160


def test_the_page_of_learners_lists_every_hook_with_its_arguments_and_every_attribute() -> None:
    text = (Path(__file__).parents[2] / "docs" / "learners.md").read_text("utf-8")
    rows = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    public = {name for name, what in vars(RuleLearner).items() if inspect.isfunction(what) and name[0] != "_"}
    given = {"given_parameters", "checked_settings", "fit_rules", "learn_rows"}  # what every learner gets
    assert public - given == set(HOOKS)
    for name in HOOKS:
        places = ", ".join(list(inspect.signature(getattr(RuleLearner, name)).parameters)[1:])
        assert f"{name}({places})" in rows
    attributes = {name for name in inspect.get_annotations(RuleLearner) if name[-1] != "_"} - {"parameters", "groups"}
    assert attributes <= rows


@pytest.mark.parametrize("word", learner_names())
def test_the_docstring_of_a_learner_says_what_its_settings_declare(word: str) -> None:
    learner = find_estimator(word)
    docstring = inspect.cleandoc(learner.__doc__ or "")
    for name, kind in learner.groups.items():
        assert f"\n{name} : {kind.__name__}, or a mapping, default None\n" in docstring
    for parameter in learner.parameters.values():
        if parameter.group:
            assert f"\n        {parameter.name} (" in docstring
            continue
        assert f"{parameter.allowed.words}, default {parameter.default!r}\n" in docstring
        assert parameter.help.split()[-1] in docstring
    assert docstring.count("\nAttributes\n----------\nrule_graph_ : RuleGraph\n") == 1
