"""The SELECT of a model: a spelling of the steps, and the stages in which their values become columns.

What is missing is NULL, and a comparison with NULL holds nowhere: `IS NOT TRUE` denies it. A step that is used more
than once is a column of a stage (a MATERIALIZED common table expression), computed once for each row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rulekit.errors import FormatError, InputError
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.program import spelling as sp
from rulekit.program.body import Body
from rulekit.program.lower import alike, firing_steps, lower
from rulekit.program.naming import Context, Names, context_of, label_texts
from rulekit.program.nodes import Choice, cases, elementary, in_words
from rulekit.schema import Feature
from rulekit.shown.score_cards import comment_lines
from rulekit.targets import option
from rulekit_exporters.sql.cells import TABLE, CellReading
from rulekit_exporters.sql.dialects import DIALECTS, SqlDialect, quoted

_PART = re.compile(r'"((?:[^"]|"")+)"|([^".{][^.]*)')
_NAME = r"""\s*('[\w .$-]+'|"[\w .$-]+")\s*"""
_TEMPLATE = re.compile(
    rf"\{{\{{\s*(this|(ref|source)\({_NAME}(,{_NAME})?(,\s*(v|version)\s*=\s*[\w'.\"]+\s*)?\))\s*\}}\}}"
)


def source_of(table: str) -> str:
    """A table as a query names it: parts with dots between them, each plain or in quotation marks.

    A reference of dbt in double braces stays as it is: dbt puts a name in its place. Any other expression could bring
    SQL of its own. Raises InputError for anything else.
    """
    if _TEMPLATE.fullmatch(table.strip()):
        return table.strip()
    parts, place = list[str](), 0
    while match := _PART.match(table, place):
        parts.append(match[1].replace('""', '"') if match[1] else match[2])
        place = match.end()
        if place == len(table):
            return ".".join(map(quoted, parts))
        if table[place] != ".":
            break
        place += 1
    fix = 'write loans, sales.loans or sales."my loans"'
    raise InputError(f"{table!r} is no name of a table", where="sql", fix=fix)


def refuse_braces(source: str, texts: Iterable[str]) -> None:
    """Raises InputError where dbt, which is to replace the table's name, would replace something else too."""
    if source.startswith("{{") and any(mark in text for text in texts for mark in ("{{", "{%", "{#")):
        fix = "give the name of the table, and put the reference in its place"
        raise InputError("a name or level of the model holds braces that dbt replaces", where="sql", fix=fix)


def refuse_clashes(dialect: SqlDialect, used: Iterable[str], kept: Sequence[str], results: Iterable[str]) -> None:
    """Raises InputError for columns that the engine does not tell apart, or that every table has.

    used: columns that the rules read; kept: those that stand in the result too; results: what else it has, in
    quotation marks.
    """
    inputs = list(dict.fromkeys([*used, *kept]))
    for name in inputs:
        if dialect.folded(name) in dialect.hidden:
            fault = f"every table of {dialect.engine} has a hidden column {name!r}"
            raise InputError(
                fault, where="sql", fix="give the column another name, and train or edit the model with it"
            )
    outputs = [*kept, *(name[1:-1].replace('""', '"') for name in results)]
    for names, what in ((inputs, "columns that are read"), (outputs, "columns of the result")):
        seen: dict[str, str] = {}
        for name in names:
            if other := seen.get(dialect.folded(name)):
                fault = f"{dialect.engine} does not tell two {what} apart, {other!r} and {name!r}"
                raise InputError(fault, where="sql", fix="rename one in a view, and read that")
            seen[dialect.folded(name)] = name


WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SqlOptions:
    dialect: str = option("sqlite", "the engine", tuple(DIALECTS))
    table: str = option("rows", "the table that holds the rows; a schema before a dot, or dbt's {{ ref('rows') }}")
    keep: str = option("", "columns of the table that stand in the result too, such as a key, with commas between them")
    fired: bool = option(False, "a column `rules` with the ids of the rules that fired")
    digest: bool = option(False, "a column `digest` with the digest of the model")
    counts: bool = option(False, "one row for each rule and class, with its number of rows, instead of the rows")

    def __post_init__(self) -> None:
        if not f"{self.table}{self.keep}".isprintable():  # a line of a name could pass for one of the rules
            what = "a name of a table or column holds a line end, NUL or another sign that cannot be seen"
            raise InputError(what, where="sql", fix="rename it in a view")
        if self.counts and (self.fired or self.digest or self.kept):
            what = "counts have no row for each row of the table"
            raise InputError(what, where="sql", fix="leave out keep, fired and digest")

    @property
    def kept(self) -> list[str]:
        return list(dict.fromkeys(name.strip() for name in self.keep.split(",") if name.strip()))

    @property
    def source(self) -> str:
        """The table as the query names it; raises InputError for a name of no or of broken parts."""
        return source_of(self.table)

    def stage(self, name: str) -> str:
        """The name of a stage, another than that of the table."""
        return f"{name}_of_rules" if self.source.lower().endswith(f'"{name}"') else name


