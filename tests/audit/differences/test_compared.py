"""What is said of two models: rules that changed, columns and levels of one alone, groups, what cannot be compared."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from rulekit.audit.differences.compared import Compared, compare, difference_lines
from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import Deadline

HEADER = """rulekit rules 1
column age: numeric, integer
column income: numeric
column job: categorical {cook, clerk, driver}
column sex: categorical {m, f}
label y: {no, yes}
default no
"""
ROWS = [
    {"age": age, "income": income, "job": job, "sex": sex}
    for age in (20, 30, 40, 50)
    for income in (1.0, 5.0, 9.0)
    for job in ("cook", "driver", None)
    for sex in ("m", "f")
]


def model(*rules: str, header: str = HEADER) -> RuleGraph:
    return parse_graph(f"{header}decide yes when any of (\n" + "".join(f"  {rule},\n" for rule in rules) + ")\n")


def lines(compared: Compared, everything: bool = False) -> list[str]:
    return [f"{word} {text}".strip() for word, text in difference_lines(compared, everything)]


def card(points: str, least: float = 2) -> RuleGraph:
    return parse_graph(f"{HEADER}decide yes when sum(0, {points}) exceeds score {least}\n")


def test_rules_are_paired_with_what_they_became() -> None:
    first = model("age > 30 and income <= 5", "job in {cook} and sex in {m}", "income > 8 and sex in {f}")
    second = model("age > 35 and income <= 5", "job in {cook, driver} and sex in {m}", "age <= 20 and job in {clerk}")
    changes = {change.kind: change for change in compare(first, second).rules.changes}
    assert set(changes) == {"tightened", "loosened", "removed", "added"}
    (part,) = changes["tightened"].parts
    assert (part.columns, part.before, part.after) == (("age",), "age > 30", "age > 35")
    (part,) = changes["loosened"].parts
    assert (part.before, part.after) == ("job in {cook}", "job in {cook, driver}")


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("age > 30", "age > 30 and income <= 5", ["tightened"]),
        ("age > 30 and income <= 5", "age > 30", ["loosened"]),
        ("age > 30 and income <= 5", "age > 40 and income <= 8", ["moved"]),
        ("age > 30", "income > 3", ["removed", "added"]),
    ],
)
def test_a_condition_more_tightens_and_a_cut_in_both_ways_moves(before: str, after: str, kinds: list[str]) -> None:
    assert [change.kind for change in compare(model(before), model(after)).rules.changes] == kinds


def test_other_words_for_the_same_rows_are_no_change() -> None:
    compared = compare(
        model("age > 30 and (age > 40 or income <= 5)"), model("(age > 30 and income <= 5) or (age > 30 and age > 40)")
    )
    assert (compared.equal, compared.proved_by) == (True, "cells")
    rules = model("age > 30 and income > 5", "job in {cook}")
    assert compare(rules, card("1 if age > 30, 1 if income > 5, 2 if job in {cook}", 1.5)).equal


def test_a_weight_of_a_sum_is_told() -> None:
    compared = compare(*(card(f"2 if age > 30, {weight} if income > 5") for weight in "13"))
    assert [change.kind for change in compared.rules.changes] == ["weight"]
    assert "weight 3, which was 1" in lines(compared)


def test_flips_are_counted_in_all_and_by_groups_of_a_column_that_no_model_reads() -> None:
    compared = compare(model("age > 30"), model("age > 40"), ROWS, by=["sex", "age"])
    assert compared.rows is not None
    (flip,) = compared.flips
    assert (flip.before, flip.after, flip.rows, flip.data_row) == ("yes", "no", 18, 37)
    assert [region.text for region in flip.regions] == ["30 < age <= 40"]
    groups = {(group.column, group.group): (group.n, group.changed) for group in compared.rows.groups}
    assert [groups["sex", "m"], groups["age", "40"], groups["age", "20"]] == [(36, 9), (18, 18), (18, 0)]
    found = compared.as_dict()
    assert (found["outcome"], found["rules"]["changes"][0]["kind"]) == ("different", "tightened")
    assert found["rows"] == {"source": "the rows", "n": 72, "changed": 18, "share": 0.25}
    assert (found["flips"][0]["witness"]["data_row"], found["flips"][0]["where"][0]["rows"]) == (37, 18)
    assert [group["changed"] for group in found["groups"]][:2] == [9, 9]


def test_levels_and_columns_that_one_model_does_not_know_are_told_apart() -> None:
    other = HEADER.replace("{cook, clerk, driver}", "{driver, cook, smith}, missing {clerk}").replace(
        "column sex", "column sec"
    )
    first, second = model("job in {cook, clerk}"), model("job in {cook} or job is missing", header=other)
    compared = compare(first, second)
    (flip,) = compared.flips
    assert (flip.before, flip.after) == ("no", "yes")  # a clerk is yes to both: to the second one as missing
    assert flip.witness is not None
    assert flip.witness.row["job"] is None
    assert any(line.startswith("changed levels of job") for line in lines(compared))


def test_classes_are_matched_by_their_labels() -> None:
    turned = HEADER.replace("{no, yes}", "{yes, no}").replace("default no", "default yes")
    second = parse_graph(f"{turned}decide no when age <= 30 or age is missing\n")
    assert compare(model("age > 30"), second).equal
    more = HEADER.replace("{no, yes}", "{no, maybe, yes}")
    three = parse_graph(f"{more}decide first of (\n  yes: age > 30,\n  maybe: age > 20,\n)\n")
    compared = compare(model("age > 30"), three)
    assert [(flip.before, flip.after) for flip in compared.flips] == [("no", "maybe")]


def test_promises_and_directions_are_told() -> None:
    careful = HEADER.replace("column age: numeric, integer", "column age: numeric, integer, increasing")
    said = lines(compare(model("age > 30"), model("age > 30", header=careful)))
    assert any("promise: only in B" in line for line in said)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (HEADER.replace("{no, yes}", "{good, bad}").replace("default no", "default good"), "other classes"),
        (HEADER.replace("age: numeric, integer", "age: categorical {old}"), "age"),
        (HEADER.replace("age: numeric, integer", "age: numeric, date"), "a date"),
    ],
)
def test_models_that_cannot_be_compared_are_refused_in_one_line(second: str, message: str) -> None:
    classes = "bad" if "bad" in second else "yes"
    condition = "age in {old}" if "old" in second else "age > 1"
    with pytest.raises(InputError, match=message):
        compare(model("age > 30"), parse_graph(f"{second}decide {classes} when {condition}\n"))


def test_levels_of_a_column_of_many_values_are_put_together() -> None:
    rows: dict[str, Any] = {"age": [30] * 120, "name": [f"n{i % 60}" for i in range(120)]}
    compared = compare(model("age > 30"), model("age > 20"), rows, by=["name"])
    assert compared.rows is not None
    assert [group.group for group in compared.rows.groups][-1] == "(the other 49)"
    assert sum(group.changed for group in compared.rows.groups) == 120


def test_without_rows_a_region_has_at_most_the_share_of_its_rule_its_levels_and_its_bins() -> None:
    levels = {"missing": 0.1, "unseen": 0.0, "levels": {"cook": 0.2, "clerk": 0.3, "driver": 0.4}}
    bins = {"missing": 0.0, "low": 0.0, "high": 100.0, "cuts": [30.0, 40.0], "shares": [0.3, 0.2, 0.5]}
    for before, after, most in (
        ("job in {cook, clerk}", "job in {clerk}", 0.2),
        ("age > 30", "age > 40", 0.2),
        ("age > 30", "age > 45", 0.7),
        ("age > 30", "age > 35", 0.2),
    ):
        compared = compare(model(before).with_(statistics={"columns": {"job": levels, "age": bins}}), model(after))
        assert compared.flips[0].regions[0].at_most == pytest.approx(most)
        assert any(f"at most {100 * most:.1f} % of the training rows of A" in line for line in lines(compared))


def test_texts_are_compared_by_their_words() -> None:
    header = "rulekit rules 1\ncolumn note: text\nlabel y: {no, yes}\ndefault no\n"
    first = parse_graph(f"{header}decide yes when note contains any of {{fire, smoke}}\n")
    second = parse_graph(f"{header}decide yes when note contains fire\n")
    (flip,) = compare(first, second).flips
    assert flip.witness is not None
    assert "smoke" in flip.witness.row["note"]
    assert "fire" not in flip.witness.row["note"]
    assert "contains smoke" in flip.regions[0].text
    again = parse_graph(f"{header}decide yes when note contains smoke or note contains fire\n")
    assert compare(first, again).equal


def _many(n: int) -> list[str]:
    rng = random.Random(0)
    return [
        f"age > {rng.randrange(90)} and income <= {rng.randrange(900) / 10} and job in {{{rng.choice(JOBS)}}}"
        for _ in range(n)
    ]


JOBS = ("cook", "clerk", "driver")
OTHERS: dict[str, Callable[[list[str]], list[str]]] = {
    "same": lambda rules: rules,
    "other order": lambda rules: rules[::-1],
    "repeated": lambda rules: [*rules, rules[0], rules[-1]],
    "turned": lambda rules: [" and ".join(reversed(rule.split(" and "))) for rule in rules],
    "nested": lambda rules: [f"any of ({', '.join(rules)})", rules[0]],
}


@pytest.mark.parametrize("n", [1, 40, pytest.param(600, marks=pytest.mark.long)])
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_the_same_rules_are_proved_equal_at_any_size_without_a_search(
    n: int, other: Callable[[list[str]], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file beside itself was NOT PROVED from 500 rules on, and took without end at 2,000."""
    monkeypatch.setattr("rulekit.audit.differences.compared.Differing", None)
    first = model(*_many(n)).with_(provenance={"learner": "made"}, statistics={})

    compared = compare(first, model(*other(_many(n))))

    assert (compared.outcome, compared.proved_by) == ("equal", "rules")
    assert lines(compared)[2] == "PROVED EQUAL A and B decide every row alike (by the same rules)"


def test_equal_rules_over_other_columns_are_not_the_same_rules() -> None:
    """What one model takes for missing is a level to the other, so that one text means two conditions."""
    other = HEADER.replace("{cook, clerk, driver}", '{cook, clerk, driver}, missing {"cook"}')
    compared = compare(model("job in {cook}"), model("job in {cook}", header=other))
    assert compared.outcome == "different"


def test_a_limit_of_time_leaves_open_and_claims_nothing() -> None:
    first, second = model(*_many(30)), model(*_many(31))
    compared = compare(first, second, most_run=0, deadline=Deadline(0))
    assert compared.outcome in ("open", "different")
    assert compared.proved_by == ""
    assert "--time-limit" in compared.reason
