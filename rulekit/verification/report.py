"""What a verification found, as a value that can be shipped beside an artifact, signed, and read back from its file.

A report file is data from anywhere: it is checked field by field, and every fault is one FormatError. Signatures are
HMAC-SHA256 (RFC 2104) over canonical JSON, by a key that both sides share in a file. Rows and their labels are known
again by their digests.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

import numpy as np

from rulekit.errors import FormatError
from rulekit.graph.files.safe_files import decode, parse_json, read_bounded
from rulekit.tables.table import Table
from rulekit.tables.token_sets import TokenSets
from rulekit.targets import Outcome
from rulekit.views import notebook

SIGNATURE = "signature"
SHORTEST, LONGEST = 16, 1 << 16  # bytes of a key


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a key file; raises FormatError where they are too few, InputError where there is no file."""
    key = read_bounded(path, LONGEST)
    if len(key) < SHORTEST:
        fix = "openssl rand -out FILE 32 makes one"
        raise FormatError(f"a key of {len(key)} bytes, fewer than {SHORTEST}", where=os.fspath(path), fix=fix)
    return key


def signature_of(content: Mapping[str, Any], key: bytes) -> str:
    """The signature of a report's JSON values: keys sorted, no blanks, everything but ASCII escaped."""
    unsigned = {name: value for name, value in content.items() if name != SIGNATURE}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def is_signed(content: Mapping[str, Any], key: bytes) -> bool:
    """Whether a report has the signature of this key."""
    return hmac.compare_digest(str(content.get(SIGNATURE, "")).encode(), signature_of(content, key).encode())


REPORT_VERSION = 1
Requirement = Literal["", "proof", "proof-of-probabilities"]
MAX_GAP = 1e-6  # of a reported probability; ONNX reports float32, whose rounding is 3e-8


