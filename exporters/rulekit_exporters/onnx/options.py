"""Options of the ONNX target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rulekit.errors import InputError

InputForm = Literal["tensor", "columns", "codes"]
Optimize = Literal["throughput", "latency"]

OLDEST_OPSET = 12
ROLES = ("label", "probabilities", "fired")


@dataclass(frozen=True, slots=True)
class Options:
    """Parsed options; `input` is None where the graph's default form is wanted."""

    input: InputForm | None = None
    opset: int = OLDEST_OPSET
    fired: bool = False
    text: bool = True
    optimize: Optimize = "throughput"


def parse_options(options: Mapping[str, Any]) -> Options:
    """Options from values or their texts; raises InputError naming the option that is wrong."""
    known = {"input", "optimize", "opset", "fired", "text"}
    for name in options:
        if name not in known:
            raise InputError(f"no option {name!r}", where="onnx", fix=f"options are {', '.join(sorted(known))}")
    form = options.get("input")
    if form not in (None, "tensor", "columns", "codes"):
        raise InputError(f"input is {form!r}", where="onnx", fix="one of tensor, columns, codes")
    optimize = options.get("optimize", "throughput")
    if optimize not in ("throughput", "latency"):
        raise InputError(f"optimize is {optimize!r}", where="onnx", fix="throughput or latency")
    opset = _opset(options.get("opset", OLDEST_OPSET))
    return Options(form, opset, _flag(options, "fired", False), _flag(options, "text", True), optimize)


def public_outputs(inputs: Sequence[str], roles: tuple[str, ...]) -> dict[str, str]:
    """The public name of each output: its role, with underscores where an input has that name."""
    names = {}
    for role in roles:
        name = role
        while name in inputs:
            name += "_"
        names[role] = name
    return names


def _opset(value: object) -> int:
    from onnx.defs import onnx_opset_version

    newest = int(onnx_opset_version())
    try:
        opset = int(str(value))
    except ValueError:
        opset = -1
    if isinstance(value, bool) or not OLDEST_OPSET <= opset <= newest:
        raise InputError(f"opset is {value!r}", where="onnx", fix=f"an integer from {OLDEST_OPSET} to {newest}")
    return opset


def _flag(options: Mapping[str, Any], name: str, default: bool) -> bool:
    value = options.get(name, default)
    if isinstance(value, str):
        value = {"true": True, "1": True, "false": False, "0": False}.get(value.lower(), value)
    if not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}", where="onnx", fix="true or false")
    return value
