"""What a model says, as JSON text that is made once: labels, classes, and each set of rules that fired together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Bools
from rulekit.work.deciding import Decider

_KEPT = 10_000
_dumped = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=str).encode


def dumped(value: Any) -> str:
    """JSON without spaces; what is no JSON value as a text."""
    return _dumped(value)


@dataclass(frozen=True, slots=True)
class Fired:
    """Rules that fired on a row: their ids, how the log keeps them, and as JSON."""

    ids: tuple[str, ...]
    kept: str
    json: str

    @classmethod
    def of(cls, ids: Iterable[str], texts: dict[str, str]) -> Fired:
        """texts: of the rules, by id."""
        own = tuple(ids)
        return cls(own, " ".join(("", *own, "")), dumped([{"id": one, "text": texts.get(one, "")} for one in own]))


class Words:
    """The texts of a model."""

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        self.classes: Sequence[Any] = decider.graph.classes
        self.labels = [dumped(label) for label in self.classes]
        self._keys = [dumped(label if isinstance(label, str) else dumped(label)) for label in self.classes]
        self._rules = {rule.id: rule.text for rule in decider.rules}
        self._known: dict[bytes, Fired] = {}

    def fired(self, fired: Bools) -> list[Fired]:
        """Of each row [n, rules] the rules that fired."""
        bits = np.packbits(fired, axis=1).tobytes() if fired.size else b""
        width = len(bits) // len(fired) if len(fired) else 0
        return [self._one(bits[i * width : (i + 1) * width], fired, i) for i in range(len(fired))]

    def _one(self, bits: bytes, fired: Bools, row: int) -> Fired:
        found = self._known.get(bits)
        if found is None:
            ids = (self.decider.rules[j].id for j in np.flatnonzero(fired[row]).tolist())
            if len(self._known) >= _KEPT:
                self._known.clear()
            found = self._known[bits] = Fired.of(ids, self._rules)
        return found

    def of_ids(self, ids: Iterable[str]) -> Fired:
        """The same of rules that the log names."""
        return Fired.of(ids, self._rules)

    def decision(self, own: str, label: int, chances: Sequence[float], fired: Fired) -> str:
        """One decision as JSON; own: its id as JSON."""
        shares = ",".join([f"{key}:{chance!r}" for key, chance in zip(self._keys, chances, strict=True)])
        return f'{{"id":{own},"label":{self.labels[label]},"probabilities":{{{shares}}},"rules":{fired.json}}}'
