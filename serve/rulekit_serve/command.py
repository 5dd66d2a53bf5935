"""What `rulekit serve` does: prepare the database, make tokens, and listen."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import uvicorn

from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit_serve.access import ROLES, count_tokens, new_token
from rulekit_serve.failures import Refusal
from rulekit_serve.jobs import table
from rulekit_serve.jobs.gates import Promotion
from rulekit_serve.registry import CHAMPION, VERSION, Registry, checked_name
from rulekit_serve.settings import Settings
from rulekit_serve.store.database import Database

FIRST = "first"
"""The name of the token that a new database gets."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the service listens. certificate, key: of TLS. behind_proxy: a proxy ends TLS. processes: how many."""

    host: str = "127.0.0.1"
    port: int = 8080
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    processes: int = 1

    @property
    def url(self) -> str:
        """What a browser opens."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.certificate else ''}://{host}:{self.port}"


def migrate(settings: Settings) -> None:
    """Bring the database to the version of this rulekit."""
    _database(settings).migrate()


def make_token(settings: Settings, name: str, roles: tuple[str, ...]) -> str:
    """A new token for a database; it is shown once."""
    return new_token(_database(settings, ready=True), name, roles or ROLES)


def first_token(settings: Settings) -> str | None:
    """Prepare the database; the token of a new one, which the folder keeps in the file `token`."""
    database = _database(settings, ready=True)
    if count_tokens(database):
        return None
    secret = new_token(database, FIRST, ROLES)
    file = settings.folder / "token"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as written:
        written.write(f"{secret}\n")
    return secret


def offer(settings: Settings, files: Sequence[Path]) -> list[str]:
    """Add models under the names of their files; one without a champion becomes it, once its gates hold.

    What each is called. Raises InputError and FormatError for a file that holds no model.
    """
    graphs = {}
    for file in files:
        try:
            checked_name(file.stem)
        except Refusal as refusal:
            raise InputError(refusal.what, where=str(file), fix=refusal.fix) from None
        graphs[file.stem] = load(file)
    database = _database(settings, ready=True)
    registry, found = Registry(database), list[str]()
    for name, graph in graphs.items():
        digest = registry.add(name, graph, FIRST, "given at the start")
        if CHAMPION not in registry.aliases_of(name):
            asked = Promotion(name, digest, "", "given at the start", "", "", False)
            table.add(database, "promote", asdict(asked), FIRST)
        found.append(f"{name}, version {digest[:VERSION]}")
    registry.close()
    return found


def _database(settings: Settings, ready: bool = False) -> Database:
    settings.folder.mkdir(parents=True, exist_ok=True)
    database = Database(settings.url)
    if ready:
        database.ensure()
    return database


def check(where: Listening) -> None:
    """Raises InputError for an address to which tokens would go in the clear, and for half of what TLS needs."""
    try:
        local = ipaddress.ip_address(where.host).is_loopback
    except ValueError:
        local = where.host == "localhost"
    if not local and where.certificate is None and not where.behind_proxy:
        fix = "give --certificate and --key, or --behind-proxy where a proxy ends TLS"
        raise InputError("tokens would go over the network in the clear", where="--host", fix=fix)
    if (where.certificate is None) != (where.key is None):
        raise InputError("TLS needs a certificate and its key", where="--certificate", fix="give --key too")


def listen(settings: Settings, where: Listening) -> None:
    """Serve until the process is told to end."""
    settings.export()
    uvicorn.run(
        "rulekit_serve.app:of_environment",
        factory=True,
        host=where.host,
        port=where.port,
        workers=where.processes,
        ssl_certfile=where.certificate,
        ssl_keyfile=where.key,
        proxy_headers=where.behind_proxy,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        h11_max_incomplete_event_size=1 << 16,
    )
