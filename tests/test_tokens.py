"""Tokens: the same in Python, in polars and by what Unicode says of the letters that the tables name."""

import re
from itertools import pairwise

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from rulekit.tables.token_sets import tokenised
from rulekit.tokens import LETTERS, SEPARATORS, SMALL_LETTERS, is_token, spellings, tokens

TEXTS = st.text(
    st.one_of(st.sampled_from("aB9éÀ Ω,Жж’—_-\x00\n\u212a\u0130ß\u0301\U0001f600"), st.characters(codec="utf-8"))
)


def test_a_token_is_a_run_of_two_or_more_letters_and_digits_in_lower_case() -> None:
    assert tokens("The U.S. wheat_crop of '87: 5.2mln tonnes — ÇA va.") == [
        *("the", "wheat", "crop", "of", "87", "2mln", "tonnes", "ça", "va")
    ]


@given(st.lists(TEXTS, max_size=20))
def test_polars_finds_the_tokens_that_python_finds(texts: list[str]) -> None:
    words, lengths = tokenised(pl.Series(texts, dtype=pl.String))
    found = words.to_list()
    starts = [sum(lengths[:i]) for i in range(len(texts) + 1)]
    assert [found[a:b] for a, b in pairwise(starts)] == [tokens(text) for text in texts]


@given(TEXTS)
def test_each_token_is_its_own_only_token(text: str) -> None:
    assert all(is_token(token) for token in tokens(text))


def test_the_lower_case_is_that_of_unicode() -> None:
    assert all(chr(capital).lower() == chr(small) for capital, small in SMALL_LETTERS.items())
    assert all(spellings(chr(small)) == chr(small) + chr(capital) for capital, small in SMALL_LETTERS.items())


def test_letters_and_separators_are_all_characters() -> None:
    runs = sorted((*LETTERS, *SEPARATORS))
    assert runs[0][0] == 0
    assert runs[-1][1] == 0x10FFFF
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(runs))


def test_ascii_is_cut_as_scikit_learn_cuts_it_but_for_the_underscore() -> None:
    text = "".join(map(chr, range(128))).replace("_", " ") + " don't stop-me 3d A1 b2b"
    assert tokens(text) == re.findall(r"(?u)\b\w\w+\b", text.lower())
