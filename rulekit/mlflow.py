"""rulekit as a flavour of MLflow: a model is stored as its own JSON file beside MLmodel, never as a pickle or code.

    import rulekit.mlflow

    logged = rulekit.mlflow.log_model(graph, name="loans")
    mlflow.pyfunc.load_model(logged.model_uri).predict(frame)  # label, probability(...), rules

What is loaded decides as `rulekit predict` does. MLflow is imported when a function is called.
"""

from __future__ import annotations

import sys
from inspect import signature as parameters_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import FormatError, InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.rule_graph import RuleGraph, class_array
from rulekit.names import label_text
from rulekit.version import __version__
from rulekit.work.deciding import Decider

if TYPE_CHECKING:
    import pandas

FLAVOR = "rulekit"
MODEL = "model.json"


def save_model(
    model: Any,
    path: str | Path,
    mlflow_model: Any = None,
    signature: Any = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write the folder of an MLflow model.

    Parameters
    ----------
    model : RuleGraph or estimator
        The model, or a fitted learner.
    path : str or path
        The folder, which must be new or empty.
    mlflow_model : mlflow.models.Model or None
        What is known of it already.
    signature : mlflow.models.ModelSignature or None
        To what MLflow holds the frames; without one rulekit alone says what it refuses.
    metadata : dict or None
        What else MLmodel is to hold.

    """
    import mlflow

    graph = getattr(model, "rule_graph_", model)
    if not isinstance(graph, RuleGraph):
        raise InputError(
            f"{type(model).__name__} is no rule model", fix="give a RuleGraph, or a fitted learner of rulekit"
        )
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InputError("the folder is not empty", where=str(path), fix="name a new one")
    known = mlflow.models.Model() if mlflow_model is None else mlflow_model
    known.signature = known.signature if signature is None else signature
    known.metadata = known.metadata if metadata is None else metadata
    graph.save(folder / MODEL)
    mlflow.pyfunc.add_to_model(known, loader_module=__name__, data=MODEL)
    known.add_flavor(FLAVOR, rulekit_version=__version__, digest=graph.digest, data=MODEL)
    known.save(str(folder / "MLmodel"))


def log_model(model: Any, name: str, **given: Any) -> Any:
    """Log a model to the current run; gives what MLflow knows of it, its `model_uri` for one.

    Parameters
    ----------
    model : RuleGraph or estimator
        The model, or a fitted learner.
    name : str
        Of the model in MLflow.
    **given
        `signature` and `metadata` as of `save_model`, and what `mlflow.models.Model.log` takes, such as
        `registered_model_name`.

    """
    import mlflow

    log = mlflow.models.Model.log
    called: dict[str, str | None] = {"artifact_path": name}
    if "name" in parameters_of(log).parameters:  # since MLflow 3
        called = {"artifact_path": None, "name": name}
    return log(**called, flavor=sys.modules[__name__], model=model, **given)


def load_model(model_uri: str, dst_path: str | None = None) -> RuleGraph:
    """The rule model of an MLflow model.

    Parameters
    ----------
    model_uri : str
        Where it is: `models:/loans@champion`, `runs:/ID/loans`, a folder.
    dst_path : str or None
        A folder for what has to be downloaded.

    Raises
    ------
    FormatError
        If the model file is none, or is not the one that MLmodel names.

    """
    import mlflow

    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=model_uri, dst_path=dst_path))
    flavors = mlflow.models.Model.load(str(folder)).flavors
    if FLAVOR not in flavors:
        raise FormatError("this is no model of rulekit", where=model_uri, fix=f"it has {', '.join(sorted(flavors))}")
    graph = load(folder / MODEL)
    if graph.digest != flavors[FLAVOR].get("digest"):
        raise FormatError("the model file is another one than MLmodel names", where=model_uri, fix="log it again")
    return graph


def _load_pyfunc(path: str) -> Scorer:
    """What mlflow.pyfunc calls with the path of the model file."""
    return Scorer(load_model(str(Path(path).parent)))


class Scorer:
    """What mlflow.pyfunc wraps: a loaded model that scores frames."""

    def __init__(self, graph: RuleGraph) -> None:
        self.decider = Decider.of(graph)

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pandas.DataFrame:
        """A frame with `label`, `probability(...)` of each class, and `rules`, the ids of those that fired."""
        import pandas

        decider = self.decider
        decided = decider.decide(decider.graph.table(model_input))
        classes = decider.graph.classes
        columns: dict[str, Any] = {"label": class_array(classes)[decided.labels]}
        for k, label in enumerate(classes):
            columns[f"probability({label_text(label)})"] = decided.probabilities[:, k]
        ids = (decider.fired_ids(decided, row) for row in range(len(decided.labels)))
        columns["rules"] = [" ".join(fired) or None for fired in ids]
        return pandas.DataFrame(columns, index=getattr(model_input, "index", None))
