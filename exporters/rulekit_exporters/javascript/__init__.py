"""The JavaScript target: an ES module without dependencies, which decides rows that are objects."""

from __future__ import annotations

from rulekit.target_kit import text_target
from rulekit_exporters.javascript.assembly import module_lines
from rulekit_exporters.javascript.running import NODE

TARGET = text_target(
    "javascript",
    "an ES module without dependencies, for browsers and Node.js",
    (".mjs",),
    "//",
    lambda graph, options: module_lines(graph),
    (NODE,),
    noun="module",
    summary=lambda options: "no dependencies",
    stamp='export const DIGEST = "{}";',
)
