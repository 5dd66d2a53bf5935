"""Texts and what becomes of them, as pairs of a file in tests/golden that a person reviews.

A pair is the lines of a text, then a line `=> ` with the result; `\\u200b` stands for a character that nobody sees.
With RULEKIT_UPDATE_GOLDEN=1 the results are written anew; read the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path


def check_pairs(name: str, result: Callable[[str], str]) -> None:
    """Asserts that each text of a file has the result that stands below it."""
    path = Path(__file__).parent / "golden" / f"{name}.txt"
    stated = path.read_text(encoding="utf-8")
    texts = [pair.rpartition("=> ")[0].removesuffix("\n") for pair in stated.rstrip("\n").split("\n\n")]
    plain = (re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text) for text in texts)
    made = "\n\n".join(f"{text}\n=> {result(own)}".lstrip("\n") for text, own in zip(texts, plain, strict=True)) + "\n"
    if os.environ.get("RULEKIT_UPDATE_GOLDEN"):
        path.write_text(made, encoding="utf-8")
    assert made == stated
