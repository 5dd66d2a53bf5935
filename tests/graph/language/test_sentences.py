"""Sentences read back as they are printed, and a rule that writes out its objects is shown as the one that it says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_structures import ARITIES, OBJECTS, SCHEMA, grounded, model_of, rule_of

from rulekit.errors import FormatError
from rulekit.graph.evaluation.structures import random_structures, unpacked
from rulekit.graph.language.sentences import Sentence, atom, negation, sentence, sentence_of
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import FALSE, TRUE, And, Compare, IsTrue, Node, Not, Or
from rulekit.schema import Feature, Schema
from rulekit.simplification.passes import simplify

NAMES = st.sampled_from(["a", "b", "x", "y", "order", "0"])


def _joined(parts: st.SearchStrategy[Sentence]) -> st.SearchStrategy[Sentence]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        parts.map(lambda part: part if part.word == "not" else Sentence("not", parts=(part,))),
        several.map(lambda each: Sentence("and", parts=each)),
        several.map(lambda each: Sentence("or", parts=each)),
        st.builds(
            lambda word, name, part: Sentence(word, name, parts=(part,)),
            st.sampled_from(["exists", "forall"]),
            NAMES,
            parts,
        ),
    )


ATOMS = st.one_of(
    st.builds(atom, st.sampled_from(["P0", "not_so"]), NAMES),
    st.builds(atom, st.just("R0"), NAMES, NAMES),
    st.builds(lambda a, b: Sentence("same", terms=(a, b)), NAMES, NAMES),
    st.sampled_from([Sentence("and"), Sentence("or")]),
)


@given(st.recursive(ATOMS, _joined, max_leaves=8))
def test_a_sentence_reads_back(formula: Sentence) -> None:
    assert sentence(str(formula)) == formula


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("P0(x", "it cannot be read at column 4"),
        ("exists x P0(x)", "it cannot be read at column 10"),
        ("P0(a) P1(a)", "it cannot be read at column 7"),
        ("not (" * 400 + "P(a)" + ")" * 400, "nests deeper than 100 levels"),
        ("P(a) and " * 1000 + "P(a)", "a sentence of 9,004 characters"),
    ],
)
def test_what_is_no_sentence_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(FormatError) as caught:
        sentence(text)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_that_no_quantifier_binds_are_constants() -> None:
    formula = sentence("P(a) and (exists x, y: R(x, y) and R(y, b))")
    assert (formula.free, formula.depth) == (("a", "b"), 2)
    assert str(formula.put({"a": "c", "x": "d"})) == "P(c) and (exists x, y: R(x, y) and R(y, b))"


# Rules as sentences


LITERALS = st.one_of(
    st.builds(atom, st.sampled_from(["P0", "P1"]), st.sampled_from(["a", "x", "y"])),
    st.builds(atom, st.just("R0"), *[st.sampled_from(["a", "b", "x", "y"])] * 2),
).flatmap(lambda each: st.sampled_from([each, negation(each)]))


def behind(parts: list[Sentence]) -> Sentence:
    found = parts[0] if len(parts) == 1 else Sentence("and", parts=tuple(parts))
    for name in ("y", "x"):
        if name in found.free:
            found = Sentence("exists", name, parts=(found,))
    return found


@settings(max_examples=40)
@given(st.lists(LITERALS, min_size=1, max_size=3, unique=True).map(behind), st.booleans(), st.booleans())
def test_what_is_shown_is_true_where_the_rule_is(formula: Sentence, contrary: bool, simpler: bool) -> None:
    node = grounded(negation(formula) if contrary else formula)
    if simpler and node not in (TRUE, FALSE):
        node = rule_of(simplify(model_of(node)))
    found = sentence_of(node, SCHEMA)
    drawn = random_structures(ARITIES, OBJECTS, 512)
    if found is not None:
        assert found.word in ("exists", "forall")
        held = unpacked(drawn.holds(found), 512)
        assert (held == (unpacked(drawn.holds(formula), 512) != contrary)).all()
    elif formula.word == "exists" and not simpler:
        # nothing is written out where only one choice of objects is possible, or every one
        own = unpacked(drawn.holds(formula), 512)
        assert not isinstance(node, And | Or) or own.all() or not own.any() or len(node.children) < 2


@pytest.mark.parametrize(
    "text",
    [
        "exists x: P0(x)",
        "forall x: P1(x)",
        "exists x: P0(x) and R0(x, a)",
        "forall x: not P0(x) or R0(a, x)",
        "exists x, y: P0(x) and P1(y) and R0(x, y)",
        "exists x: P1(x) and not P0(x)",
    ],
)
def test_sentences_are_found_after_simplification(text: str) -> None:
    graph = simplify(model_of(grounded(sentence(text))))
    node = rule_of(graph)
    drawn = random_structures(ARITIES, OBJECTS, 512)
    shown = print_node(node, graph.schema)
    assert shown.startswith(text.split()[0])
    assert (drawn.holds(sentence(shown)) == drawn.holds(sentence(text))).all()
    assert "exists" not in print_node(node, graph.schema, None)  # the form in full
    assert f"{shown}" in str(graph) or "#" not in str(graph).partition("decide")[0].partition("label")[2]


@pytest.mark.parametrize(
    "node",
    [
        Or([IsTrue("P0(a)"), IsTrue("P0(b)")]),  # of three objects
        Or([And([IsTrue("P0(a)"), IsTrue("R0(a, b)")]), And([IsTrue("P0(b)"), IsTrue("R0(b, a)")])]),
        Or([IsTrue("P0(a)"), IsTrue("P0(b)"), IsTrue("P0(c)", missing=True)]),
        Or([IsTrue("P0(a)"), IsTrue("P0(b)"), Compare("P1(c)", ">", 0.5)]),
        And([IsTrue("P0(a)"), IsTrue("P1(b)")]),
        Not(IsTrue("P0(a)")),
    ],
)
def test_other_rules_are_shown_as_they_are(node: Node) -> None:
    schema = Schema(tuple(Feature(f.name, "numeric") if f.name == "P1(c)" else f for f in SCHEMA))
    assert sentence_of(node, schema) is None


def test_columns_of_0_and_1_are_atoms_and_variables_have_names_of_their_own() -> None:
    schema = Schema(tuple(Feature(f"on({name})", "numeric") for name in "xyz"))
    node = Or([Compare(f.name, ">", 0.5) for f in schema])
    assert print_node(node, schema) == "exists x3: on(x3)"
    assert sentence_of(Or([Compare(f.name, ">", 1.5) for f in schema]), schema) is None


def test_long_and_deep_rules_are_left_alone() -> None:
    wide = Schema(tuple(Feature(f"R({i}, {j})", "boolean") for i in range(60) for j in range(60)))
    every = And([Or([IsTrue(f"R({i}, {j})") for j in range(60)]) for i in range(60)])
    assert sentence_of(every, wide) is None
    deep: Node = IsTrue("P0(a)")
    for k in range(3000):
        deep = (And if k % 2 else Or)([deep, IsTrue(f"P{k % 2}(b)")])
    sentence_of(deep, SCHEMA)
