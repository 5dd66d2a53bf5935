"""The peers' own environments: made with venv and pip where they are not there, each requirement on its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.learning.peers.definitions import FASTERRISK, OBLIQUE, PEERS

# Where the environment of each name stands in the folder that is given.
PLACES: Mapping[str, str] = {PEERS: ".", FASTERRISK: FASTERRISK, OBLIQUE: OBLIQUE}
DEFAULT = Path(__file__).parents[3] / "build" / "peers"
RECORD = "peers.json"


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder with an interpreter, and per requirement that could not be installed the reason."""

    folder: Path
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@dataclass(frozen=True, slots=True)
class Environments:
    """All that peers are installed in, by the name that a peer gives."""

    of: Mapping[str, Environment]

    @property
    def missing(self) -> dict[str, str]:
        """Per requirement that could not be installed the reason."""
        return {line: why for one in self.of.values() for line, why in one.missing.items()}


def requirements(name: str = PEERS) -> list[str]:
    """The lines that ask for something."""
    text = Path(__file__).with_name(f"requirements_{name}.txt").read_text()
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def environments(folder: Path = DEFAULT, names: Sequence[str] = (PEERS, FASTERRISK)) -> Environments:
    """Environments of peers, made and filled if need be: the peers' own in that folder, the others in it."""
    return Environments({name: environment(folder / PLACES[name], name) for name in names})


def environment(folder: Path, name: str = PEERS) -> Environment:
    """The environment in that folder with the requirements of that name, made and filled if need be.

    What cannot be installed is noted and passed over, so that its peers are listed with the reason. A folder that has
    an interpreter and no record of ours is taken as it is.
    """
    found = Environment(folder.absolute())
    record = found.folder / RECORD
    wanted = requirements(name)
    if found.python.exists() and not record.exists():
        return found
    if record.exists():
        saved = json.loads(record.read_text())
        if saved["requirements"] == wanted and not saved["missing"]:
            return found
    if not found.python.exists():
        print(f"making {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(found.folder)], check=True)
    for line in wanted:
        print(f"  pip install {line}", flush=True)
        command = [str(found.python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", line]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            errors = [text for text in ran.stderr.splitlines() if text.startswith("ERROR")]
            found.missing[line] = (errors or [f"pip ended with {ran.returncode}"])[-1][:200]
    record.write_text(json.dumps({"requirements": wanted, "missing": found.missing}))
    return found
