"""Where rules of different classes meet: pairs that hold together, and ranks that contradict each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, islice

from rulekit.audit.checks.checked_rows import examples
from rulekit.audit.checks.findings import Finding, Open
from rulekit.audit.checks.model_searches import Searches
from rulekit.graph.language.words import quoted
from rulekit.verification.proof.row_search import Claim

MOST_PAIRS = 2_000


def overlaps(model: Searches) -> Iterator[Finding | Open]:
    """Pairs of rules of different classes that hold on one row; of classes without ranks."""
    graph = model.graph
    if graph.decision.ordered:
        return
    ordered = graph.decision.rule_sets
    place = {k: n for n, (k, _, _) in enumerate(graph.decision.ranked)}
    of_class = Counter(statement.rule.class_index for statement in model.said)
    total = (len(model.said) ** 2 - sum(many**2 for many in of_class.values())) // 2
    if not total:  # of one class, whose pairs are not even gone through
        return
    pairs = (
        sorted(pair, key=lambda statement: place[statement.rule.class_index] if ordered else 0)
        for pair in combinations(model.said, 2)
        if pair[0].rule.class_index != pair[1].rule.class_index
    )
    question = "{:,} of {:,} pairs of rules of different classes"
    if total > MOST_PAIRS:
        yield Open("overlap", question.format(total - MOST_PAIRS, total))
    for done, (one, other) in enumerate(islice(pairs, MOST_PAIRS)):
        if model.deadline.over:
            yield Open("overlap", question.format(min(total, MOST_PAIRS) - done, total), model.deadline.reason)
            return
        model.deadline.tell("which rules of different classes meet", done / min(total, MOST_PAIRS))
        search, ids = model.search(one.node, other.node), (one.rule.id, other.rule.id)
        found = search.find(Claim(one.node), Claim(other.node))
        if found.cells is not None:
            classes = graph.classes[one.rule.class_index], graph.classes[other.rule.class_index]
            names = f"{ids[0]} ({quoted(classes[0])}) and {ids[1]} ({quoted(classes[1])}) hold together"
            text = f"{names}; the order decides {quoted(classes[0])} first" if ordered else names
            rows = examples(graph, search, (found.cells,))
            yield Finding("overlap", text, ids, rows, classes=classes, ordered=ordered)
        elif found.reason:
            yield Open("overlap", f"whether {ids[0]} and {ids[1]} can hold together", found.reason)


def crossing_ranks(model: Searches) -> Iterator[Finding | Open]:
    """A rank that is passed where a lower one is not."""
    graph = model.graph
    roots = graph.decision.roots if graph.decision.ordered else ()
    for k in range(1, len(roots)):
        low, high = quoted(graph.classes[k - 1]), quoted(graph.classes[k])
        said = f"above {high} and not above {low}"
        found = model.whole.find(Claim(roots[k]), Claim(roots[k - 1], False))
        if found.cells is not None:
            rows = examples(graph, model.whole, (found.cells,))
            yield Finding("contradiction", f"the rules say {said}", (), rows)
        elif found.reason:
            yield Open("contradiction", f"whether rules can say {said}", found.reason)
