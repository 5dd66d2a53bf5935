"""The `rulekit` command: assembles the subcommands, which import what is heavy only when they run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rulekit.errors import refuse_no_threads
from rulekit_cli import change, learn, options, read, service, use
from rulekit_cli.console import guarded, library_heard


def _name(command: Callable[..., None]) -> str:
    return command.__name__.strip("_")


SECTIONS = {
    "Learn": [learn.describe, learn.try_, learn.train, learn.resize, learn.demo],
    "Read and question": [
        *(read.show, read.explain, read.reasons, read.check, read.compare),
        *(read.stability, read.sample, read.bounds, read.report),
    ],
    "Change": [change.threshold, change.override, change.import_, change.refit, change.simplify],
    "Use": [*(use.predict, use.evaluate, use.monitor, use.replay, use.export, use.verify), service.serve],
}
"""The subcommands in the order in which a model lives, under headings in the help of the command."""
COMMANDS = {_name(command): command for section in SECTIONS.values() for command in section}
_WHOLE = 1_000
"""Letters of the first sentence that are shown: all of it, on two lines where one is too short."""


class _Sections(TyperGroup):
    """The command, whose help has a list of subcommands for each section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, self.commands))
        for heading, section in SECTIONS.items():
            with formatter.section(heading):
                names = list(map(_name, section))
                rows = [(name.ljust(width), self.commands[name].get_short_help_str(_WHOLE)) for name in names]
                formatter.write_dl(rows)


def app_for(arguments: Sequence[str] = ()) -> typer.Typer:
    """The command, with the flags and the help that the target or the learner named on the line brings with it.

    Raises InputError where that is not installed.
    """
    app = typer.Typer(
        name="rulekit",
        cls=_Sections,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # plain help, a third faster than drawn boxes
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_of_all)
    commands = dict(COMMANDS)
    if "export" in arguments[:1] and (target := options.named(arguments, "--to")) is not None:
        commands["export"] = use.export_to(target)
    asks = {"-h", "--help"} & set(arguments)
    if asks and "train" in arguments[:1] and (learner := options.named(arguments, "--learner")) is not None:
        commands["train"] = options.with_parameters(learn.train, learner)
    for name, command in commands.items():
        app.command(name)(command)
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


def _of_all(
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
