"""The text target: the rule language, tables of rules, and the view for people (`show`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rulekit.errors import FormatError, GraphError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.language.words import counted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.shown.view import show
from rulekit.tables.table import Table
from rulekit.targets import Artifact, Outcome, Reading, Runtime, Target, option
from rulekit.verification.proof.prove import reading_of_graph
from rulekit_exporters.text.tables import c50, comma_separated, markdown

__all__ = ["TARGET", "show"]


MAX_BYTES = 64 * 2**20

FORMATS: Mapping[str, Callable[[RuleGraph, int], str]] = {
    "rules": lambda graph, _: print_graph(graph),
    "show": lambda graph, width: show(graph, width),
    "full": lambda graph, width: show(graph, width, full=True),
    "table": lambda graph, _: markdown(graph),
    "csv": lambda graph, _: comma_separated(graph),
    "c50": lambda graph, width: c50(graph, width),
}


@dataclass(frozen=True, slots=True)
class TextOptions:
    format: str = option("rules", "rules (the rule language, can be read back), or a form for people", tuple(FORMATS))
    width: int = option(100, "columns of text of show, full and c50")


def write(graph: RuleGraph, options: TextOptions) -> Artifact:
    """The text of a graph in the format that the options name."""
    form = options.format
    text = FORMATS[form](graph, options.width)
    warnings = () if form == "rules" else (f"the format {form} cannot be read back; `rules` can",)
    return Artifact(
        {"": text.encode("utf-8")}, graph.digest, warnings, f"{form}, {counted(text.count(chr(10)), 'line')}"
    )


@lru_cache(maxsize=1)  # a verification asks several times
def read(artifact: bytes) -> RuleGraph:
    """The graph of a text in the rule language; raises FormatError for anything else."""
    if len(artifact) > MAX_BYTES:
        raise FormatError(f"{len(artifact)} bytes, more than the {MAX_BYTES} that are read")
    try:
        return parse_graph(artifact.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None


def run(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """Labels and probabilities by the graph that the text says; raises FormatError, GraphError."""
    parsed = read(artifact)
    if parsed.schema.features != graph.schema.features or parsed.classes != graph.classes:
        raise GraphError("the text has other columns or classes than the model", fix="export the model again")
    return Outcome(decide(parsed, table), probabilities(parsed, table))


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """What the text says, parsed: nothing of it is run."""
    return reading_of_graph(read(artifact), graph)


TARGET = Target(
    name="text",
    description="the rule language, tables of rules, and forms for people",
    suffixes=(".txt", ".rules"),
    write=write,
    runs=(Runtime("rulekit", run),),
    read=read,
    inspect=inspect,
    options=TextOptions,
)
