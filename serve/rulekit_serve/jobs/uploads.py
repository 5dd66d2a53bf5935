"""Files that clients send: streamed to the folder of uploads under an id of ours, whole or not at all."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import re
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert, select
from starlette.requests import ClientDisconnect

from rulekit_serve.failures import Refusal, unknown
from rulekit_serve.settings import MEGABYTE, Settings
from rulekit_serve.store.database import Database
from rulekit_serve.store.tables import jobs, uploads

ENDINGS = (".csv", ".csv.gz", ".parquet", ".jsonl", ".jsonl.gz")
_NAME = "x-file-name"
_PART = ".part"
_OLD = 24 * 3600.0
"""Seconds after which half a file is of a server that was killed."""
_ID = re.compile(r"[0-9a-f]{32}(\.csv|\.csv\.gz|\.parquet|\.jsonl|\.jsonl\.gz)")


async def kept(
    name: str, stream: AsyncIterator[bytes], settings: Settings, database: Database, by: str
) -> dict[str, Any]:
    """Keep a file; what is known of it. Raises Refusal, and leaves no file then."""
    name = name.strip()
    ending = _ending(name)
    own = uuid.uuid4().hex + ending
    path = settings.uploads / own
    part = path.with_name(own + _PART)
    try:
        size, sha256 = await asyncio.wait_for(_written(stream, part, settings), settings.job_seconds)
        if size == 0:
            raise Refusal(422, "the file is empty")
        await asyncio.to_thread(os.replace, part, path)
        row = {"id": own, "name": name, "bytes": size, "sha256": sha256, "added": time.time(), "by": by}
        await asyncio.to_thread(database.change, insert(uploads).values(**row))
        return row
    except BaseException as error:
        for each in (part, path):
            with suppress(OSError):
                each.unlink(missing_ok=True)
        if isinstance(error, TimeoutError):
            raise Refusal(408, "the file did not come in time") from None
        if isinstance(error, ClientDisconnect):
            raise Refusal(400, "the file did not come whole") from None
        if isinstance(error, OSError):
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            what = "the disk of the service is full" if full else f"the file cannot be kept: {error.strerror}"
            raise Refusal(507 if full else 503, what, fix="ask who runs the service") from None
        raise


def _ending(name: str) -> str:
    """The ending of a name, which says what is in the file."""
    ending = next((each for each in reversed(ENDINGS) if name.lower().endswith(each)), "")
    if not ending or len(name) > 200 or not name.isprintable():
        fix = f"give the file ({_NAME}) a name of 1 to 200 letters that ends with {', '.join(ENDINGS)}"
        raise Refusal(422, "the name does not say what the file is", _NAME, fix)
    return ending


async def _written(stream: AsyncIterator[bytes], part: Path, settings: Settings) -> tuple[int, str]:
    """Write a file; how long it is, and its SHA-256."""
    known, waiting = hashlib.sha256(), bytearray()

    def write() -> None:
        known.update(waiting)
        file.write(waiting)
        file.flush()
        waiting.clear()

    with await asyncio.to_thread(part.open, "xb") as file:
        while chunk := await asyncio.wait_for(anext(stream, b""), settings.seconds):
            waiting += chunk
            if len(waiting) >= MEGABYTE:
                await asyncio.to_thread(write)
        await asyncio.to_thread(write)
        await asyncio.to_thread(os.fsync, file.fileno())
        return file.tell(), known.hexdigest()


def listed(database: Database, most: int) -> list[dict[str, Any]]:
    """The latest uploads."""
    return database.rows(select(uploads).order_by(uploads.c.added.desc()).limit(most))


def one(database: Database, upload: str) -> dict[str, Any]:
    """What is known of an upload; raises Refusal where there is none of this id."""
    found = database.first(select(uploads).where(uploads.c.id == upload)) if _ID.fullmatch(upload) else None
    if found is None:
        raise Refusal(422, "there is no upload of this id", "upload", "send the file to /uploads first")
    return found


def remove(database: Database, settings: Settings, upload: str) -> None:
    """Remove a file; raises Refusal where there is none of this id, or a job that has not ended reads it."""
    reads = select(jobs.c.id).where(jobs.c.ended.is_(None), jobs.c.request.contains(upload, autoescape=True))
    if _ID.fullmatch(upload) and database.first(reads) is not None:
        raise Refusal(409, "a job that has not ended reads this file", fix="cancel the job, or wait for it")
    if not _ID.fullmatch(upload) or not database.change(delete(uploads).where(uploads.c.id == upload)):
        raise unknown("there is no upload of this id")
    (settings.uploads / upload).unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what servers that were killed left half written."""
    for part in folder.glob(f"*{_PART}"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _OLD:
                part.unlink()
