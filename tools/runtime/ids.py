"""Identities: content hashes over canonical JSON, and run ids that sort by time."""

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford base 32, lower case


def canonical_json(value: Any) -> str:
    """`value` as JSON with sorted keys, no spaces, UTF-8 kept; raises ValueError on NaN or infinity."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_hash(value: Any) -> str:
    """SHA-256 (64 hexadecimal digits) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def bytes_hash(data: bytes) -> str:
    """SHA-256 (64 hexadecimal digits) of `data`."""
    return hashlib.sha256(data).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 (64 hexadecimal digits) of a file's bytes, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def new_run_id() -> str:
    """A run id: `r`, nine digits of milliseconds since 1970 and six random ones; later ids sort later."""
    number, digits = int(time.time() * 1000), ""
    for _ in range(9):
        number, rest = divmod(number, 32)
        digits = _ALPHABET[rest] + digits
    return "r" + digits + "".join(_ALPHABET[b & 31] for b in os.urandom(6))
