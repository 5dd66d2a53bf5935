"""Faults drawn over forms, kinds and models, and what `rulekit verify` says of each, held against the truth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.proofs.mutations import onnx as onnx_faults
from benchmarks.proofs.mutations import python as python_faults
from benchmarks.proofs.mutations.faults import KINDS, Site
from benchmarks.proofs.mutations.truth import Truth, confirmed, truth_of
from rulekit.cells.space import cell_rows
from rulekit.conformance.models import LEARNED, NODES, SMALL
from rulekit.errors import RulekitError
from rulekit.graph.nodes import Column
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import find_target
from rulekit.verification.parity import verify

LIMIT = {"onnx": 300_000, "python": 120_000}


@dataclass(frozen=True, slots=True)
class Way:
    """One form of artifact that faults are put into."""

    name: str
    target: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def sites(self, content: bytes) -> list[Site]:
        return onnx_faults.sites(content) if self.target == "onnx" else python_faults.sites(content)


WAYS = (
    Way("python", "python"),
    Way("onnx tensor", "onnx", {"input": "tensor"}),
    Way("onnx columns", "onnx", {"input": "columns"}),
    Way("onnx codes", "onnx", {"input": "codes"}),
    Way("onnx latency", "onnx", {"optimize": "latency"}),
)


@dataclass(frozen=True, slots=True)
class Result:
    """One fault: where it is, what it changes, what `verify` said, and whether it proved the two equal."""

    model: str
    way: Way
    site: Site
    truth: Truth
    caught: bool
    fault: str = ""
    proved: bool = False

    @property
    def right(self) -> bool:
        """Whether `verify` said what is true, with a row that shows it."""
        return not self.fault

    def __str__(self) -> str:
        where = f"{self.way.name}, {self.model}: {self.site.kind}, {self.site.what}"
        return f"{where}; changes {self.truth.effect} ({self.truth.different} of {self.truth.rows} cells): {self.fault}"


def models() -> dict[str, Callable[[], RuleGraph]]:
    """The models whose cells are few enough."""
    found = {}
    for name, make in {**NODES, **LEARNED, **SMALL}.items():
        graph = make()
        rounded = all(node.step > 0.0 for node in graph.nodes() if isinstance(node, Column))
        few = name in SMALL or cell_rows(graph.roots, graph.schema, LIMIT["onnx"]) is not None
        if graph.used_features and rounded and few:
            found[name] = make
    return found


def run(
    faults: int, seed: int | tuple[int, ...] = 0, ways: tuple[Way, ...] = WAYS, names: Collection[str] = ()
) -> Iterator[Result]:
    """`faults` faults, drawn evenly over ways, kinds and models; names: of the models, all by default."""
    rng = np.random.default_rng(seed)
    pool = _Pool({name: make for name, make in models().items() if not names or name in names})
    targets = sorted({way.target for way in ways})
    for number in range(faults):
        target = targets[number % len(targets)]
        forms = [way for way in ways if way.target == target]
        start = number // len(targets)
        # so many draws for a kind, which not every form of every model has
        turns = ((forms[(start + t) % len(forms)], KINDS[(start + t // 60) % len(KINDS)]) for t in range(600))
        found = next(filter(None, (pool.fault(way, kind, rng) for way, kind in turns)), None)
        if found is not None:
            yield judge(*found)


def share(faults: int, seed: int, part: int) -> list[Result]:
    """A part of the faults, in a process of its own; the results without their artifacts, which are functions."""
    found = []
    for result in run(faults, (seed, part)):
        if not result.right:
            print(result, flush=True)
        found.append(replace(result, site=replace(result.site, make=bytes)))
        if len(found) % 25 == 0:
            print(f"part {part}: {len(found)} faults", file=sys.stderr, flush=True)
    return found


class _Pool:
    """The models, their artifacts and the faults that can be put into these, made when first asked for."""

    def __init__(self, chosen: Mapping[str, Callable[[], RuleGraph]]) -> None:
        self.graphs = {name: make() for name, make in chosen.items()}
        self._made: dict[tuple[str, str], tuple[bytes, dict[str, list[Site]]]] = {}

    def fault(
        self, way: Way, kind: str, rng: np.random.Generator
    ) -> tuple[str, RuleGraph, Way, Site, bytes, Truth] | None:
        """A fault of a kind in some model, with what it changes; None where the model drawn has none that can be."""
        name = str(rng.choice(list(self.graphs)))
        key = (way.name, name)
        if key not in self._made:
            self._made[key] = _artifact(way, self.graphs[name])
        original, sites = self._made[key]
        if kind not in sites:
            return None
        site = sites[kind][int(rng.integers(len(sites[kind])))]
        content = site.make()
        if content == original:
            return None
        graph, target = self.graphs[name], find_target(way.target)
        truth = truth_of(graph, target, site, content, LIMIT[way.target])
        return None if truth is None else (name, graph, way, site, content, truth)


def _artifact(way: Way, graph: RuleGraph) -> tuple[bytes, dict[str, list[Site]]]:
    try:
        content = find_target(way.target).emit(graph, way.options).main
    except RulekitError:  # a tensor has no place for text
        return b"", {}
    by_kind: dict[str, list[Site]] = {}
    for site in way.sites(content):
        by_kind.setdefault(site.kind, []).append(site)
    return content, by_kind


def judge(model: str, graph: RuleGraph, way: Way, site: Site, content: bytes, truth: Truth) -> Result:
    """What `verify` says of a changed artifact, held against the truth."""
    target = find_target(way.target)
    try:
        report = verify(graph, content, target=target, run_untrusted=True)
    except RulekitError:
        # an artifact that cannot be run is refused with a message, which is what should happen
        return Result(model, way, site, truth, True, "" if truth.effect == "fails" else "refused, but it runs")
    caught = not report.ok
    fault = ""
    if truth.effect == "decision":
        example = report.counter_example
        if not report.different_decisions:
            fault = "missed"
        elif example is None or not confirmed(graph, target, content, dict(example.row)):
            fault = "the row does not show it"
    elif truth.effect == "probability":
        fault = "" if caught else "missed"
    elif truth.effect == "fails":
        fault = "" if caught else "it fails on some row, and was verified"
    elif caught:
        fault = f"different, it is said: {report.counter_example}"
    return Result(model, way, site, truth, caught, fault, report.proof == "proved")
