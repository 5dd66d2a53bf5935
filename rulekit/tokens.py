"""Tokens: the words of a text, the same everywhere.

A token is a longest run of at least two letters and digits, in lower case. What a letter is, and its lower case, is
said by the two tables here and by nothing else: regular expressions and `str.lower` ask the Unicode tables of the
Python, of polars and of the database at hand, which differ from version to version. This is the pattern of
scikit-learn's CountVectorizer (`\\w\\w+`) without the underscore.

Beyond ASCII every character counts as a letter but for the punctuation, symbols and emoji of `SEPARATORS`; so accents,
combining marks and letters of later versions of Unicode stay in their word. Nothing is normalised: a letter with its
accent in one character is another than the letter and a combining accent. Scripts without spaces between words are not
split.
"""

from __future__ import annotations

import re

SHORTEST = 2

SEPARATORS = (
    (0x00, 0x2F),
    (0x3A, 0x40),
    (0x5B, 0x60),
    (0x7B, 0xA9),
    (0xAB, 0xB4),
    (0xB6, 0xB9),
    (0xBB, 0xBF),
    (0xD7, 0xD7),
    (0xF7, 0xF7),
    (0x37E, 0x37E),  # the question mark of Greek; then punctuation of Armenian, Hebrew, Arabic and Indian scripts
    (0x387, 0x387),
    (0x55A, 0x55F),
    (0x589, 0x58A),
    (0x5BE, 0x5BE),
    (0x5C0, 0x5C0),
    (0x5C3, 0x5C3),
    (0x60C, 0x60C),
    (0x61B, 0x61B),
    (0x61F, 0x61F),
    (0x66A, 0x66D),
    (0x6D4, 0x6D4),
    (0x964, 0x965),
    (0x2000, 0x2BFF),  # general punctuation, currencies, arrows, symbols
    (0x2E00, 0x2E7F),
    (0x3000, 0x303F),
    (0xD800, 0xF8FF),  # surrogates, private use
    (0xFE10, 0xFE6F),
    (0xFEFF, 0xFF0F),
    (0xFF1A, 0xFF20),
    (0xFF3B, 0xFF40),
    (0xFF5B, 0xFF65),
    (0xFFF0, 0xFFFF),
    (0x1F000, 0x1FAFF),  # emoji
    (0xE0000, 0x10FFFF),
)
"""First and last code point of the runs of characters that part words; all others are letters and digits."""

UPPER_CASE = (
    (0x41, 0x5A, 1, 32),
    (0xC0, 0xD6, 1, 32),
    (0xD8, 0xDE, 1, 32),
    (0x100, 0x12E, 2, 1),
    (0x132, 0x136, 2, 1),
    (0x139, 0x147, 2, 1),
    (0x14A, 0x176, 2, 1),
    (0x178, 0x178, 1, -121),
    (0x179, 0x17D, 2, 1),
    (0x386, 0x386, 1, 38),
    (0x388, 0x38A, 1, 37),
    (0x38C, 0x38C, 1, 64),
    (0x38E, 0x38F, 1, 63),
    (0x391, 0x3A1, 1, 32),
    (0x3A3, 0x3AB, 1, 32),
    (0x400, 0x40F, 1, 80),
    (0x410, 0x42F, 1, 32),
    (0x460, 0x480, 2, 1),
    (0x48A, 0x4BE, 2, 1),
    (0x4C1, 0x4CD, 2, 1),
    (0x4D0, 0x52E, 2, 1),
    (0x531, 0x556, 1, 48),
    (0x1E00, 0x1E94, 2, 1),
    (0x1EA0, 0x1EFE, 2, 1),
)
"""Capital letters: first and last code point of a run, the step between two, and what is added for the small letter."""


LETTERS = tuple(
    (before + 1, first - 1)
    for (_, before), (first, _) in zip(SEPARATORS[:-1], SEPARATORS[1:], strict=True)  # noqa: RUF007 - no import
)
"""First and last code point of the runs of letters and digits: what lies between the separators."""

SMALL_LETTERS = {code: code + shift for first, last, step, shift in UPPER_CASE for code in range(first, last + 1, step)}
"""The small letter of each capital letter, as code points."""

TOKEN_PATTERN = f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in LETTERS)}]{{{SHORTEST},}}"
"""The regular expression of a token of a text in lower case; its ends of ranges are no signs of any engine."""

TOKEN = re.compile(TOKEN_PATTERN)


def tokens(text: str) -> list[str]:
    """The tokens of a text in their order, each as often as it stands there."""
    return TOKEN.findall(text.translate(SMALL_LETTERS))


def is_token(text: str) -> bool:
    """Whether a text is one token, written as tokens are."""
    return tokens(text) == [text]


def spellings(character: str) -> str:
    """The characters whose lower case is this one."""
    code = ord(character)
    return character + "".join(chr(capital) for capital, small in SMALL_LETTERS.items() if small == code)
