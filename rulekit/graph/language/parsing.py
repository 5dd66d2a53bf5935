"""The parser of the rule language: text, or the comments of an artifact, to rule graph. lark is loaded only then.

The grammar is `rules.lark`; lark's LALR parser gives a tree, which is folded from the leaves up without recursion, so
that deep nesting is no danger. Definitions (`let`) must come before their use, so no cycle can be written.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files
from typing import Any

from rulekit.errors import FormatError, RulekitError
from rulekit.graph.language.building import Builder
from rulekit.graph.language.expressions import EXPRESSIONS, JOINS_BOUNDS, READS_COLUMN, TwoBounds
from rulekit.graph.language.words import RESERVED
from rulekit.graph.nodes import And, Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable
from rulekit.schema import Schema

MAX_CHARACTERS = 8 * 2**20

_WORDS = {
    "NAME": "a name",
    "STRING": "a quoted text",
    "NUMBER": "a number",
    "REFERENCE": "the name of a definition ($...)",
    "VERSION": "`rulekit rules 1`",
    "ORDER": "`<=` or `>`",
    "LESS": "`<`",
    "OR_MISSING": "`or missing`",
    "OR_UNSEEN": "`or unseen`",
    "$END": "the end",
}
_LAST = ("NAME", "STRING", "NUMBER", "REFERENCE", "$END")
_STATEMENTS = {
    f"`{word}`"
    for word in (
        *("apart", "column", "decide", "default", "label", "let", "missing", "override", "report", "require"),
        "together",
    )
}


_DECIMAL_COMMA = re.compile(r"(?<![\w.])([0-9]+),([0-9]+)")


@lru_cache(maxsize=1)
def _parser() -> Any:
    from lark import Lark

    grammar = files("rulekit.graph.language").joinpath("rules.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        start=["start", "condition"],
        parser="lalr",
        lexer="basic",
        propagate_positions=True,
        maybe_placeholders=False,
    )


def parse_graph(text: str) -> RuleGraph:
    """The graph of a text in the rule language; raises FormatError with line, column and what was expected."""
    graph: RuleGraph = _fold(_tree(text, "start"), Builder())
    return graph


def parse_condition(text: str, schema: Schema) -> Node:
    """The Boolean node of one condition over the columns of a schema; raises FormatError."""
    builder = Builder(schema)
    node: Node = _fold(_tree(text, "condition"), builder)
    if node.family is not Family.BOOLEAN:
        raise FormatError("this is no condition that holds or does not", fix="write one such as `amount > 9000`")
    return node


def _tree(text: str, start: str) -> Any:
    if len(text) > MAX_CHARACTERS:
        raise FormatError(f"the text is longer than {MAX_CHARACTERS} characters", fix="use the model file (.json)")
    from lark.exceptions import UnexpectedInput

    try:
        return _parser().parse(text, start=start)
    except UnexpectedInput as error:
        raise _unexpected(error, text) from None


def _fold(tree: Any, builder: Builder) -> Any:
    """The action of each rule of the tree on the values of its parts, parts first, from left to right."""
    pending: list[tuple[Any, bool]] = [(tree, False)]
    values: list[Any] = []
    while pending:
        part, parts_done = pending.pop()
        if isinstance(part, str):  # a token
            values.append(part)
        elif parts_done:
            start = len(values) - len(part.children)
            arguments = values[start:]
            del values[start:]
            values.append(_build(builder, part, arguments))
        else:
            pending.append((part, True))
            pending.extend((child, False) for child in reversed(part.children))
    return values[0]


def _build(builder: Builder, part: Any, arguments: list[Any]) -> Any:
    builder.place = "" if part.meta.empty else f"line {part.meta.line}, column {part.meta.column}"
    try:
        if part.data in READS_COLUMN:
            column = arguments.pop(READS_COLUMN[part.data])
            builder.check_column(column, *arguments)
            arguments = builder.with_dates(column, *arguments)
        if part.data not in JOINS_BOUNDS:
            arguments = [And(item) if isinstance(item, TwoBounds) else item for item in arguments]
        if part.data in EXPRESSIONS:
            return EXPRESSIONS[part.data](*arguments)
        return getattr(builder, part.data)(*arguments)  # the names of the rules are the grammar's
    except RulekitError as error:
        raise FormatError(str(error), where="" if part.data == "start" else builder.place) from None


def _unexpected(error: Any, text: str) -> FormatError:
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    if isinstance(error, UnexpectedCharacters):
        character = text[error.pos_in_stream]
        return FormatError(
            f"the character {character!r} has no meaning here",
            where=f"line {error.line}, column {error.column}",
            fix=_plain(character),
        )
    assert isinstance(error, UnexpectedToken)
    token, expected = error.token, set(error.accepts or error.expected)
    if token.type == "$END":
        lines = text.rstrip().split("\n")
        where, what = f"line {len(lines)}, column {len(lines[-1]) + 1}", "the text ends here"
        return FormatError(what, where=where, fix=_expected(expected))
    before = text[max(0, token.start_pos - 200) : token.start_pos].split()
    comma = _DECIMAL_COMMA.search(text, max(0, token.start_pos - 40), token.start_pos + 40) if token == "," else None
    if comma is not None and comma.end(1) == token.start_pos:
        fix = f"numbers take a decimal point: {comma[1]}.{comma[2]}"
        return FormatError("`,` cannot stand here", where=f"line {token.line}, column {token.column}", fix=fix)
    return FormatError(
        f"{_short(token)} cannot stand here",
        where=f"line {token.line}, column {token.column}",
        fix=_hint(token, expected, before[-1] if before else ""),
    )


_WRITE = {
    **dict.fromkeys(("Pi", "Pf", "„", "‚"), 'write the straight double quote "'),
    **dict.fromkeys(("Pd", "−"), "write the plain minus sign -"),
    "Zs": "write a plain blank",
    **dict.fromkeys(("Cc", "Cf"), "delete this invisible character"),
    **{"≤": "write <=", "≥": "numbers are compared with `<=` or `>`", "≠": "write `not in {...}`"},
}
"""By a character, or the category of one, what to write in its place."""


def _plain(character: str) -> str:
    """What to write in the place of a character; word processors replace plain ones by others that look alike."""
    if hint := _WRITE.get(character, _WRITE.get(unicodedata.category(character))):
        return hint
    if character != (plain := unicodedata.normalize("NFKC", character)):
        return f"write {plain!r}, or put the name in double quotes"
    return "write names that are no plain words in double quotes"


def _short(token: Any) -> str:
    return f"`{token}`" if len(token) <= 40 else f"`{token[:40]}...`"


def _hint(token: Any, expected: set[str], before: str) -> str:
    """What would mend the fault; the usual slips first."""
    if token.type in ("OR_MISSING", "OR_UNSEEN"):
        return "put one condition and its mark in parentheses, as in `(age > 30 or missing)`"
    if (expected == {"ORDER"} and token.type == "LESS") or (expected == {"LESS"} and token in ("<=", ">=", ">")):
        return "bounds of two sides are written `2 < x <= 3`"
    if (token == ">=" or token.type == "LESS") and "ORDER" in expected:
        return "numbers are compared with `<=` or `>`"
    if token == "contains" and before == "not":
        return "that a word is absent is written `story lacks wheat`"
    if token.type == "NAME" and "ORDER" in expected and _is_name(before):
        return "a name of several words stands in double quotes"
    if before in RESERVED and (token.type == "ORDER" or token in ("in", "is", "fires", ":")):
        return f"`{before}` is a word of the language; as a name it stands in double quotes"
    hint = _expected(expected)
    return hint + (f"; as a name `{token}` stands in double quotes" if token in RESERVED and "NAME" in expected else "")


def _is_name(word: str) -> bool:
    return word not in RESERVED and word.replace("_", "a").isalnum()


def _expected(terminals: set[str]) -> str:
    # A date stands only where a number may stand, and hardly ever must.
    names = {_word(terminal) for terminal in terminals - {*_LAST, "DATE"}}
    if names >= _STATEMENTS:
        names = (names - _STATEMENTS) | {"the next statement"}
    if len(names) > 8 and "NAME" in terminals:
        return "expected a condition"
    words = sorted(names, key=lambda word: (word == "the next statement", word))
    words += [_WORDS[terminal] for terminal in _LAST if terminal in terminals]
    return "expected " + (", ".join(words[:-1]) + " or " + words[-1] if len(words) > 1 else words[0])


def _word(terminal: str) -> str:
    if terminal in _WORDS:
        return _WORDS[terminal]
    return f"`{_parser().get_terminal(terminal).pattern.value}`"


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
