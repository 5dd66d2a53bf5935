"""Every flag, parameter and value that a page names exists: in console lines, in code, and in prose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rulekit.errors import InputError
from rulekit.learners.contract import find_estimator, find_learner, learner_names
from rulekit.learners.parameters import check_parameters, value_for
from samples.pages import command_options, fences, page_paths

FOREIGN = {"--no-deps", "--ignore-scripts", "--install-completion"}  # pip, npm, typer
FOREIGN |= {"--pages", "--small", "--folder", "--results", "--environment", "--write", "--debug", "--family", "--only"}
FOREIGN |= {"--peers"}  # samples, benchmarks
OPTIONS = command_options()
FLAGS = {
    part: bool(option.value)
    for options in OPTIONS.values()
    for option in options
    for name in option.names
    for part in name.split("/")
} | {"--help": False, "--version": False}
LEARNERS = {name: find_learner(name) for name in learner_names()}
CLASSES = {find_estimator(name).__name__: learner for name, learner in LEARNERS.items()}
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_SETTING = re.compile(r"^([a-z]\w*)=(\S.*)$")


def odd(text: str) -> list[str]:
    """What a page names and there is not."""
    found = []
    for fence in fences(text):
        lines = fence.body.replace("\\\n", " ").splitlines()
        if fence.kind == "python":
            found += [fault for tree in _trees(fence.body) for fault in odd_calls(tree)]
        else:
            found += [fault for line in lines for fault in odd_line(line)]
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for span in _SPAN.findall(prose):
        found += odd_line(span)
        found += [fault for tree in _trees(span) for fault in odd_calls(tree)]
        setting = _SETTING.match(span)
        found += odd_setting(setting[1], setting[2]) if setting else []
    return [*found, *(name for name in _FLAG.findall(_SPAN.sub("", prose)) if name not in {*FLAGS, *FOREIGN})]


def odd_line(line: str) -> Iterator[str]:
    """The flags of a line that no command has, or not the one that is called; values of flags that take none."""
    called = re.search(r"\brulekit ([a-z]+)\b", line)
    command = called[1] if called and called[1] in OPTIONS else None
    own = set(FLAGS) if command is None else {"--help"}
    for options in (options for key, options in OPTIONS.items() if key.split()[0] == command):
        own.update(part for option in options for name in option.names for part in name.split("/"))
    if called and command is None and line.startswith("$ rulekit"):
        yield f"{line}: no command {called[1]}"
    rest = line[called.start() :].split("|")[0] if called else "" if re.match(r"(\$ )?python", line) else line
    for name in _FLAG.findall(rest):
        if name not in own and name not in FOREIGN:
            yield f"{line}: {name}"
    words = line.split()
    if len(words) == 2 and FLAGS.get(words[0]) is False and not words[1].startswith("-"):
        yield f"{line}: {words[0]} takes no value"
    learner = re.search(r"--learner ([\w-]+)", line)
    for name, value in re.findall(r"--param '?([\w-]+)=([^\s'`,;]+)", line):
        yield from odd_setting(name, value, LEARNERS.get(learner[1]) if learner else None)


def odd_setting(name: str, text: str, learner: Any = None) -> list[str]:
    """A parameter with a value, as the command or Python writes it, that no learner takes."""
    having = [each for each in ([learner] if learner else LEARNERS.values()) if name in each.parameters]
    if not having:
        return [f"no parameter {name}"] if learner else []
    return [] if any(_takes(each, name, text) for each in having) else [f"{name} is never {text}"]


def _takes(learner: Any, name: str, text: str) -> bool:
    parameter = learner.parameters[name]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        if not re.fullmatch(r"[\w.:/-]+", text):
            return True  # an expression, or a text of its own
        if not isinstance(parameter.default, str):
            return True  # the name of a variable
        value = value_for(parameter, text)
    try:
        check_parameters("", {name: value}, {name: parameter})
    except InputError:
        return len(text) == 1 and text.isalpha()  # K, n: stands for a value
    return True


def odd_calls(tree: ast.AST) -> Iterator[str]:
    """Keywords of estimators in code that they do not have, or values that they refuse."""
    for call in ast.walk(tree):
        named = call.func if isinstance(call, ast.Call) else None
        learner = CLASSES.get(named.id) if isinstance(named, ast.Name) else None
        for keyword in call.keywords if isinstance(call, ast.Call) and learner else ():
            if learner is not None and keyword.arg in learner.groups:
                continue
            if keyword.arg is not None and not isinstance(keyword.value, ast.Name):
                yield from odd_setting(keyword.arg, ast.unparse(keyword.value), learner)
            elif keyword.arg is not None and keyword.arg not in learner.parameters:
                yield f"no parameter {keyword.arg}"


def _trees(source: str) -> Iterator[ast.AST]:
    try:
        yield ast.parse(source)
    except SyntaxError:
        return


@pytest.mark.parametrize("page", page_paths(), ids=lambda path: path.name)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert odd(page.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "`--fired true`",
        "give --nothing",
        "`rulekit train t.csv --dialect duckdb`",
        "```console\n$ rulekit trian t.csv\n```\n",
        "```sh\nrulekit show m.json --rows 3\n```\n",
        "`--learner adaboost --param rounds=3`",
        "`--param report=dnf`",
        '`report="dnf"`',
        '`RulesClassifier(10, report="dnf")`',
        "```python\nCNLLClassifier(rounds=4).fit(X, y)\n```\n",
    ],
)
def test_what_is_not_there_is_noticed(text: str) -> None:
    assert odd(text) != []