class Sql(sp.Spelling):
    """The steps as SQL of one dialect; SQLite allows expressions of depth 1,000."""

    conjunction, disjunction, truths = ("AND", sp.MIDDLE), ("OR", sp.LOW), ("FALSE", "TRUE")
    negation = ("", " IS NOT TRUE", sp.Spelling.comparison, sp.ATOM)
    choice, missing = ("CASE WHEN {condition} THEN {yes} ELSE {no} END", sp.ATOM, sp.LOW), "{name} IS NULL"
    max_depth, max_length, max_operands = 50, 10**6, 100

    def __init__(self, dialect: SqlDialect) -> None:
        self.dialect = dialect
        self.exponential = f"{dialect.function}exp({{x}})"

    def literal(self, value: object) -> str:
        return self.dialect.literal(value)

    def within(self, body: Body, feature: Feature, texts: tuple[str | None, ...]) -> sp.Expression:
        name, missing = body.cell(feature.name), (None, "", *feature.missing_tokens)  # which are NULL by now
        levels = ", ".join(self.literal(text) for text in alike(texts, feature) if text not in missing)
        inside = (sp.atom(f"{name} IN ({levels})", self.comparison),) if levels else ()
        return self.any_of((*inside, *((self.absent(name),) if None in texts else ())))

    def containing(self, body: Body, feature: Feature, tokens: tuple[str, ...], missing: bool) -> sp.Expression:
        name = body.cell(feature.name)
        found = self.dialect.words(name, tokens) if tokens else []
        return self.any_of(
            (*(sp.atom(one, self.comparison) for one in found), *((self.absent(name),) if missing else ()))
        )

    def chosen(self, body: Body, node: Choice) -> sp.Expression:
        """One CASE for a chain of choices."""
        pairs, last = cases(node)
        if len(pairs) == 1 and not body.expression(pairs[0][0]).parts:
            return super().chosen(body, node)
        whens, end = [], f"ELSE {body.text(last, sp.CHOICE)} END"
        for condition, result in pairs:
            when, then = body.expression(condition), f" THEN {body.text(result, sp.CHOICE)}"
            whens.append(sp.surrounded("WHEN ", when, then, sp.ATOM, sp.ATOM if when.parts else sp.LOW))
        text = f"CASE {' '.join(when.text for when in whens)} {end}"
        depth = 1 + max(when.depth for when in whens)
        return sp.Expression(text, sp.ATOM, tuple(whens), " ", "CASE", end, depth)


class Query(Body):
    """The values that are columns of a stage."""

    def __init__(self, context: Context, spelling: Sql, roots: Iterable[Node]) -> None:
        super().__init__(context, spelling, roots)
        self.stages: list[dict[str, sp.Expression]] = []
        self._stage: dict[str, int] = {}

    def assign(self, variable: str, expression: sp.Expression) -> None:
        """A column of the first stage that comes after those of all the columns that it reads."""
        words = WORD.findall(expression.text)
        stage = self._stage[variable] = 1 + max((self._stage.get(word, -1) for word in words), default=-1)
        self.stages += [{}] if stage == len(self.stages) else []
        self.stages[stage][variable] = expression


