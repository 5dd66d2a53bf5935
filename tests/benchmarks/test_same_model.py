"""The same model file whatever the threads, with and without numba, in blocks and in memory."""

from __future__ import annotations

import pytest

from benchmarks.proofs import same_model
from benchmarks.shared.measuring import in_process

FUNCTION = "benchmarks.proofs.same_model:digests"


def test_threads_blocks_and_a_budget_give_one_file():
    ways = ["1 thread", "2 threads", *same_model.STORED]
    found = same_model.digests(300, ways, settings=["E", "AdaBoost"], tables=["three classes"])
    assert same_model.differing(found) == []
    assert len({digest for learned in found.values() for digest in learned.values()}) == len(found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows", "tables", "settings"),
    [(60, ["adult-like"], ["E"]), (800, list(same_model.TABLES), list(same_model.SETTINGS))],
)
def test_the_interpreter_gives_the_file_of_the_compiled_code(rows, tables, settings):
    arguments = {"rows": rows, "most_cuts": rows // 4, "tables": tables, "settings": settings}
    compiled = in_process(FUNCTION, {**arguments, "ways": ["2 threads", "blocks"]})
    fallback = in_process(FUNCTION, {**arguments, "ways": ["1 thread"]}, environment=same_model.FALLBACK)
    assert len(compiled) == len(settings) * len(tables)
    assert same_model.differing({name: compiled[name] | fallback[name] for name in compiled}) == []


@pytest.mark.long
@pytest.mark.parametrize("n_tables", [1, 4])
def test_tables_that_are_large_enough_for_threads_too(n_tables):
    ways, tables = ["1 thread", "2 threads", "3 threads", "blocks"], list(same_model.TABLES)[:n_tables]
    assert same_model.differing(same_model.digests(60_000, ways, settings=["E", "rules"], tables=tables)) == []
