"""What the binned columns of a table say, as atoms: P0(a) where a column is named so, and conditions of all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools
from rulekit.graph.evaluation.structures import Structures, packed
from rulekit.graph.language.sentences import Sentence
from rulekit.graph.language.text import print_node
from rulekit.graph.leaves import negate
from rulekit.graph.nodes import FALSE, TRUE, And, Node, Or
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.conditions import condition_node, cut_of, simple_conditions
from rulekit.learners.data.problem import HOLDS, Problem
from rulekit.learners.gramression.grammar import Language


@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The atoms of a table. columns: by predicate and objects the number of a Boolean column, true at code 2.

    conditions: by name, of atoms without objects, a column and the codes [n_codes] at which it is true.
    """

    language: Language
    columns: Mapping[tuple[str, tuple[str, ...]], int]
    conditions: Mapping[str, tuple[int, Bools]]

    @classmethod
    def of(cls, problem: Problem, longest: int) -> Atoms:
        """The atoms of the columns of a problem; conditions are taken from the quantiles of its rows.

        longest: the most atoms of a feature.
        """
        structured, conditions = dict[tuple[str, tuple[str, ...]], int](), dict[str, tuple[int, Bools]]()
        arities: dict[str, int] = {}
        for j, column in enumerate(problem.columns):
            found, two = column.feature.atom, column.n_codes == 3
            says = two and (column.feature.kind == "boolean" or (found is not None and 0.0 <= cut_of(column, 1) < 1.0))
            if found is not None and says and arities.setdefault(found[0], len(found[1])) == len(found[1]):
                structured[found] = j
            else:
                for condition in simple_conditions(problem, j):
                    said = print_node(condition_node(column, condition))
                    conditions[said if said not in conditions else f"{said} #{len(conditions)}"] = j, condition
        objects = sorted({each for _, objects in structured for each in objects})
        language = Language({**arities, **dict.fromkeys(conditions, 0)}, tuple(objects), longest)
        return cls(language, structured, conditions)

    def structures(self, codes: Codes, n_rows: int) -> Structures:
        """The rows as structures."""
        place = {name: k for k, name in enumerate(self.language.objects)}
        atoms = {name: packed(holds[codes[j]]) for name, (j, holds) in self.conditions.items()}
        size, n_words = len(place), -(-n_rows // 64)
        for name, arity in self.language.arities.items():
            if name not in atoms:
                atoms[name] = np.zeros((size,) * arity + (n_words,), dtype=np.uint64)
        for (name, objects), j in self.columns.items():
            atoms[name][tuple(place[each] for each in objects)] = packed(HOLDS[codes[j]])
        return Structures(self.language.objects, n_rows, atoms)

    def node(self, feature: Sentence, columns: Sequence[BinnedColumn]) -> Node:
        """The Boolean node of a closed sentence: its quantifiers are written out over the objects."""
        word, parts = feature.word, feature.parts
        if word == "atom":
            if feature.name in self.conditions:
                j, holds = self.conditions[feature.name]
                return condition_node(columns[j], holds)
            known = self.columns.get((feature.name, feature.terms))
            return FALSE if known is None else condition_node(columns[known], HOLDS)
        if word == "same":
            return TRUE if feature.terms[0] == feature.terms[1] else FALSE
        if word == "not":
            return negate(self.node(parts[0], columns), None)
        if word in ("and", "or"):
            nodes = [self.node(part, columns) for part in parts]
            return _joined(word == "and", nodes)
        named = (parts[0].put({feature.name: each}) for each in self.language.objects)
        return _joined(word == "forall", [self.node(each, columns) for each in named])


def _joined(every: bool, nodes: list[Node]) -> Node:
    neutral, fatal = (TRUE, FALSE) if every else (FALSE, TRUE)
    kept = list(dict.fromkeys(node for node in nodes if node != neutral))
    if fatal in kept:
        return fatal
    if len(kept) < 2:
        return kept[0] if kept else neutral
    return And(kept) if every else Or(kept)
