"""Overrides in the rule text: written, read back with their digest, and refused where they make no sense."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from overridden_models import overridden, two_rules

from rulekit.errors import FormatError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.variants import with_overrides

HEAD = "rulekit rules 1\ncolumn x: numeric\nlabel y: {no, yes}\ndecide yes when x > 1\n"
SAID = 'override o1 by "A" on 2026-11-25 because "b": x <= 0 -> yes\n'
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_random_overrides_read_back_with_their_digest(seed):
    _, over, _ = overridden(seed)
    again = parse_graph(print_graph(over))
    assert again.overrides == over.overrides
    assert again == over


@given(author=TEXTS, reason=TEXTS)
@example(author='A. "Ace"\\', reason="a\nb # c -> yes: */ -- \u202e\ufeff\x00")
@settings(max_examples=25, deadline=None)
def test_author_and_reason_hold_any_characters(author, reason):
    graph = two_rules()
    first = replace(graph.overrides[0], author=author, reason=reason)
    graph = with_overrides(graph, (first, graph.overrides[1]))
    text = print_graph(graph)
    assert all(line.isprintable() for line in text.split("\n"))
    assert parse_graph(text) == graph


def test_a_statement_that_is_added_by_hand_decides():
    graph = parse_graph(HEAD + SAID + "override o2 by B on 2026-11-26 until 2037-01-01 because c: x > 5 -> no\n")
    assert [(each.id, each.class_index, each.expires) for each in graph.overrides] == [
        ("o1", 1, None),
        ("o2", 0, "2037-01-01"),
    ]
    assert graph.predict({"x": [0.0, 0.5, 2.0, 6.0]}).tolist() == ["yes", "no", "yes", "no"]
    assert graph.underlying == parse_graph(HEAD)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("by", "author", "is not said with author, on, because"),
        ("because", "until 2026-01-01 because", "before its date"),
        ("on 2026-11-25", "on 2026-13-25", "is no date"),
        ("on 2026-11-25", "on 2026-11-25T12:00", "is no date"),
        ('"A"', '" "', "no author"),
        ("-> yes", "-> perhaps", "no class perhaps"),
        ("-> yes", "", "`->`"),
        ("o1", '"o 1"', "no id"),
        ("x <= 0", "z <= 0", "no column 'z'"),
        ("x <= 0", "(h fires with probability 0.5 when x <= 0)", "not Boolean"),
        (SAID, SAID + SAID, "two overrides are called o1"),
    ],
)
def test_wrong_statements_are_refused(old, new, why):
    with pytest.raises(FormatError, match=why):
        parse_graph(HEAD + SAID.replace(old, new))
