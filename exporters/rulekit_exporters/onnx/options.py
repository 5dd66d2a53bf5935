"""Options of the ONNX target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rulekit.errors import InputError
from rulekit.targets import option

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


def public_outputs(inputs: Sequence[str], roles: Sequence[str]) -> dict[str, str]:
    """The public name of each output: its role, with underscores where an input or another role has that name."""
    names: dict[str, str] = {}
    for role in roles:
        name = role
        while name in inputs or (name != role and name in roles) or name in names.values():
            name += "_"
        names[role] = name
    return names
