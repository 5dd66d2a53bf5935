"""`count_rules` of generated modules counts what rulekit counts, and the module is read back as written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from generated import counts_of, module_of
from rulekit_exporters.python import TARGET

from rulekit.audit.drift.comparing import read_counts
from rulekit.conformance.models import MODELS
from rulekit.verification.rows import adversarial_rows, raw_columns


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_rules_of_every_model_are_counted_as_rulekit_does(name: str, tmp_path: Path) -> None:
    graph = MODELS[name]()
    table = adversarial_rows(graph, 120).table.select(graph.used_features)
    module = module_of(graph, tmp_path, counts=True)
    cells = raw_columns(table)
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*(c.tolist() for c in cells.values()), strict=True)]
    found = module.count_rules(rows or [{}] * table.n_rows)
    assert (found["rules"], found["classes"]) == counts_of(graph, adversarial_rows(graph, 120).table)
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
