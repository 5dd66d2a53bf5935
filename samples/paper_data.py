"""Writes the two made-up tables of Yuille & Zheng (ICML 2009), section 4.1, as CSV files.

    python -m samples.paper_data [FOLDER]

xor.csv: 3,000 points in four unit squares, an exclusive or. noisy_logical_I.csv and noisy_logical_II.csv: 2,000 rows of
50 bits each, the rule (f1 and f2) or (f3 and f4), with and without noise on the first four bits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rulekit.synthetic import exclusive_or, noisy_logical, write_csv


def write_paper_data(folder: Path, seed: int = 0) -> list[Path]:
    """Write the tables; returns their paths."""
    points, label = exclusive_or(seed)
    written = [_write(folder / "xor.csv", ["x", "y"], points, label)]
    for case in ("I", "II"):
        bits, label = noisy_logical("I" if case == "I" else "II", seed=seed)
        names = [f"f{j + 1}" for j in range(bits.shape[1])]
        written.append(_write(folder / f"noisy_logical_{case}.csv", names, bits, label))
    return written


def _write(path: Path, names: list[str], values: npt.NDArray[np.float64], label: npt.NDArray[np.int64]) -> Path:
    columns = {name: values[:, j].tolist() for j, name in enumerate(names)}
    write_csv({**columns, "label": label.tolist()}, path)
    return path


if __name__ == "__main__":
    for path in write_paper_data(Path(sys.argv[1] if len(sys.argv) > 1 else ".")):
        print(path)
