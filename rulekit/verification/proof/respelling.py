"""Targets whose artifacts are text: written by a spelling, and read back without being run.

What the exporter does not write, the reader does not read: the rules that an artifact carries are lowered and spelled
again, and the same code must come out, byte for byte. Then the program that was spelled is what the artifact computes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from rulekit.errors import FormatError
from rulekit.graph.language.parsing import commented, decoded, from_comments, without_rules
from rulekit.graph.language.text import print_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.lower import lower
from rulekit.targets import Artifact, NoOptions, Reading, Runtime, Target, parsed_options
from rulekit.verification.proof.prove import leaves_below

OPTIONS = "options "


def text_target(
    name: str,
    description: str,
    suffixes: tuple[str, ...],
    sign: str,
    spell: Callable[[RuleGraph, Any], Iterable[str]],
    runs: tuple[Runtime, ...],
    *,
    options: type = NoOptions,
    noun: str = "file",
    summary: Callable[[Any], str] = lambda options: "text",
    stated: Callable[[str], Any] | None = None,
    stamp: str = "",
    code: Callable[[str], str] = lambda text: text,
    refuses: Callable[[RuleGraph, Any], str] = lambda graph, options: "",
    rules_first: bool = False,
) -> Target:
    """A target that is proved by spelling again.

    spell(graph, options) gives the lines of the code; sign begins a comment of its language, to the end of the line.
    Before the code come lines with options and digest, behind it the rules, or before it where rules_first. stated: for
    an exporter with a head of its own, what finds the options in a text; stamp: its line that states the digest, `{}`
    in the template. code: the part of a text that must be equal, without the rules. refuses: as in `Target`, why a
    graph cannot be written.
    """
    stamp = stamp or f"{sign} digest {{}}"

    def whole(graph: RuleGraph, given: Any, text: str) -> str:
        head = [f"{sign} {OPTIONS}{json.dumps(asdict(given))}", stamp.format(graph.digest)] if not stated else []
        title = (
            f"{sign} The same rules in the rule language, from which rulekit reads this {noun} (never by running it)."
        )
        rules, lines = [title, *commented(text, sign)], spell(graph, given)
        return "\n".join([*head, *rules, *lines, ""] if rules_first else [*head, *lines, "", *rules, ""])

    def write(graph: RuleGraph, given: Any) -> Artifact:
        columns = ", ".join(graph.used_features) or "no column"
        return Artifact(
            {"": whole(graph, given, print_graph(graph)).encode("utf-8")},
            graph.digest,
            summary=f"{summary(given)}, reads {columns}",
        )

    def read(artifact: bytes) -> RuleGraph:
        """The graph of an artifact; raises FormatError where it carries none or another than its digest says."""
        text = decoded(artifact)
        graph = from_comments(text, sign)
        if stamp.format(graph.digest) not in without_rules(text, sign).split("\n"):
            raise FormatError(f"the rules do not have the digest that the {noun} states", fix="export the model again")
        return graph

    def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
        """What an artifact decides, where it is what the exporter writes for its rules; else the reason."""
        carried, text = read(artifact), decoded(artifact)
        if b"\r" in artifact and "\\n" in print_graph(carried):
            return Reading(None, reason="its line ends were changed, and a name or level of the model may hold one")
        given = stated(text) if stated else stated_options(text, sign, options)
        if carried.schema.features != graph.schema.features or carried.classes != graph.classes:
            return Reading(None, reason="it has other columns or classes than the model")
        found, written = (code(without_rules(part, sign)) for part in (text, whole(carried, given, "")))
        if found != written:
            lines = zip_longest(found.split("\n"), written.split("\n"), fillvalue="")
            pairs = ((here.strip()[:100], there.strip()[:100]) for here, there in lines if here != there)
            differ = next((f": {here!r} stands for {there!r}" for here, there in pairs), "")
            return Reading(None, reason=f"it is not what rulekit writes for its rules{differ}")
        return _computed(carried)

    return Target(name, description, suffixes, write, runs, read, inspect, options, refuses)


def _computed(carried: RuleGraph) -> Reading:
    """What the program computes that is spelled for some rules."""
    program = lower(carried)
    return Reading(
        leaves_below((program.label,)),
        program.decision,
        probability_leaves=leaves_below((program.label, *program.reported)),
        default=program.default,
        probabilities=program.probabilities,
        as_written=True,
    )


def stated_options(text: str, sign: str, options: type) -> Any:
    """The options that the first line of an artifact states; raises FormatError where it states none."""
    try:
        given = json.loads(text.split("\n", 1)[0].removeprefix(f"{sign} {OPTIONS}"))
        return parsed_options(options, given, "options")
    except (ValueError, TypeError, AttributeError):
        raise FormatError("the first line does not state its options", fix="export the model again") from None
