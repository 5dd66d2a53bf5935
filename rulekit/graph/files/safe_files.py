"""Files read within bounds, and written so that nothing is half written."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rulekit.errors import FormatError, InputError, reason_of

MAX_BYTES = 256 * 2**20

_TEMPORARY = re.compile(r"\.rulekit-[0-9a-f]{16}\.tmp")
_ORPHANED = 3600.0

AnyPath = str | os.PathLike[str]


def read_bounded(path: AnyPath, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file of at most `limit` bytes; raises InputError or, for a larger one, FormatError."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {reason_of(error)}", where=name) from error
    if len(data) > limit:
        raise FormatError(f"the file is larger than {limit // 2**20} MB", where=name)
    return data


def decode(data: bytes) -> str:
    """UTF-8 text, with or without a byte order mark; raises FormatError naming the first bad byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"this is no UTF-8 text (byte {error.start})") from None


def ensure_writable(path: AnyPath) -> None:
    """Find out before long work whether a file can be written there; raises InputError, changes nothing."""
    name = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(name)
    with _naming(os.fspath(path)):
        if os.path.isdir(name):
            raise IsADirectoryError("this is a folder")
        if not os.path.isdir(folder):
            raise FileNotFoundError("its folder does not exist")
        if not os.access(name if os.path.exists(name) else folder, os.W_OK):
            raise PermissionError("no permission to write")


def write_atomically(path: AnyPath, data: bytes | Iterable[bytes]) -> None:
    """Write one file by way of a temporary one that is renamed; raises InputError and then leaves the old file.

    data: the bytes, or their parts, of which only one at a time is in memory.
    """
    write_all({os.fspath(path): data})


def write_all(files: Mapping[str, bytes | Iterable[bytes]]) -> None:
    """Write several files, all or none; raises InputError and then leaves the old files.

    All are written under temporary names in their folders and renamed last. Should one renaming of several fail, the
    files renamed before are put back.
    """
    staged: dict[str, str] = {}
    kept: dict[str, str | None] = {}
    try:
        for name, data in files.items():
            with _naming(name):
                _stage(name, data, staged)
        for path, temporary in staged.items():
            with _naming(path):
                if len(staged) > 1:
                    _keep(path, kept)
                os.replace(temporary, path)
    except BaseException:
        _put_back(kept, {path for path, temporary in staged.items() if not os.path.exists(temporary)})
        raise
    finally:
        for leftover in (*staged.values(), *kept.values()):
            if leftover is not None:
                with contextlib.suppress(OSError):
                    os.unlink(leftover)
    for folder in {os.path.dirname(path) for path in staged}:
        _sync_folder(folder)


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be written: {reason_of(error)}", where=path) from error


def _stage(name: str, data: bytes | Iterable[bytes], staged: dict[str, str]) -> None:
    """Write `data` beside the file that `name` (or the link of that name) means; devices and pipes get it at once."""
    parts = (data,) if isinstance(data, bytes) else data
    path = os.path.realpath(name)
    mode = os.stat(path).st_mode if os.path.lexists(path) else None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as device:
            device.writelines(parts)
        return
    if mode is not None and not os.access(path, os.W_OK):
        raise PermissionError("the file is read-only")
    _remove_orphans(os.path.dirname(path))
    staged[path] = _temporary(path)
    with open(
        os.open(staged[path], os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666), "wb"
    ) as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(staged[path], stat.S_IMODE(mode))


def _temporary(path: str) -> str:
    return str(Path(path).with_name(f".rulekit-{secrets.token_hex(8)}.tmp"))


def _remove_orphans(folder: str) -> None:
    """Remove the temporary files of processes that were killed: those that nobody has written to for an hour."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    if entry.is_file(follow_symlinks=False) and time.time() - entry.stat().st_mtime > _ORPHANED:
                        os.unlink(entry.path)


def _keep(path: str, kept: dict[str, str | None]) -> None:
    """Hold on to the old file under another name until all files are renamed."""
    kept[path] = None
    if os.path.exists(path):
        second = _temporary(path)
        kept[path] = second
        try:
            os.link(path, second)
        except OSError:
            shutil.copy2(path, second)


def _put_back(kept: Mapping[str, str | None], replaced: set[str]) -> None:
    for path in replaced & set(kept):
        old = kept[path]
        with contextlib.suppress(OSError):
            if old is None:
                os.unlink(path)
            else:
                os.replace(old, path)


def _sync_folder(folder: str) -> None:
    """Make the renaming itself durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
