"""Findings of one kind are one line for people, however many rules a model has; `everything` says each by itself."""

from __future__ import annotations

from collections import Counter

import pytest

from rulekit.audit.checks.checking import MOST_NAMED, Checked, check_lines, check_model
from rulekit.audit.checks.findings import Open
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph

CLASSES = ("one", "two", "three", "four", "five")


def in_order(rules: int) -> RuleGraph:
    """Five classes of which four have so many rules each, every two of which hold together on some row."""
    of = {label: ", ".join(f"{label}{n} > {n}" for n in range(rules)) for label in CLASSES[:4]}
    columns = "".join(f"column {label}{n}: numeric\n" for label in of for n in range(rules))
    decided = ", ".join(f"{label}: any of ({said})" for label, said in of.items())
    head = f"rulekit rules 1\n{columns}label y: {{{', '.join(CLASSES)}}}\ndefault five\n"
    return parse_graph(f"{head}decide first of ({decided})")


@pytest.mark.parametrize("rules", [2, pytest.param(5, marks=pytest.mark.long)])
def test_pairs_of_classes_in_an_order_are_one_finding_with_a_row_for_each_two_classes(rules: int) -> None:
    checked = check_model(in_order(rules))

    lines = list(check_lines(checked))

    overlaps = [finding for finding in checked.findings if finding.kind == "overlap"]
    assert len(overlaps) == len(checked.as_dict()["findings"]) - 1 == 6 * rules**2
    (at,) = [n for n, (_, text) in enumerate(lines) if "pairs of rules" in text]
    word, text = lines[at]
    said = f"{6 * rules**2} pairs of rules of different classes hold together; the order decides"
    assert (word, text.split(": ")[0]) == ("found", said)
    assert f'"one" before "two" ({rules**2} pairs)' in text
    rows = lines[at + 1 :]
    assert [row.rpartition(" ")[2] for _, row in rows] == ['"one"'] * 3 + ['"two"'] * 2 + ['"three"']
    every = [text for word, text in check_lines(checked, everything=True) if "hold together" in text]
    assert every == [finding.text for finding in overlaps]


def test_lists_of_rules_and_columns_do_not_grow_with_the_model() -> None:
    columns = [f"c{n}" for n in range(2 * MOST_NAMED)]
    conditions = [f"({c} is missing), ({c} > 1 and {c} <= 0), ({c} > 5), ({c} > 7)" for c in columns]
    head = "".join(f"column {c}: numeric\n" for c in columns)
    text = f"rulekit rules 1\n{head}label y: {{no, yes}}\ndecide yes when any of ({', '.join(conditions)})\n"

    checked = check_model(parse_graph(text))

    found = [line for word, line in check_lines(checked) if word == "found"]
    of_kind = Counter(finding.kind for finding in checked.findings)
    assert of_kind == dict.fromkeys(("unreachable", "shadowed", "missing"), 2 * MOST_NAMED)
    assert all(f"and {MOST_NAMED} more (--all)" in line for line in found)
    assert len(list(check_lines(checked))) == 1 + len(checked.clear) + 3 + MOST_NAMED
    every = [line for word, line in check_lines(checked, everything=True) if word == "found"]
    assert sorted(every) == sorted(finding.text for finding in checked.findings)


def test_the_line_of_what_a_limit_left_open_tells_how_many_rules() -> None:
    """It named the one rule at which the limit came, and counted all that were never looked at as one question."""
    reason = "the limit of 20 seconds was reached (--time-limit)"
    one, many = "whether r1 changes a decision", "whether 4,900 rules of 5,000 change a decision"
    left = Open("shadowed", one, reason), Open("shadowed", many, reason, many=True)
    said = [text for word, text in check_lines(Checked((), (), left, (), 5_000)) if word == "open"]
    assert said == [f"{many}: {reason}; also {one}"]
