"""The benchmark of limits of time: it runs every command, on models and rows that fit each other."""

from __future__ import annotations

import numpy as np
from rulekit_cli.main import app_for

from benchmarks.proofs.limits import COMMANDS, LARGE, LEARNERS, model_text, rows, rules
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rules import counts
from rulekit.learners.contract import learner_names


def test_every_command_and_every_learner_is_run() -> None:
    assert {name.split()[0] for name in COMMANDS} == {one.name for one in app_for().registered_commands}
    assert set(LEARNERS) == set(learner_names())


def test_the_made_models_and_tables_are_what_they_say() -> None:
    made = rules(12)
    graph = parse_graph(model_text(made, noisy=True))
    assert counts(graph).rules == 12
    assert graph.predict([dict.fromkeys(graph.schema.names, None)]).tolist() in (["no"], ["yes"])
    lines = rows(5).splitlines()
    assert [len(line.split(",")) for line in lines] == [22] * 6
    assert np.array([make(30).count("\n") for make, _, _ in LARGE.values()]).tolist() == [21, 61, 31, 31]
