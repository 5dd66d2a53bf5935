"""What a target of another package needs, in one place (docs/targets.md)."""

from __future__ import annotations

from rulekit.program.body import Body
from rulekit.program.lower import alike, firing_steps, lower
from rulekit.program.naming import Names, context_of, label_texts, reached
from rulekit.program.nodes import elementary
from rulekit.program.spelling import ATOM, CHOICE, LOW, MIDDLE, PRODUCT, Expression, Spelling, atom, bracketed, layout
from rulekit.targets import (
    Answer,
    Artifact,
    Feed,
    NoOptions,
    Outcome,
    Reading,
    Runtime,
    Target,
    answers,
    arrays,
    objects,
    option,
    raw_rows,
    rows_by_name,
    rows_by_place,
)
from rulekit.verification.isolated import read_answer, run_bounded
from rulekit.verification.proof.respelling import text_target
from rulekit.verification.rows import raw_columns

__all__ = [
    "ATOM",
    "CHOICE",
    "LOW",
    "MIDDLE",
    "PRODUCT",
    "Answer",
    "Artifact",
    "Body",
    "Expression",
    "Feed",
    "Names",
    "NoOptions",
    "Outcome",
    "Reading",
    "Runtime",
    "Spelling",
    "Target",
    "alike",
    "answers",
    "arrays",
    "atom",
    "bracketed",
    "context_of",
    "elementary",
    "firing_steps",
    "label_texts",
    "layout",
    "lower",
    "objects",
    "option",
    "raw_columns",
    "raw_rows",
    "reached",
    "read_answer",
    "rows_by_name",
    "rows_by_place",
    "run_bounded",
    "text_target",
]
