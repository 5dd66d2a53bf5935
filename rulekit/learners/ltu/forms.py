"""A tree of units as logic, exactly: as the DNF of its paths, or nested along its branches.

The network of three layers that a tree is (Sahami, "Creating Networks From LTU Trees") is that DNF: its conjunctions
are the second layer, one for each unit without a right child, and their or is the third. No two of them hold at once.
The contrary of a tree stands under a `Not`: turning each unit round would answer differently where its sum is 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.graph.nodes import And, Node, Not, Or
from rulekit.learners.ltu.shape import NONE, Shape


def dnf_of_paths(shape: Shape, units: Sequence[Node]) -> Node:
    """The or of the conjunctions of all paths that are answered by yes; units [m]: any Boolean nodes."""
    gates = []
    for signs in shape.gates:
        own = [units[k] if signs[k] > 0 else Not(units[k]) for k in np.flatnonzero(signs).tolist()]
        gates.append(own[0] if len(own) == 1 else And(own))
    return gates[0] if len(gates) == 1 else Or(gates)


def nested(shape: Shape, units: Sequence[Node]) -> Node:
    """(unit and what follows on the right) or (not unit and what follows on the left), from the root down.

    Where nothing follows on the right, "unit or what follows on the left" says the same, and is shorter.
    """
    below: list[Node] = list(units)
    for k in reversed(range(shape.size)):  # children come after their parents
        unit, left, right = units[k], int(shape.left[k]), int(shape.right[k])
        if right == NONE:
            below[k] = unit if left == NONE else Or([unit, below[left]])
        else:
            yes = And([unit, below[right]])
            below[k] = yes if left == NONE else Or([yes, And([Not(unit), below[left]])])
    return below[0]