@dataclass(frozen=True, slots=True)
class CounterExample:
    """One row on which an artifact and the graph differ.

    row: value by column (text, number, or None for missing) of the columns that the model uses, as the artifact was
    given them; encoded: whether these are values of the model's own precision.
    """

    row: Mapping[str, Any]
    encoded: bool
    expected: Any
    found: Any
    expected_probabilities: tuple[float, ...]
    found_probabilities: tuple[float, ...]

    def __str__(self) -> str:
        cells = ", ".join(f"{name} = {value!r}" for name, value in self.row.items())
        if self.expected != self.found:
            return f"at {cells}: {self.expected!r} expected, {self.found!r} found"
        pair = f"{list(self.expected_probabilities)} expected, {list(self.found_probabilities)} found"
        return f"at {cells}: probabilities {pair}"


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The outcome of comparing one artifact with its graph; `ok` says whether they are alike.

    digest: of the graph; sha256: of the artifact's bytes; carried: how the graph inside the artifact compares: "same",
    "another graph <digest>" (with ", which decides otherwise"), "unreadable: <why>" or "none" (it carries no graph).
    adversarial_rows and given_rows are the rows compared; raw_rows those of them that the artifact was also given in
    raw doubles and text; cells counts values over all comparisons. different_decisions and largest_gap are over all of
    them (a gap that is no number counts as 1). basis and basis_reason: see rulekit.verification.proof.prove.
    proof: "proved" where the decisions are equal on every row there is, else "tested", for proof_reason; proof_method
    is "cells" (every reachable cell was run), "normal form" or "solver" (the operators, read back, are the same
    formula). proof_cells: reachable cells, 0 where not known or above 10^15; proof_cells_run: how many were run;
    proof_probabilities: whether the reported probabilities were compared on every cell. threshold_differences:
    thresholds and levels of the artifact that are not the graph's, in words. not_run: why the artifact was read and not
    run, "" where it was run; misstated: what it says about itself, or of the rules that fired, that is not so.
    rows_sha256 and decisions_sha256: of the adversarial rows as they were encoded, and of the labels that the artifact
    gave them, by which the verification is repeated elsewhere; "" without such rows. versions: of Python and of the
    packages that ran the artifact.
    Contains no clock, host or path, so the same inputs give the same report.
    """

    target: str
    digest: str
    sha256: str
    carried: str
    basis: str
    basis_reason: str
    adversarial_rows: int
    given_rows: int
    raw_rows: int
    cells: int
    seed: int
    different_decisions: int
    largest_gap: float
    counter_example: CounterExample | None = None
    version: str = ""
    proof: Literal["proved", "tested"] = "tested"
    proof_reason: str = ""
    proof_method: str = ""
    proof_cells: int = 0
    proof_cells_run: int = 0
    proof_probabilities: bool = False
    threshold_differences: tuple[str, ...] = ()
    not_run: str = ""
    misstated: tuple[str, ...] = ()
    rows_sha256: str = ""
    decisions_sha256: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether no decision differs, every probability is within 1e-6 and the rules inside do not mislead."""
        return self._alike and not (self.misleading or self.misstated or self.not_run)

    def meets(self, requirement: Requirement) -> bool:
        """Whether all is well and what is required is proved: the decisions, or the reported probabilities as well."""
        proved = self.proof == "proved" and (self.proof_probabilities or requirement == "proof")
        return self.ok and (proved or requirement == "")

    @property
    def failure(self) -> str:
        """In a word or two what is wrong where not all is well."""
        return "NOT RUN" if self.not_run else "MISLEADING" if self._alike else "DIFFERENT"

    @property
    def _alike(self) -> bool:
        return self.different_decisions == 0 and self.largest_gap <= MAX_GAP

    @property
    def misleading(self) -> bool:
        """Whether the artifact shows a reader rules that are damaged or decide otherwise than the artifact does."""
        return self.carried.startswith("unreadable") or self.carried.endswith("decides otherwise")

    @property
    def foreign(self) -> bool:
        """Whether the artifact carries another graph than the one it was compared with."""
        return self.carried.startswith("another")

    @property
    def tampered(self) -> bool:
        """Whether the artifact carries this very graph but answers otherwise."""
        return self.carried == "same" and not self._alike

    def to_json(self, key: bytes | None = None) -> str:
        """The report as JSON text, signed where there is a key; infinities are the texts "inf" and "-inf"."""
        content = _plain({"report_version": REPORT_VERSION, "ok": self.ok, "max_gap": MAX_GAP, **asdict(self)})
        if key is not None:
            content[SIGNATURE] = signature_of(content, key)
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @property
    def conclusion(self) -> str:
        """What holds of the decisions: proved, and how, or tested, and why no more."""
        rows = f"{self.adversarial_rows + self.given_rows:,} rows"
        if self.proof == "proved":
            how = {
                "cells": f"all {self.proof_cells:,} cells",
                "normal form": "the same formula",
                "solver": "by a solver",
            }
            proved = f"proved ({how[self.proof_method]})"
            return proved if self.proof_probabilities else f"decisions {proved}, probabilities tested on {rows}"
        return f"not run: {self.not_run}" if self.not_run else f"tested on {rows}: {self.proof_reason}"

    @property
    def suspicion(self) -> str:
        """What an artifact that does not decide as the graph, or carries another, is; "" for none."""
        if self.carried.startswith("unreadable"):
            return f"damaged: graph inside the artifact: {self.carried}"
        if self.foreign:
            return f"foreign: graph inside the artifact: {self.carried}"
        if self.tampered:
            return "tampered: it carries this very model; changed after the export, or a fault of the exporter"
        return "it carries no graph" if self.carried == "none" and not self.ok else ""

    def __repr__(self) -> str:
        what = f"verified, {self.conclusion}" if self.ok else f"{self.failure}, {self.different_decisions:,} different"
        return f"<Report {self.target}: {what}>"

    def _repr_html_(self) -> str:
        return notebook().html_of(self)

    def __str__(self) -> str:
        rows = f"{self.adversarial_rows:,} rows beside every cut"
        if self.given_rows:
            rows += f" and {self.given_rows:,} given"
        text = f"{rows}: {self.different_decisions:,} different decisions"
        text += f", probabilities within {self.largest_gap:.1g}"
        if self.not_run:
            text = f"{self.not_run}; --run-untrusted runs it all the same"
        lines = [text, self.suspicion, self.conclusion if self.ok else "", *self.misstated, *self.threshold_differences]
        if self.counter_example is not None:
            lines.append(str(self.counter_example))
        return "\n".join(filter(None, lines))


