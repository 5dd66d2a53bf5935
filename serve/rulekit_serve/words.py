"""What a model says, as JSON text that is made once: labels, probabilities, and each set of rules that fired."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic_core import to_json

from rulekit.work.deciding import Decided, Decider

_KEPT = 1 << 25
"""Letters of the texts that are kept of a model."""
AT_ONCE = 32
"""Rows that are looked up one by one; of more all are decided together."""
_dumped = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=str).encode


def dumped(value: Any) -> str:
    """JSON without spaces; what is no JSON value as a text."""
    try:
        return to_json(value, fallback=str).decode()
    except ValueError:  # half of a pair of surrogates
        return _dumped(value)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a model decides of all rows that its rules do not tell apart.

    label: as JSON. rules: the ids of those that fired. said: the JSON of an answer behind the id. kept: that of the
    log: label, probabilities, rules. text, shares, fired: the elements of the outputs of V2.
    """

    label: str
    rules: tuple[str, ...]
    said: str
    kept: str
    text: str
    shares: str
    fired: str


class Words:
    """A model with the texts of what it has decided; of many outcomes the last ones are kept."""

    def __init__(self, decider: Decider) -> None:
        self.decider = decider
        self.labels = [dumped(label) for label in decider.graph.classes]
        self._texts = [dumped(label if isinstance(label, str) else dumped(label)) for label in decider.graph.classes]
        self._rules = {rule.id: rule.text for rule in decider.rules}
        self._known, self._size = dict[Any, Outcome](), 0

    def outcome(self, label: int, chances: Sequence[float], rules: Iterable[str]) -> Outcome:
        """An outcome by the index of its class, the probability of each class and the ids of the rules that fired."""
        own = tuple(rules)
        named = dumped([{"id": one, "text": self._rules.get(one, "")} for one in own])
        shares = ",".join(f"{text}:{chance!r}" for text, chance in zip(self._texts, chances, strict=True))
        return Outcome(
            self.labels[label],
            own,
            f'"label":{self.labels[label]},"probabilities":{{{shares}}},"rules":{named}}}',
            f"[{self.labels[label]},{dumped(chances)},{dumped(own)}]",
            self._texts[label],
            ",".join(map(repr, chances)),
            ",".join("true" if rule.id in own else "false" for rule in self.decider.rules),
        )

    def known(self, keys: Iterable[Any]) -> list[Outcome] | None:
        """The outcomes of rows by their cells, where all of them were decided before."""
        found = list(map(self._known.get, keys))
        return None if None in found else found  # type: ignore[return-value]

    def learn(self, keys: Iterable[Any], outcomes: Sequence[Outcome]) -> None:
        """Keep outcomes."""
        self._size += sum(len(own.said) + len(own.kept) + len(own.fired) for own in outcomes)
        if self._size > _KEPT:
            self._known.clear()
            self._size = 0
        self._known.update(zip(keys, outcomes, strict=True))

    def outcomes(self, decided: Decided) -> list[Outcome]:
        """The outcome of each row."""
        n = len(decided.labels)
        fired = np.packbits(decided.fired, axis=1) if decided.fired.size else np.empty((n, 0), np.uint8)
        numbers = (decided.labels[:, None], decided.probabilities)
        keys = np.hstack([*(np.ascontiguousarray(each).view(np.uint8) for each in numbers), fired])
        # of one width, so that what a text loses at its end tells no two apart
        texts: list[bytes] = keys.view(f"S{keys.shape[1]}").ravel().tolist()
        found = self.known(texts)
        if found is None:
            own = {text: row for row, text in enumerate(texts)}
            made = [self._of_row(decided, row) for row in own.values()]
            self.learn(own, made)
            by_text = dict(zip(own, made, strict=True))
            found = [by_text[text] for text in texts]
        return found

    def _of_row(self, decided: Decided, row: int) -> Outcome:
        rules = self.decider.fired_ids(decided, row)
        return self.outcome(int(decided.labels[row]), decided.probabilities[row].tolist(), rules)
