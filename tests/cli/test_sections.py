"""The help of the command."""

from __future__ import annotations

import typer.main
from rulekit_cli.main import COMMANDS, SECTIONS, app_for


def test_every_subcommand_stands_under_one_heading() -> None:
    commands = typer.main.get_command(app_for()).commands  # type: ignore[attr-defined]
    assert sorted(COMMANDS) == sorted(commands)
    assert len(COMMANDS) == sum(map(len, SECTIONS.values()))
