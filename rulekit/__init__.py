"""Small, readable rule models from tables, decided alike in ONNX, Python and print."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rulekit.graph.files.model_files import load
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.learners.additive.estimator import AdditiveRulesClassifier
    from rulekit.learners.boosting.estimator import AdaBoostStumpClassifier
    from rulekit.learners.cnll.estimator import CNLLClassifier
    from rulekit.learners.gramression.estimator import GramressionClassifier
    from rulekit.learners.ltu.estimator import LTUTreeClassifier
    from rulekit.learners.mcmc.learner import MCMCClassifier
    from rulekit.learners.noisy_or.estimator import NoisyOrClassifier
    from rulekit.learners.rules.estimator import RulesClassifier
    from rulekit.schema import Feature, Schema
    from rulekit.simplification.passes import simplify
    from rulekit.tables.reading import read_table
    from rulekit.tables.table import Table
    from rulekit.verification.parity import verify

__version__ = "0.1.0"
DISTRIBUTION = "rulekit-portable"
"""The name on the package index, where an unrelated package bears the name of this module."""

_LAZY = {
    "AdaBoostStumpClassifier": "rulekit.learners.boosting.estimator",
    "AdditiveRulesClassifier": "rulekit.learners.additive.estimator",
    "CNLLClassifier": "rulekit.learners.cnll.estimator",
    "RulesClassifier": "rulekit.learners.rules.estimator",
    "Feature": "rulekit.schema",
    "GramressionClassifier": "rulekit.learners.gramression.estimator",
    "LTUTreeClassifier": "rulekit.learners.ltu.estimator",
    "MCMCClassifier": "rulekit.learners.mcmc.learner",
    "MadaWinnowClassifier": "rulekit.learners.papers.madaline",
    "MadalineClassifier": "rulekit.learners.papers.madaline",
    "NoisyOrClassifier": "rulekit.learners.noisy_or.estimator",
    "RuleGraph": "rulekit.graph.rule_graph",
    "Schema": "rulekit.schema",
    "Table": "rulekit.tables.table",
    "load": "rulekit.graph.files.model_files",
    "read_table": "rulekit.tables.reading",
    "simplify": "rulekit.simplification.passes",
    "verify": "rulekit.verification.parity",
}

__all__ = [
    "AdaBoostStumpClassifier",
    "AdditiveRulesClassifier",
    "CNLLClassifier",
    "Feature",
    "GramressionClassifier",
    "LTUTreeClassifier",
    "MCMCClassifier",
    "MadaWinnowClassifier",
    "MadalineClassifier",
    "NoisyOrClassifier",
    "RuleGraph",
    "RulesClassifier",
    "Schema",
    "Table",
    "load",
    "read_table",
    "simplify",
    "verify",
]


def foreign_files() -> str:
    """What an unrelated package of the name `rulekit` left beside this one, in a sentence; "" where it left nothing.

    Both write into one folder: installing it replaces files of this package, uninstalling it removes them.
    """
    beside = Path(__file__).parents[1]
    if next(beside.glob("rulekit-[0-9]*.*-info"), None) is None:
        return ""
    fix = f"pip uninstall rulekit, then pip install --force-reinstall {DISTRIBUTION}"
    return f"the unrelated package rulekit is installed in the same folder; {fix}"


if _foreign := foreign_files():
    warnings.warn(f"{DISTRIBUTION}: {_foreign}", stacklevel=2)


def __getattr__(name: str) -> Any:
    """Public names are imported on first use, so that `import rulekit` stays instant."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'rulekit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
