"""The `rulekit` command: assembles the subcommands, which import what is heavy only when they run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from rulekit.errors import refuse_no_threads
from rulekit_cli import (
    bounds,
    check,
    compare,
    demo,
    describe,
    evaluate,
    explain,
    export,
    import_model,
    monitor,
    override,
    predict,
    reasons,
    refit,
    report,
    resize,
    sample,
    show,
    simplify,
    stability,
    threshold,
    train,
    try_,
    verify,
)
from rulekit_cli.console import library_heard
from rulekit_cli.failures import guarded
from rulekit_cli.named_options import named, with_parameters
from rulekit_cli.sections import Sections


def app_for(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command, with the flags and the help that the target or the learner named on the line brings with it.

    Raises InputError where that is not installed.
    """
    app = typer.Typer(
        name="rulekit",
        cls=Sections,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help, a third faster than drawn boxes
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    target = named(arguments, "--to") if "export" in arguments[:1] else None
    asks = {"-h", "--help"} & set(arguments)
    learner = named(arguments, "--learner") if asks and "train" in arguments[:1] else None
    app.command("describe")(describe.describe)
    app.command("train")(train.train if learner is None else with_parameters(train.train, learner))
    app.command("try")(try_.try_)
    app.command("export")(export.export if target is None else export.export_to(target))
    app.command("predict")(predict.predict)
    app.command("evaluate")(evaluate.evaluate)
    app.command("threshold")(threshold.threshold)
    app.command("monitor")(monitor.monitor)
    app.command("show")(show.show)
    app.command("check")(check.check)
    app.command("compare")(compare.compare)
    app.command("stability")(stability.stability)
    app.command("bounds")(bounds.bounds)
    app.command("report")(report.report)
    app.command("explain")(explain.explain)
    app.command("reasons")(reasons.reasons)
    app.command("resize")(resize.resize)
    app.command("sample")(sample.sample)
    app.command("simplify")(simplify.simplify)
    app.command("verify")(verify.verify)
    app.command("import")(import_model.import_model)
    app.command("override")(override.override)
    app.command("refit")(refit.refit)
    app.command("demo")(demo.demo)
    return app


def run(arguments: Sequence[str]) -> object:
    """Run one command line; raises what the command raises."""
    words = list(arguments)
    refuse_no_threads()
    return app_for(words)(words or ["--help"], prog_name="rulekit", standalone_mode=False)


def _version(asked: bool) -> None:
    if asked:
        from rulekit import __version__

        typer.echo(f"rulekit {__version__}")
        raise typer.Exit


def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
) -> None:
    """Learn small rule models from tables, read them, and export them so that they decide alike everywhere.

    \b
    A first session:
      rulekit train loans.csv --target default --holdout 0.25 -o model.json
      rulekit show model.json
      rulekit export model.json --to onnx -o model.onnx
      rulekit verify model.json model.onnx --data loans.csv
    """


def main() -> None:
    """Entry point of the console script."""
    arguments = sys.argv[1:]
    # --debug is taken anywhere on the line, because it is wanted after the fact.
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    with library_heard():
        sys.exit(guarded(lambda: run(arguments), debug=debug))


if __name__ == "__main__":
    main()
