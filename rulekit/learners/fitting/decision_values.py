"""What scikit-learn calls a decision function: numbers whose sign, or whose largest, is the class that is decided."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rulekit.learners.counting.histograms import Floats

_LEAST = 2.0**-20
_SHARE = 2.0**-53


def decision_values(probabilities: Floats, decided: npt.NDArray[np.int64], threshold: float = 0.5) -> Floats:
    """Of two classes [n], above 0 where the second is decided; of more [n, K], largest for the decided one.

    They are log odds of the reported probabilities [n, K]; of two classes less those of `threshold`, above which the
    second is decided. Where a model reports another class than it decides (its rules were edited, or it was moved to
    another threshold), the number is moved just so far that it says what is decided.
    """
    share = np.clip(probabilities, _SHARE, 1.0 - _SHARE)
    odds = np.log(share) - np.log1p(-share)
    if odds.shape[1] == 2:
        values = odds[:, 1] - np.log(threshold) + np.log1p(-threshold)
        return np.asarray(np.where(decided == 1, np.maximum(values, _LEAST), np.minimum(values, -_LEAST)))
    rows = np.arange(len(odds))
    own = odds[rows, decided]
    odds[rows, decided] = -np.inf
    odds[rows, decided] = np.maximum(own, odds.max(axis=1) + _LEAST)
    return np.asarray(odds)
