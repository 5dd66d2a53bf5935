"""The conformance models: every kind of node, of decision and of column, as texts of the rule language.

Each file in `rules/` holds sections: `=== columns NAME` has the columns that several models share, and `=== model NAME
over COLUMNS` the labels and rules of one model. Their rows are made by rulekit.verification.rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.resources import files

from rulekit.conformance.noisy_family import FAMILY
from rulekit.graph.rule_graph import RuleGraph

Models = Mapping[str, Callable[[], RuleGraph]]
HEAD, SECTION = "rulekit rules 1\n", "=== "


@cache
def _sections(file: str) -> dict[str, str]:
    """The texts of a file by the words behind `===`; what stands before the first is its description."""
    text = files("rulekit.conformance").joinpath(f"rules/{file}.rules").read_text(encoding="utf-8")
    parts = ("\n" + text).split(f"\n{SECTION}")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


@cache
def _model(file: str, section: str) -> RuleGraph:
    from rulekit.graph.language.parsing import parse_graph

    columns = section.rpartition(" over ")[2]
    return parse_graph(HEAD + _sections(file)[f"columns {columns}"] + _sections(file)[section])


def _models(file: str) -> Models:
    named = [section for section in _sections(file) if section.startswith("model ")]
    return {section[6:].rpartition(" over ")[0]: partial(_model, file, section) for section in named}


NODES = _models("nodes")  # every kind of node and of decision over every kind of column
TABLES = _models("tables")  # tables of special shapes: wide, doubles, dates, hundreds of levels, labels of every kind
NETWORKS = _models("networks")  # large and deep: trees and layers of linear units, long sums, formulas of many bits
LEARNED = _models("learned")  # learned from a table with every kind of column, missing cells and several classes
SMALL = _models("small")  # few enough cells to enumerate
MODELS: Models = {**NODES, **TABLES, **NETWORKS, **LEARNED, **FAMILY}
