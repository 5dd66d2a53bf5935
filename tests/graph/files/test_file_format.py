"""The model file: what is written is what is read, and everything else is refused in one line."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from golden_pairs import check_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from overridden_models import two_rules

from rulekit.conformance.models import random_graph
from rulekit.errors import FormatError, GraphError, RulekitError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.files.fields import DECISION_FIELDS, NODE_FIELDS
from rulekit.graph.files.model_files import MAX_NODES, from_json, model_schema
from rulekit.graph.files.writing import to_json
from rulekit.graph.nodes import Node, Vocabulary, kinds_of
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema

SCHEMA = Schema((Feature("age"), Feature("job", "categorical", ("cook", "clerk")), Feature("old", "boolean")))


def small_graph(**changes: Any) -> RuleGraph:
    rule = rg.And((rg.Compare("age", ">", 28.5), rg.Among("job", ("cook",), missing=True)))
    bits = rg.Or((rg.Hidden("h1", rule, math.inf, 0.02), rg.Hidden("h2", rg.IsTrue("old"), 1.5)))
    parts = {"decision": Fires(rg.Or((rule, rg.IsTrue("old")))), "probability": (rg.Probability(bits),)} | changes
    return RuleGraph(SCHEMA, parts.pop("classes", ("no", "yes")), **parts)


def edited(graph: RuleGraph, *path: Any, to: Any) -> str:
    """The file of a graph with the value at `path` replaced."""
    data = json.loads(to_json(graph))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return json.dumps(data)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_graphs_fit_the_published_schema(seed: int) -> None:
    validator().validate(json.loads(to_json(random_graph(np.random.default_rng(seed)))))


@cache
def validator() -> jsonschema.protocols.Validator:
    schema = model_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_published_schema_and_file_format_know_the_same_nodes() -> None:
    definitions = validator().schema["$defs"]

    assert set(NODE_FIELDS) == set(Vocabulary.TYPES)
    for name, fields in {**NODE_FIELDS, **DECISION_FIELDS}.items():
        assert set(definitions[name]["required"]) - {"id", "type"} == set(fields)


@pytest.mark.parametrize(
    "path",
    [
        ("version",),
        ("nodes", 0, "type"),
        ("nodes", 0, "value"),
        ("decision", "type"),
        ("schema", "features", 0, "kind"),
        ("digest",),
    ],
)
def test_published_schema_refuses_wrong_values(path: tuple[Any, ...]) -> None:
    broken = json.loads(edited(small_graph(), *path, to="nonsense"))

    assert list(validator().iter_errors(broken))


def test_one_node_a_line_and_no_hidden_characters() -> None:
    name = "a\u202eb\u2028c\ud800"
    graph = RuleGraph(
        Schema((Feature(name),)), (0, 1), Fires(rg.Or((rg.Compare(name, ">", 1.0), rg.Compare(name, "<=", 0.0))))
    )

    lines = to_json(graph).splitlines()

    assert sum('"type": "Compare"' in line for line in lines) == 2
    assert "\\u202e" in to_json(graph)
    assert "\u202e" not in to_json(graph)
    assert from_json(to_json(graph)).schema == graph.schema


def test_a_changed_rule_leaves_the_lines_of_the_others_alone() -> None:
    rules = [rg.And((rg.Compare("age", ">", float(i)), rg.IsTrue("old"))) for i in range(20)]
    before = to_json(RuleGraph(SCHEMA, (0, 1), Fires(rg.Or(rules)))).splitlines()
    rules[7] = rg.And((rg.Compare("age", ">", 7.5), rg.IsTrue("old")))
    after = to_json(RuleGraph(SCHEMA, (0, 1), Fires(rg.Or(rules)))).splitlines()

    # Digest, condition, rule, the Or over the rules and the decision.
    assert len(set(after) - set(before)) == 5


def test_the_digest_tells_labels_thresholds_and_defaults_apart() -> None:
    graphs = [
        small_graph(),
        small_graph(classes=("yes", "no")),
        small_graph(default=1),
        small_graph(probability=()),
        small_graph(decision=Fires(rg.IsTrue("old"))),
        *(small_graph(classes=classes) for classes in [(0, 1), (0.0, 1.0), (False, True), ("0", "1")]),
        *(small_graph(decision=Fires(rg.Above(rg.Linear((), 0.0), t))) for t in (0.0, 5e-324)),
        small_graph(decision=ArgMax((rg.IsTrue("old"), rg.IsTrue("old")), (-math.inf, 0.5), (0, 1))),
        small_graph(decision=ArgMax((rg.IsTrue("old"), rg.IsTrue("old")), (-math.inf, 0.5), (1, 0))),
        small_graph(classes=(0, 1, 2), decision=Median((rg.IsTrue("old"),) * 2), probability=()),
    ]

    assert len({graph.digest for graph in graphs}) == len(graphs)
    for graph in graphs:
        assert from_json(to_json(graph)).decision == graph.decision


def test_provenance_and_statistics_stand_beside_the_digest_as_plain_values() -> None:
    statistics = {"rules": [{"n": np.int64(3), "precision": math.nan, "high": math.inf}], "shares": np.array([0.5])}
    graph = small_graph(statistics=statistics, provenance={"learner": "cnll", 3: (1, {2})})

    loaded = from_json(to_json(graph))

    assert loaded.digest == small_graph().digest
    assert loaded.statistics == {"rules": [{"n": 3, "precision": None, "high": "inf"}], "shares": [0.5]}
    assert loaded.provenance == {"learner": "cnll", "3": [1, [2]]}


def test_a_value_that_is_no_json_value_is_refused_by_name() -> None:
    with pytest.raises(GraphError, match="provenance holds a value of the type object"):
        to_json(small_graph(provenance={"a": object()}))


def fault(path: list[Any], value: Any) -> str:
    with pytest.raises(FormatError) as caught:
        from_json(edited(two_rules() if path[0] == "overrides" else small_graph(), *path, to=value))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_wrong_value_is_one_line_that_says_where() -> None:
    def told(text: str) -> str:
        path, _, value = text.partition(": ")
        return fault([int(key) if key.isdigit() else key for key in path.split()], json.loads(value))

    check_pairs("faults_of_model_files", told)
    assert "too large for a double" in fault(["nodes", 0, "value"], 10**400)
    assert "longer than 4000 characters" in fault(["overrides", 0, "author"], "x" * 4001)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"this is no JSON: Expecting value \(line 1, column 1\)"),
        ("[1,", "this is no JSON"),
        ("[]", "no rulekit model"),
        ("3", "no rulekit model"),
        ("{}", "no rulekit model"),
        ('{"format": "rulekit", "format": "rulekit"}', "the key 'format' stands twice"),
        ('{"format": "rulekit", "version": 1, "default": NaN}', "NaN is not a JSON number"),
        ('{"format": "rulekit", "version": -Infinity}', "-Infinity is not a JSON number"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"format": "rulekit", "version": ' + "9" * 5000 + "}", "too many digits"),
        ('{"format": "rulekit", "version": 1}', "no key 'digest'"),
    ],
)
def test_hostile_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        from_json(text)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([["cook", 1.0], ["cook", 1.0]], "the level 'cook' stands twice"),
        ([["cook"]], "expected points as lists of a level and a number"),
        ([[1.0, ["cook"]]], "expected a text, not 1.0"),
        ([["cook", "2"]], "expected a number, not the text '2'"),
    ],
)
def test_wrong_points_are_one_line_that_says_where(points: Any, message: str) -> None:
    decision = Fires(rg.Above(rg.LevelPoints("job", (("cook", 1.5),), 0.5), 0.0))
    graph = small_graph().with_(decision=decision, probability=())
    assert from_json(to_json(graph)) == graph
    with pytest.raises(RulekitError) as caught:
        from_json(edited(graph, "nodes", 0, "points", to=points), verify=False)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_edited_file_is_accepted_when_asked_for() -> None:
    changed = edited(small_graph(), "nodes", 0, "value", to=29.5)

    graph = from_json(changed, verify=False)

    assert graph.digest != small_graph().digest
    assert rg.Compare("age", ">", 29.5) in graph.nodes()


def test_a_node_that_nothing_uses_or_that_stands_twice_is_refused() -> None:
    nodes = json.loads(to_json(small_graph()))["nodes"]
    ghost = {"id": "extra", "type": "IsTrue", "feature": "ghost", "missing": False}
    for added, message in ((ghost, "used by nothing"), (nodes[0], "stands twice")):
        with pytest.raises(FormatError, match=message):
            from_json(edited(small_graph(), "nodes", to=[*nodes, added]))


def test_the_number_of_nodes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = to_json(small_graph())
    monkeypatch.setattr("rulekit.graph.files.model_files.MAX_NODES", 3)

    with pytest.raises(FormatError, match="nodes are more than the 3 that are read"):
        from_json(text)
    assert MAX_NODES >= 1_000_000


def test_a_name_that_no_unicode_text_can_hold_is_refused_when_written() -> None:
    name = "\ud83d" + "\ude00"
    graph = RuleGraph(Schema((Feature(name),)), (0, 1), Fires(rg.Compare(name, ">", 1.0)))

    with pytest.raises(FormatError, match="two halves of a character"):
        to_json(graph)


def test_a_node_type_without_a_place_in_the_format_is_named() -> None:
    class Unknown(Node, family=rg.IsTrue("a").family):
        pass

    with pytest.raises(FormatError, match="the file format has no node type Unknown"):
        to_json(RuleGraph(SCHEMA, (0, 1), Fires(Unknown())))


# The reference page


def page() -> str:
    return (Path(__file__).parents[3] / "docs" / "format.md").read_text(encoding="utf-8")


def test_the_example_of_the_reference_loads_with_its_digest() -> None:
    examples = re.findall(r"^```json\n(.*?)^```$", page(), re.DOTALL | re.MULTILINE)

    assert examples
    for text in examples:
        graph = from_json(text)
        assert from_json(to_json(graph)) == graph
        assert text.rstrip() == to_json(graph).rstrip()


def test_the_reference_lists_every_field() -> None:
    for name, fields in {**NODE_FIELDS, **DECISION_FIELDS}.items():
        row = next(line for line in page().splitlines() if line.startswith("| ") and f"`{name}`" in line.split("|")[1])
        assert set(fields) <= set(re.findall(r"`(\w+)`", row))
    for item in dataclasses.fields(Feature):
        assert f"`{item.name}`" in page()


def test_the_digest_is_made_as_the_reference_says() -> None:
    """Written from the page alone, so that another implementation can do it too."""

    def value(item: Any) -> bytes:
        if isinstance(item, tuple):
            return b"t%d:" % len(item) + b"".join(map(value, item))
        text = item.hex() if isinstance(item, float) else ascii(item)
        return f"{type(item).__name__[0]}{len(text)}:{text}".encode()

    def digest(node: Node) -> bytes:
        content = type(node).__name__.encode()
        for field in kinds_of(type(node)):
            name = "weights" if field == "terms" else field
            if name != "children" and not isinstance(getattr(node, name), Node):
                content += b"\0" + name.encode() + b"\1" + value(getattr(node, name))
        return hashlib.sha256(content + b"".join(b"\2" + digest(child) for child in node.children)).digest()

    graph = small_graph()
    data = json.loads(to_json(graph))
    nodes = {line["id"]: digest(node).hex() for line, node in zip(data["nodes"], graph.nodes(), strict=True)}
    data["decision"]["formula"] = nodes[data["decision"]["formula"]]
    data["probability"] = [nodes[text] for text in data["probability"]]
    kept = ("format", "schema", "classes", "default", "decision", "probability")
    text = json.dumps({key: data[key] for key in kept}, sort_keys=True)

    assert hashlib.sha256(text.encode()).hexdigest() == graph.digest


def test_a_numpy_text_as_name_or_level_is_the_same_node() -> None:
    """Nodes made from numpy texts had another digest, so their saved file was refused as edited."""
    assert rg.Among(np.str_("job"), (np.str_("cook"),)) is rg.Among("job", ("cook",))
    assert rg.Compare(np.str_("age"), np.str_(">"), np.float64(3)) is rg.Compare("age", ">", 3.0)
    assert rg.Hidden(np.str_("h"), rg.IsTrue("old"), np.float64(0.5)) is rg.Hidden("h", rg.IsTrue("old"), 0.5)


def test_the_digest_does_not_depend_on_the_unicode_tables_of_python() -> None:
    """A name with a character that one Python version can print and another cannot had two digests."""
    assert rg.Missing("\U0001fae8").digest.hex() == "b2a9b51a11785bd6f3df1c0f3a41a3fb5fee1f00fb476eef3d3947a0f98f0eca"
