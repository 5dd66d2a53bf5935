"""Compiled C loops of the same rules: what is left when nothing but the rows and the rules is looked at."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.serving.models import BOUND, CLAUSES, COLUMNS, MISSING, STEP, Array, LtuTree

SOURCES = Path(__file__).parent / "c"
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")


class NoCompilerError(Exception):
    """There is no C compiler, or it does not compile."""


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """What a floor writes: label [n] of int64, probability [n, 2] of float32."""

    label: Array
    probability: Array

    @classmethod
    def of(cls, n: int) -> Answers:
        """Answers for n rows, every page of them touched."""
        return cls(np.ones(n, np.int64), np.ones((n, 2), np.float32))


def used_columns() -> list[int]:
    """The columns of CLAUSES, ascending."""
    return sorted({j for clause in CLAUSES for j, _, _ in clause})


def dnf_header() -> str:
    """model.h for c/dnf.c from CLAUSES."""
    used = used_columns()
    rules = " | ".join(
        "(" + " & ".join(f"(X({used.index(j)}) {op} {_number(value)})" for j, op, value in clause) + ")"
        for clause in CLAUSES
    )
    places = ", ".join(map(str, used))
    return defines(COLUMNS=COLUMNS, USED=len(used), PLACES=places) + f"#define RULES(X) ({rules})\n"


def ltu_header(tree: LtuTree) -> str:
    """model.h for c/ltu.c."""
    units = len(tree.biases)
    rows = ", ".join(listed(weights) for weights in tree.weights.tolist())
    each = {"low": -BOUND, "high": BOUND, "step": STEP, "missing": MISSING}
    arrays = [f"static const float {name}[COLUMNS] = {listed([value] * COLUMNS)};" for name, value in each.items()]
    return (
        defines(COLUMNS=COLUMNS, UNITS=units)
        + f"static const float weights[UNITS][COLUMNS] = {{{rows}}};\n"
        + f"static const float biases[UNITS] = {listed(tree.biases.tolist())};\n"
        + "\n".join(arrays)
        + "\n"
        + paths_macro(tree)
    )


def paths_macro(tree: LtuTree) -> str:
    """PATHS(U) of a tree."""
    paths = " | ".join(
        "(" + " & ".join(f"{'' if fires else '!'}U({k})" for k, fires in path) + ")" for path in tree.paths()
    )
    return f"#define PATHS(U) ({paths})\n"


def defines(**values: object) -> str:
    return "".join(f"#define {name} {value}\n" for name, value in values.items())


def _number(value: float) -> str:
    """The float32 nearest to a decimal, without loss."""
    return f"{float(np.float32(value)).hex()}f"


def listed(values: Sequence[float]) -> str:
    return "{" + ", ".join(map(_number, values)) + "}"


def compiler() -> list[str]:
    """The command of the C compiler: $CC, else gcc, cc or clang; raises NoCompilerError."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    for name in ("gcc", "cc", "clang"):
        if found := shutil.which(name):
            return [found]
    raise NoCompilerError("no C compiler (gcc, cc, clang or $CC) on this machine")


def build(source: str, header: str, folder: Path) -> ctypes.CDLL:
    """The library of c/<source> with that model.h, compiled in `folder`; raises NoCompilerError."""
    place = folder / source.removesuffix(".c")
    place.mkdir(parents=True, exist_ok=True)
    (place / "model.h").write_text(header)
    library = place / "floor.so"
    command = [*compiler(), *FLAGS, f"-I{place}", str(SOURCES / source), "-o", str(library), "-lm"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoCompilerError(f"{command[0]}: {error}") from None
    if ran.returncode:
        lines = [line for line in ran.stderr.splitlines() if "error" in line] or ["no message"]
        raise NoCompilerError(f"{command[0]} does not compile {source}: {lines[0]}")
    found = ctypes.CDLL(str(library))
    for name in ("decide_rows", "decide_columns"):
        if hasattr(found, name):
            function = getattr(found, name)
            function.argtypes = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
            function.restype = None
    return found


Call = tuple[int, int, int, int]


def caller(function: Any) -> Callable[[Call], None]:
    """The C function as a way takes it: of one tuple of size and addresses."""

    def run(call: Call) -> None:
        function(*call)

    return run


def row_call(rows: Array, answers: Answers, start: int, stop: int) -> Call:
    """The arguments of decide_rows for a range of rows."""
    return (stop - start, address(rows, start), address(answers.label, start), address(answers.probability, start))


def address(array: Array, row: int) -> int:
    """The address of a row of an array whose rows lie one after the other."""
    assert array.flags.c_contiguous
    return int(array.ctypes.data) + row * array.strides[0]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCall:
    """The arguments of decide_columns; `pointers` must live as long as they are used."""

    pointers: Any
    call: Call


def column_call(columns: Sequence[Array], answers: Answers, start: int, stop: int) -> ColumnCall:
    """The arguments of decide_columns for a range of rows; columns in the order of `used_columns`."""
    pointers = (ctypes.c_void_p * len(columns))(*(address(column, start) for column in columns))
    where = ctypes.addressof(pointers)
    return ColumnCall(
        pointers, (stop - start, where, address(answers.label, start), address(answers.probability, start))
    )
