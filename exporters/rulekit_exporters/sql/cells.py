"""A column of a table as the rules take it: a category or a text as text, all else a double, NULL where it is missing.

A cell is read by what it holds and not by what its column is declared to be: a number may stand in a column of text, a
Boolean in a column of integers. What `predict` refuses is an error of the engine that names the column.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce

from rulekit.schema import Feature, look_alikes
from rulekit_exporters.sql.dialects import SqlDialect, quoted

PART = re.compile(r"\{([a-z_]+)\}")
COLUMNS = ("type", "text", "trimmed", "key", "whole", "zone", "base", "padded")
"""Parts of a dialect that are columns of the innermost SELECT, if the cell needs them."""
TABLE = '"rows"'


class CellReading:
    """One column. given: what the innermost SELECT computes of it; whens, otherwise: the CASE that reads the cell.

    column: what the cell is called in the query; fresh: makes a new name of a wish.
    """

    def __init__(self, dialect: SqlDialect, feature: Feature, column: str, fresh: Callable[[str], str]) -> None:
        self.dialect, self.feature, self.column, self._fresh = dialect, feature, column, fresh
        self.given = {column: f"{TABLE}.{quoted(feature.name)}"}
        self._names = {"x": column}
        self.whens = [(self._say("{x} IS NULL"), "NULL")]
        if feature.has_text_cells:
            self._read_text()
        else:
            self._read_number()

    def lines(self) -> list[str]:
        """The CASE, ending with the name of the column."""
        blank = () if self.feature.has_text_cells else self.feature.missing_numbers
        before, after = reduce(self.dialect.nullif.format, map(self.dialect.literal, blank), "CASE\nEND").split("\n")
        whens = [f"    WHEN {condition} THEN {value}" for condition, value in self.whens]
        return [before, *whens, f"    ELSE {self.otherwise}", f"{after} AS {self.column}"]

    def _say(self, template: str) -> str:
        """A template of the dialect's parts, in terms of the columns of the innermost SELECT."""

        def part(match: re.Match[str]) -> str:
            name = match[1]
            if name in COLUMNS and name not in {*self._names, *self.dialect.constants}:
                self._names[name] = quoted(self._fresh(f"{self.feature.name} {name}".lower()))
                self.given[self._names[name]] = self._whole(self.dialect.parts[name])
            return self._names.get(name) or self._say(self.dialect.parts[name])

        return PART.sub(part, template)

    def _whole(self, template: str) -> str:
        """The same in terms of the table's column."""
        cell = self.given[self.column]
        return PART.sub(lambda m: cell if m[1] == "x" else self._whole(self.dialect.parts[m[1]]), template)

    def _when(self, condition: str, value: str) -> None:
        self.whens.append((condition, value))

    def _fail(self, shown: str, what: str) -> str:
        words = [self.dialect.text(f"column {self.feature.name}: "), self._say(shown), self.dialect.text(what)]
        return self.dialect.fail(words)

    def _texts(self, *texts: str) -> str:
        return ", ".join(map(self.dialect.literal, texts))

    def _read_number(self) -> None:
        say, dialect = self._say, self.dialect
        truth = self.feature.kind == "boolean"
        dated = {"date": "day", "datetime": "moment"}.get(self.feature.display, "") if not truth else ""
        what = {"day": "a date like 2024-05-31", "moment": "a date like 2024-05-31T12:00"}.get(dated, "a number")
        what = "true, false, 1 or 0" if truth else what
        if dated and dialect.typed:
            self._when(say("{is_stamp}"), say("{seconds} / 86400" if dated == "day" else "{seconds}"))
        if dialect.typed:
            self._when(say("{is_truth}"), say("CASE WHEN {is_true} THEN 1.0 ELSE 0.0 END"))
        self._when(say("NOT ({is_number_type} OR {is_text})"), self._fail("{type}", f" is no type for {what}"))
        if dated:
            digits = self._fail("{text}", " is the digits of a date: write it as 2024-05-31")
            self._when(say("{is_digits}"), digits)
        if dialect.typed:
            self._when(say("{is_nan}"), "NULL")
        self._when(say("{is_real}"), say("{real}"))
        tokens = self._texts("", *self.feature.missing_tokens)
        self._when(f"{say('{trimmed}')} IN ({tokens})", "NULL")
        if any(token != token.strip() for token in self.feature.missing_tokens):
            self._when(f"{say('{text}')} IN ({tokens})", "NULL")
        for words, value in (
            (("nan", "+nan", "-nan"), "NULL"),
            (("inf", "+inf", "infinity", "+infinity"), dialect.infinity),
            (("-inf", "-infinity"), f"-{dialect.infinity}"),
            *((("true",), "1.0"), (("false",), "0.0")) * truth,
        ):
            self._when(f"{say(dialect.function + 'lower({trimmed})')} IN ({self._texts(*words)})", value)
        if dated:
            self._when(say(f"{{is_{dated}}}"), say(f"{{{dated}}}"))
        self._when(say("{is_number} AND NOT ({is_large})"), say("{number}"))
        self.otherwise = self._fail("{text}", f" is not {what}")

    def _read_text(self) -> None:
        feature, dialect, say = self.feature, self.dialect, self._say
        form = dialect.sought if feature.kind == "text" else "{t}"
        strict = feature.kind == "categorical" and feature.unseen == "error"
        known = [text for text in feature.codes_of_texts if text and strict]
        unseen = self._failed("{text}", " is a level that training never saw")
        if dialect.typed:
            texts = self._truth("true", "1"), self._truth("false", "0")
            yes, no = (unseen if strict and text not in (None, *known) else dialect.literal(text) for text in texts)
            truth = f"CASE WHEN {say('{is_true}')} THEN {yes} ELSE {no} END"
            self._when(say("{is_truth}"), form.replace("{t}", truth))
            if strict:
                self._when(f"{say('{is_stamp}')} AND {say('{stamp}')} NOT IN ({self._texts(*known)})", unseen)
            self._when(say("{is_stamp}"), form.replace("{t}", say("{stamp}")))
        self._when(say("NOT ({is_number_type} OR {is_text})"), self._failed("{type}", " is no type for text"))
        if feature.kind == "text" and "odd" in dialect.parts:
            self._when(say("{is_odd}"), self._failed("'a text'", dialect.parts["odd"]))
        key = say("{key}")
        self._when(f"{key} IN ({self._texts('', *feature.missing_tokens)})", "NULL")
        if others := sorted({_key(token) for token in feature.missing_tokens} - set(feature.missing_tokens)):
            self._when(f"{say('{is_number_type}')} AND {key} IN ({self._texts(*others)})", "NULL")
        if dialect.typed:
            self._when(say("{is_nan}"), "NULL")
        elif feature.kind == "text":
            self._when(f"{key} IS NULL", self._failed("{text}", " has no exact text: give the number as text"))
        else:  # a level beyond the 15 digits of its text is found by its number
            for text in filter(_is_number_key, feature.codes_of_texts):
                self._when(f"{key} IS NULL AND {self.column} = {dialect.literal(float(text))}", dialect.literal(text))
            self._when(f"{key} IS NULL", self._unknown())
        self.otherwise = form.replace("{t}", key)
        if strict:
            self._when(f"{key} IN ({self._texts(*known)})", key)
            self.otherwise = unseen

    def _unknown(self) -> str:
        """What a number is that is no level."""
        feature = self.feature
        if feature.unseen == "error":
            return self._failed("{text}", " is a level that training never saw")
        word = "another number"
        while word in feature.codes_of_texts:
            word += "."
        return self.dialect.literal(word)

    def _failed(self, shown: str, what: str) -> str:
        return f"CAST({self._fail(shown, what)} AS {self.dialect.text_type})"

    def _truth(self, text: str, digit: str) -> str | None:
        """The level of a Boolean: its name, or 1 or 0 where that is none."""
        feature = self.feature
        if text in {*feature.missing_tokens, *map(_key, feature.missing_tokens)}:
            return None
        return digit if text not in feature.levels and digit in feature.levels else text


def _key(token: str) -> str:
    """The level that a text means: 3 for 3.0, true for True."""
    meant = (token.removesuffix(".0"), token.lower())
    return next((text for text in meant if token in look_alikes(text)), token)


def _is_number_key(text: str) -> bool:
    """Whether a level is how a number is written: 3, 1.5, but not 3.0."""
    try:
        value = float(text)
        return text == (str(int(value)) if value.is_integer() else repr(value))
    except ValueError:
        return False
