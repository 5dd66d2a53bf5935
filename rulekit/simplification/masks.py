"""Formulas over a single column as sets of its cells, and the shortest formula of a set.

A mask is an integer with one bit per cell: of a numeric column the intervals between its thresholds, ascending, then
missing; of a category each mentioned level, one bit for all other levels, unseen, missing; of a Boolean column false,
true, missing. Bits of cells that no row shows (a level never seen, where the schema lets none through) are left out
of `full`, and both values are allowed for them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rulekit.cells.reachable import readers, thresholds
from rulekit.graph.negation import much_longer
from rulekit.graph.nodes import FALSE, TRUE, Among, And, Compare, IsTrue, Missing, Node, Not, Or
from rulekit.numbers import canonical_threshold, float32
from rulekit.schema import Feature, Schema


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The cells of one column.

    cuts: distinct thresholds, ascending (numeric); levels: the mentioned levels that the schema knows (category);
    others: the levels that nothing mentions. full: the mask of all reachable cells. missing: the bit of missing.
    """

    feature: Feature
    cuts: tuple[float, ...]
    levels: tuple[str, ...]
    others: tuple[str, ...]
    full: int
    missing: int

    def mask(self, leaf: Node) -> int | None:
        """The cells where a leaf is true, or None where it is no leaf of this kind of column."""
        if isinstance(leaf, Missing):
            return self.missing
        flag = self.missing if getattr(leaf, "missing", False) else 0
        if isinstance(leaf, Compare) and self.feature.kind == "numeric":
            value = float32(leaf.value) if self.feature.precision == "float32" else leaf.value
            at_most = (1 << (bisect_left(self.cuts, value) + 1)) - 1
            chosen = at_most if leaf.op == "<=" else (self.missing - 1) & ~at_most
            return (chosen | flag) & self.full
        if isinstance(leaf, Among) and self.feature.kind == "categorical":
            wanted = set(leaf.levels)
            bits = sum(1 << i for i, level in enumerate(self.levels) if level in wanted)
            beyond = wanted.intersection(self.others)
            if beyond and len(beyond) < len(self.others):
                return None  # no leaf of the graph this alphabet was made for
            if beyond:
                bits |= 1 << len(self.levels)
            if leaf.unseen:
                bits |= self.missing >> 1
            return (bits | flag) & self.full
        if isinstance(leaf, IsTrue) and self.feature.kind == "boolean":
            return 2 | flag
        return None

    def formula(self, mask: int) -> Node:
        """The shortest formula that is true on exactly the reachable cells of `mask`; canonical."""
        mask &= self.full
        missing = Missing(self.feature.name)
        if mask == self.full:
            return TRUE
        if mask == 0:
            return FALSE
        if mask == self.missing:
            return missing
        if mask == self.full & ~self.missing:
            return Not(missing)
        kind = self.feature.kind
        return (
            self._intervals(mask)
            if kind == "numeric"
            else self._levels(mask)
            if kind == "categorical"
            else _bit(self, mask)
        )

    def size(self, mask: int) -> int:
        """The literals of `formula(mask)`."""
        mask &= self.full
        if mask in (0, self.full):
            return 0
        if self.feature.kind != "numeric" or mask in (self.missing, self.full & ~self.missing):
            return 1
        return len(self._boundaries(mask))

    def _boundaries(self, mask: int) -> list[int]:
        """The indices of the cuts at which the truth changes from one interval to the next."""
        inner = mask & (self.missing - 1)
        if not self.full >> len(self.cuts) & 1:  # above an infinite cut lies nothing: as its neighbour
            inner |= (inner << 1) & (1 << len(self.cuts))
        changes = (inner ^ (inner >> 1)) & ((1 << len(self.cuts)) - 1)
        found = []
        while changes:
            low = changes & -changes
            found.append(low.bit_length() - 1)
            changes ^= low
        return found

    def _intervals(self, mask: int) -> Node:
        boundaries, flag = self._boundaries(mask), bool(mask & self.missing)
        values = [canonical_threshold(self.cuts[i], self.feature.precision) for i in boundaries]
        name = self.feature.name
        runs: list[Node] = []
        inside = bool(mask & 1)
        if inside:
            runs.append(Compare(name, "<=", values[0], flag))
            values = values[1:]
        for low, high in zip(values[::2], [*values[1::2], math.inf], strict=False):
            above = Compare(name, ">", low, flag)
            runs.append(above if math.isinf(high) else And((above, Compare(name, "<=", high, flag))))
        return runs[0] if len(runs) == 1 else Or(tuple(runs))

    def _levels(self, mask: int) -> Node:
        """A level set by its own levels, or by those outside it where these are much fewer."""
        node = self._set(mask)
        inside = len(node.levels)
        outside = len(self.levels) + len(self.others) - inside
        return Not(self._set(self.full & ~mask)) if much_longer(inside, outside) else node

    def _set(self, mask: int) -> Among:
        chosen = [level for i, level in enumerate(self.levels) if mask >> i & 1]
        if self.others and mask >> len(self.levels) & 1:
            chosen.extend(self.others)
        unseen = bool(mask & self.full & (self.missing >> 1))
        return Among(self.feature.name, tuple(chosen), bool(mask & self.missing), unseen)


def _bit(alphabet: Alphabet, mask: int) -> Node:
    name, flag = alphabet.feature.name, bool(mask & alphabet.missing)
    return IsTrue(name, flag) if mask & 2 else Not(IsTrue(name, not flag))


def alphabet_of(feature: Feature, leaves: Sequence[Node]) -> Alphabet:
    """The cells of a column that these leaves tell apart."""
    if feature.kind == "numeric":
        cuts = tuple(thresholds(feature, leaves))
        missing = 1 << (len(cuts) + 1)
        full = 2 * missing - 1
        if cuts and cuts[-1] == math.inf:
            full &= ~(missing >> 1)
        return Alphabet(feature, cuts, (), (), full, missing)
    if feature.kind == "boolean":
        return Alphabet(feature, (), (), (), 7, 4)
    mentioned = {level for leaf in leaves if isinstance(leaf, Among) for level in leaf.levels}
    levels = tuple(level for level in feature.levels if level in mentioned)
    others = tuple(level for level in feature.levels if level not in mentioned)
    missing = 1 << (len(levels) + 2)
    full = 2 * missing - 1
    if not others:
        full &= ~(1 << len(levels))
    if feature.unseen != "unseen":
        full &= ~(missing >> 1)
    return Alphabet(feature, (), levels, others, full, missing)


def alphabets(schema: Schema, roots: Iterable[Node]) -> dict[str, Alphabet]:
    """The cells of every column that is read below the roots."""
    return {name: alphabet_of(schema[name], leaves) for name, leaves in readers(roots).items() if name in schema}
