"""`count_rules` of generated modules counts what rulekit counts, and the module is read back as written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from generated import module_of
from rulekit_exporters.python import TARGET

from rulekit.audit.drift.comparing import read_counts
from rulekit.conformance.models import MODELS
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired, rules_of
from rulekit.names import label_text
from rulekit.verification.rows import adversarial_rows, raw_columns


def _counts(graph: RuleGraph, table: object) -> tuple[dict[str, int], dict[str, int]]:
    """What rulekit counts: rows by rule, and by class."""
    rules = dict(zip((rule.id for rule in rules_of(graph)), fired(graph, table).sum(axis=0).tolist(), strict=True))
    decided = np.bincount(decide(graph, table), minlength=len(graph.classes)).tolist()
    return rules, dict(zip(map(label_text, graph.classes), decided, strict=True))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_rules_of_every_model_are_counted_as_rulekit_does(name: str, tmp_path: Path) -> None:
    graph = MODELS[name]()
    table = adversarial_rows(graph, 120).table.select(graph.used_features)
    module = module_of(graph, tmp_path, counts=True)
    cells = raw_columns(table)
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*(c.tolist() for c in cells.values()), strict=True)]
    found = module.count_rules(rows or [{}] * table.n_rows)
    assert (found["rules"], found["classes"]) == _counts(graph, adversarial_rows(graph, 120).table)
    assert found["rows"] == table.n_rows
    if graph.classes == tuple(map(str, graph.classes)):
        assert read_counts(json.dumps(found), graph, "counts").rules == found["rules"]


@pytest.mark.parametrize("self_test", [True, False])
def test_the_module_is_read_back_as_written(self_test: bool) -> None:
    graph = MODELS["threshold"]()
    given = {"counts": True, "self_test": self_test}
    artifact = TARGET.emit(graph, given).main
    assert TARGET.inspect is not None
    assert TARGET.inspect(artifact, graph).as_written
    tampered = artifact.replace(b"by_rule[", b"by_class[").replace(b"chosen.append(", b"chosen.append(not (", 1)
    assert not TARGET.inspect(tampered, graph).as_written
    assert b"count_rules" not in TARGET.emit(graph).main
