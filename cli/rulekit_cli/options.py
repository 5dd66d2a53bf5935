"""Options, each declared once, those that a target or a learner brings, and what is made of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from rulekit.errors import InputError
from rulekit.work.choices import DeclaredOption

if TYPE_CHECKING:
    from rulekit.tables.options import ReadingOptions

Texts = list[str] | None


class Require(StrEnum):
    """What must be proved for exit status 0."""

    proof = "proof"
    probabilities = "proof-of-probabilities"


# Files ---------------------------------------------------------------------------------------------------------------

MODEL_HELP = "A model file (.json), or an artifact that carries its rules."
Model = Annotated[Path, typer.Argument(help=MODEL_HELP)]
ModelOrFolder = Annotated[
    Path, typer.Argument(help="A model file (.json), an artifact that carries its rules, or a folder of models.")
]
Data = Annotated[Path, typer.Argument(help="A CSV (also .gz), Parquet or JSON-lines file.")]
ModelOutput = Annotated[Path, typer.Option("-o", "--output", help="The model file to write (.json).")]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of row weights.")]
Cost = Annotated[
    str | None, typer.Option("--cost", metavar="FP:FN", help="Cost of a false positive and of a false negative.")
]
MissingTarget = Annotated[
    str, typer.Option("--missing-target", metavar="HOW", help="Rows without a label: error, or drop to leave them out.")
]
TextFile = Mapping[str, Any]
Columns = Mapping[str, Any]
DETECTED: TextFile = MappingProxyType({})
"""What a command takes as the options of its text file, and of its columns, where none is given."""
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
SearchLimit = Annotated[
    float,
    typer.Option("--time-limit", metavar="SECONDS", help="Stop searching then; what is not settled is open.", min=0),
]
SEARCH_SECONDS = 60.0
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No notes and no progress.")]

_OF_TEXT_FILES = {
    "delimiter": Annotated[
        str | None, typer.Option("--delimiter", help="Cell separator, or blanks for runs of them; detected by default.")
    ],
    "decimal": Annotated[
        str | None, typer.Option("--decimal", help="Decimal mark, a point or a comma; detected by default.")
    ],
    "encoding": Annotated[str | None, typer.Option("--encoding", help="Encoding of the file; detected by default.")],
    "header": Annotated[
        str | None,
        typer.Option(
            "--header", metavar="LINE", help="Line of the header (3), its lines (1-3), or none; 1 by default."
        ),
    ],
    "names": Annotated[
        str | None, typer.Option("--names", metavar="A,B,C", help="Names of the columns, instead of the header's.")
    ],
    "comment": Annotated[
        Texts,
        typer.Option("--comment", metavar="TEXT", help="Leave out lines that begin with TEXT: a comment, a total."),
    ],
    "quote": Annotated[
        str | None, typer.Option("--quote", metavar="SIGN", help='The sign around cells, " by default, or none.')
    ],
    "trim": Annotated[bool | None, typer.Option("--trim", help="Take blanks off around cells, which count otherwise.")],
}


def reads_text(command: Callable[..., None]) -> Callable[..., None]:
    """The command with options in the place of its parameters `text_file` and `columns`, which get their values."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: shown for name, shown in _GROUPS.items() if name in hints}
    parameters = []
    for name, own in inspect.signature(command).parameters.items():
        shown = groups.get(name, {name: hints[name]})
        default = None if name in groups else own.default
        parameters += [inspect.Parameter(n, own.KEYWORD_ONLY, default=default, annotation=a) for n, a in shown.items()]

    @wraps(command)
    def extended(**values: Any) -> None:
        of_groups = {name: {each: values.pop(each) for each in shown} for name, shown in groups.items()}
        command(**values, **of_groups)

    extended.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    extended.__annotations__ = {p.name: p.annotation for p in parameters}
    return extended


# Reasons -------------------------------------------------------------------------------------------------------------

Catalogue = Annotated[
    Path | None, typer.Option("--catalogue", metavar="FILE", help="Reasons for adverse decisions (.toml).")
]
Adverse = Annotated[
    Texts,
    typer.Option(
        "--adverse", metavar="CLASS", help="Decisions that need reasons; by default the negative one of two classes."
    ),
]
MostReasons = Annotated[int, typer.Option("--most", min=1, metavar="N", help="At most so many reasons a row.")]

