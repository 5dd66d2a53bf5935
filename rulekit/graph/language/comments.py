"""The rules of a model as comments of another text, so that people and rulekit have them without running it."""

from __future__ import annotations

from functools import lru_cache

from rulekit.errors import FormatError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable

BEGIN, END = "rules: begin", "rules: end"
MAX_BYTES = 64 * 2**20


def commented(rules: str, sign: str) -> list[str]:
    """Lines that carry rules in the rule language; sign: what makes a line a comment, such as `#` or `--`."""
    lines = (f"{sign} | {printable(line)}".rstrip() for line in rules.split("\n"))
    return [f"{sign} {BEGIN}", *lines, f"{sign} {END}"]


@lru_cache(maxsize=1)  # a verification asks several times
def from_comments(text: str, sign: str) -> RuleGraph:
    """The graph of such lines of a text; raises FormatError where there are none, or two, or they are damaged."""
    return parse_graph("\n".join(line.removeprefix(f"{sign} |").removeprefix(" ") for line in _inside(text, sign)[1]))


def without_rules(text: str, sign: str) -> str:
    """The text without the lines that carry its rules."""
    before, _, after = _inside(text, sign)
    return "\n".join((*before, *after))


def decoded(artifact: bytes) -> str:
    """The text of an artifact, with `\\n` between its lines; raises FormatError where it is none."""
    if len(artifact) > MAX_BYTES:
        raise FormatError(f"{len(artifact)} bytes, more than the {MAX_BYTES} that are read")
    try:
        return artifact.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}", fix="export the model again") from None


def _inside(text: str, sign: str) -> tuple[list[str], list[str], list[str]]:
    """The lines before the rules, those that carry them, and those after."""
    lines = text.split("\n")
    if [lines.count(f"{sign} {mark}") for mark in (BEGIN, END)] != [1, 1]:
        how = "more than once" if f"{sign} {BEGIN}" in lines else "not at all"
        raise FormatError(f"this file carries rules {how}", fix="export the model again with rulekit")
    begin, end = lines.index(f"{sign} {BEGIN}"), lines.index(f"{sign} {END}")
    inside = lines[begin + 1 : end]
    if any(not line.startswith(f"{sign} |") or not line.replace("\f", "").isprintable() for line in inside):
        raise FormatError("a line among the rules is no comment", fix="export the model again")
    return lines[: begin + 1], inside, lines[end:]
