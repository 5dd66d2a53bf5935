"""The colours of the page: every pair of text and paper has the contrast of WCAG 2.2 AA, light, dark and printed."""

from __future__ import annotations

import re
from pathlib import Path

from rulekit.audit import report

STYLE = (Path(report.__file__).parent / "templates" / "style.css").read_text()
TEXTS = [
    *((ink, paper) for ink in ("ink", "quiet", "accent", "good", "bad") for paper in ("paper", "raised")),
    ("note", "note-paper"),
    ("mark", "mark-paper"),
]
DRAWN = [(f"series-{k}", "paper") for k in range(1, 7)] + [("quiet", "paper")]  # lines, dots and borders of fields


def palettes() -> dict[str, dict[str, str]]:
    """The colours of each scheme by their names."""
    blocks = re.findall(r"(@media[^{]*\{\s*(?:@page[^}]*\})?)?\s*:root \{(.*?)\}", STYLE, re.DOTALL)
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for _, block in blocks]
    return dict(zip(("light", "dark", "print"), found, strict=True))


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_text_has_a_contrast_of_4_5_and_what_is_drawn_of_3() -> None:
    for scheme, colours in palettes().items():
        for pairs, least in ((TEXTS, 4.5), (DRAWN, 3.0)):
            low = {pair: contrast(*(colours[name] for name in pair)) for pair in pairs}
            assert {pair: value for pair, value in low.items() if value < least} == {}, scheme
        assert set(colours) == set(palettes()["light"])


def test_no_colour_stands_beside_the_palettes_and_the_style_names_no_address() -> None:
    rest = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[;\s])", rest) == []
    assert re.findall(r"url\(|@import|https?:", STYLE) == []
