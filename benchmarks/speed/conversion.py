"""Peers as ONNX, by skl2onnx in an environment of its own: build/skl2onnx, which is made where it is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ENVIRONMENT = Path(__file__).parents[2] / "build" / "skl2onnx"
REQUIREMENTS = ("scikit-learn", "skl2onnx==1.20.0", "protobuf<6")

# Rows, labels -> HistGradientBoostingClassifier of 100 rounds.
BOOSTING = """
import sys
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from skl2onnx import to_onnx
X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
model = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0).fit(X, y)
converted = to_onnx(model, X[:1], options={"zipmap": False})
open(sys.argv[3], "wb").write(converted.SerializeToString())
"""

# Rows, labels, other rows -> AdaBoostClassifier of 100 stumps; the stumps as they are; its labels of the other rows.
# A tree of one leaf is a stump whose sides vote alike.
STUMPS = """
import sys
import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from skl2onnx import to_onnx
X, y, others = (np.load(name) for name in sys.argv[1:4])
model = AdaBoostClassifier(n_estimators=100, random_state=0).fit(X, y)
converted = to_onnx(model, X[:1], options={"zipmap": False})
open(sys.argv[4], "wb").write(converted.SerializeToString())
found = {"feature": [], "threshold": [], "below": [], "above": []}
for stump in model.estimators_:
    tree = stump.tree_
    votes = 2 * stump.classes_[tree.value[:, 0].argmax(axis=1)] - 1
    split = tree.node_count > 1
    found["feature"].append(tree.feature[0] if split else 0)
    found["threshold"].append(tree.threshold[0] if split else 0.0)
    found["below"].append(votes[tree.children_left[0]] if split else votes[0])
    found["above"].append(votes[tree.children_right[0]] if split else votes[0])
weight = model.estimator_weights_[: len(model.estimators_)]
np.savez(sys.argv[5], weight=weight, labels=model.predict(others), **found)
"""


def convert(script: str, files: Sequence[Path]) -> str:
    """Run a script above on its files, in order; says in one line why it could not be done, or nothing."""
    python = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *REQUIREMENTS]
        ran = subprocess.run(install, capture_output=True, text=True, check=False)
        if ran.returncode:
            return f"skl2onnx cannot be installed: {_last(ran.stderr)}"
    # One thread, as this is not timed: those of OpenMP wait busily for each other where the machine is not quiet.
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [str(python), "-c", script, *map(str, files)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return f"skl2onnx failed: {_last(ran.stderr)}" if ran.returncode else ""


def _last(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else "no message"
