"""A refusal names the field of the request for a form, beside the option for the command."""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path

import pytest
from rulekit_cli.main import COMMANDS

from rulekit.errors import InputError
from rulekit.tables.options import ReadingOptions
from rulekit.work.choices import OPTIONS
from rulekit.work.learning import TrainingRequest, parse_parameters
from rulekit.work.taught import teacher_asked
from rulekit.work.training import train

LOANS = Path(__file__).parents[2] / "cli" / "rulekit_cli" / "loans.csv"
OTHERWISE = {("override", "id"), ("report", "outputs"), ("sample", "param"), ("train", "param")}
"""Commands whose option has the spelling of another command's option with another field."""


def flags():
    """Each option of each command: the command, the long spelling, and the field that its value is passed under."""
    for name, command in COMMANDS.items():
        for parameter in inspect.signature(command).parameters.values():
            for info in getattr(parameter.annotation, "__metadata__", ()):
                for flag in (info.default, *(info.param_decls or ())):  # typer takes the first one for a default
                    if isinstance(flag, str) and flag.startswith("--"):
                        yield name, flag, parameter.name


def test_every_option_of_every_command_names_its_field():
    found = list(flags())
    assert len(found) > 200
    odd = {(c, f) for c, flag, f in found if InputError("it is wrong", where=flag).field != f}
    assert odd == OTHERWISE
    assert InputError("max_rules is -1", where="--param").field == "parameters"


def test_what_a_training_is_asked_has_a_field():
    known = {item.name for kind in (TrainingRequest, ReadingOptions) for item in fields(kind)}
    wanted = {
        field for command, flag, _ in flags() if command == "train" for field in [InputError("", where=flag).field]
    }
    promises = {"report", "monotone", "forbid", "require", "missing_never_helps"}  # parameters of the learner
    assert wanted - promises - {"types_file", "curves", "engine", "quiet", "json"} <= known


def test_parameters_of_an_estimator_name_the_field_of_their_option():
    for name, flag in OPTIONS.items():
        if flag:
            assert InputError("it is wrong", where=name).field == InputError("it is wrong", where=flag).field


@pytest.mark.parametrize(
    ("where", "field"),
    [("--teacher-cut", "teacher_cut"), ("--monotone age", "monotone"), ("type of column 'age'", "types")]
    + [(where, "") for where in ("loans.csv", "column 'age'", "data row 7", "a/b", "", "loans.csv, column 'type'")],
)
def test_only_what_stands_for_a_field_is_one(where, field):
    assert InputError("it is wrong", where=where).field == field


def request(reading=None, **asked):
    return TrainingRequest(LOANS, ReadingOptions(**{"target": "default", **(reading or {})}), **asked)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: parse_parameters("rules", ["max_rules=-1"]), "max_rules"),
        (lambda: parse_parameters("rules", ["rules"]), "parameters"),
        (lambda: train(request(parameters={"report": "odd"})), "report"),
        (lambda: train(request({"target": None})), "target"),
        (lambda: train(request({"target": "defalt"})), "target"),
        (lambda: train(request({"weight": "none"})), "weight"),
        (lambda: train(request({"types": {"age": "odd"}})), "types"),
        (lambda: train(request({"roles": {"age": "odd"}})), "roles"),
        (lambda: train(request({"units": {"age": " "}})), "units"),
        (lambda: train(request({"cost": "1-5"})), "cost"),
        (lambda: train(request({"label_separator": " "})), "label_separator"),
        (lambda: train(request(memory="much")), "memory"),
        (lambda: teacher_asked(request(teacher_cut=0.5)), "teacher_cut"),
    ],
)
def test_a_training_that_makes_no_sense_names_the_field(call, field):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.field == field
