"""What is to be explained of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rulekit.limits import NO_LIMIT, Deadline
from rulekit.search.moves import ANY, Wishes

if TYPE_CHECKING:
    from rulekit.audit.reason_codes.catalogue import ResolvedReason


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """What is to be explained of rows.

    wishes, to: which changes count, and which class is wanted (its index; None: any other). changes, sentences: whether
    the nearest change is looked for, and whether all is said in sentences, which takes milliseconds a row. reasons: a
    catalogue's, for the adverse classes; most: how many of them a row gets. deadline: of the search for changes, which
    leaves some of it for the sentences of many rows; those that it ends say why they have none.
    """

    wishes: Wishes = ANY
    to: int | None = None
    changes: bool = True
    sentences: bool = True
    reasons: Sequence[ResolvedReason] = ()
    adverse: Sequence[int] = ()
    most: int = 4
    deadline: Deadline = NO_LIMIT


EVERYTHING = ExplainOptions()