# Columns of a table --------------------------------------------------------------------------------------------------

Target = Annotated[str, typer.Option("--target", metavar="COL", help="The label column.")]
Positive = Annotated[
    str | None, typer.Option("--positive", metavar="LABEL", help="The positive of two classes; else the rarer.")
]
Ordered = Annotated[
    str | None, typer.Option("--ordered", metavar="A,B,C", help="The classes are ranks, from low to high.")
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        metavar="SIGN",
        help="The cells of the label column hold several labels with this sign between them; each gets a model.",
    ),
]
Group = Annotated[
    str | None, typer.Option("--group", metavar="COL", help="Rows of one group stay together in every split.")
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COL",
        help="Column of the time of each row, not a feature: the last rows are held out, folds are blocks in its "
        "order. rows: the order of the file.",
    ),
]
TimeShown = Annotated[
    str | None, typer.Option("--time", metavar="COL", help="Also show the error by blocks of this column of time.")
]
Reported = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="rules|all|rates",
        help="The probability: a card over the columns of the rules (default), over all, or a rate for each rule.",
    ),
]
Ignore = Annotated[Texts, typer.Option("--ignore", metavar="COL", help="Leave this column out.")]
By = Annotated[Texts, typer.Option("--by", metavar="COL", help="Also measure each group of the rows by this column.")]
Types = Annotated[
    Texts,
    typer.Option(
        "--type",
        metavar="COL=KIND",
        help="What a column is: numeric, categorical, boolean, text, date, datetime, money, or ordered:low,mid,high; "
        "with a cell that shows how numbers or dates are written, numeric:1.234,50 EUR, date:31-Dec-99.",
    ),
]
LabelColumn = Annotated[
    str | None, typer.Option("--target", metavar="COL", help="The label column; the model's by default.")
]
MissingLabel = Annotated[
    Texts, typer.Option("--missing", metavar="TOKEN", help="A text that means a missing label or weight.")
]
LabelTypes = Annotated[
    Path | None, typer.Option("--types", metavar="FILE", help="A file of types: what means a missing label or weight.")
]
TypesFile = Annotated[
    Path | None,
    typer.Option("--types", metavar="FILE", help="What columns are, from a file that rulekit describe wrote."),
]
Units = Annotated[
    Texts, typer.Option("--unit", metavar="COL=UNIT", help="The unit of the numbers of COL: EUR, %, years.")
]
Roles = Annotated[
    Texts, typer.Option("--role", metavar="COL=ROLE", help="use, audit (kept for reports) or forbidden: in no rule.")
]
Unseen = Annotated[
    Texts,
    typer.Option(
        "--unseen", metavar="COL=HOW", help="A level of COL that training never saw is: unseen, missing or error."
    ),
]
Missing = Annotated[
    Texts,
    typer.Option("--missing", metavar="[COL=]TOKEN", help="A cell text that means missing, everywhere or in COL."),
]
Precision = Annotated[
    Texts, typer.Option("--width", metavar="COL=float64", help="Compare the numbers of a column in this width.")
]

# Training ------------------------------------------------------------------------------------------------------------

