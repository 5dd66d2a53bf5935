"""Small, readable rule models from tables, decided alike in ONNX, Python and print."""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.version import DISTRIBUTION as DISTRIBUTION
from rulekit.version import __version__ as __version__
from rulekit.views import answered_by

if TYPE_CHECKING:
    from rulekit.audit.differences.compared import compare
    from rulekit.audit.drift.comparing import monitor
    from rulekit.audit.explaining.explanations import explain
    from rulekit.graph.files.model_files import export, load
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.learners.additive.estimator import AdditiveRulesClassifier
    from rulekit.learners.boosting.estimator import AdaBoostStumpClassifier
    from rulekit.learners.cnll.estimator import CNLLClassifier
    from rulekit.learners.gramression.estimator import GramressionClassifier
    from rulekit.learners.ltu.estimator import LTUTreeClassifier
    from rulekit.learners.mcmc.learner import MCMCClassifier
    from rulekit.learners.noisy_or.estimator import NoisyOrClassifier
    from rulekit.learners.rules.estimator import RulesClassifier
    from rulekit.notebook.display import rules_frame, show
    from rulekit.notebook.pictures import plot_boundary, plot_calibration, plot_ladder, plot_path, plot_roc, plot_rules
    from rulekit.schema import Feature, Schema
    from rulekit.simplification.passes import simplify
    from rulekit.tables.reading import read_table
    from rulekit.tables.table import Table
    from rulekit.verification.parity import verify

_LAZY = {
    "compare": "rulekit.audit.differences.compared",
    "explain": "rulekit.audit.explaining.explanations",
    "export": "rulekit.graph.files.model_files",
    "monitor": "rulekit.audit.drift.comparing",
    "plot_boundary": "rulekit.notebook.pictures",
    "plot_calibration": "rulekit.notebook.pictures",
    "plot_ladder": "rulekit.notebook.pictures",
    "plot_path": "rulekit.notebook.pictures",
    "plot_roc": "rulekit.notebook.pictures",
    "plot_rules": "rulekit.notebook.pictures",
    "rules_frame": "rulekit.notebook.display",
    "show": "rulekit.notebook.display",
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
    "compare",
    "explain",
    "export",
    "load",
    "monitor",
    "plot_boundary",
    "plot_calibration",
    "plot_ladder",
    "plot_path",
    "plot_roc",
    "plot_rules",
    "read_table",
    "rules_frame",
    "show",
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


answered_by(lambda: import_module("rulekit.notebook.display"))

if _foreign := foreign_files():
    warnings.warn(f"{DISTRIBUTION}: {_foreign}", stacklevel=2)


def __getattr__(name: str) -> Any:
    """Public names are imported on first use, so that `import rulekit` stays instant."""
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'rulekit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
