"""What a verification found, as a value that can be shipped beside an artifact."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rulekit.verification.signature import SIGNATURE, signature_of
from rulekit.views import notebook

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
    them (a gap that is no number counts as 1). basis and basis_reason: see rulekit.verification.guarantee.
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
        alike = self.different_decisions == 0 and self.largest_gap <= MAX_GAP
        return alike and not self.misleading and not self.misstated and not self.not_run

    def meets(self, requirement: Requirement) -> bool:
        """Whether all is well and what is required is proved: the decisions, or the reported probabilities as well."""
        proved = self.proof == "proved" and (self.proof_probabilities or requirement == "proof")
        return self.ok and (proved or requirement == "")

    @property
    def failure(self) -> str:
        """In a word or two what is wrong where not all is well."""
        if self.not_run:
            return "NOT RUN"
        return "DIFFERENT" if self.different_decisions or self.largest_gap > MAX_GAP else "MISLEADING"

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
        return self.carried == "same" and (self.different_decisions > 0 or self.largest_gap > MAX_GAP)

    def to_json(self, key: bytes | None = None) -> str:
        """The report as JSON text, signed where there is a key; infinities are the texts "inf" and "-inf"."""
        content = _plain({"report_version": REPORT_VERSION, "ok": self.ok, "max_gap": MAX_GAP, **asdict(self)})
        if key is not None:
            content[SIGNATURE] = signature_of(content, key)
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @property
    def conclusion(self) -> str:
        """What holds of the decisions: proved, and how, or tested, and why no more."""
        if self.proof == "proved":
            how = {
                "cells": f"all {self.proof_cells:,} cells",
                "normal form": "the same formula",
                "solver": "by a solver",
            }
            if self.proof_probabilities:
                return f"proved ({how[self.proof_method]})"
            return f"decisions proved ({how[self.proof_method]}), probabilities tested on {self._rows}"
        if self.not_run:
            return f"not run: {self.not_run}"
        return f"tested on {self._rows}: {self.proof_reason}"

    @property
    def _rows(self) -> str:
        return f"{self.adversarial_rows + self.given_rows:,} rows"

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