Learner = Annotated[str, typer.Option("--learner", help="Which learner; `--learner NAME --help` lists its parameters.")]
Param = Annotated[
    Texts, typer.Option("--param", metavar="K=V", help="A parameter of the learner, for example max_rules=4.")
]
Smallest = Annotated[
    bool, typer.Option("--smallest", help="Take the smallest model that is not worse than the best one.")
]
Size = Annotated[
    int | None,
    typer.Option("--size", min=1, metavar="N", help="Take this row of the ladder: at most N rules (units) a class."),
]
NoBaselines = Annotated[bool, typer.Option("--no-baselines", help="Measure no other models beside the ladder.")]
Curves = Annotated[
    list[Path] | None,
    typer.Option("--curve", metavar="FILE", help="Write error against size: curve.csv, or drawn curve.png."),
]
ThresholdCurves = Annotated[
    list[Path] | None,
    typer.Option(
        "--curve",
        metavar="FILE",
        help="Write precision and recall against the threshold, one for all labels: curve.csv, or drawn curve.png.",
    ),
]
Start = Annotated[
    Path | None,
    typer.Option("--start", metavar="MODEL_OR_RULES", help="Go on from these rules: a model, or a rule text."),
]
Freeze = Annotated[
    str | None,
    typer.Option("--freeze", metavar="IDS", help="Rules of --start that stay as they are: all (default), none, ids."),
]
Overrides = Annotated[
    Path | None,
    typer.Option(
        "--overrides",
        metavar="FILE",
        help="Overrides that win over what is learned: of a model, a rule text or TOML; by default those of --start.",
    ),
]
Date = Annotated[
    str | None,
    typer.Option("--date", metavar="YYYY-MM-DD", help="Overrides that expired before are left out; today by default."),
]
Test = Annotated[Path | None, typer.Option("--test", metavar="FILE", help="Measure on this file.")]
Holdout = Annotated[
    float | None, typer.Option("--holdout", min=0.01, max=0.9, help="Measure on this share, held out of training.")
]
HeldRows = Annotated[
    Path | None,
    typer.Option("--holdout-out", metavar="FILE", help="Write the held-out rows there, in the format of the data."),
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", min=0, metavar="SECONDS", help="Stop then, with the best model so far.")
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Learn from a file larger than this much memory: 500MB, 2GB."),
]
Monotone = Annotated[
    Texts,
    typer.Option(
        "--monotone", metavar="COL=WAY", help="As COL grows the positive decision only comes (increasing) or goes."
    ),
]
Forbid = Annotated[Texts, typer.Option("--forbid", metavar="COLS", help="No rule reads two of these: age,sex.")]
Promised = Annotated[
    Texts, typer.Option("--require", metavar="RULE", help='Decide so wherever it holds: "amount > 9000 -> yes".')
]
NeverHelps = Annotated[
    bool | None, typer.Option("--missing-never-helps", help="No rule is satisfied by a missing value or a new level.")
]
_COLUMNS = {
    **{"ignore": Ignore, "types_file": TypesFile, "types": Types, "units": Units, "roles": Roles, "unseen": Unseen},
    **{"missing": Missing, "precision": Precision, "ordered": Ordered, "monotone": Monotone, "forbid": Forbid},
    **{"require": Promised, "missing_never_helps": NeverHelps, "weight": Weight, "group": Group, "time": Time},
    **{"cost": Cost},
}
_GROUPS: Mapping[str, Mapping[str, Any]] = {"text_file": _OF_TEXT_FILES, "columns": _COLUMNS}
NoSimplify = Annotated[bool, typer.Option("--no-simplify", help="Save the rules as learned, not simplified.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of every random choice.")]

# Verification --------------------------------------------------------------------------------------------------------

Compared = Annotated[Path | None, typer.Option("--data", help="A table whose rows are compared as well.")]
Rows = Annotated[
    int | None, typer.Option("--rows", min=0, help="How many rows to make, beside every cut; 20,000 by default.")
]
RowSeed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the rows that are made; 0 by default.")]
Report = Annotated[Path | None, typer.Option("--report", help="Write the report (JSON) here.")]
Against = Annotated[
    Path | None, typer.Option("--against", metavar="REPORT", help="Repeat the verification of this report.")
]
Required = Annotated[
    Require | None, typer.Option("--require", help="Fail unless decisions, or probabilities too, are proved equal.")
]
Key = Annotated[
    Path | None, typer.Option("--key", help="A file of secret bytes: signs the report, or checks its signature.")
]
Untrusted = Annotated[
    bool, typer.Option("--run-untrusted", help="Also run an artifact that the exporter does not write like this.")
]

_PAIRS = {"types": "--type", "precision": "--width", "unseen": "--unseen", "units": "--unit", "roles": "--role"}


def reading(given: Mapping[str, Any]) -> ReadingOptions:
    """How a table is read, of the options of a command by name; those that it does not have are as by default."""
    from rulekit.tables.options import ReadingOptions

    given = {**given, **given.get("columns", {}), **given.get("text_file", {})}
    values: dict[str, Any] = {}
    for item in fields(ReadingOptions):
        value = given.get(item.name)
        if value is not None and item.name in _PAIRS:
            value = pairs(value, _PAIRS[item.name])
        elif value is not None and item.name in ("ordered", "names"):
            value = tuple(map(str.strip, value.split(",")))
        values |= {} if value is None else {item.name: value}
    read = ReadingOptions(**values)
    if given.get("types_file") is None:
        return read
    from rulekit.work.describing import with_types

    return with_types(read, given["types_file"])


