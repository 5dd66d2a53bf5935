"""Sentences read back as they are printed; what is none is refused in one line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulekit.errors import FormatError
from rulekit.graph.language.sentences import Sentence, atom, sentence

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
