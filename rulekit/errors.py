"""The errors of rulekit: each is one line that says what is wrong, where, and what would fix it."""

from __future__ import annotations

import os
import re

from rulekit.names import printable


class RulekitError(ValueError):
    """Base of all errors that a user can cause.

    `what` is the fault, `where` the file, row, column or node, `fix` what would mend it; `str()` joins them
    on one line.
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what, self.where, self.fix = what, where, fix
        text = f"{where}: {what}" if where else what
        super().__init__(printable(f"{text}; {fix}" if fix else text))


def reason_of(error: Exception) -> str:
    """Why the system refused a file, in its own words."""
    return (getattr(error, "strerror", None) or str(error)).lower()


class DataWarning(UserWarning):
    """What `fit` noticed about the data or the model, in the words of `rulekit train`."""


_FIELDS = {
    **{"--artifact": "artifacts", "--ask-out": "asked_rows", "--curve": "curves", "--direction": "directions"},
    **{"--from": "written", "--holdout-out": "held_rows", "--id": "ids", "--list": "listing", "--all": "everything"},
    **{"--no-baselines": "baselines", "--no-simplify": "simplified", "--param": "parameters", "--role": "roles"},
    **{"--row": "rows", "--training": "trained", "--type": "types", "--types": "types_file", "--unit": "units"},
    **{"--precision": "least_precision", "--verification": "verifications", "--width": "precision"},
    **{"type": "types", "role": "roles"},
    **{"groups": "group", "random_state": "seed", "sample_weight": "weight", "X": "data", "y": "target"},
}
"""By option, or parameter of `fit`, the field of a request that has another name."""
_NAMED = re.compile(r"--[a-z][a-z0-9-]*|[A-Za-z_]\w*(?: of column |$)")


class InputError(RulekitError):
    """Bad data or bad usage."""

    def __init__(self, what: str, *, where: str = "", fix: str = "", field: str = "") -> None:
        super().__init__(what, where=where, fix=fix)
        self._field = field

    @property
    def field(self) -> str:
        """The field of a request that is at fault, `teacher_cut` or a parameter such as `max_rules`; "" for none."""
        found = _NAMED.match(self._field or self.where)
        name = found[0].strip().removesuffix(" of column") if found else ""
        return _FIELDS.get(name, name.removeprefix("--").replace("-", "_"))


class Cancelled(RulekitError):  # noqa: N818
    """The callback ended the work before there was a model to keep."""

    def __init__(self, while_: str) -> None:
        super().__init__(f"cancelled while {while_}, before anything was learned")


class Interrupted(RulekitError):  # noqa: N818
    """Ctrl-C, or what is like it, after the result was written."""


class FormatError(RulekitError):
    """A model or rule file that cannot be read."""


class NoModelError(FormatError):
    """An artifact whose model a tool has dropped."""


class GraphError(RulekitError):
    """A graph that breaks the rules of composition."""


class LearnerError(RulekitError):
    """A learner, of this project or of another package, that breaks the contract or fails."""


class BudgetError(RulekitError):
    """An exact computation that would exceed its stated budget."""


class Unsupported(RulekitError):  # noqa: N818
    """A node that an export target cannot express."""

    def __init__(self, node: str, target: str, hint: str) -> None:
        self.node, self.target, self.hint = node, target, hint
        super().__init__(f"{target} cannot express {node}", fix=hint)


def refuse_no_threads() -> None:
    """Raises InputError for a setting of POLARS_MAX_THREADS over which polars would panic."""
    threads = os.environ.get("POLARS_MAX_THREADS", "1")
    if not threads.isascii() or not threads.isdigit() or int(threads) == 0:
        what = f"{threads!r} is no number of threads"
        raise InputError(what, where="POLARS_MAX_THREADS", fix="1 or more, or unset it")
