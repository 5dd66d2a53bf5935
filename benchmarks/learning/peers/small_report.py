"""What the benchmark of small models says: what was asked beside what was found, and a table for each data set."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.learning.peers.asked import Asked, asked_lines, at_least
from benchmarks.learning.peers.catalogue import OUR_NAMES
from benchmarks.learning.peers.paired import gap, mean_of, of, time_ratio
from benchmarks.learning.peers.results import Results, Row

OURS, CARD, REFERENCE = "additive 20", "additive 20, points", "HistGB 100"
NAMES = (*OUR_NAMES, REFERENCE, "HistGB 100, native levels", "FIGS", "FasterRisk 10", "FasterRisk 20, greedy")
SPLITS = {"adult": 1, "heloc": 6, "magic_telescope": 6, "german_credit": 20, "breast_cancer_wisconsin": 20, "dnf": 6}
LOGICAL = "dnf"
MEASURED = tuple(name for name in SPLITS if name != LOGICAL)

# Least differences to HistGradientBoosting that were asked for, and the most time as a multiple of its own.
LEAST: Mapping[str, Mapping[str, float]] = {
    "rulekit 20": dict(zip(MEASURED, (-0.010, 0.0, -0.036, -0.008, -0.003), strict=True)),
    "rulekit rules 8": dict(zip(MEASURED, (-0.011, -0.006, -0.034, -0.020, -0.015), strict=True)),
    OURS: dict(zip(MEASURED, (-0.006, 0.0, -0.019, 0.0, 0.003), strict=True)),
}
MOST_TIME = {OURS: 1.5}
USUAL_TIME = 1.3
# The most that whole points may cost, and what the prototype of ten rules had, on other splits of some of the tables.
MOST_LOST = 0.005
TEN = "additive 10"
MARKS: Mapping[str, float] = dict(zip(MEASURED, (0.8601, 0.7190, 0.8478, 0.7460, 0.9629), strict=True))
# How many rules and literals the truth of the logical table has; how many a model takes is its own choice.
TRUTH = (2, 4)
WITHOUT = {
    "a beam of 1": "additive 20, beam 1",
    "no polish": "additive 20, no polish",
    "no race (4 literals, ridge 5)": "additive 20, no race",
    "no folds (all 20 rules)": "additive 20, no folds",
}

ByPeer = Mapping[str, Mapping[str, Row]]


def report(results: Results) -> list[str]:
    """The whole section as lines of Markdown."""
    tables = {table: by_peer for table in SPLITS if REFERENCE in (by_peer := _by_peer(results, table))}
    asked = [one for table, by_peer in tables.items() for one in goals(table, by_peer)]
    return [
        *(asked_lines(asked) if asked else []),
        *_ingredients(tables),
        *(line for table, by_peer in tables.items() for line in _table(table, by_peer)),
    ]


def _by_peer(results: Results, table: str) -> ByPeer:
    return {name: rows for name in NAMES if (rows := of(results, table, name))}


def goals(table: str, by_peer: ByPeer) -> list[Asked]:
    """What was asked on a table of each learner that was run there."""
    if table == LOGICAL:
        return [_truth(name, by_peer[name]) for name in (OURS,) if name in by_peer]
    found = [_least(table, name, by_peer) for name in LEAST if name in by_peer]
    if TEN in by_peer:
        accuracy = mean_of(by_peer[TEN], "accuracy")
        found.append(
            Asked(f"{table}, {TEN}", f"mark {MARKS[table]:.4f}", f"{accuracy:.4f}", at_least(accuracy, MARKS[table]))
        )
    if CARD in by_peer and OURS in by_peer and (lost := gap(by_peer[CARD], by_peer[OURS])) is not None:
        required = f"at most {MOST_LOST} under {OURS}"
        found.append(Asked(f"{table}, {CARD}", required, lost.text(), at_least(lost.mean, -MOST_LOST)))
    return found


def _least(table: str, name: str, by_peer: ByPeer) -> Asked:
    least, most = LEAST[name][table], MOST_TIME.get(name, USUAL_TIME)
    required = f"at least {least:+.3f} to {REFERENCE}, at most {most}x its time"
    found = gap(by_peer[name], by_peer[REFERENCE])
    if found is None:
        return Asked(f"{table}, {name}", required)
    ratio = time_ratio(by_peer[name], by_peer[REFERENCE])
    return Asked(
        f"{table}, {name}", required, f"{found.text()}, {ratio:.2f}x", at_least(found.mean, least) and ratio <= most
    )


def _truth(name: str, rows: Mapping[str, Row]) -> Asked:
    """Whether the learner takes by itself the rules of the truth, on every split."""
    sizes = [(row["rules"], row["literals"]) for row in rows.values() if row["status"] == "ok"]
    right = sum(size == TRUTH for size in sizes)
    others = sorted({f"{rules} rules, {literals} literals" for rules, literals in sizes if (rules, literals) != TRUTH})
    measured = f"on {right} of {len(rows)} splits" + (f"; else {'; '.join(others)}" if others else "")
    required = f"{TRUTH[0]} rules, {TRUTH[1]} literals, chosen by itself"
    return Asked(f"{LOGICAL}, {name}", required, measured, right == len(rows))


def _ingredients(tables: Mapping[str, ByPeer]) -> list[str]:
    """What each ingredient of additive rules is worth: without it minus with it."""
    shown = [table for table, by_peer in tables.items() if table != LOGICAL and OURS in by_peer]
    lines = []
    for words, name in WITHOUT.items():
        gaps = [gap(tables[table].get(name, {}), tables[table][OURS]) for table in shown]
        if any(gaps):
            lines.append(f"| {words} | " + " | ".join(found.text() if found else "" for found in gaps) + " |")
    if not lines:
        return []
    start = ["", f"**Without an ingredient**: accuracy minus that of {OURS}, paired", ""]
    return [*start, "| | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|", *lines]


def _table(table: str, by_peer: ByPeer) -> list[str]:
    columns = ("", "accuracy", "minus HistGB", f"minus {OURS}", "minus FIGS", "AUC", "rules", "literals")
    timed = (*columns, "time / HistGB", "seconds")
    return [
        "",
        f"**{table}**, {len(by_peer[REFERENCE])} splits",
        "",
        "| " + " | ".join(timed) + " |",
        "|---" * len(timed) + "|",
        *(_line(name, rows, by_peer) for name, rows in by_peer.items()),
    ]


def _line(name: str, rows: Mapping[str, Row], by_peer: ByPeer) -> str:
    failed = [row for row in rows.values() if row["status"] != "ok"]
    if len(failed) == len(rows):
        return f"| {name} | {failed[0]['status']}: {failed[0].get('why', '')} | | | | | | | | |"
    limit, usual = (max(row.get("limit", 0.0) for row in one.values()) for one in (rows, by_peer[REFERENCE]))
    cells = [
        name + (f", at most {limit:g} s" if limit > usual else ""),
        f"{mean_of(rows, 'accuracy'):.4f}" + (f" ({len(failed)} splits not finished)" if failed else ""),
        *(_minus(name, other, by_peer) for other in (REFERENCE, OURS, "FIGS")),
        f"{mean_of(rows, 'auc'):.4f}",
        f"{mean_of(rows, 'rules'):.1f}",
        f"{mean_of(rows, 'literals'):.1f}",
        f"{time_ratio(rows, by_peer[REFERENCE]):.2f}",
        f"{mean_of(rows, 'seconds'):.3f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _minus(name: str, other: str, by_peer: ByPeer) -> str:
    found = gap(by_peer[name], by_peer.get(other, {})) if name != other else None
    return found.text() if found else ""
