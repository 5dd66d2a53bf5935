"""The subcommands in the order in which a model lives, under headings in the help of the command."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

SECTIONS = {
    "Learn": ("describe", "try", "train", "resize", "demo"),
    "Read and question": ("show", "explain", "reasons", "check", "compare", "stability", "sample", "bounds", "report"),
    "Change": ("threshold", "override", "import", "refit", "simplify"),
    "Use": ("predict", "evaluate", "monitor", "export", "verify"),
}


_WHOLE = 1_000
"""Letters of the first sentence that are shown: all of it, on two lines where one is too short."""


class Sections(TyperGroup):
    """The command, whose help has a list of subcommands for each section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the lists into the help."""
        width = max(map(len, self.commands))
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                rows = [(name.ljust(width), self.commands[name].get_short_help_str(_WHOLE)) for name in names]
                formatter.write_dl(rows)
