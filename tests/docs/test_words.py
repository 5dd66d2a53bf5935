"""Pages and help are plain: no phrase that hides who does what, and few long sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rulekit.learners.contract import find_learner, learner_names
from samples.pages import ROOT, command_options, page_paths

# What must be read twice, and what to write.
OBLIQUE = {
    r"ways\b": "methods, forms, or name them",
    r"anew\b": "again",
    r"(?<!there )(?:is|are) no\b(?! (?:longer|better|worse|more|less|shorter))": "is not a",
    r"of which\b": "two sentences",
    r"says? so\b": "name what it prints",
    r"(?:is|are|was) (?:only )?said\b": "prints",
    r"what is reported\b": "the predicted probability",
    r"(?:is|are) told\b": "name who tells it",
    r"hangs? on\b": "depends on",
    r"in the place of\b": "instead of",
    r"all the same\b": "anyway, or leave it out",
    r"that there (?:is|are|can be)\b": "existing, possible",
    r"as good as\b": "equal to",
    r"reported probabilit(?:y|ies)\b": "predicted probability",
}
LONG = 22  # words
# The share of longer sentences that a page may have, in percent; background pages with derivations have more.
SHARE = {"noisy-or-derivation.md": 30, "cnll-notes.md": 50, "onnx.md": 45, "numbers.md": 30}
SHARE |= {"architecture.md": 45, "format.md": 30, "runtimes.md": 35}


def prose(text: str) -> str:
    """A page without its code, generated tables and comments."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!-- (?!end).*?<!-- end.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`\n]*`", "`code`", text)


def sentences(text: str) -> list[str]:
    """The sentences of paragraphs and lists; tables, headings and indented code have none."""
    found = []
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose(text)):
        if not part.lstrip("\n").startswith(("|", "#", "    ")):
            plain = re.sub(r"\]\([^)]*\)", "]", " ".join(part.split()))
            found += re.split(r"(?<=[.!?:;])\s+(?=[A-Z`*\[(\d])", plain)
    return [sentence for sentence in found if sentence]


@pytest.mark.parametrize("page", page_paths(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_has_no_oblique_phrase_and_few_long_sentences(page: Path) -> None:
    text = page.read_text("utf-8")
    found = [
        f"{match[0]!r} in ...{prose(text)[max(0, match.start() - 40) : match.end() + 20]!r}: write {better}"
        for phrase, better in OBLIQUE.items()
        for match in re.finditer(rf"\b{phrase}", prose(text), re.IGNORECASE)
    ]
    all_of_it = sentences(text)
    long = [sentence for sentence in all_of_it if len(sentence.split()) > LONG]

    assert found == []
    assert 100 * len(long) <= SHARE.get(page.name, 25) * max(len(all_of_it), 20), "\n".join(long)


def test_help_has_few_oblique_phrases() -> None:
    """Options and parameters of the command; the number may only fall."""
    texts = {option.help for options in command_options().values() for option in options}
    texts |= {parameter.help for name in learner_names() for parameter in find_learner(name).parameters.values()}
    found = [text for text in texts for phrase in OBLIQUE if re.search(rf"\b{phrase}", text, re.IGNORECASE)]

    assert len(found) <= 2, found


def test_an_oblique_phrase_is_noticed() -> None:
    assert re.search(rf"\b{list(OBLIQUE)[2]}", "A tree is no rule.")
    assert not re.search(rf"\b{list(OBLIQUE)[2]}", "The larger tree is no better.")
    assert sentences("One. Two is\nlonger.\n\n| a | b |\n|---|---|\n\n```text\nnot this\n```\n") == [
        "One.",
        "Two is longer.",
    ]
