"""The section in which a reader scores a row."""

from __future__ import annotations

from rulekit.audit.report.blocks import Block, Form, Section, Text
from rulekit.audit.report.scoring.steps import program_json
from rulekit.audit.report.subject import Subject
from rulekit.errors import Unsupported

SAID = (
    "Type the values of a row; an empty field is a missing value. The page runs the very steps of the model, so it "
    "decides as the model does. Nothing that is typed leaves it."
)


def score_section(subject: Subject) -> Section:
    """The form with the program of the model, or why there is none."""
    try:
        program = program_json(subject.graph, {row.id: row.text for part in subject.parts for row in part.rows})
        why = "" if program is not None else "The model has too many steps for a page."
    except Unsupported as error:
        program, why = None, f"The page cannot run this model: {error}."
    blocks: tuple[Block, ...] = (Text(why, "note"),)
    if program is not None:
        blocks = (Text(SAID), Form(program))
    return Section("score", "Score a row", blocks, {"program": program})
