"""Tensors as bytes behind the JSON of a call: the extension "binary_tensor_data" of the protocol."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from fastapi import Request

from rulekit_serve.bodies import object_of
from rulekit_serve.failures import Refusal

EXTENSION = "binary_tensor_data"
_LENGTH = "inference-header-content-length"
_SIZE = "binary_data_size"
_NUMBERS = {"BOOL": "?", "FP16": "<f2", "FP32": "<f4", "FP64": "<f8", "BF16": "<u2"}
_NUMBERS |= {f"{'U' * (sign == 'u')}INT{8 * size}": f"<{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8)}


def unpacked(request: Request, data: bytes) -> dict[str, Any]:
    """The JSON of a call, with the tensors that follow it as lists; not a number is missing."""
    length = request.headers.get(_LENGTH)
    if length is None:
        return object_of(data)
    if not length.isascii() or not length.isdigit() or int(length) > len(data):
        raise Refusal(400, f"{_LENGTH} is not the length of the JSON", _LENGTH)
    given, at = object_of(data[: int(length)]), int(length)
    for each in given.get("inputs") or ():
        said = each.get("parameters") if isinstance(each, dict) else None
        size = said.get(_SIZE) if isinstance(said, dict) else None
        if size is None:
            continue
        if type(size) is not int or not 0 <= size <= len(data) - at:
            raise Refusal(400, f"{_SIZE} is not the size of the tensor", _SIZE)
        each["data"] = _cells(str(each.get("datatype")), data[at : at + size])
        at += size
    return given


def _cells(kind: str, data: bytes) -> list[Any]:
    try:
        if kind != "BYTES":
            found = np.frombuffer(data, _NUMBERS[kind])
            if kind == "BF16":
                found = (found.astype(np.uint32) << 16).view(np.float32)
            return [None if cell != cell else cell for cell in found.tolist()]
        texts, at = [], 0
        while at < len(data):
            (size,) = struct.unpack_from("<I", data, at)
            texts.append(data[at + 4 : at + 4 + size].decode("utf-8"))
            at += 4 + size
        if at != len(data):
            raise ValueError
        return texts
    except (KeyError, ValueError, struct.error):
        raise Refusal(400, f"the bytes of a tensor are none of its type {kind[:20]}", _SIZE) from None


def packed(kind: str, data: str) -> bytes:
    """The bytes of a tensor; data: its elements as JSON."""
    own = json.loads(data)
    if kind == "BYTES":
        return b"".join(struct.pack("<I", len(text)) + text for text in map(str.encode, own))
    return np.array(own, _NUMBERS[kind]).tobytes()


def as_binary(parameters: Any, key: str, default: bool) -> bool:
    """Whether parameters ask for bytes."""
    return bool(parameters.get(key, default)) if isinstance(parameters, dict) else default