def _plain(value: Any) -> Any:
    """JSON has no infinity and no NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


MAX_BYTES = 1 << 24
MAX_ROWS = 10_000_000
_SHA256 = re.compile("[0-9a-f]{64}")
_AGAIN = "verify again with --report"


def read_report(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A report from its file; raises FormatError naming the file for anything that `verify --report` does not write."""
    where = os.fspath(path)
    try:
        return parse_report(decode(read_bounded(path, MAX_BYTES)))
    except FormatError as error:
        raise FormatError(error.what, where=error.where or where, fix=error.fix) from None


def parse_report(text: str) -> dict[str, Any]:
    """What a report says, by the names of the fields of `Report`, from its JSON text."""
    content = parse_json(text)
    if not isinstance(content, dict) or "adversarial_rows" not in content or "sha256" not in content:
        raise FormatError("this is no report of a verification", fix="give a file that `rulekit verify --report` wrote")
    version = content.get("report_version", 0)
    if version == 0:
        writer = content.get("version")
        writer = f"rulekit {writer:.40}" if isinstance(writer, str) and writer else "an earlier rulekit"
        raise FormatError(f"a report of {writer}, which could not be repeated yet", fix=_AGAIN)
    if version != REPORT_VERSION:
        raise FormatError(f"report version {version!r:.40}, and this rulekit reads {REPORT_VERSION}", fix=_AGAIN)
    expected = {"report_version", "ok", "max_gap", *(field.name for field in fields(Report))}
    strange = sorted(set(content) - expected - {SIGNATURE}) or sorted(expected - set(content))
    if strange:
        raise FormatError(f"{strange[0]!r:.60} is missing, or no part of a report", fix=_AGAIN)
    for name, (fits, what) in _FIELDS.items():
        if not fits(content[name]):
            raise FormatError(f"{name} is {content[name]!r:.60}, not {what}", fix=_AGAIN)
    if content["ok"] and content["different_decisions"]:
        raise FormatError("the report says that all is well and counts differences", fix=_AGAIN)
    return content


def _count(most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and 0 <= value <= most


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 10_000


def _digest(value: Any) -> bool:
    return isinstance(value, str) and _SHA256.fullmatch(value) is not None


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
    "rows_sha256": (lambda value: value == "" or _digest(value), "a digest of 64 hex digits"),
    "decisions_sha256": (lambda value: value == "" or _digest(value), "a digest of 64 hex digits"),
    "proof": (lambda value: value in ("proved", "tested"), "proved or tested"),
    "version": (_text, "a text"),
    "versions": (
        lambda value: isinstance(value, dict) and len(value) <= 100 and all(map(_text, value.values())),
        "versions by name",
    ),
}


PACKAGES = ("numpy", "onnxruntime")


def digest_of_rows(table: Table) -> str:
    """SHA-256 of encoded rows: of each column its name, type and little-endian values; every NaN and zero is one."""
    digest = hashlib.sha256()
    for feature, array in zip(table.features, table.arrays, strict=True):
        if isinstance(array, TokenSets):
            digest.update(f"{feature.name!a} words {len(array)}\n".encode())
            digest.update(array.tobytes())
            continue
        values = array
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), values.dtype.type(np.nan), values + values.dtype.type(0))
        values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        digest.update(f"{feature.name!a} {values.dtype.str} {len(values)}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def digest_of_labels(outcomes: Iterable[Outcome]) -> str:
    """SHA-256 of class indices as little-endian int64, run after run."""
    digest = hashlib.sha256()
    for outcome in outcomes:
        digest.update(np.ascontiguousarray(outcome.labels, dtype="<i8").tobytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Of Python and of those packages that are in use and can change what an artifact answers."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        version = getattr(sys.modules.get(name), "__version__", "")
        if version:
            found[name] = str(version)
    return found
