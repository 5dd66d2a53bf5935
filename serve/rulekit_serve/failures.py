"""What the service refuses, with the status of each refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rulekit.errors import RulekitError


class Refusal(Exception):  # noqa: N818
    """A call that is not served: a status, one line, the field that is meant and what would help."""

    def __init__(self, status: int, what: str, field: str = "", fix: str = "") -> None:
        super().__init__(what)
        self.status, self.what, self.field, self.fix = status, what, field, fix

    def as_dict(self) -> dict[str, str]:
        """The body of the answer."""
        given = {"error": self.what, "field": self.field, "fix": self.fix}
        return {key: value for key, value in given.items() if value}


def unavailable(what: str) -> Refusal:
    """The database does not answer, so that nothing is decided and nothing is changed."""
    return Refusal(503, what, fix="ask again in a moment")


def unknown(what: str) -> Refusal:
    return Refusal(404, what)


@contextmanager
def refused(field: str = "") -> Iterator[None]:
    """What rulekit refuses here is a call that is not served, with status 422."""
    try:
        yield
    except RulekitError as error:
        raise Refusal(422, error.what, field, error.fix) from None
