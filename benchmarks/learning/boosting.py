"""AdaBoostStumpClassifier beside scikit-learn's AdaBoostClassifier: test error and CPU time on adult.

    python -m benchmarks.learning.boosting [--rounds 100] [--data ../shared/data]

Ours reads the levels as they are, theirs one-hot columns. CPU seconds are of the fit alone, all threads together.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import AdaBoostClassifier

from rulekit import AdaBoostStumpClassifier


def measure(model: Any, train: Any, y: Any, test: Any, y_test: Any) -> tuple[float, float]:
    """CPU seconds of the fit, and the test error."""
    begun = time.process_time()
    model.fit(train, y)
    seconds = time.process_time() - begun
    return seconds, float(np.mean(model.predict(test) != y_test))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    train, test = (pd.read_csv(options.data / f"adult_{part}.csv.gz") for part in ("train", "test"))
    y, y_test = (frame.pop("target").to_numpy() for frame in (train, test))
    text = [name for name in train if not pd.api.types.is_numeric_dtype(train[name])]
    columns = pd.get_dummies(pd.concat([train, test]), columns=text).to_numpy(dtype=np.float32)
    hot, hot_test = columns[: len(train)], columns[len(train) :]
    AdaBoostStumpClassifier(2, stopping="none").fit(train[:1000], y[:1000])  # compiles the kernels
    ours = measure(AdaBoostStumpClassifier(options.rounds, stopping="none"), train, y, test, y_test)
    theirs = measure(AdaBoostClassifier(n_estimators=options.rounds, random_state=0), hot, y, hot_test, y_test)
    for name, (seconds, error) in (("rulekit", ours), ("scikit-learn, one-hot", theirs)):
        print(f"{name:24} {seconds:6.2f} CPU seconds   test error {error:.4f}")
    print(f"{'CPU time, ratio':24} {ours[0] / theirs[0]:6.3f}")


if __name__ == "__main__":
    main()
