"""Signatures of reports: HMAC-SHA256 (RFC 2104) over canonical JSON, by a key that both sides share in a file."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from typing import Any

from rulekit.errors import FormatError
from rulekit.graph.files.safe_files import read_bounded

SIGNATURE = "signature"
SHORTEST, LONGEST = 16, 1 << 16  # bytes of a key


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a key file; raises FormatError where they are too few, InputError where there is no file."""
    key = read_bounded(path, LONGEST)
    if len(key) < SHORTEST:
        fix = "openssl rand -out FILE 32 makes one"
        raise FormatError(f"a key of {len(key)} bytes, fewer than {SHORTEST}", where=os.fspath(path), fix=fix)
    return key


def signature_of(content: Mapping[str, Any], key: bytes) -> str:
    """The signature of a report's JSON values: keys sorted, no blanks, everything but ASCII escaped."""
    unsigned = {name: value for name, value in content.items() if name != SIGNATURE}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def is_signed(content: Mapping[str, Any], key: bytes) -> bool:
    """Whether a report has the signature of this key."""
    return hmac.compare_digest(str(content.get(SIGNATURE, "")).encode(), signature_of(content, key).encode())
