"""Docstrings of learners in numpydoc's form: the parameters are those that their settings declare.

The layout is that of the numpydoc style guide: a line for the name and what it may be, an indented one for what it is.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rulekit.learners.contract import Parameter

WIDTH = 88
_ATTRIBUTES = "Attributes\n----------\n"
FITTED = """\
rule_graph_ : RuleGraph
    What was learned; predictions evaluate it.
classes_ : ndarray [K]
    The classes, sorted.
path_ : ModelPath
    The models of all sizes: `len(path_)`, `path_.graph_at(size)`, `path_.points`, `path_.plot()`.
history_ : list of dict
    One record for each candidate.
curve_ : list of Curve
    By question the held-out errors by size, None without cross-validation.
feature_importances_ : ndarray [d]
    The part of each column of X in the rules; together 1.
n_features_in_ : int
    The number of columns of X.
feature_names_in_ : ndarray of str
    Their names, where X had names.
"""


def documented(docstring: str, parameters: Mapping[str, Parameter]) -> str:
    """The docstring of a learner with its parameters, and with its own attributes after those of every learner.

    docstring: as it stands in the class; parameters: by name, in the order in which they are to be listed.
    """
    said, _, own = inspect.cleandoc(docstring).partition(_ATTRIBUTES)
    listed = "\n".join(_listed(parameter) for parameter in parameters.values())
    return f"{said.rstrip()}\n\nParameters\n----------\n{listed}\n\n{_ATTRIBUTES}{FITTED}{own}".rstrip() + "\n"


def _listed(parameter: Parameter) -> str:
    words = ("None, or " if parameter.allowed.optional else "") + parameter.allowed.words
    head = f"{parameter.name} : {words}, default {parameter.default!r}"
    first = parameter.help.split()[0]  # a value that the text explains, as `cv:`, is written as it is
    help = f"{parameter.help if first.endswith(':') else parameter.help[0].upper() + parameter.help[1:]}."
    return f"{head}\n{textwrap.indent(textwrap.fill(help, WIDTH), '    ')}"
