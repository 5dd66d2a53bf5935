"""The 20 literals as a person would write them in Python: what the generated module is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def decide(row: Sequence[float]) -> int:
    """The label of a sequence of 30 numbers."""
    if row[0] <= 0.31 and row[3] > -0.12 and row[5] <= 0.47 and row[8] > -0.26:
        return 1
    if row[11] > -0.35 and row[13] <= 0.58 and row[0] > -0.74 and row[17] <= 0.22 and row[21] > -0.41:
        return 1
    if row[3] <= 0.63 and row[22] > -0.18 and row[24] <= 0.39 and row[8] <= 0.85 and row[26] > -0.52:
        return 1
    if (
        row[28] <= 0.27
        and row[11] <= 0.66
        and row[5] > -0.81
        and row[29] > -0.33
        and row[22] <= 1.05
        and row[19] > -0.49
    ):
        return 1
    return 0


def decide_mapping(row: Mapping[str, float]) -> int:
    """The label of a mapping of the columns x0 to x29."""
    if row["x0"] <= 0.31 and row["x3"] > -0.12 and row["x5"] <= 0.47 and row["x8"] > -0.26:
        return 1
    if row["x11"] > -0.35 and row["x13"] <= 0.58 and row["x0"] > -0.74 and row["x17"] <= 0.22 and row["x21"] > -0.41:
        return 1
    if row["x3"] <= 0.63 and row["x22"] > -0.18 and row["x24"] <= 0.39 and row["x8"] <= 0.85 and row["x26"] > -0.52:
        return 1
    if (
        row["x28"] <= 0.27
        and row["x11"] <= 0.66
        and row["x5"] > -0.81
        and row["x29"] > -0.33
        and row["x22"] <= 1.05
        and row["x19"] > -0.49
    ):
        return 1
    return 0
