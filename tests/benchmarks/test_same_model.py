"""The same model file whatever the threads, with and without numba, in blocks and in memory."""

from __future__ import annotations

import pytest

from benchmarks.proofs import same_model
from benchmarks.shared.measuring import in_process

FUNCTION = "benchmarks.proofs.same_model:digests"


def test_threads_blocks_and_a_budget_give_one_file():
    ways = ["1 thread", "2 threads", *same_model.STORED]
    found = same_model.digests(400, ways, settings=["E"])
    assert same_model.differing(found) == []
    assert len({digest for learned in found.values() for digest in learned.values()}) == len(same_model.TABLES)


@pytest.mark.full
def test_numpy_gives_the_file_of_the_compiled_code():
    arguments = {"rows": 800, "most_cuts": 200}
    compiled = in_process(FUNCTION, {**arguments, "ways": ["2 threads", "blocks"]})
    fallback = in_process(FUNCTION, {**arguments, "ways": ["1 thread", "2 threads"]}, environment=same_model.FALLBACK)
    assert len(compiled) == 16
    assert (
        same_model.differing({name: compiled[name] | {"numpy": fallback[name]["1 thread"]} for name in compiled}) == []
    )
    assert same_model.differing(fallback) == []


@pytest.mark.full
def test_tables_that_are_large_enough_for_threads_too():
    ways = ["1 thread", "2 threads", "3 threads", "blocks"]
    assert same_model.differing(same_model.digests(60_000, ways, settings=["E", "II"])) == []
