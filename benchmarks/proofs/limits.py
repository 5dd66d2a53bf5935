"""Does every command end in time, on a model of 5,000 rules and on tables that are large in one way?

    python -m benchmarks.proofs.limits [--small] [--only NAME ...] [--limit 20]

Each command of `rulekit --help` runs on a model of random rules over 20 numbers and a category of 50 levels, or on
1,000 rows for it, with `--time-limit` where it has one. Then `train --time-limit` runs on tables of 20 x 100,000 cells,
60 cells of 1 MB, a column of 1,000,000 levels and 26 classes, by every learner. A line each: seconds, those of the
processor, exit status, peak memory, and the last lines of what was said; let nothing else run beside it. Exits with 1
where something took longer than the limit and `BESIDE` seconds for reading and writing, or ended in a traceback.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

BESIDE = 10.0
PATIENCE = 180.0  # seconds after which a command is ended
_RULEKIT = (sys.executable, "-c", "from rulekit_cli.entry import main; main()")
_ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
LEARNERS = (
    "rules",
    "additive",
    "cnll",
    "cnll-paper",
    "adaboost",
    "adaboost-paper",
    "boosted",
    "noisy-or",
    "ltu-tree",
    "ltu-tree-paper",
    "madaline",
    "mada-winnow",
    "gramression",
    "mcmc",
    "noisy-or-paper",
    "noisy-or-gated",
    "noisy-count",
)

COMMANDS = {
    "import": "import model.rules -o {out}.json",
    "show": "show model.json",
    "describe": "describe rows.csv",
    "predict": "predict model.json rows.csv -o {out}.csv",
    "evaluate": "evaluate model.json rows.csv",
    "export onnx": "export model.json --to onnx -o model.onnx",
    "export python": "export model.json --to python -o model.py",
    "export sql": "export model.json --to sql -o model.sql",
    "export text": "export model.json --to text -o model.txt",
    "verify onnx": "verify model.json model.onnx {limit}",
    "verify python": "verify model.json model.py {limit}",
    "verify sql": "verify model.json model.sql {limit}",
    "verify text": "verify model.json model.txt {limit}",
    "check": "check model.json {limit}",
    "compare": "compare model.json edited.json {limit}",
    "compare equal": "compare model.json model.json {limit}",
    "explain": "explain model.json rows.csv --row 3 {limit}",
    "explain all": "explain model.json rows.csv --json {limit}",
    "reasons": "reasons model.json -o {out}.toml {limit}",
    "report": "report model.json rows.csv -o {out}.html {limit}",
    "bounds": "bounds model.json rows.csv",
    "sample": "sample model.json rows.csv -o {out}.json --take 1 {limit}",
    "threshold": "threshold noisy.json rows.csv --f1 -o {out}.json",
    "refit": "refit noisy.json rows.csv -o {out}.json {limit}",
    "override": "override model.json 'x1 > 99 -> no' --author A --date 2026-01-01 --reason r -o {out}.json",
    "import edited": "import edited.rules --base model.json --data rows.csv -o measured.json",
    "monitor": "monitor measured.json rows.csv",
    "simplify": "simplify model.json -o {out}.json",
    "train": "train rows.csv --target y --learner adaboost --param n_estimators=5000 -o trained.json {limit}",
    "train start": "train rows.csv --target y --learner cnll --start model.rules --freeze all -o {out}.json {limit}",
    "try": "try rows.csv --target y {limit}",
    "resize": "resize trained.json --rules 9999 -o {out}.json",
    "stability": "stability trained.json rows.csv {limit}",
    "replay": "replay log.jsonl --model edited.json",
    "serve": "serve --folder {out} --new-token one",  # which ends at once
    "demo": "demo --folder {out}",
}
"""By name what runs on the model, in the order in which files are made. {limit}: the option; {out}: a new file.

