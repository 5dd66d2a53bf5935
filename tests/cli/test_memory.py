"""`rulekit train --memory`: the same model file and figures as in memory, and one line where the budget is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import Run

from rulekit.errors import InputError
from rulekit.tables.table import Store

WORDS = ("--target", "label", "--param", "max_rules=2")


@pytest.mark.parametrize(
    ("ending", "words"),
    [("csv", ()), ("parquet", ()), ("jsonl", ()), ("csv", ("--cost", "1:3", "--holdout", "0.3", "--ignore", "d"))],
)
def test_a_budget_changes_nothing_but_the_memory(
    run: Run, table: Path, tmp_path: Path, ending: str, words: tuple[str, ...]
) -> None:
    data = tmp_path / f"t.{ending}"
    frame = pl.read_csv(table)
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[ending](data)
    words = (*words, "--no-baselines")  # which have their share of the time
    memory = run("train", str(data), *WORDS, *words, "-o", "memory.json")
    disk = run("train", str(data), *WORDS, *words, "--memory", "1GB", "-o", "disk.json")
    assert (memory.status, disk.status) == (0, 0), memory.err + disk.err
    assert (tmp_path / "disk.json").read_bytes() == (tmp_path / "memory.json").read_bytes()
    assert disk.out == memory.out.replace("memory.json", "disk.json  ")


def test_a_limit_of_file_sizes_is_named_with_its_folder() -> None:
    """All that was said was `File too large`, of no file."""
    resource = pytest.importorskip("resource", reason="no limits of file sizes here")
    column = Store().writer(np.float64)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(InputError, match="TMPDIR"):
            column.add(np.zeros(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
