"""Reading a report file: data from anywhere, checked field by field; every fault is one FormatError."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rulekit.errors import FormatError
from rulekit.graph.files.json_values import parse_json
from rulekit.graph.files.safe_files import decode, read_bounded
from rulekit.verification.report import REPORT_VERSION, Report
from rulekit.verification.signature import SIGNATURE

MAX_BYTES = 1 << 24
MAX_ROWS = 10_000_000
_SHA256 = re.compile("[0-9a-f]{64}")
_AGAIN = "verify again with --report"


@dataclass(frozen=True, slots=True)
class Stated:
    """What a report says; the names are those of Report. content: all of it, as JSON values."""

    ok: bool
    target: str
    digest: str
    sha256: str
    carried: str
    adversarial_rows: int
    given_rows: int
    seed: int
    different_decisions: int
    rows_sha256: str
    decisions_sha256: str
    proof: str
    version: str
    versions: Mapping[str, str]
    content: Mapping[str, Any]


def read_report(path: str | os.PathLike[str]) -> Stated:
    """A report from its file; raises FormatError naming the file for anything that `verify --report` does not write."""
    where = os.fspath(path)
    try:
        return parse_report(decode(read_bounded(path, MAX_BYTES)))
    except FormatError as error:
        raise FormatError(error.what, where=error.where or where, fix=error.fix) from None


def parse_report(text: str) -> Stated:
    """A report from its JSON text."""
    content = parse_json(text)
    if not isinstance(content, dict) or "adversarial_rows" not in content or "sha256" not in content:
        raise FormatError("this is no report of a verification", fix="give a file that `rulekit verify --report` wrote")
    version = content.get("report_version", 0)
    if version == 0:
        raise FormatError(f"a report of {_writer(content)}, which could not be repeated yet", fix=_AGAIN)
    if version != REPORT_VERSION:
        raise FormatError(f"report version {version!r:.40}, and this rulekit reads {REPORT_VERSION}", fix=_AGAIN)
    return _stated(content)


def _writer(content: Mapping[str, Any]) -> str:
    version = content.get("version")
    return f"rulekit {version:.40}" if isinstance(version, str) and version else "an earlier rulekit"


def _stated(content: Mapping[str, Any]) -> Stated:
    expected = {"report_version", "ok", "max_gap", *(field.name for field in fields(Report))}
    strange = sorted(set(content) - expected - {SIGNATURE}) or sorted(expected - set(content))
    if strange:
        raise FormatError(f"{strange[0]!r:.60} is missing, or no part of a report", fix=_AGAIN)
    found = {}
    for name, (fits, what) in _FIELDS.items():
        if not fits(content[name]):
            raise FormatError(f"{name} is {content[name]!r:.60}, not {what}", fix=_AGAIN)
        found[name] = content[name]
    stated = Stated(**found, content=content)
    if stated.ok and stated.different_decisions:
        raise FormatError("the report says that all is well and counts differences", fix=_AGAIN)
    return stated


def _count(most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and 0 <= value <= most


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 10_000


def _digest(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


def _digest_or_none(value: Any) -> bool:
    return value == "" or _digest(value)


def _versions(value: Any) -> bool:
    return isinstance(value, dict) and len(value) <= 100 and all(_text(item) for item in value.values())


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "ok": (lambda value: isinstance(value, bool), "true or false"),
    "target": (_text, "a text"),
    "digest": (_digest, "a digest of 64 hex digits"),
    "sha256": (_digest, "a digest of 64 hex digits"),
    "carried": (_text, "a text"),
    "adversarial_rows": (_count(MAX_ROWS), f"a number of rows up to {MAX_ROWS:,}"),
    "given_rows": (_count(2**53), "a number of rows"),
    "seed": (_count(2**64), "a seed"),
    "different_decisions": (_count(2**53), "a count"),
    "rows_sha256": (_digest_or_none, "a digest of 64 hex digits"),
    "decisions_sha256": (_digest_or_none, "a digest of 64 hex digits"),
    "proof": (lambda value: value in ("proved", "tested"), "proved or tested"),
    "version": (_text, "a text"),
    "versions": (_versions, "versions by name"),
}
