"""The tables of the comparison as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.learning.peers.catalogue import ENTRIES, OUR_NAMES
from benchmarks.learning.peers.goals import goal_lines
from benchmarks.learning.peers.ranking import LIMITS, Cell, cells, done, ranks
from benchmarks.learning.peers.results import Results

COLUMNS = ("accuracy", "AUC", "rules", "literals", "seconds")


def accuracy_report(results: Results, missing: Mapping[str, str]) -> list[str]:
    """What was asked, mean ranks of small models, accuracy by table and learner, then each table in full."""
    found = cells(results)
    tables = list(dict.fromkeys(table for table, _ in found))
    peers = [name for name in ENTRIES if any(peer == name for _, peer in found)]
    return [
        *goal_lines(found, tables),
        *(line for most in LIMITS for line in _rank_lines(found, tables, peers, most)),
        *_overview(found, tables, peers),
        *_missed(found, tables, peers, missing),
        *_details(found, tables, peers),
    ]


def small_pool(peers: Sequence[str], ours: str, most: int) -> list[str]:
    """One of ours and every peer that is meant to stay within so many rules."""
    return [name for name in peers if most in ENTRIES[name].limits and (name not in OUR_NAMES or name == ours)]


def _rank_lines(
    found: Mapping[tuple[str, str], Cell], tables: Sequence[str], peers: Sequence[str], most: int
) -> list[str]:
    if all(name in OUR_NAMES for name in peers if most in ENTRIES[name].limits):
        return []  # ours alone have no rank
    lines = [
        f"**Mean rank in accuracy among models of at most {most} rules** (1 is best; a model that did not "
        "finish, or has more rules, shares the last place). One of ours at a time beside all peers, on the tables "
        "where all of them had their turn.",
        "",
    ]
    for ours in (name for name in peers if name in OUR_NAMES and most in ENTRIES[name].limits):
        pool = small_pool(peers, ours, most)
        ran = [table for table in tables if all((table, name) in found for name in pool)]
        if not any(found[(table, ours)].finished for table in ran):
            continue
        places = ranks(found, ran, pool, most)
        shared = [table for table in ran if all(done(found[(table, name)]) for name in pool)]
        last = f"mean accuracy where all finished ({len(shared)})"
        lines += [f"| {len(ran)} tables | mean rank | first or equal first | {last} |", "|---|---|---|---|"]
        for name in sorted(pool, key=lambda one: float(np.mean(places[one]))):
            mean = np.mean([found[(table, name)].accuracy for table in shared]) if shared else float("nan")
            first = sum(places[name][k] == min(places[peer][k] for peer in pool) for k in range(len(ran)))
            lines.append(f"| {name} | {np.mean(places[name]):.2f} | {first} | {mean:.4f} |")
        lines.append("")
    return lines


def _overview(found: Mapping[tuple[str, str], Cell], tables: Sequence[str], peers: Sequence[str]) -> list[str]:
    lines = [
        "**Test accuracy**, mean over folds",
        "",
        "| | " + " | ".join(peers) + " |",
        "|---" * (len(peers) + 1) + "|",
    ]
    for table in tables:
        line = [_short(found.get((table, peer))) for peer in peers]
        lines.append(f"| {table} | " + " | ".join(line) + " |")
    return [*lines, ""]


def _short(cell: Cell | None) -> str:
    if cell is None:
        return "not run"
    if not cell.finished:
        return cell.why.split(":")[0]
    return f"{cell.accuracy:.4f}" + (f" ({cell.finished} of {cell.finished + cell.skipped})" if cell.skipped else "")


def _missed(
    found: Mapping[tuple[str, str], Cell], tables: Sequence[str], peers: Sequence[str], missing: Mapping[str, str]
) -> list[str]:
    lines = [
        f"- {peer} on {table}: {cell.why}; {cell.skipped} of {cell.finished + cell.skipped} folds without a result"
        for peer in peers
        for table in tables
        if (cell := found.get((table, peer))) is not None and cell.skipped
    ]
    lines += [f"- not installed: {line} ({why})" for line, why in missing.items()]
    return ["**Not finished, failed or not installed**", "", *(lines or ["- none"]), ""]


def _details(found: Mapping[tuple[str, str], Cell], tables: Sequence[str], peers: Sequence[str]) -> list[str]:
    lines = ["<details><summary>Each table: accuracy, AUC, rules, literals, CPU seconds of a fit</summary>", ""]
    for table in tables:
        lines += [f"**{table}**", "", "| | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
        for peer in peers:
            cell = found.get((table, peer))
            if cell is None:
                continue
            if not cell.finished:
                lines.append(f"| {peer} | {cell.why} | | | | |")
                continue
            lines.append(
                f"| {peer} | {cell.accuracy:.4f} | {cell.auc:.4f} | {cell.rules:.1f} | {cell.literals:.1f} | "
                f"{cell.seconds:.2f} |"
            )
        lines.append("")
    return [*lines, "</details>"]
