"""Mutated and truncated files: a FormatError in one line, or a graph whose digest is the one that the file states."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rulekit.conformance.models import random_graph
from rulekit.errors import FormatError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.rule_graph import RuleGraph

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 1e308, 10**30, 10**400, "", "inf", "-inf", "nan", "and", "\ud800", "a" * 1000),
    *([], {}, [[]], [None], {"id": 1}, "__import__('os').system('true')", "Compare", "Median", -0.0, 2**53, 5e-324),
)
TOKENS = (b'"', b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"Infinity", b"1e999", b"\\u0000", b"\xff", b"null", b"\n")


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """One to four byte-level changes: truncation, flips, insertions, deletions, doubled pieces."""
    for _ in range(rng.randint(1, 4)):
        at, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        end = min(end, at + 200)
        kind = rng.randrange(6)
        if kind == 0:
            data = data[:at]
        elif kind == 1 and at < len(data):
            data = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        elif kind == 2:
            data = data[:at] + rng.choice(TOKENS) + data[at:]
        elif kind == 3:
            data = data[:at] + data[end:]
        elif kind == 4:
            data = data[:end] + data[at:end] + data[end:]
        else:
            data = data[:at] + bytes(rng.randrange(256) for _ in range(rng.randint(1, 8))) + data[at:]
    return data


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        item = pending.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else ()
        found += [(item, key) for key in keys]
        pending += [item[key] for key in keys]
    return found


def mutated_structure(rng: random.Random, text: str) -> bytes:
    """One to three changes of values, keys, order or size within the JSON structure."""
    data = json.loads(text)
    for _ in range(rng.randint(1, 3)):
        if not (spots := places(data)):
            break
        container, key = rng.choice(spots)
        other, other_key = rng.choice(spots)
        kind = rng.randrange(5)
        if kind == 0:
            container[key] = copy.deepcopy(rng.choice(STRANGE))
        elif kind == 1:
            del container[key]
        elif kind == 2:
            container[key] = copy.deepcopy(other[other_key])
        elif kind == 3 and isinstance(container, dict):
            container[rng.choice(("extra", "type", "id", "children", "missing"))] = container.pop(key)
        elif isinstance(container, list):
            container.insert(rng.randrange(len(container) + 1), copy.deepcopy(rng.choice((*STRANGE, container[key]))))
    return json.dumps(data).encode()


def seeds(count: int) -> list[RuleGraph]:
    return [random_graph(np.random.default_rng(seed)) for seed in range(count)]


def attempt(read: Callable[[], RuleGraph]) -> tuple[RuleGraph | None, str]:
    """The graph, or the message of the FormatError; any other exception fails the test."""
    try:
        return read(), ""
    except FormatError as error:
        return None, str(error)


def load_or_refuse(path: Path, data: bytes, *, verify: bool = True) -> RuleGraph | None:
    path.write_bytes(data)
    graph, message = attempt(lambda: load(path, verify=verify))
    if graph is None:
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert len(message) < 2000
    return graph


@pytest.mark.long_from("count", 10_000)
@pytest.mark.parametrize(("count", "seed"), [(200, 1), (10_000, 2)])
def test_mutated_model_files_are_refused_or_equal(tmp_path: Path, count: int, seed: int) -> None:
    rng, graphs, read = random.Random(seed), seeds(25), 0
    texts = [to_json(graph) for graph in graphs]
    for i in range(count):
        j = i % len(graphs)
        data = mutated_structure(rng, texts[j]) if i % 2 else mutated_bytes(rng, texts[j].encode())
        graph = load_or_refuse(tmp_path / "model.json", data)
        if graph is not None:
            read += 1
            assert graph.digest == json.loads(data)["digest"]
            assert graph == graphs[j]
    assert read < 0.2 * count
    assert read > 0 or count == 200


@pytest.mark.long_from("count", 5_000)
@pytest.mark.parametrize(("count", "seed"), [(100, 6), (5_000, 7)])
def test_mutated_files_read_as_edited_are_refused_or_legal(tmp_path: Path, count: int, seed: int) -> None:
    rng, legal = random.Random(seed), 0
    texts = [to_json(graph) for graph in seeds(25)]
    for i in range(count):
        data = mutated_structure(rng, texts[i % len(texts)])
        graph = load_or_refuse(tmp_path / "model.json", data, verify=False)
        if graph is not None:
            legal += 1
            assert load_or_refuse(tmp_path / "again.json", to_json(graph).encode()) == graph
    assert 0 < legal < count


def test_truncated_files_and_noise_are_refused(tmp_path: Path) -> None:
    data, rng = to_json(min(seeds(10), key=lambda graph: len(graph.nodes()))).encode(), random.Random(3)
    noise = (rng.randbytes(length) for length in (1, 7, 100, 10_000))

    for own in (*(data[:end] for end in range(len(data) - 2)), *noise):
        assert load_or_refuse(tmp_path / "model.json", own) is None


@pytest.mark.long_from("count", 2_000)
@pytest.mark.parametrize(("count", "seed"), [(150, 4), (2_000, 5)])
def test_mutated_rule_texts_are_refused_or_rules(count: int, seed: int) -> None:
    rng, refused = random.Random(seed), 0
    texts = [print_graph(graph).encode() for graph in seeds(25)]
    for i in range(count):
        text = mutated_bytes(rng, texts[i % len(texts)]).decode("utf-8", "replace")
        graph, message = attempt(lambda text=text: parse_graph(text))
        assert "\n" not in message
        refused += graph is None
        assert graph is None or parse_graph(print_graph(graph)) == graph
    assert refused > count / 2
