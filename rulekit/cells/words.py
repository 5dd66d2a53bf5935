"""The words of texts taken apart: a model over texts as one over Boolean columns, one for each word.

A text with k named tokens has 2^k + 1 cells; as k + 1 columns, each of two cells, it is what proofs and vectors of
words need. `T is missing` says whether the text is missing, `T contains w` whether it has the word w. Of a missing text
the columns of the words may say what they like, so that every combination of their cells stands for a text, and two
formulas agree on all texts where their images agree on all combinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from rulekit.arrays import Array, Ints
from rulekit.cells.axis import fresh_text
from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import And, Contains, IsTrue, Missing, Node, Not, Or, topological, with_children
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.raw.columns import text_of_words
from rulekit.tables.table import Table
from rulekit.tables.token_sets import TokenSets


@dataclass(frozen=True, slots=True)
class WordsApart:
    """The columns of words of a schema's texts.

    schema: that of the model; columns: by text the name of the column that says whether it is missing, then those of
    its words, in the order of the vocabulary; apart: the schema with these columns in the place of the texts.
    """

    schema: Schema
    columns: Mapping[str, tuple[str, ...]]
    apart: Schema

    def node(self, root: Node) -> Node:
        """A node over texts as one over the columns of words."""
        return self.nodes((root,))[root]

    def nodes(self, roots: Iterable[Node], known: dict[Node, Node] | None = None) -> dict[Node, Node]:
        """Of each node below some roots what it is over the columns of words; known: what it was for others."""
        image = {} if known is None else known
        columns = {
            text: dict(zip(self.schema[text].levels, own[1:], strict=True)) for text, own in self.columns.items()
        }
        for node in topological(roots, lambda node: () if node in image else node.children):
            if node in image:
                continue
            if column_of(node) in self.columns and isinstance(node, Contains | Missing):
                image[node] = self._leaf(node, columns[node.feature])
            else:
                image[node] = with_children(node, tuple(image[child] for child in node.children))
        return image

    def _leaf(self, node: Contains | Missing, column: Mapping[str, str]) -> Node:
        absent = IsTrue(self.columns[node.feature][0])
        if isinstance(node, Missing):
            return absent
        found: list[Node] = [IsTrue(column[token]) for token in node.tokens]
        if node.missing:
            return Or((absent, *found))
        return And((Not(absent), found[0] if len(found) == 1 else Or(found)))

    def graph(self, graph: RuleGraph) -> RuleGraph:
        """A model over texts as one over the columns of words, without figures and sizes."""
        image = self.nodes(graph.written)
        decision = graph.decision.with_roots(tuple(image[root] for root in graph.decision.roots))
        required = tuple(Required(promise.class_index, image[promise.condition]) for promise in graph.required)
        probability = tuple(image[node] for node in graph.probability)
        return RuleGraph(self.apart, graph.classes, decision, probability, graph.default, required=required)

    def table(self, table: Table) -> Table:
        """Encoded rows with texts as rows of the columns of words."""
        features: list[Feature] = []
        arrays: list[Array] = []
        for feature, array in zip(table.features, table.arrays, strict=True):
            names = self.columns.get(feature.name)
            if names is None or not isinstance(array, TokenSets):
                features.append(feature)
                arrays.append(array)
                continue
            features += [self.apart[name] for name in names]
            numbers = {word: number for number, word in enumerate(feature.levels)}
            starts, rows = array.by_token()
            arrays.append(array.missing.astype(np.float32))
            for number in (numbers[word] for word in self.schema[feature.name].levels):
                arrays.append(np.zeros(len(array), dtype=np.float32))
                arrays[-1][rows[starts[number] : starts[number + 1]]] = 1.0
        return Table(tuple(features), tuple(arrays), table.n_rows, table.source)

    def held(self, table: Table, text: str) -> tuple[Ints, Ints]:
        """Of encoded rows what is true: rows, and for each the place of one of the columns of a text."""
        sets = table.arrays[table.names.index(text)]
        assert isinstance(sets, TokenSets)
        wanted = {word: place for place, word in enumerate(self.schema[text].levels, 1)}
        place = np.array([wanted.get(word, 0) for word in table.features[table.names.index(text)].levels], np.int64)
        places = place[sets.ids]
        missing = np.flatnonzero(sets.missing)
        rows = np.concatenate([missing, sets.rows[places > 0]])
        return rows, np.concatenate([np.zeros_like(missing), places[places > 0]])

    def raw(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """Raw cells of the schema of the model as cells of the columns of words, and of others."""
        found = {name: cells for name, cells in columns.items() if name not in self.columns}
        texts = {name: columns[name] for name in self.columns if name in columns}
        if texts:
            table = self.table(encode(texts, self.schema, used=texts).select(tuple(texts)))
            found |= {f.name: array.astype(np.float64) for f, array in zip(table.features, table.arrays, strict=True)}
        return found

    def texts(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """Raw cells of the columns of words, and of others, as cells of the schema of the model."""
        found = {name: cells for name, cells in columns.items() if name in self.schema}
        for text, (missing, *words) in self.columns.items():
            if missing not in columns and not any(word in columns for word in words):
                continue
            n_rows = len(next(iter(columns.values())))
            found[text] = np.empty(n_rows, dtype=object)
            level = dict(zip(words, self.schema[text].levels, strict=True))
            lists: list[list[str]] = [[] for _ in range(n_rows)]
            for word in (word for word in words if word in columns):
                for row in np.flatnonzero(columns[word] > 0.5).tolist():
                    lists[row].append(level[word])
            found[text][:] = [text_of_words(one, self.schema[text].missing_tokens) for one in lists]
            if missing in columns:
                found[text][columns[missing] > 0.5] = None
        return found


def words_apart(schema: Schema) -> WordsApart | None:
    """The columns of words of the schema of a model; None where it has no text."""
    texts = [feature for feature in schema if feature.kind == "text"]
    if not texts:
        return None
    taken = set(schema.names)
    columns: dict[str, tuple[str, ...]] = {}
    features: list[Feature] = []
    for feature in schema:
        if feature.kind != "text":
            features.append(feature)
            continue
        names = []
        for wish in (f"{feature.name} is missing", *(f"{feature.name} contains {word}" for word in feature.levels)):
            names.append(fresh_text(wish, taken))
            taken.add(names[-1])
        columns[feature.name] = tuple(names)
        features += [Feature(name, "boolean", role=feature.role) for name in names]
    return WordsApart(schema, columns, replace(schema, features=tuple(features)))


@lru_cache(maxsize=8)
def taken_apart(graph: RuleGraph) -> tuple[RuleGraph, WordsApart | None]:
    """A model over columns of words, and these columns; a model without texts as it is."""
    words = words_apart(graph.schema)
    return (graph, None) if words is None else (words.graph(graph), words)
