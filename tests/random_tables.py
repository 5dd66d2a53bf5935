"""Random tables for property tests: rows at and beside thresholds, missing, infinite and unseen values."""

from __future__ import annotations

import math

import numpy as np

from rulekit.conformance.models import THRESHOLDS
from rulekit.schema import Schema
from rulekit.tables.table import Table


def random_table(rng: np.random.Generator, schema: Schema, n_rows: int) -> Table:
    """Encoded rows at and beside the thresholds above, missing, infinite, unseen."""
    special = np.array([*THRESHOLDS, math.inf, -math.inf, math.nan, -0.0, 1e38, 0.2, 2.25])
    arrays = []
    for feature in schema:
        if feature.kind == "categorical":
            low = 0
            codes = rng.integers(low, len(feature.levels) + 2, n_rows).astype(np.int32)
            if feature.unseen != "unseen":
                codes[codes == 1] = 0
            arrays.append(codes)
        elif feature.kind == "boolean":
            arrays.append(rng.choice(np.array([0.0, 1.0, math.nan], dtype=np.float32), n_rows))
        else:
            values = np.where(
                rng.random(n_rows) < 0.6, rng.choice(special, n_rows), np.round(rng.normal(0, 2, n_rows), 2)
            )
            if feature.precision == "float64":
                arrays.append(values)
            else:
                with np.errstate(over="ignore"):
                    exact = values.astype(np.float32)
                beside = np.nextafter(exact, rng.choice(np.array([-np.inf, np.inf], dtype=np.float32), n_rows))
                arrays.append(np.where(rng.random(n_rows) < 0.3, beside, exact).astype(np.float32))
    return Table(schema.features, tuple(arrays), n_rows)
