"""Training rows under the schema of known rules, so that a column means the same to the old rules and the new ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import suggestion
from rulekit.schema import FIRST_LEVEL_CODE, FREE, Feature
from rulekit.tables.table import Array, Table, encoded_dtype


def under_start(graph: RuleGraph, table: Table, who: str = "the start") -> Table:
    """The table with each column that the graph reads as the graph's schema has it; its levels first, new ones behind.

    What the schema declares of a column, read or not, goes on to hold: its monotone mark and its role; so do the groups
    of columns that may meet in a rule. Raises InputError where a column that is read is missing, not to be used, of
    another kind, or ordered otherwise, and where the table declares the contrary of the schema. who: reads the columns,
    in words.
    """
    features, arrays = [_declared(graph, feature) for feature in table.features], list(table.arrays)
    known, own = graph.schema.constraints, table.constraints
    if FREE not in (known, own) and known != own:
        raise InputError("the start and the data declare different constraints", where="start", fix="declare one")
    for name in graph.used_features:
        if name not in table.names:
            raise InputError(f"no column {name!r}, which {who} reads", where=table.source or "table",
                             fix=suggestion(name, table.names))  # fmt: skip
        at = table.names.index(name)
        if features[at].role != "use":
            raise InputError(f"{who} reads it, its role is {features[at].role}", where=f"column {name!r}")
        features[at], arrays[at] = _adopted(graph.schema[name], features[at], arrays[at], who)
    return replace(table, features=tuple(features), arrays=tuple(arrays), constraints=known if own == FREE else own)


def _declared(graph: RuleGraph, own: Feature) -> Feature:
    """A column with the monotone mark and the role that the start's schema declares, where its own are free."""
    if own.name not in graph.schema.names:
        return own
    known = graph.schema[own.name]
    if known.monotone * own.monotone < 0:
        raise InputError(
            "the start and the data declare it monotone in different directions",
            where=f"column {own.name!r}",
            fix="declare one",
        )
    role = known.role if own.role == "use" else own.role
    return replace(own, monotone=own.monotone or known.monotone, role=role)


def _adopted(known: Feature, own: Feature, array: Array, who: str) -> tuple[Feature, Array]:
    """The feature as the start has it, and the column encoded so."""
    if known.kind == own.kind == "categorical":
        return _levels(known, own, array, who)
    if known.kind == own.kind == "text":
        unknown = sorted(set(known.levels) - set(own.levels))
        if unknown:
            fix = "give rules without it, or more texts"
            what = f"{who} names the word {unknown[0]!r}, which fewer than two of these texts have"
            raise InputError(what, where=f"column {known.name!r}", fix=fix)
        return own, array
    if known.kind != own.kind and (known.kind, own.kind) != ("numeric", "boolean"):
        raise InputError(
            f"it is {own.kind} here and {known.kind} in {who}",
            where=f"column {known.name!r}",
            fix=f"declare it {known.kind}, or give other rules",
        )
    known = replace(known, role=own.role, monotone=own.monotone)
    return known, array.astype(encoded_dtype(known))


def _levels(known: Feature, own: Feature, array: Array, who: str) -> tuple[Feature, Array]:
    """Known levels and then new ones; those of a declared order may be the start's or the data's, not two orders."""
    new = tuple(level for level in own.levels if level not in set(known.levels))
    if (known.ordered and new) or (own.ordered and (not known.ordered or new)):
        # An order of levels is a statement about them all: the one that has every level is taken.
        if not own.ordered or set(known.levels) - set(own.levels):
            where, fix = f"column {known.name!r}", "declare one order of all levels"
            raise InputError(f"{who} orders its levels otherwise than the data (level {new[0]!r})" if new else
                             f"the data orders its levels, {who} does not", where=where, fix=fix)  # fmt: skip
        if known.ordered and [level for level in own.levels if level in set(known.levels)] != list(known.levels):
            raise InputError(f"{who} orders its levels otherwise than the data", where=f"column {known.name!r}")
        return own, array
    merged = replace(known, levels=(*known.levels, *new), role=own.role, monotone=own.monotone)
    place = {level: FIRST_LEVEL_CODE + i for i, level in enumerate(merged.levels)}
    codes = np.arange(FIRST_LEVEL_CODE + len(own.levels), dtype=np.int32)
    codes[FIRST_LEVEL_CODE:] = [place[level] for level in own.levels]
    return merged, codes[array]
