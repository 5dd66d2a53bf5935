"""Files read within bounds and written so that nothing is half written; JSON read strictly and written for readers.

JSON from anywhere is read more strictly than the standard library does. Free values, as provenance and statistics of a
model file hold them, are read as what they are, or as None; where the rest of the house reads one, it is checked, since
nothing else vouches for it.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

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


# JSON ----------------------------------------------------------------------------------------------------------------

# Characters that a reader cannot see, that break lines or turn their direction, and halves of surrogate pairs.
_INVISIBLE = re.compile("[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def parse_json(text: str) -> Any:
    """The content of a JSON text; raises FormatError where it is none, or a key stands twice, or a number is none."""
    try:
        return _STRICT.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"this is no JSON: {error.msg} ({place})") from None
    except RecursionError:
        raise FormatError("the JSON is nested too deeply") from None
    except FormatError:
        raise
    except ValueError:
        raise FormatError("an integer has too many digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    items = dict(pairs)
    if len(items) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FormatError(f"the key {twice[:40]!r} stands twice in one object")
    return items


def _no_constant(token: str) -> NoReturn:
    raise FormatError(f"{token} is not a JSON number")


_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def dump(value: Any) -> str:
    """One JSON value on one line, with every character that a reader cannot see escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if _SPLIT_PAIR.search(text):
        raise FormatError(f"{text[:60]} holds two halves of a character, which no Unicode text can hold")
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def number(value: object) -> float | None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def share(value: object) -> float | None:
    """A number from 0 to 1."""
    found = number(value)
    return found if found is not None and 0.0 <= found <= 1.0 else None


def count(value: object) -> int | None:
    """A whole number from 0 on."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def numbers(values: object) -> list[float] | None:
    """Finite numbers."""
    found = [number(value) for value in values] if isinstance(values, list | tuple) else [None]
    return None if None in found else found  # type: ignore[return-value]


def shares(values: object) -> list[float] | None:
    """One or more numbers from 0 to 1."""
    found = [share(value) for value in values] if isinstance(values, list | tuple) and values else [None]
    return None if None in found else found  # type: ignore[return-value]


def mapping(value: object) -> Mapping[str, Any]:
    """An object; an empty one where it is none."""
    return value if isinstance(value, Mapping) else {}


def entries(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


_RATES = ("coverage", "precision", "true_positive", "error", "cumulative_true_positive", "cumulative_error")


_HOLDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "a number": lambda value: number(value) is not None,
    "a whole number": lambda value: count(value) is not None,
    "a whole number, or a list of them": lambda value: (
        None not in map(count, value if isinstance(value, list | tuple) else [value])
    ),
    "a share from 0 to 1": lambda value: share(value) is not None,
    "a list": lambda value: isinstance(value, list | tuple),
    "an object": lambda value: isinstance(value, Mapping),
    "a list of objects": lambda value: isinstance(value, list | tuple) and len(entries(value)) == len(value),
}
"""By the words for what a value is read as, whether it is that."""


def check_notes(provenance: Mapping[str, Any], statistics: Mapping[str, Any]) -> None:
    """Raises FormatError, with the place, for a value that is not what it is read as."""
    for key, words in (
        ("threshold", "a number"),
        ("stopped", "text"),
        ("units", "a whole number, or a list of them"),
        ("parameters", "an object"),
        ("row_hashes", "an object"),
        ("edits", "a list of objects"),
    ):
        _check(provenance.get(key), f"provenance, {key}", words)
    for title, block in {"": statistics, **statistics}.items():
        rules = block.get("rules") if isinstance(block, Mapping) else None
        where = f"statistics{', ' * bool(title)}{title}, rules"
        _check(rules, where, "a list")
        for k, entry in enumerate(rules or (), start=1):
            place = f"{where}, entry {k}"
            _check(entry, place, "an object", optional=False)
            _check(entry.get("id"), f"{place}, id", "text")
            _check(entry.get("n"), f"{place}, n", "a whole number")
            for key in _RATES:
                _check(entry.get(key), f"{place}, {key}", "a share from 0 to 1")


def read_rate(value: object) -> float:
    """A share from 0 to 1; raises FormatError for anything else."""
    _check(value, "a rate", "a share from 0 to 1", optional=False)
    return float(value)  # type: ignore[arg-type]


def without_known_columns(statistics: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics of a model without the columns that have the same statistics in another model.

    Both may have blocks of further rows (`held_out`), each with columns of its own.
    """

    def differing(own: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: entry for name, entry in own.items() if theirs.get(name) != entry}

    return _with_columns(statistics, known, differing)


def with_known_columns(statistics: Mapping[str, Any], known: Mapping[str, Any], used: Sequence[str]) -> dict[str, Any]:
    """The statistics that `without_known_columns` shortened; used: the columns of the model, in schema order."""

    def completed(own: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
        both = {**theirs, **own}
        return {name: both[name] for name in used if name in both}

    return _with_columns(statistics, known, completed)


def _with_columns(own: Mapping[str, Any], known: Mapping[str, Any], columns: Callable[..., Any]) -> dict[str, Any]:
    result = dict(own)
    for key, value in own.items():
        theirs = known.get(key)
        if isinstance(value, Mapping) and isinstance(theirs, Mapping):
            result[key] = columns(value, theirs) if key == "columns" else _with_columns(value, theirs, columns)
    return result


def _check(value: Any, where: str, words: str, *, optional: bool = True) -> None:
    if not (value is None and optional) and not _HOLDS[words](value):
        raise FormatError(f"this is not {words}", where=where)
