"""Who may call what: bearer tokens with roles. The database holds their SHA-256 alone."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field

from sqlalchemy import delete, insert, select
from starlette.requests import Request

from rulekit.errors import InputError
from rulekit_serve.failures import Refusal
from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import tokens

ROLES = ("score", "audit", "train", "promote")
COOKIE = "rulekit_token"
_FRESH = 1.0
_READS = ("GET", "HEAD")


@dataclass(slots=True)
class Caller:
    """A token: its name, its roles, and how many calls it has left."""

    name: str
    roles: frozenset[str]
    sha256: str
    left: float = 0.0
    seen: float = field(default_factory=time.monotonic)


class Access:
    """Checks the token of each call; a revoked one is refused within a second."""

    def __init__(self, database: Database, rate: float) -> None:
        self._database, self._rate, self._lock = database, rate, threading.Lock()
        self._callers: dict[str, Caller] = {}
        self._read = -_FRESH

    def _known(self) -> dict[str, Caller]:
        now = time.monotonic()
        if now - self._read > _FRESH:
            with self._database.read() as connection:
                chosen = select(tokens.c.name, tokens.c.roles, tokens.c.sha256).where(tokens.c.revoked.is_(None))
                found = connection.execute(chosen).all()
            with self._lock:
                old = self._callers
                self._callers = {
                    sha: old[sha] if sha in old else Caller(name, frozenset(roles.split()), sha, self._rate)
                    for name, roles, sha in found
                }
                self._read = now
        return self._callers

    def caller(self, secret: str) -> Caller | None:
        """Whose token it is."""
        digest = hashlib.sha256(secret.encode()).hexdigest()
        found = self._known().get(digest)
        return found if found is not None and hmac.compare_digest(found.sha256, digest) else None

    def require(self, request: Request, *roles: str) -> Caller:
        """The caller of a request, who has one of the roles; raises Refusal of status 401, 403 or 429."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if not secret and (cookie := request.cookies.get(COOKIE)) is not None:
            if request.method not in _READS and request.headers.get("origin", "") != own_origin(request):
                raise Refusal(403, "the call comes from another site")
            scheme, secret = "bearer", cookie
        found = self.caller(secret.strip()) if scheme.lower() == "bearer" and secret else None
        if found is None:
            fix = "send the header Authorization: Bearer TOKEN"
            raise Refusal(401, "no token, or one that is not known", fix=fix)
        if found.roles.isdisjoint(roles):
            needed = " or ".join(map(repr, roles))
            raise Refusal(403, f"the token {found.name!r} has no role {needed}", fix="ask for a token that has it")
        if self._rate:
            self._count(found)
        return found

    def _count(self, caller: Caller) -> None:
        with self._lock:
            now = time.monotonic()
            caller.left = min(self._rate, caller.left + (now - caller.seen) * self._rate)
            caller.seen = now
            if caller.left < 1.0:
                raise Refusal(429, f"more than {self._rate:g} calls a second", fix="wait a second")
            caller.left -= 1.0


def own_origin(request: Request) -> str:
    """What a browser sends as the origin of a form of this service."""
    return f"{request.url.scheme}://{request.headers.get('host', '')}"


def new_token(database: Database, name: str, roles: tuple[str, ...]) -> str:
    """Make a token; it is shown once, as the database keeps its hash alone. Raises InputError for unknown roles."""
    if strange := [role for role in roles if role not in ROLES]:
        raise InputError(f"no role {strange[0]!r}", where="--roles", fix=f"give some of {', '.join(ROLES)}")
    if not 0 < len(name) <= 64 or not name.isprintable():
        raise InputError(f"{name[:64]!r} is no name of a token", where="--new-token", fix="give 1 to 64 letters")
    secret = secrets.token_urlsafe(32)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    with database.write() as connection:
        connection.execute(delete(tokens).where(tokens.c.name == name))
        values = {"name": name, "sha256": digest, "roles": " ".join(roles), "added": time.time()}
        connection.execute(insert(tokens).values(**values))
    return secret


def count_tokens(database: Database) -> int:
    """How many there are."""
    with database.read() as connection:
        return len(connection.execute(select(tokens.c.name)).all())
