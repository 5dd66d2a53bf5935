"""Made-up tickets of a help desk, and which of them were urgent: templates with words that vary, and noise.

Something may have happened: the service is down, data are gone, an account is locked, or a payment was made twice. Each
makes a ticket urgent with a probability of its own, whatever else it says, as in a noisy-or; one ticket in forty is
marked by chance.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """What may have happened: how often, with what probability it makes a ticket urgent, and sentences that tell it."""

    share: float
    strength: float
    sentences: tuple[str, ...]


CAUSES = (
    Cause(
        0.16,
        0.95,
        (
            "{The} {part} is down.",
            "We have had an outage of {the} {part} since {time}.",
            "{The} {part} has been down for all of us since {time}!",
            "There is an outage, nobody can open {the} {part}.",
        ),
    ),
    Cause(
        0.12,
        0.85,
        (
            "All entries in {the} {part} were deleted.",
            "{The} {part} shows no orders any more, the data are lost.",
            "Our data from {time} are lost.",
            "Somebody deleted {the} {part} by mistake.",
        ),
    ),
    Cause(
        0.14,
        0.5,
        (
            "My account is locked.",
            "{The} {part} says that I am locked out.",
            "Since {time} my account is locked and I cannot work.",
        ),
    ),
    Cause(0.14, 0.3, ("You charged me twice for {the} {part}.", "The invoice of {time} was charged twice.")),
)
NEUTRAL = (
    "How do I change the language of {the} {part}?",
    "Can you send me the invoice of {time} again?",
    "{The} {part} is slower than {time}.",
    "I would like to order a second licence for {the} {part}.",
    "Please add my colleague to {the} {part}.",
    "Where do I find the manual of {the} {part}?",
    "The colours of {the} {part} are hard to read.",
    "Thank you for {the} new {part}, it is a great help.",
    "Is there a training for {the} {part} in {month}?",
    "I want to change the address of my account.",
)
OPENINGS = ("Hello,", "Hi,", "Dear support team,", "Good morning,", "", "")
CLOSINGS = ("Thanks!", "Kind regards", "Please help.", "Best wishes", "Thank you for your help.", "", "")
PARTS = ("shop", "calendar", "report", "dashboard", "mailbox", "archive", "app", "printer", "portal", "database")
TIMES = ("yesterday", "this morning", "last week", "Monday", "noon", "last night", "Friday")
MONTHS = ("January", "March", "May", "June", "September", "October")
CHANNELS = ("mail", "chat", "phone", "")
MARKED_BY_CHANCE = 0.025
EMPTY = 0.02


def tickets(n_rows: int, seed: int) -> dict[str, list[str]]:
    """Columns `ticket`, `channel` and `urgent` of so many made-up tickets."""
    draw = random.Random(seed)
    columns: dict[str, list[str]] = {"ticket": [], "channel": [], "urgent": []}
    for _ in range(n_rows):
        held = [cause for cause in CAUSES if draw.random() < cause.share]
        acts = [draw.random() < cause.strength for cause in held]
        urgent = any(acts)
        if draw.random() < MARKED_BY_CHANCE:
            urgent = draw.random() < 0.5
        said = [_one(cause.sentences, draw) for cause in held]
        said += [_one(NEUTRAL, draw) for _ in range(1 + (draw.random() < 0.4) - (bool(held) and draw.random() < 0.5))]
        said.sort(key=lambda _: draw.random())
        sentences = [_filled(sentence, draw) for sentence in (_one(OPENINGS, draw), *said, _one(CLOSINGS, draw))]
        text = " ".join(filter(None, sentences))
        columns["ticket"].append("" if draw.random() < EMPTY else text)
        columns["channel"].append(_one(CHANNELS, draw))
        columns["urgent"].append("yes" if urgent else "no")
    return columns


def _one(items: Sequence[str], draw: random.Random) -> str:
    """One of the items; `random.choice` may differ between versions of Python."""
    return items[int(draw.random() * len(items))]


def _filled(sentence: str, draw: random.Random) -> str:
    the = _one(("the", "our", "my"), draw)
    words = {"the": the, "The": the.capitalize(), "part": _one(PARTS, draw)}
    return sentence.format(**words, time=_one(TIMES, draw), month=_one(MONTHS, draw))
