"""Finished measurements, kept as JSON lines, so that a run that was stopped can be gone on with.

The first line says of which code and machine they are; the measurements of another version of rulekit, or of another
machine, are not mixed with new ones: the file is started anew.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.learning.peers.runner import machine
from benchmarks.shared.measuring import ProcessFailedError, in_process

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "build" / "benchmarks"
_MEASURED = ("rulekit", "exporters", "benchmarks/learning/contenders.py", "benchmarks/shared/made_tables.py")


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of a measured function, or in one line why there is none; `late`: it passed its time limit."""

    value: Any = None
    stopped: str = ""
    late: bool = False
    kept: bool = False


def code_digest(places: tuple[str, ...] = _MEASURED) -> str:
    """SHA-256 of the code that is measured."""
    found = hashlib.sha256()
    for place in places:
        path = ROOT / place
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            found.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return found.hexdigest()[:16]


class Kept:
    """Measurements by key and the file to which each is appended when it is finished.

    anew: forget what is there. `day`: when the first of them was made.
    """

    def __init__(self, path: Path, *, anew: bool = False, code: str | None = None) -> None:
        self.path = path
        self._found: dict[str, Found] = {}
        self.day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        of = {"code": code or code_digest(), "machine": machine()}
        lines = path.read_text().splitlines() if path.exists() and not anew else []
        head = json.loads(lines[0]) if lines else {}
        if {name: head.get(name) for name in of} == of:
            self.day = head["day"]
            for line in lines[1:]:
                row = json.loads(line)
                # What failed is tried again; what was late would be late again.
                if row["late"] or not row["stopped"]:
                    self._found[row["key"]] = Found(row["value"], row["stopped"], row["late"], kept=True)
            print(f"{len(self._found)} measurements are kept from {path} (--anew measures them again)", flush=True)
            return
        if lines:
            print(f"{path} is of other code or of another machine: it is started anew", flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**of, "day": self.day}) + "\n")

    def __contains__(self, key: str) -> bool:
        return key in self._found

    def measure(
        self,
        key: str,
        function: str,
        arguments: Mapping[str, Any],
        *,
        limit: float,
        environment: Mapping[str, str] | None = None,
    ) -> Found:
        """What `function` answers in a process of its own (benchmarks.shared.measuring), unless it is kept already."""
        if key not in self._found:
            try:
                found = Found(in_process(function, arguments, limit=limit, environment=environment))
            except ProcessFailedError as error:
                found = Found(stopped=str(error), late=error.late)
            self._found[key] = found
            row = {"key": key, "value": found.value, "stopped": found.stopped, "late": found.late}
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return self._found[key]
