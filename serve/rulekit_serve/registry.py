"""The models that are served: by name and version, or by an alias that a promotion moves."""

from __future__ import annotations

import json
import re
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert, select

from rulekit.graph.files.model_files import from_json, load
from rulekit.graph.files.writing import to_json
from rulekit.graph.rule_graph import RuleGraph
from rulekit.work.deciding import Decider
from rulekit_serve.failures import Refusal, refused, unavailable, unknown
from rulekit_serve.store import history
from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import aliases, events, models
from rulekit_serve.words import Words

CHAMPION, CANDIDATE, SHADOW = "champion", "candidate", "shadow"
REASONS = "reasons"
"""The kind of the event that sets a catalogue of reasons."""
ALIASES = (CHAMPION, CANDIDATE, SHADOW)
VERSION = 12
"""Digits of the digest that name a version."""
_FRESH, _STALE = 0.4, 1.0
"""Seconds after which the aliases are read anew, and after which nothing is decided by them."""
_LOADED = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_ENDINGS = (".json", ".rules", ".onnx")


class Registry:
    """The models of a database; a thread keeps its aliases fresh, so that a promotion is seen within a second."""

    def __init__(self, database: Database) -> None:
        self._database, self._lock = database, threading.Lock()
        self._aliases: dict[tuple[str, str], str] = {}
        self._versions: dict[str, list[dict[str, Any]]] = {}
        self._reasons: dict[str, str] = {}
        self.words: Callable[[str, str], Words] = lru_cache(_LOADED)(self._words)
        """By name and digest a model in memory with its texts; of many those that were asked for last are kept."""
        self._read, self._ended = 0.0, threading.Event()
        threading.Thread(target=self._run, name="aliases", daemon=True).start()

    def close(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(_FRESH):
            with suppress(Refusal):  # the age of what is known says so to those who ask
                known = self._aliases.values()
                found = self._database.rows(select(aliases.c.name, aliases.c.digest))
                for new in [each for each in found if each["digest"] not in known][:_LOADED]:
                    with suppress(Exception):  # who asks for it is told
                        self.words(new["name"], new["digest"])  # so that a promotion holds up no call
                self.refresh()

    def refresh(self) -> None:
        """Read which versions there are, and which one each alias means."""
        chosen = select(models.c.name, models.c.digest, models.c.added, models.c.by).order_by(models.c.added.desc())
        told = select(events.c.model, events.c.body).where(events.c.kind == REASONS).order_by(events.c.number)
        with self._lock, self._database.read() as connection:  # what is read later is kept later
            begun, versions = time.monotonic(), dict[str, list[dict[str, Any]]]()
            for name, digest, added, by in connection.execute(chosen):
                own = {"version": digest[:VERSION], "digest": digest, "added": added, "by": by}
                versions.setdefault(name, []).append(own)
            named = connection.execute(select(aliases.c.name, aliases.c.alias, aliases.c.digest))
            self._aliases = {(name, alias): digest for name, alias, digest in named}
            self._reasons = {name: json.loads(body)["catalogue"] for name, body in connection.execute(told)}
            self._versions, self._read = versions, begun

    def _fresh(self) -> None:
        if time.monotonic() - self._read > _STALE:
            self.refresh()

    @property
    def names(self) -> tuple[str, ...]:
        """The models in alphabetical order."""
        self._fresh()
        return tuple(sorted(self._versions))

    def versions(self, name: str) -> tuple[str, ...]:
        """The digests of a model, the oldest first; raises Refusal for one that there is not."""
        return tuple(each["digest"] for each in reversed(self.summary(name)["versions"]))

    def summary(self, name: str) -> dict[str, Any]:
        """The aliases and versions of a model, the latest first; raises Refusal for one that there is not."""
        self._fresh()
        if name not in self._versions:
            raise unknown(f"there is no model {name[:64]!r}")
        named = {alias: digest[:VERSION] for alias, digest in self.aliases_of(name).items()}
        return {"name": name, "aliases": named, "versions": self._versions[name]}

    def aliases_of(self, name: str) -> Mapping[str, str]:
        """The digest of each alias that is set."""
        self._fresh()
        return {alias: digest for (of, alias), digest in self._aliases.items() if of == name}

    def shadow(self, name: str) -> str | None:
        """The digest of the model that decides beside the champion."""
        return self._aliases.get((name, SHADOW))

    def catalogue(self, name: str) -> str | None:
        """The catalogue of reasons for adverse decisions of a model, where one is set."""
        return self._reasons.get(name)

    def digest(self, name: str, version: str = CHAMPION) -> str:
        """The digest that an alias or the first digits of a version mean."""
        self._fresh()
        if (found := self._aliases.get((name, version))) is not None:
            return found
        for digest in self.versions(name):
            if len(version) >= VERSION and digest.startswith(version):
                return digest
        said = f"no version of {name!r} is {version}" if version in ALIASES else ""
        raise unknown(said or f"{name!r} has no version {version[:64]!r}")

    def decider(self, name: str, digest: str) -> Decider:
        """The model in memory."""
        return self.words(name, digest).decider

    def _words(self, name: str, digest: str) -> Words:
        found = Words(Decider.of(from_json(self.content(name, digest).decode())))
        if found.decider.digest != digest:
            raise unavailable(f"version {digest[:VERSION]} of {name!r} is not what was stored")
        return found

    def content(self, name: str, digest: str) -> bytes:
        """The model file."""
        chosen = select(models.c.content).where(models.c.name == name, models.c.digest == digest)
        if (found := self._database.first(chosen)) is None:
            raise unknown(f"{name!r} has no version {digest[:VERSION]}")
        return bytes(found["content"])

    def add(self, name: str, graph: RuleGraph, by: str, how: str, **said: Any) -> str:
        """Keep a model; the digest. The same one twice is one version. said: what the history keeps beside."""
        checked_name(name)
        digest, now = graph.digest, time.time()
        with self._database.alone() as connection:
            key = (models.c.name == name) & (models.c.digest == digest)
            if connection.execute(select(models.c.digest).where(key)).first() is None:
                content = to_json(graph).encode()
                connection.execute(insert(models).values(name=name, digest=digest, added=now, by=by, content=content))
                body = {"digest": digest, "how": how, **said}
                history.append(connection, name, "added", by, body)
        self.refresh()
        return digest

    def move(self, name: str, alias: str, digest: str, by: str, reason: str, expect: str | None, **said: Any) -> int:
        """Let an alias mean a version, if it still means `expect` ("" for none); the number of the event.

        Raises Refusal of status 409 where somebody was faster. said: what the history keeps beside.
        """
        with self._database.alone() as connection:
            key = (aliases.c.name == name) & (aliases.c.alias == alias)
            now = connection.execute(select(aliases.c.digest).where(key)).scalar() or ""
            expected(name, alias, now, expect)
            body = {"alias": alias, "digest": digest, "before": now, "reason": reason, **said}
            number = history.append(connection, name, "alias", by, body)
            connection.execute(delete(aliases).where(key))
            connection.execute(insert(aliases).values(name=name, alias=alias, digest=digest, event=number))
        self.refresh()
        return number


def expected(name: str, alias: str, now: str, expect: str | None) -> None:
    """Raises Refusal where an alias means another version than a call expects ("" for none, None for any)."""
    if expect is not None and not (now.startswith(expect) if expect else not now):
        what = f"{alias} of {name!r} is {now[:VERSION] or 'not set'}, not {expect[:64] or 'unset'}"
        raise Refusal(409, what, "expect", "look at what changed, and ask again")


def checked_name(name: str, field: str = "name") -> None:
    """Raises Refusal, for a field of a call, where it is no name of a model."""
    if not _NAME.fullmatch(name):
        fix = "1 to 63 letters, digits, and _ . - after the first"
        raise Refusal(422, f"{name[:64]!r} is no name of a model", field, fix)


def read_model(data: bytes, ending: str) -> RuleGraph:
    """The model of a file that came in: a model file, a rule text, or an ONNX file that carries one.

    Raises Refusal where it holds none. A model without the rules of its making is recomputed, as `rulekit import` does.
    """
    if ending not in _ENDINGS:
        raise Refusal(415, "this is no model", fix="send a model file (.json), a rule text (.rules) or ONNX (.onnx)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{ending}"
        path.write_bytes(data)
        with refused():
            return load(path, verify=ending == ".json")
