"""What the service refuses, with the status of each refusal."""

from __future__ import annotations

import asyncio
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


class Within:
    """Raises TimeoutError inside of `with` after some seconds: as asyncio.timeout, which takes four times as long."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._late = seconds, False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)

    def _end(self) -> None:
        self._late = True
        self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._timer.cancel()
        if self._late and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from None
