"""Special codes of score cards, -9999 and -8888: rules tell them apart, and from numbers and missing."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit import AdditiveRulesClassifier


@pytest.mark.filterwarnings("ignore")
def test_a_score_card_tells_special_codes_apart() -> None:
    """Each code has another label than its neighbours; the codes stay numbers, as they are not declared missing."""
    rng = np.random.default_rng(0)
    v = np.concatenate([np.full(30, -9999.0), np.full(30, -8888.0), np.full(30, np.nan), rng.integers(0, 100, 150)])
    y = np.where(np.isnan(v), 0, (v == -9999.0) | ((v >= 0.0) & (v < 50.0)))
    model = AdditiveRulesClassifier().fit({"v": v}, y)
    assert model.predict({"v": [-9999.0, -8888.0, np.nan, 20.0, 80.0]}).tolist() == [1, 0, 0, 1, 0]
