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
    from rulekit.work.taught import distill

_PLACES = {
    "audit.differences.compared": "compare",
    "audit.drift.comparing": "monitor",
    "audit.explaining.explanations": "explain",
    "graph.files.model_files": "export load",
    "graph.rule_graph": "RuleGraph",
    "learners.additive.estimator": "AdditiveRulesClassifier",
    "learners.boosting.estimator": "AdaBoostStumpClassifier",
    "learners.cnll.estimator": "CNLLClassifier",
    "learners.gramression.estimator": "GramressionClassifier",
    "learners.ltu.estimator": "LTUTreeClassifier",
    "learners.mcmc.learner": "MCMCClassifier",
    "learners.noisy_or.estimator": "NoisyOrClassifier",
    "learners.papers.madaline": "MadaWinnowClassifier MadalineClassifier",
    "learners.rules.estimator": "RulesClassifier",
    "notebook.display": "rules_frame show",
    "notebook.pictures": "plot_boundary plot_calibration plot_ladder plot_path plot_roc plot_rules",
    "schema": "Feature Schema",
    "simplification.passes": "simplify",
    "tables.reading": "read_table",
    "tables.table": "Table",
    "verification.parity": "verify",
    "work.taught": "distill",
}
"""By module the public names that it has."""
_LAZY = {name: f"rulekit.{module}" for module, names in _PLACES.items() for name in names.split()}

__all__ = ["AdaBoostStumpClassifier", "AdditiveRulesClassifier", "CNLLClassifier", "Feature", "GramressionClassifier"]
__all__ += ["LTUTreeClassifier", "MCMCClassifier", "MadaWinnowClassifier", "MadalineClassifier", "NoisyOrClassifier"]
__all__ += ["RuleGraph", "RulesClassifier", "Schema", "Table", "compare", "distill", "explain", "export", "load"]
__all__ += ["monitor", "plot_boundary", "plot_calibration", "plot_ladder", "plot_path", "plot_roc", "plot_rules"]
__all__ += ["read_table", "rules_frame", "show", "simplify", "verify"]


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
