"""The ONNX target: models that decide exactly as the rule graph does, portable unless latency is asked for.

onnx and onnxruntime are imported when a function of the target is called, not when the target is found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from rulekit.errors import InputError
from rulekit.targets import Feed, Runtime, Target, option

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph

InputForm = Literal["tensor", "columns", "codes", "ids"]
Optimize = Literal["throughput", "latency"]

OLDEST_OPSET = 12
LABEL, PROBABILITIES, FIRED = "label", "probabilities", "fired"


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """`input` is None where the graph's default form is wanted."""

    input: InputForm | None = option(
        None,
        "tensor (one [N, d] of all columns), columns (one [N, 1] per used column), codes (columns, with integer "
        "codes for categories) or ids (codes, with the ids of their words for texts); tensor where no used column is "
        "categorical, else columns",
        ("tensor", "columns", "codes", "ids"),
    )
    opset: int = option(OLDEST_OPSET, f"version of the default operator set, {OLDEST_OPSET} or later")
    fired: bool = option(False, "a third output says which rules fired")
    text: bool = option(True, "the metadata carry the rule text")
    optimize: Optimize = option(
        "throughput",
        "throughput, or latency: least time for one row, as one tree operator where there is one",
        ("throughput", "latency"),
    )
    frame: bool = option(
        False,
        "inputs of rank 1 and one output for the probability of each class, as mlflow.pyfunc feeds and reads them",
    )

    def __post_init__(self) -> None:
        from onnx.defs import onnx_opset_version

        newest = int(onnx_opset_version())
        if not OLDEST_OPSET <= self.opset <= newest:
            raise InputError(f"opset is {self.opset}", where="onnx", fix=f"an integer from {OLDEST_OPSET} to {newest}")


def _late(module: str, name: str) -> Callable[..., Any]:
    """A function of this package, whose module is imported when it is called."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"rulekit_exporters.onnx.{module}"), name)(*arguments)

    return call


def _missing(package: str) -> str:
    return "" if find_spec(package) else f"{package} is not installed"


def refuses(graph: RuleGraph, options: OnnxOptions) -> str:
    """A float tensor has no place for levels, and rules over words are numbered otherwise than those over texts."""
    if options.frame and (options.fired or options.input in ("tensor", "ids")):
        what = "fired is" if options.fired else f"input={options.input} is"
        return f"{what} no column of a data frame: leave it or frame out"
    texts = [name for name in graph.used_features if graph.schema[name].kind == "text"]
    if texts and options.fired:
        return f"which rules fired is not said of a model over the text {texts[0]!r}: leave fired out"
    if options.input == "ids" and not texts:
        return "a model without texts takes no ids of words: export codes"
    used = [name for name in graph.used_features if graph.schema[name].kind == "categorical"]
    if not used or options.input != "tensor":
        return ""
    return f"a float tensor cannot hold the category {used[0]!r}: export columns or codes"


run, run_raw = _late("running", "run_runtime"), _late("running", "run_raw")
run_reference = _late("running", "run_reference")
read, inspect = _late("metadata", "read_graph"), _late("inspection.reader", "inspect")
read_foreign = _late("forests", "read_forest")
_bounded = Runtime(
    "onnxruntime in a process with limits", _late("running", "run_untrusted"), _late("running", "run_raw_untrusted")
)
_feeds = (
    Feed("encoded by rulekit", _late("running", "run_encoded"), _late("running", "holds_encoded")),
    Feed("arrays of the declared types", _late("running", "run_arrays"), _late("running", "holds_arrays")),
)

TARGET = Target(
    name="onnx",
    description="ONNX model of portable operators: outputs label and probabilities",
    suffixes=(".onnx",),
    write=_late("emission", "emit_model"),
    runs=(
        Runtime(
            "onnxruntime",
            run,
            run_raw,
            missing=partial(_missing, "onnxruntime"),
            bounded=_bounded,
            feeds=_feeds,
            open=_late("running", "open_runtime"),
        ),
        Runtime("reference", run_reference, missing=partial(_missing, "onnx")),
    ),
    read=read,
    read_foreign=read_foreign,
    inspect=inspect,
    options=OnnxOptions,
    refuses=refuses,
    run_foreign=_late("foreign", "run_foreign"),
)

emit = TARGET.emit
