"""Export targets: what an exporter registers, and how the library finds it.

An exporter is a package with an entry point in the group `rulekit.exporters` whose value is a `Target`. The library
uses targets only through this page, so that a third party can add one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError

if TYPE_CHECKING:
    from rulekit.graph.decisions import Decision
    from rulekit.graph.nodes import Node
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.program.nodes import Labels
    from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True)
class Artifact:
    """What `emit` returns: file contents by suffix ("" is the main file), warnings, the digest of the graph."""

    files: Mapping[str, bytes]
    digest: str
    warnings: tuple[str, ...] = ()
    summary: str = ""

    @property
    def main(self) -> bytes:
        return self.files[""]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `run` returns: class index [n] and probabilities [n, K] of the rows of a table."""

    labels: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an artifact computes, taken from its operators or its code without running it.

    leaves: Compare, Among, IsTrue, Missing and RawCompare nodes over the graph's schema, and Column nodes where numbers
    are added up, by which alone the cells of a row reach the label: two rows on which all agree get the same label. A
    Compare of a float32 column means the rounded value, as in a model; an artifact that compares doubles as it is given
    them (generated Python) has a RawCompare for each. None: not known.

    decision: how the label follows, where that could be read back: a decision over nodes of rulekit.graph and of
    rulekit.program.nodes, with the classes in the graph's order; Labels says for each class when.

    probability_leaves: as leaves, for the reported probabilities; None: not known. probabilities: a Real or Boolean
    node for each class, before any rounding to float32, where that could be read back. texts: by category, the texts
    that the artifact may tell apart otherwise than the schema does (a level with blanks, another missing token); they
    are run one by one. default: the class index where no class of an ArgMax takes part. reason: why leaves or decision
    are not there, "" where both are.

    as_written: whether the artifact is word for word what the exporter writes, so that running it does what it says.
    """

    leaves: frozenset[Node] | None
    decision: Decision | Labels | None = None
    reason: str = ""
    probability_leaves: frozenset[Node] | None = None
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default: int | None = None
    probabilities: tuple[Node, ...] | None = None
    as_written: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """One way to write a rule graph.

    emit(graph, options) is pure and raises Unsupported where it cannot express a node; run(artifact bytes, graph,
    encoded rows) executes the artifact, with the graph for its schema and classes; read(artifact bytes) gives the graph
    back where the artifact carries it. `options` documents each option by name; `suffixes` are file endings by which
    a command recognises an artifact. `expresses` names the node types that the target can write.

    run_raw(artifact bytes, graph, raw columns) executes an artifact that takes values as a user holds them, before any
    rounding to the model's precision: by column name, for every column of the schema that the model uses (and possibly
    others), numeric and Boolean columns as float64 [n] with NaN for missing, categories as object [n] of text or None.
    Verification runs it on doubles between two float32 values, which an encoded table cannot hold; None: the target
    takes encoded values only.

    inspect(artifact bytes, graph) reads the artifact without running it and without trusting the rules that it carries,
    for proofs; the graph is for its schema and classes. None: nothing can be proved about the target's artifacts.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    emit: Callable[[RuleGraph, Mapping[str, Any]], Artifact]
    run: Callable[[bytes, RuleGraph, Table], Outcome]
    read: Callable[[bytes], RuleGraph] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    expresses: frozenset[str] = frozenset()
    run_raw: Callable[[bytes, RuleGraph, Mapping[str, npt.NDArray[Any]]], Outcome] | None = None
    inspect: Callable[[bytes, RuleGraph], Reading] | None = None


def target_names() -> list[str]:
    """The names of all installed export targets, sorted."""
    return sorted({point.name for point in entry_points(group="rulekit.exporters")})


def find_target(name: str) -> Target:
    """The export target called `name`; raises InputError if none is installed."""
    for point in entry_points(group="rulekit.exporters"):
        if point.name == name:
            target = point.load()
            assert isinstance(target, Target)
            return target
    raise InputError(f"no export target {name!r}", fix=f"one of {', '.join(target_names()) or '(none installed)'}")


def find_target_for(path: str, names: Sequence[str] | None = None) -> Target:
    """The target whose file ending `path` has; raises InputError if none has.

    A target that fails to load does not stand in the way of the others; the error names it where none has the ending.
    """
    broken, endings = [], [".json"]
    for name in names or target_names():
        try:
            target = find_target(name)
        except Exception as error:  # another package's module may raise anything
            broken.append(f"{name} ({type(error).__name__}: {error})")
            continue
        if path.lower().endswith(target.suffixes):
            return target
        endings += target.suffixes
    reason = "".join(f"; the target {failure} cannot be loaded" for failure in broken)
    raise InputError(
        f"the ending of this file belongs to no export target{reason}",
        where=path,
        fix=f"a model or artifact ends in {', '.join(dict.fromkeys(endings))}",
    )