resize and stability ask for a model that was trained, so they take one of boosted stumps.
"""


COLUMNS = tuple(f"x{i}" for i in range(20))
LEVELS = tuple(f"l{i}" for i in range(50))


def rules(n_rules: int, seed: int = 0) -> list[str]:
    """Random conjunctions of two to four numbers and often some levels, in the rule language."""
    draw = random.Random(seed)
    made = []
    for _ in range(n_rules):
        numbers = draw.sample(COLUMNS, draw.randint(2, 4))
        parts = [f"{name} {draw.choice(('>', '<='))} {round(draw.uniform(0, 100), 1)}" for name in numbers]
        if draw.random() < 0.5:
            parts.append(f"k in {{{', '.join(draw.sample(LEVELS, draw.randint(1, 5)))}}}")
        made.append(" and ".join(parts))
    return made


def model_text(conditions: Sequence[str], noisy: bool = False) -> str:
    """A model that decides yes where one of the rules holds; noisy: it reports a noisy-or of them."""
    head = ["rulekit rules 1", *(f"column {name}: numeric" for name in COLUMNS)]
    head += [f"column k: categorical {{{', '.join(LEVELS)}}}", "label y: {no, yes}", "default no"]
    lines = ["decide yes when any of (", *(f"  {rule}," for rule in conditions), ")"]
    if noisy:
        lines += ["report yes with sided(probability of any of ("]
        for number, rule in enumerate(conditions):
            lines += [f"  H{number} fires with probability {0.1 + number % 80 / 100:.2f} (else 0.001) when {rule},"]
        lines += ["), at least 0.501 when decided, else at most 0.499)"]
    return "\n".join([*head, *lines, ""])


def rows(n_rows: int, seed: int = 1) -> str:
    """Random rows for such a model, as CSV."""
    draw = random.Random(seed)
    lines = [",".join([*COLUMNS, "k", "y"])]
    for _ in range(n_rows):
        numbers = (str(round(draw.uniform(0, 100), 1)) for _ in COLUMNS)
        lines.append(",".join([*numbers, draw.choice(LEVELS), draw.choice(("no", "yes"))]))
    return "\n".join([*lines, ""])


def log(table: str) -> str:
    """The rows of a table as recorded decisions, a line each."""
    head, *lines = (line.split(",")[:-1] for line in table.splitlines())
    known = {"time": "2026-01-01", "model": "m", "digest": "0" * 64, "masked": [], "label": "no", "rules": []}
    found = []
    for number, cells in enumerate(lines):
        row = {name: cell if name == "k" else float(cell) for name, cell in zip(head, cells, strict=True)}
        found.append(json.dumps({"id": str(number), "row": row, "probabilities": [0.5, 0.5], **known}))
    return "\n".join([*found, ""])


def wide(columns: int) -> str:
    """20 rows of so many columns."""
    draw = random.Random(2)
    head = ",".join(["y", *(f"c{i}" for i in range(columns))])
    return "\n".join(
        [head, *(",".join(["ab"[r % 2], *(str(draw.randrange(99)) for _ in range(columns))]) for r in range(20)), ""]
    )


def large_cells(size: int) -> str:
    """60 cells of so many letters."""
    draw = random.Random(3)
    words = [" ".join("".join(draw.choices("abcdefgh", k=7)) for _ in range(size // 8)) for _ in range(60)]
    return "\n".join(["y,t,v", *(f"{'ab'[r % 2]},{text},{r % 7}" for r, text in enumerate(words)), ""])


def many_levels(levels: int) -> str:
    """A category of which every row has another level, beside a number."""
    return "\n".join(["y,k,v", *(f"{'ab'[r % 3 == 0]},level {r},{r % 11}" for r in range(levels)), ""])


def many_classes(n_rows: int) -> str:
    """26 classes that hang on sixteen small numbers."""
    draw = random.Random(4)
    lines = [",".join(["y", *(f"v{i}" for i in range(16))])]
    for _ in range(n_rows):
        values = [draw.randrange(16) for _ in range(16)]
        lines.append(",".join([chr(97 + (values[0] + values[1] // 4 + values[2] // 8) % 26), *map(str, values)]))
    return "\n".join([*lines, ""])


LARGE: dict[str, tuple[Callable[[int], str], int, int]] = {
    "wide": (wide, 100_000, 2_000),
    "large cells": (large_cells, 1_000_000, 20_000),
    "levels": (many_levels, 1_000_000, 20_000),
    "classes": (many_classes, 14_000, 1_000),
}
"""By name what makes a table, its size, and that of the smaller run."""


def run(name: str, arguments: str, folder: Path, most: float) -> bool:
    """Run a command of rulekit, print a line about it, and say whether it ended within `most` seconds."""
    command = [*_RULEKIT, *shlex.split(arguments)]
    began = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, cwd=folder, env=_ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=said)
        timer = threading.Timer(most + PATIENCE, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        seconds, code = time.monotonic() - began, os.waitstatus_to_exitcode(status)
        cpu = usage.ru_utime + usage.ru_stime
        said.seek(0)
        text = said.read().decode(errors="replace").strip()
    ended = seconds <= most and code in (0, 1, 2) and "internal error" not in text and "Traceback" not in text
    last = ("" if ended else "NOT MET  ") + " ".join(text.splitlines()[-2:])[:150]
    print(
        f"{name:28} {seconds:6.1f} s  {cpu:6.1f} s of CPU  status {code:3}  {usage.ru_maxrss // 1024:5} MB  {last}",
        flush=True,
    )
    return ended


def main() -> None:
    """Run all, or what is named; exit with 1 where something did not end in time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="500 rules, and smaller tables")
    parser.add_argument("--rules", type=int, help="how many rules, 5,000 by default")
    parser.add_argument("--limit", type=float, default=20.0, help="the time limit of each command")
    parser.add_argument("--only", nargs="*", default=(), help="commands, tables and learners")
    given = parser.parse_args()
    limit, small = f"--time-limit {given.limit:g}", given.small
    met = []

    def asked(*names: str) -> bool:
        return not given.only or any(name in given.only for name in names)

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        made = rules(given.rules or (500 if small else 5_000))
        texts = {"model": model_text(made), "noisy": model_text(made, noisy=True), "edited": model_text(made[1:])}
        for name, text in texts.items():
            (folder / f"{name}.rules").write_text(text)
        (folder / "rows.csv").write_text(rows(1_000))
        (folder / "log.jsonl").write_text(log(rows(1_000)))
        if any(asked(name, name.split()[0]) for name in COMMANDS):
            for name in texts:
                run(f"make {name}", f"import {name}.rules -o {name}.json", folder, PATIENCE)
        for number, (name, arguments) in enumerate(COMMANDS.items()):
            if asked(name, name.split()[0]):
                line = arguments.format(limit=limit, out=f"out{number}")
                met.append(run(name, line, folder, given.limit + BESIDE))
        for name, (make, size, less) in LARGE.items():
            learners = [learner for learner in LEARNERS if asked(name, learner, f"{name}, {learner}")]
            if learners:
                (folder / "table.csv").write_text(make(less if small else size))
            for learner in learners:
                line = f"train table.csv --target y --learner {learner} -o made.json {limit}"
                met.append(run(f"{name}, {learner}", line, folder, given.limit + BESIDE))
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