def select(graph: RuleGraph, options: SqlOptions) -> list[str]:
    """The lines of the query. Raises Unsupported for a node that it cannot write, InputError for a name."""
    program, dialect = lower(graph, elementary), DIALECTS[options.dialect]
    context = context_of(graph, program, Names(()), "-- ", quoted)
    steps = {rule.id: program.lowered.get(rule.node) for rule in rules_of(graph) if options.fired}
    fired = {key: step for key, step in steps.items() if step is not None and step.family is Family.BOOLEAN}
    fired |= firing_steps(graph, elementary) if options.counts else {}
    integers = all(isinstance(label, int) and not isinstance(label, bool) for label in graph.classes)
    labels = [text if integers else dialect.literal(text) for text in label_texts(graph)]
    body = Query(
        context, Sql(dialect), [label := in_words(program.label, labels), *program.probabilities, *fired.values()]
    )
    kept = {quoted(name): sp.atom(quoted(context.names.fresh(f"keep {name}"))) for name in options.kept}
    results = {'"label"': body.expression(label)}
    for name, node in zip(label_texts(graph), program.probabilities, strict=True):
        results[quoted(f"probability({name})")] = body.expression(node)
    if options.fired:
        texts = (body.spelling.choose(body.expression(step), f"'{name} '", "''") for name, step in fired.items())
        all_texts = sp.joined("||", sp.SUM, sp.SUM, (sp.atom("''", sp.SUM), *texts))
        results['"rules"'] = sp.surrounded(f"{dialect.function}rtrim", all_texts, "", sp.ATOM)
    if options.digest:
        results['"digest"'] = sp.atom(dialect.literal(graph.digest))
    refuse_braces(options.source, (print_graph(graph), *results))
    refuse_clashes(dialect, graph.used_features, options.kept, results)
    results = kept | results
    if options.counts:
        results |= {quoted(name): body.spelling.choose(body.expression(step), "1", "0") for name, step in fired.items()}
    cells = [
        CellReading(dialect, graph.schema[name], column, context.names.fresh)
        for name, column in context.columns.items()
    ]
    values: dict[str, sp.Expression] = {cell.column: sp.atom("") for cell in cells} | {v.text: v for v in kept.values()}
    tables = [values or {'"no column"': sp.atom("1")}, *body.stages, results]
    words = [{word for value in table.values() for word in WORD.findall(value.text)} for table in tables]
    lines = [
        f"-- This query is for {dialect.engine}. With --dialect rulekit writes it for another engine.",
        *comment_lines(graph, "--"),
    ]
    source = options.stage("cells")
    lines += [f"WITH {source} AS MATERIALIZED (", *_read(cells, kept, dialect, options.source), "),"]
    for number, columns in enumerate(body.stages, 1):
        later = set[str]().union(*words[number + 1 :])
        carried = [name for table in tables[:number] for name in table if name.strip('"') in later]
        name = options.stage(f"stage{number}")
        lines += [f"{name} AS MATERIALIZED (", *_select(columns, source, carried), "),"]
        source = name
    if not options.counts:
        return [*lines[:-1], ")", *_select(results, source)]
    decided = options.stage("decided")
    lines += [f"{decided} AS MATERIALIZED (", *_select(results, source), "),"]
    names = decided, options.stage("counted"), dialect.function
    return [*lines, *counting(dict(zip(label_texts(graph), labels, strict=True)), fired, *names)]


def _read(
    cells: Sequence[CellReading], kept: Mapping[str, sp.Expression], dialect: SqlDialect, table: str
) -> list[str]:
    """The columns of the table, each bound by its name: a SELECT of them all has no hidden ones.

    A name that no table stands before means a column and nothing else, where `"rows"."count"` is a function's result in
    PostgreSQL and a field in DuckDB; the condition is there for its names alone.
    """
    given = {column: template for cell in cells for column, template in cell.given.items()}
    given |= {value.text: f"{TABLE}.{name}" for name, value in kept.items()}
    names = dict.fromkeys([*(quoted(cell.feature.name) for cell in cells), *kept])
    lines = [line for cell in cells for line in (*cell.lines()[:-1], f"{cell.lines()[-1]},")]
    lines += [f"{value.text}," for value in kept.values()]
    lines = [*lines[:-1], lines[-1][:-1]] if lines else ['1 AS "no column"']
    inner = [f"{value} AS {name}," for name, value in given.items()]
    inner = [*inner[:-1], inner[-1][:-1]] if inner else ["1"]
    bound = f" WHERE TRUE OR {' OR '.join(f'{name} IS NULL' for name in names)}" if names and dialect.function else ""
    rows = f"SELECT * FROM {table} AS {TABLE}{bound}"
    return [
        "SELECT",
        *(f"    {line}" for line in lines),
        "FROM (",
        "    SELECT",
        *(f"        {line}" for line in inner),
        f"    FROM ({rows}) AS {TABLE}",
        *([f"    WHERE {dialect.guard}"] if dialect.guard else []),
        ") AS given",
    ]


def _select(columns: Mapping[str, sp.Expression], source: str, carried: Sequence[str] = ()) -> list[str]:
    """The values as columns, each below its comment, behind those that are carried on as they are."""
    lines = ["SELECT", *[f"    {', '.join(carried)},"] * bool(carried)]
    for number, (name, value) in enumerate(columns.items(), 1):
        lines += [f"    {line}" for line in value.comment.splitlines()]
        lines += sp.layout("", value, f" AS {name}{',' * (number < len(columns))}", 4)
    return [*lines, f"FROM {source}"]


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
