"""How the service runs: where it keeps its data, and the limits of each call."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

_VARIABLE = "RULEKIT_SERVE"
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """folder: of uploads and, where no database is named, of SQLite. database: a URL of SQLAlchemy, or "".

    masked: columns that are never stored. body, upload: most bytes. rows: most of a call; explained: most of a call of
    explain. seconds: most of a call. jobs: that run side by side; job_memory, job_seconds: the most of one. rate: most
    calls a second by one token, 0 for any number. recorded: decisions are recorded (off in benchmarks alone). secure:
    cookies go over TLS alone. flips: the largest share of rows that a promotion to champion may decide otherwise.
    worse: by how many percentage points its balanced accuracy may be lower.
    """

    folder: Path
    database: str = ""
    masked: tuple[str, ...] = ()
    body: int = 16 * MEGABYTE
    upload: int = 2048 * MEGABYTE
    rows: int = 10_000
    explained: int = 100
    seconds: float = 30.0
    jobs: int = 2
    job_memory: int = 4096 * MEGABYTE
    job_seconds: float = 3600.0
    rate: float = 0.0
    recorded: bool = True
    secure: bool = False
    flips: float = 0.05
    worse: float = 1.0

    @property
    def url(self) -> str:
        """The database."""
        return self.database or f"sqlite:///{self.folder.resolve() / 'rulekit.db'}"

    @property
    def uploads(self) -> Path:
        """The folder of uploaded files, each under its id."""
        return self.folder / "uploads"

    @property
    def work(self) -> Path:
        """The folder of what jobs write while they run, each below its id."""
        return self.folder / "work"

    @property
    def reports(self) -> Path:
        """The folder of reports, each under the id of its job."""
        return self.folder / "reports"

    def exported(self) -> dict[str, str]:
        """What the environment of another process says of the settings."""
        return {_VARIABLE: json.dumps({**asdict(self), "folder": str(self.folder)})}

    def export(self) -> None:
        """Hand the settings to processes that this one starts."""
        os.environ |= self.exported()

    @classmethod
    def of_environment(cls) -> Settings:
        """The settings that a parent process exported."""
        given = json.loads(os.environ[_VARIABLE])
        return cls(**{**given, "folder": Path(given["folder"]), "masked": tuple(given["masked"])})
