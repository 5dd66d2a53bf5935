"""rulekit train: learn a rule model from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def train(
    data: Annotated[Path, typer.Argument(help="A CSV (also .gz), Parquet or JSON-lines file.")],
    target: Annotated[str, typer.Option("--target", metavar="COL", help="The label column.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    learner: Annotated[str, typer.Option("--learner", help="Which learner; cnll is the only one so far.")] = "cnll",
    positive: Annotated[
        str | None, typer.Option("--positive", metavar="LABEL", help="The positive of two classes; else the rarer.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="K=V", help="A parameter of the learner, n_units=10 say.")
    ] = None,
    smallest: Annotated[
        bool,
        typer.Option("--smallest", help="Take the smallest model that is not worse than the best one."),
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
    ignore: Annotated[list[str] | None, typer.Option("--ignore", metavar="COL", help="Leave this column out.")] = None,
    type_: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COL=KIND",
            help="What a column is: numeric, categorical, boolean, date, datetime, money, or ordered:low,mid,high.",
        ),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option("--unit", metavar="COL=UNIT", help="What stands behind numbers of COL: EUR, %, years."),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="COL=ROLE", help="use, audit (kept for reports) or forbidden: in no rule."),
    ] = None,
    unseen: Annotated[
        list[str] | None,
        typer.Option(
            "--unseen", metavar="COL=HOW", help="A level of COL that training never saw is: unseen, missing or error."
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option("--missing", metavar="[COL=]TOKEN", help="A cell text that means missing, everywhere or in COL."),
    ] = None,
    ordered: Annotated[
        str | None, typer.Option("--ordered", metavar="A,B,C", help="The classes are ranks, from low to high.")
    ] = None,
    weight: Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of row weights.")] = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="COL", help="Rows of one group stay together in every split.")
    ] = None,
    cost: Annotated[
        str | None, typer.Option("--cost", metavar="FP:FN", help="Cost of a false positive and a false negative.")
    ] = None,
    test: Annotated[Path | None, typer.Option("--test", metavar="FILE", help="Measure on this file.")] = None,
    holdout: Annotated[
        float | None, typer.Option("--holdout", min=0.01, max=0.9, help="Measure on this share, held out of training.")
    ] = None,
    missing_target: Annotated[
        str, typer.Option("--missing-target", help="Rows without a label: error or drop.")
    ] = "error",
    precision: Annotated[
        list[str] | None, typer.Option("--precision", metavar="COL=float64", help="Compare a column in this width.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Cell separator.")] = None,
    decimal: Annotated[str | None, typer.Option("--decimal", help="Decimal mark: . or ,")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding of the file.")] = None,
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
    json_: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
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
    from rulekit_cli.training import Request, run

    run(
        Request(
            data=data,
            target=target,
            output=output,
            learner=learner,
            positive=positive,
            parameters=param or [],
            smallest=smallest,
            curve=curve or [],
            start=start,
            freeze=freeze,
            ignore=ignore or [],
            types=type_ or [],
            units=unit or [],
            roles=role or [],
            unseen=unseen or [],
            memory=memory,
            missing=missing or [],
            ordered=ordered,
            weight=weight,
            group=group,
            cost=cost,
            test=test,
            holdout=holdout,
            missing_target=missing_target,
            precision=precision or [],
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            time_limit=time_limit,
            simplified=not no_simplify,
            seed=seed,
            json=json_,
            quiet=quiet,
        )
    )
