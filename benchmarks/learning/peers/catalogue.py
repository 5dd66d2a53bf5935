"""All entries of the comparison by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.learning.peers import (
    fasterrisk_peers,
    imodels_peers,
    interpret_peers,
    oblique_peers,
    ours,
    scikit_learn,
    wittgenstein_peers,
)
from benchmarks.learning.peers.definitions import OBLIQUE, Peer

# Interleaved in this order: ours beside the boosting it is timed against.
_PEERS = (scikit_learn, fasterrisk_peers, imodels_peers, interpret_peers, wittgenstein_peers, oblique_peers)
ENTRIES: Mapping[str, Peer] = {peer.name: peer for module in (ours, *_PEERS) for peer in module.ENTRIES}
OUR_NAMES = tuple(peer.name for peer in ours.ENTRIES)
# All that are compared on all tables: of ours those that take a rank among small models. Oblique trees stand beside our
# own trees of units, in a benchmark of their own.
COMPARED = tuple(
    peer.name
    for peer in ENTRIES.values()
    if peer.environment != OBLIQUE and (peer.name not in OUR_NAMES or peer.limits)
)


def sized(name: str, size: int) -> Peer:
    """A family of models of so many tests, for curves: `rulekit` (units), `FIGS` and `CART` (splits), `AdaBoost`."""
    if name == "rulekit":
        return ours.entry(f"rulekit {size}", {**ours.SMALL, "n_units": size})
    families: dict[str, tuple[Peer, dict[str, Any]]] = {
        "FIGS": (ENTRIES["FIGS"], {"max_rules": size}),
        "CART": (ENTRIES["CART depth 4"], {"max_depth": None, "max_leaf_nodes": size + 1}),
        "AdaBoost": (ENTRIES["AdaBoost 20"], {"n_estimators": size}),
    }
    base, parameters = families[name]
    return base.changed(f"{name} {size}", parameters)
