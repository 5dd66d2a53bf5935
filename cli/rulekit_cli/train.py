"""rulekit train: learn a rule model from a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from rulekit_cli import options

Texts = list[str] | None


def train(
    data: options.Data,
    target: Annotated[str, typer.Option("--target", metavar="COL", help="The label column.")],
    output: options.ModelOutput,
    learner: Annotated[
        str, typer.Option("--learner", help="Which learner; `--learner NAME --help` lists its parameters.")
    ] = "cnll",
    positive: Annotated[
        str | None, typer.Option("--positive", metavar="LABEL", help="The positive of two classes; else the rarer.")
    ] = None,
    param: Annotated[
        Texts, typer.Option("--param", metavar="K=V", help="A parameter of the learner, for example n_units=10.")
    ] = None,
    smallest: Annotated[
        bool, typer.Option("--smallest", help="Take the smallest model that is not worse than the best one.")
    ] = False,
    curve: Annotated[
        list[Path] | None,
        typer.Option("--curve", metavar="FILE", help="Write error against size: curve.csv, or drawn curve.png."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option("--start", metavar="MODEL_OR_RULES", help="Go on from these rules: a model, or a rule text."),
    ] = None,
    freeze: Annotated[
        str | None,
        typer.Option(
            "--freeze", metavar="IDS", help="Rules of --start that stay word for word: all (default), none, ids."
        ),
    ] = None,
    ignore: Annotated[Texts, typer.Option("--ignore", metavar="COL", help="Leave this column out.")] = None,
    type_: Annotated[
        Texts,
        typer.Option(
            "--type",
            metavar="COL=KIND",
            help="What a column is: numeric, categorical, boolean, date, datetime, money, or ordered:low,mid,high.",
        ),
    ] = None,
    unit: Annotated[
        Texts, typer.Option("--unit", metavar="COL=UNIT", help="The unit of the numbers of COL: EUR, %, years.")
    ] = None,
    role: Annotated[
        Texts,
        typer.Option("--role", metavar="COL=ROLE", help="use, audit (kept for reports) or forbidden: in no rule."),
    ] = None,
    unseen: Annotated[
        Texts,
        typer.Option(
            "--unseen", metavar="COL=HOW", help="A level of COL that training never saw is: unseen, missing or error."
        ),
    ] = None,
    missing: Annotated[
        Texts,
        typer.Option("--missing", metavar="[COL=]TOKEN", help="A cell text that means missing, everywhere or in COL."),
    ] = None,
    ordered: Annotated[
        str | None, typer.Option("--ordered", metavar="A,B,C", help="The classes are ranks, from low to high.")
    ] = None,
    weight: options.Weight = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="COL", help="Rows of one group stay together in every split.")
    ] = None,
    cost: options.Cost = None,
    test: Annotated[Path | None, typer.Option("--test", metavar="FILE", help="Measure on this file.")] = None,
    holdout: Annotated[
        float | None, typer.Option("--holdout", min=0.01, max=0.9, help="Measure on this share, held out of training.")
    ] = None,
    missing_target: options.MissingTarget = "error",
    precision: Annotated[
        Texts, typer.Option("--precision", metavar="COL=float64", help="Compare a column in this width.")
    ] = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Stop then, with the best model so far.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="Learn from a file larger than this much memory: 500MB, 2GB."),
    ] = None,
    no_simplify: Annotated[
        bool, typer.Option("--no-simplify", help="Save the rules as learned, not simplified.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of every random choice.")] = 0,
    json_: options.Json = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No notes and no progress.")] = False,
) -> None:
    """Learn a rule model and write it as JSON.

    Ctrl-C and --time-limit keep the best model so far, marked as such.

    \b
    Examples:
      rulekit train loans.csv --target default --holdout 0.25 -o model.json
      rulekit train adult.csv --target income --positive ">50K" --type zip=categorical --missing "?" -o income.json
      rulekit train big.parquet --target y --memory 500MB -o model.json
      rulekit train loans.csv --target default --smallest --curve curve.png -o model.json
      rulekit train loans.csv --target default --start rules.txt --freeze all -o grown.json
      rulekit train big.parquet --target y --param n_units=10 --param stopping=none --time-limit 60 -o model.json
    """
    from rulekit.tables.options import ReadingOptions
    from rulekit.work.learning import parse_parameters
    from rulekit.work.training import TrainingRequest, train
    from rulekit_cli.console import warnings_hidden
    from rulekit_cli.progress import shown_progress
    from rulekit_cli.training_report import report

    request = TrainingRequest(
        data,
        ReadingOptions(
            target=target,
            positive=positive,
            ordered=() if ordered is None else tuple(map(str.strip, ordered.split(","))),
            missing_target=missing_target,
            weight=weight,
            group=group,
            cost=cost,
            types=options.pairs(type_, "--type"),
            missing=missing or [],
            ignore=ignore or [],
            precision=options.pairs(precision, "--precision"),
            unseen=options.pairs(unseen, "--unseen"),
            units=options.pairs(unit, "--unit"),
            roles=options.pairs(role, "--role"),
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
        ),
        learner=learner,
        parameters=parse_parameters(learner, param or []),
        smallest=smallest,
        start=start,
        freeze=freeze,
        test=test,
        holdout=holdout,
        time_limit=time_limit,
        memory=memory,
        simplified=not no_simplify,
        seed=seed,
        output=output,
        curves=tuple(curve or ()),
    )
    with warnings_hidden(quiet), shown_progress(quiet) as progress:
        result = train(request, progress)
    report(request, result, json=json_, quiet=quiet)


def train_with(learner: str) -> Callable[..., None]:
    """The command whose help lists the parameters of a learner; raises InputError for one that is not installed."""
    from rulekit.work.choices import choices_of_learner

    @wraps(train)
    def told(**values: Any) -> None:
        train(**values)

    choices = choices_of_learner(learner)
    column = max((len(f"{choice.name}={choice.default}") for choice in choices), default=0) + 2
    lines = [f"  {f'{choice.name}={choice.default}':{column}}{choice.help}" for choice in choices]
    head = f"    \b\n    Parameters of {learner}, with their defaults; --param NAME=VALUE sets one:"
    told.__doc__ = "\n".join([f"{train.__doc__}", head, *(f"    {line}" for line in lines)])
    return told
