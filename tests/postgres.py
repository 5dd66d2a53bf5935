"""A PostgreSQL server for tests, which is started where its programs are installed."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rulekit_exporters.sql import SERVER


def _programs() -> Path | None:
    """The folder of the server's programs."""
    found = [Path(p).parent for p in (shutil.which("initdb"),) if p]
    found += [path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    return found[-1] if found else None


def postgres() -> Iterator[str]:
    """Why there is no server, "" where the environment variable SERVER names one, which was started or stood before."""
    programs = _programs()
    if os.environ.get(SERVER) or programs is None:
        yield "" if os.environ.get(SERVER) else "PostgreSQL is not installed"
        return
    folder = Path(tempfile.mkdtemp(prefix="rulekit-server-"))
    user: list[str] = []
    if getpass.getuser() == "root":  # which the server refuses to be
        user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    make = [*user, str(programs / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "rulekit", "-E", "UTF8"]
    control = [*user, str(programs / "pg_ctl"), "-D", str(folder / "data"), "-w"]
    try:
        subprocess.run(make, check=True, capture_output=True, cwd=folder)
        start = [*control, "-o", options, "-l", str(folder / "log"), "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    except (subprocess.CalledProcessError, OSError) as error:
        yield f"PostgreSQL could not be started: {error}"
        return
    os.environ[SERVER] = f"host={folder} user=rulekit dbname=postgres"
    yield ""
    del os.environ[SERVER]
    subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True, cwd=folder)
    shutil.rmtree(folder, ignore_errors=True)
