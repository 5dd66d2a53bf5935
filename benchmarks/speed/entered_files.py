"""How many files of the product a command enters: those of which it calls a function, and the modules that it loads.

A short trip is easy to follow. `python -m benchmarks.speed.entered_files` prints a line for each of four commands on
the loans sample; `--list predict` names the files.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOANS = ROOT / "cli" / "rulekit_cli" / "loans.csv"
PRODUCT = ("rulekit", "rulekit_exporters", "rulekit_cli")
COMMANDS = {
    "train": f"train {LOANS} --target default -o model.json",
    "predict": "predict model.json rows.csv -o labels.csv",
    "show": "show model.json",
    "export --to onnx": "export model.json --to onnx -o model.onnx",
}

_PROGRAM = """
import json, sys, threading
entered, importing = set(), 0
def enter(frame, event, argument):
    global importing
    code = frame.f_code
    if code.co_name == "<module>":  # what a module does while it is imported is no step of a command
        importing += (event == "call") - (event == "return")
    elif event == "call" and not importing:
        entered.add(code.co_filename)
from rulekit_cli.entry import main
threading.setprofile(enter)
sys.setprofile(enter)
try:
    main()
finally:
    sys.setprofile(None)
    loaded = [name for name in sys.modules if name.split(".")[0] in %r]
    json.dump({"entered": sorted(entered), "loaded": sorted(loaded)}, open("entered.json", "w"))
"""


def entered(words: str, folder: Path) -> tuple[list[str], list[str]]:
    """The files of the product that a command enters, below the root of the project, and the modules that it loads."""
    program = _PROGRAM % (PRODUCT,)
    subprocess.run([sys.executable, "-c", program, *words.split()], cwd=folder, check=True, capture_output=True)
    found = json.loads((folder / "entered.json").read_text())
    files = (Path(name) for name in found["entered"])
    return sorted(str(path.relative_to(ROOT)) for path in files if _is_product(path)), found["loaded"]


def _is_product(path: Path) -> bool:
    return any(folder in path.parents for folder in (ROOT / "rulekit", ROOT / "exporters", ROOT / "cli"))


def measured(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """By command what it enters and loads; three rows are predicted."""
    (folder / "rows.csv").write_text("\n".join(LOANS.read_text().splitlines()[:4]) + "\n")
    return {name: entered(words, folder) for name, words in COMMANDS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=COMMANDS, help="name the files of one command")
    wanted = parser.parse_args().list
    with tempfile.TemporaryDirectory() as folder:
        for name, (files, modules) in measured(Path(folder)).items():
            print(f"{name:18}{len(files):5} files entered, {len(modules):4} modules loaded")
            if name == wanted:
                print("\n".join(f"    {file}" for file in files))


if __name__ == "__main__":
    main()