def declared(given: Mapping[str, Any], report: str | None = None) -> dict[str, Any]:
    """The parameters of a learner that have an option: what a model promises, by name, and what it reports."""
    found = {"monotone": pairs(given["monotone"], "--monotone", "COL=increasing or COL=decreasing")}
    for name, way in found["monotone"].items():
        if way not in ("increasing", "decreasing"):
            raise InputError(f"{way!r} is no direction", where=f"--monotone {name}", fix="increasing or decreasing")
    asked = {**found, **{name: given[name] for name in ("forbid", "require", "missing_never_helps")}, "report": report}
    return {name: value for name, value in asked.items() if value}


def several(items: Texts) -> list[str]:
    """The items of an option that is given more than once, or once with commas between them."""
    return [part.strip() for item in items or [] for part in item.split(",") if part.strip()]


def pairs(items: Texts, option: str, value: str = "COL=VALUE") -> dict[str, str]:
    """NAME=VALUE items as a mapping; a name may hold `=`, its value may not."""
    found = {}
    for item in items or []:
        name, equals, text = item.rpartition("=")
        if not equals or not name:
            raise InputError(f"{item!r} is not {value}", where=option)
        found[name] = text
    return found


def named(arguments: Sequence[str], flag: str) -> str | None:
    """The value of a flag on a command line that is not parsed yet."""
    for number, word in enumerate(arguments):
        if word == flag:
            return next(iter(arguments[number + 1 :]), None)
        if word.startswith(f"{flag}="):
            return word.removeprefix(f"{flag}=")
    return None


def with_flags(
    command: Callable[..., None],
    choices: Sequence[DeclaredOption],
    run: Callable[[Mapping[str, Any], Mapping[str, Any]], None],
) -> Callable[..., None]:
    """The command with one more flag for each choice; run takes what the command takes, and the choices that are made.

    A flag that is on by default is turned off by --no-NAME.
    """
    hints = get_type_hints(command, include_extras=True)
    own = [p.replace(annotation=hints[name]) for name, p in inspect.signature(command).parameters.items()]
    flags = [
        inspect.Parameter(choice.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_flag(choice))
        for choice in choices
    ]

    def extended(**values: Any) -> None:
        made = {choice.name: values.pop(choice.name) for choice in choices}
        run(values, {name: value for name, value in made.items() if value is not None})

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + flags
    extended.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    extended.__annotations__ = {p.name: p.annotation for p in parameters}
    extended.__doc__ = command.__doc__
    return extended


def _flag(choice: DeclaredOption) -> Any:
    word = choice.name.replace("_", "-")
    said = choice.help
    if not all(str(value) in choice.help for value in choice.allowed):
        said += f": {', '.join(map(str, choice.allowed))}"
    if isinstance(choice.default, bool):
        name = f"--{word}/--no-{word}" if choice.default else f"--{word}"
        return Annotated[bool | None, typer.Option(name, help=f"{said}.", show_default=False)]
    kind = int if isinstance(choice.default, int) else str
    beside = "" if choice.default in (None, "") else f"; {choice.default} by default"
    return Annotated[kind | None, typer.Option(f"--{word}", help=f"{said}{beside}.", show_default=False)]


def with_parameters(command: Callable[..., None], learner: str) -> Callable[..., None]:
    """The command whose help lists the parameters of a learner; raises InputError for one that is not installed."""

    @wraps(command)
    def described(**values: Any) -> None:
        command(**values)

    from rulekit.work.learning import choices_of_learner

    choices = choices_of_learner(learner)
    column = max((len(f"{choice.name}={choice.default}") for choice in choices), default=0) + 2
    lines = [f"  {f'{choice.name}={choice.default}':{column}}{choice.help}" for choice in choices]
    head = f"    \b\n    Parameters of {learner}, with their defaults; --param NAME=VALUE sets one:"
    described.__doc__ = "\n".join([f"{command.__doc__}", head, *(f"    {line}" for line in lines)])
    return described
