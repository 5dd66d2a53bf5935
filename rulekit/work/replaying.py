"""Recorded decisions under another model: which of them change, and by which rules.

A decision is a mapping as a line of a log holds it: `id`, `time`, `model`, `digest`, `row` (cells by column), `masked`
(columns whose cells were not recorded), `label`, and `rules`, the ids of those that fired.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from rulekit.errors import FormatError, InputError
from rulekit.graph.files.model_files import check_outputs
from rulekit.graph.files.safe_files import parse_json, write_atomically
from rulekit.graph.language.words import percent, quoted
from rulekit.names import label_text, printable
from rulekit.tables.raw.files import refusing_damage
from rulekit.work.deciding import Decider

Decision = Mapping[str, Any]

BLOCK = 8192
MOST_OF_A_BLOCK = 1 << 23  # bytes of its lines
MOST_OF_A_DECISION = 1 << 20  # bytes of one line
MOST_REFUSED = 10_000
EXAMPLES = 10
_SHOWN = 8

_CELLS = {str, int, float, bool, type(None)}
_LABELS = {str, int, float, bool}
_TEXTS = ("id", "time", "model", "digest")
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class OtherDecision:
    """A recorded decision that would be another one: before, and after; rules: the ids of those that fired."""

    id: str
    time: str
    model: str
    digest: str
    before: str
    after: str
    rules_before: tuple[str, ...]
    rules_after: tuple[str, ...]


@dataclass(slots=True)
class Replay:
    """What a log says under a model B.

    recorded: decisions of the log. replayed: those that B decided, others: of these the ones that come out otherwise;
    flips: by labels before and after; rules_before, rules_after: of the others by rule on how many it fired, before and
    under B, "" where none did. texts: of the rules of B. digests: by model that recorded them how many were replayed,
    and how many are others. masked, absent: by column that B reads the decisions that cannot be replayed, since its
    cell was not to be recorded, or is not there; refused: those whose cells B refuses, and why it does the first.
    """

    name: str
    digest: str
    texts: Mapping[str, str]
    recorded: int = 0
    replayed: int = 0
    others: int = 0
    flips: Counter[tuple[str, str]] = field(default_factory=Counter)
    rules_before: Counter[str] = field(default_factory=Counter)
    rules_after: Counter[str] = field(default_factory=Counter)
    digests: dict[str, list[int]] = field(default_factory=dict)
    masked: Counter[str] = field(default_factory=Counter)
    absent: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    refusal: str = ""
    examples: list[OtherDecision] = field(default_factory=list)

    @property
    def contradicted(self) -> int:
        """How many decisions come out otherwise though B itself is said to have made them."""
        return self.digests.get(self.digest, [0, 0])[1]

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        found = asdict(self)
        counts = self.flips.most_common()
        found["flips"] = [{"before": old, "after": new, "decisions": n} for (old, new), n in counts]
        for key in ("rules_before", "rules_after", "masked", "absent"):
            found[key] = dict(getattr(self, key).most_common())
        found["digests"] = {key: {"replayed": n, "others": k} for key, (n, k) in self.digests.items()}
        return {**found, "not_replayed": self.recorded - self.replayed, "contradicted": self.contradicted}

    def lines(self) -> Iterator[tuple[str, str]]:
        """Words for the margin, and what is said of them."""
        yield "B", f"{self.name}: digest {self.digest[:12]}"
        yield "replayed", f"{self.replayed:,} of {_decisions(self.recorded)}"
        share = f" ({percent(self.others / self.replayed)})" if self.others else ""
        yield "others", f"{_decisions(self.others)} would change{share}"
        if self.contradicted:
            yield "FAULT", f"{_decisions(self.contradicted)} of these were made by B itself, says the log"
        made = Counter({key: n for key, (n, _) in self.digests.items()})
        yield from _most("made by", made, lambda key: f"digest {key[:12]}, {self.digests[key][1]:,} would change")
        yield from _most("flip", self.flips, lambda way: f"{quoted(way[0])} to {quoted(way[1])}")
        yield from _most("before", self.rules_before, lambda rule: rule or "no rule fired")
        rules = {**self.texts, "": "no rule fires"}
        yield from _most("under B", self.rules_after, lambda rule: f"{rule}  {rules[rule]}".strip())
        yield from _most("not replayed", self.masked, lambda name: f"B reads {name!r}, which is masked")
        yield from _most("not replayed", self.absent, lambda name: f"B reads {name!r}, which is not recorded")
        if self.refused:
            yield "not replayed", f"{_decisions(self.refused)}: B refuses a cell; {self.refusal}"
        for each in self.examples:
            fired = f"{' '.join(each.rules_before) or 'no rule'} -> {' '.join(each.rules_after) or 'no rule'}"
            yield "example", f"{each.id}, {each.time}: {quoted(each.before)} to {quoted(each.after)}; {fired}"


def _decisions(n: int) -> str:
    return f"{n:,} decision{'s' * (n != 1)}"


def _most(word: str, counts: Counter[Any], said: Callable[[Any], str]) -> Iterator[tuple[str, str]]:
    """Lines of the most frequent ones."""
    for key, n in counts.most_common(_SHOWN):
        yield word, f"{_decisions(n)}: {said(key)}"
    if len(counts) > _SHOWN:
        yield word, f"and {len(counts) - _SHOWN:,} more, which --json lists"


def replay(log: Path, model: Path, *, output: Path | None = None, examples: int = EXAMPLES) -> Replay:
    """Decide the decisions of a log (JSON lines, also .gz) again under another model.

    output: a CSV file of all that come out otherwise. Raises InputError for a line that is no decision, with its number
    in the file, and where B refuses more than MOST_REFUSED.
    """
    check_outputs([output], log, model)
    decider = Decider.of(model)
    return replay_decisions(decider, logged(log), name=str(model), output=output, examples=examples)


def replay_decisions(
    decider: Decider,
    blocks: Iterable[Sequence[Decision]],
    *,
    name: str = "the model",
    output: Path | None = None,
    examples: int = EXAMPLES,
) -> Replay:
    """Decide blocks of recorded decisions again; only one block at a time is in memory."""
    found = Replay(name, decider.digest, {rule.id: rule.text for rule in decider.rules})
    others = (_replayed(decider, block, found, examples) for block in blocks)
    if output is None:
        for _ in others:
            pass
    else:
        write_atomically(output, _as_csv(others))
    return found


def _replayed(decider: Decider, block: Sequence[Decision], found: Replay, examples: int) -> list[OtherDecision]:
    """Count a block; gives what comes out otherwise."""
    found.recorded += len(block)
    used = frozenset(decider.graph.used_features)
    whole = []
    for each in block:
        if hidden := used.intersection(each["masked"]):
            found.masked.update(hidden)
        elif used <= each["row"].keys():
            whole.append(each)
        else:
            found.absent.update(used.difference(each["row"]))
    labels = [label_text(label) for label in decider.graph.classes]
    others = []
    for decisions, decided in _decided(decider, whole, found):
        found.replayed += len(decisions)
        for digest, n in Counter(each["digest"] for each in decisions).items():
            found.digests.setdefault(digest, [0, 0])[0] += n
        for row, (each, k) in enumerate(zip(decisions, decided.labels.tolist(), strict=True)):
            before = each["label"] if type(each["label"]) is str else label_text(each["label"])
            if before != labels[k]:
                fired = tuple(decider.fired_ids(decided, row))
                told = each["id"], each["time"], each["model"], each["digest"]
                others.append(OtherDecision(*told, before, labels[k], tuple(each["rules"]), fired))
    found.others += len(others)
    for other in others:
        found.digests[other.digest][1] += 1
        found.flips[other.before, other.after] += 1
        found.rules_before.update(other.rules_before or ("",))
        found.rules_after.update(other.rules_after or ("",))
    found.examples += others[: max(0, examples - len(found.examples))]
    return others


def _decided(decider: Decider, decisions: list[Decision], found: Replay) -> Iterator[tuple[list[Decision], Any]]:
    """Decisions and what B decides; of a part with a cell that B refuses the halves, down to that row."""
    if not decisions:
        return
    columns = {name: [each["row"][name] for each in decisions] for name in decider.graph.used_features}
    try:
        # a model that reads no column learns from another one how many rows there are
        table = decider.table(columns or {"id": [each["id"] for each in decisions]})
    except InputError as error:
        if len(decisions) == 1:
            found.refused += 1
            found.refusal = found.refusal or f"{decisions[0]['id']}: {error}"
            if found.refused > MOST_REFUSED:
                what = f"B refuses more than {MOST_REFUSED:,} of the recorded rows"
                raise InputError(f"{what}, first {found.refusal}", where=found.name) from error
            return
        half = len(decisions) // 2
        yield from _decided(decider, decisions[:half], found)
        yield from _decided(decider, decisions[half:], found)
        return
    yield decisions, decider.decide(table)


def _as_csv(blocks: Iterable[Sequence[OtherDecision]]) -> Iterator[bytes]:
    yield b"id,time,model,digest,before,after,rules_before,rules_after\n"
    for others in blocks:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for each in others:
            rules = " ".join(each.rules_before), " ".join(each.rules_after)
            writer.writerow((each.id, each.time, each.model, each.digest, each.before, each.after, *rules))
        yield text.getvalue().encode("utf-8", "backslashreplace")  # halves of pairs, which JSON can hold


# The log --------------------------------------------------------------------------------------------------------------


def logged(path: Path) -> Iterator[list[Decision]]:
    """The decisions of a file of JSON lines, packed or not, in blocks; raises InputError naming the line of a fault."""
    with ExitStack() as stack:
        stack.enter_context(refusing_damage(path))
        file: Any = stack.enter_context(path.open("rb"))
        if file.peek(2)[:2] == _GZIP:
            file = stack.enter_context(gzip.open(file))
        yield from _in_blocks(file, path.name)


def _in_blocks(file: BinaryIO, source: str) -> Iterator[list[Decision]]:
    block: list[Decision] = []
    number, size = 0, 0
    while line := file.readline(MOST_OF_A_DECISION + 1):
        number += 1
        where = f"{source}, line {number}"
        if len(line) > MOST_OF_A_DECISION:
            raise InputError(f"more than {MOST_OF_A_DECISION >> 20} MB in one line", where=where, fix=_FIX)
        if line.isspace():
            continue
        block.append(_decision(line, where))
        size += len(line)
        if len(block) == BLOCK or size > MOST_OF_A_BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


_FIX = "a log has one recorded decision a line"


def _decision(line: bytes, where: str) -> Decision:
    try:
        found = parse_json(line.decode())
    except UnicodeDecodeError:
        raise InputError("this is no UTF-8 text", where=where, fix=_FIX) from None
    except FormatError as error:
        raise InputError(error.what.partition(" (line")[0], where=where, fix=_FIX) from None
    if type(found) is not dict:
        raise InputError("this is no object", where=where, fix=_FIX)
    if fault := _fault(found):
        raise InputError(printable(fault), where=where, fix=_FIX)
    return found


def _fault(found: dict[str, Any]) -> str:
    """What is no decision in an object, "" where it is one."""
    for key in _TEXTS:
        if type(found.get(key)) is not str:
            return f"{key!r} is no text" if key in found else f"it has no {key!r}"
    row = found.get("row")
    if type(row) is not dict or not _CELLS.issuperset(map(type, row.values())):
        return "'row' is no object of cells" if "row" in found else "it has no 'row'"
    if type(found.get("label")) not in _LABELS:
        return "'label' is no label" if "label" in found else "it has no 'label'"
    for key in ("masked", "rules"):
        given = found.get(key)
        if type(given) is not list or not {str}.issuperset(map(type, given)):
            return f"{key!r} is no list of texts" if key in found else f"it has no {key!r}"
    return ""
