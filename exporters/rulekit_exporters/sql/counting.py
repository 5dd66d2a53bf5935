"""The end of a query that counts: a row for each rule and class, with how many rows of the table it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rulekit.errors import FormatError, InputError
from rulekit_exporters.sql.dialects import quoted

MARK = "-- how many rows there are, on how many each rule holds, and for how many each class is decided"
MOST = 490
"""SQLite joins no more than 500 queries by UNION ALL."""


def counting(labels: Mapping[str, str], rules: Iterable[str], decided: str, counted: str, function: str) -> list[str]:
    """The lines behind the last stage. labels: by text of a class how the query writes it; function: see Dialect."""
    conditions = {("rule", rule): f"{quoted(rule)} = 1" for rule in rules}
    conditions |= {("class", text): f'"label" = {label}' for text, label in labels.items()}
    if len(conditions) > MOST:
        raise InputError(f"more than {MOST} rules and classes are to be counted", where="sql", fix="export fewer rules")
    sums = [
        f"    coalesce({function}sum(CASE WHEN {test} THEN 1 ELSE 0 END), 0) AS c{k}"
        for k, test in enumerate(conditions.values())
    ]
    rows = [f'SELECT \'rows\' AS "what", \'\' AS "name", n AS "count" FROM {counted}']
    for k, (what, name) in enumerate(conditions):
        rows.append(f"UNION ALL SELECT '{what}', {quoted(name, chr(39))}, c{k} FROM {counted}")
    columns = ",\n".join([f"    {function}count(*) AS n", *sums]).split("\n")
    return [MARK, f"{counted} AS MATERIALIZED (", "SELECT", *columns, f"FROM {decided}", ")", *rows]


def row_by_row(query: str) -> str:
    """The same query with the rows that it counts in the place of the counts; raises FormatError for another query."""
    head, mark, tail = query.partition(f"\n{MARK}\n")
    decided = re.search(r"^FROM (\w+)$", tail, re.MULTILINE)
    if not mark or not head.endswith("\n),") or not decided:
        raise FormatError("the query does not count as its options say", fix="export the model again")
    return f"{head[:-1]}\nSELECT * FROM {decided[1]}"
