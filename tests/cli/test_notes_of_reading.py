"""What training notices of a table takes five lines; describe tells what is left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import Run, done


@pytest.fixture
def wide() -> Path:
    """A table of thirty columns, several of which deserve a note."""
    rng = np.random.default_rng(0)
    columns = {f"measurement_{k}": rng.normal(10, 3, 120).round(3).astype(str) for k in range(20)}
    columns |= {f"price_{k}": np.array([f"$ {v:,.2f}" for v in rng.normal(5000, 900, 120)]) for k in range(4)}
    columns |= {f"opened_{k}": np.array([f"2023-{1 + n % 12:02d}-{1 + n % 28:02d}" for n in range(120)]) for k in "ab"}
    columns |= {f"size_{k}": np.array(["small", "medium", "large"])[rng.integers(0, 3, 120)] for k in range(3)}
    columns["y"] = np.where((columns["measurement_0"].astype(float) > 11) ^ (rng.random(120) < 0.1), "yes", "no")
    lines = [",".join(columns), *(",".join(f'"{cell}"' for cell in row) for row in zip(*columns.values(), strict=True))]
    Path("wide.csv").write_text("\n".join(lines) + "\n")
    return Path("wide.csv")


def test_notes_of_a_wide_table_take_five_lines_and_describe_has_the_others(run: Run, wide: Path) -> None:
    ran = done(run("train", str(wide), "--target", "y", "-o", "m.json", "--param", "max_rules=2"))
    lines = ran.err.splitlines()
    before = lines[: next(n for n, line in enumerate(lines) if line.startswith("rules "))]
    headline = next(n for n, line in enumerate(before) if line.startswith("120 rows, 29 columns"))

    assert headline <= 5
    assert len(before) - headline <= 2
    assert any("positive class" in line for line in before)
    last = before[headline - 1]
    assert last.startswith("note: rulekit describe wide.csv shows ")

    notes = [line for line in run("describe", str(wide)).err.splitlines() if line.startswith("note: ")]
    shown = [line for line in notes if line in before]
    assert last == f"note: rulekit describe wide.csv shows {len(notes) - len(shown)} more notes"
    assert shown
