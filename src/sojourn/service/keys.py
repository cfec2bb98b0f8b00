"""API keys: a file of hashes, each with its experiments and when it expires.

A key is `sj_<id>_<secret>` with a secret of 256 random bits, shown once. The file has the SHA-256
of the whole key; a slow hash would add nothing to 256 bits.
"""

import hashlib
import hmac
import json
import logging
import os
import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ALL = "*"
PREFIX = "sj"
COOKIE = "sojourn_key"  # the cookie of the dashboard; it is good for reading only
LOOK_AGAIN = 1.0  # seconds between two looks at whether the file has changed
DAY = 86_400.0
NOBODY = "0" * 64

log = logging.getLogger("sojourn.service")


@dataclass(frozen=True)
class Key:
    """What is known of a key: not the key itself.

    >>> key = Key("k1", NOBODY, ("shorts",), made=0.0)
    >>> key.allows("shorts"), key.allows("news"), key.allows_all
    (True, False, False)
    """

    id: str
    hash: str
    experiments: tuple[str, ...]
    made: float
    expires: float | None = None

    @property
    def allows_all(self) -> bool:
        """Whether it is for all experiments, those to come included."""
        return ALL in self.experiments

    def allows(self, experiment: str) -> bool:
        return self.allows_all or experiment in self.experiments

    def valid(self, now: float) -> bool:
        return self.expires is None or now < self.expires


class Keyring:
    """The keys of a file, read again when it changes, so that nothing has to be restarted."""

    def __init__(self, path: Path) -> None:
        self.path, self._due = path, 0.0
        self._keys, self._seen = read(path), _stamp(path)

    def find(self, token: str) -> Key | None:
        """The key that this text is, if it is one and still valid."""
        if time.monotonic() >= self._due:
            self._look_again()
        words = token.split("_", 2)
        key = self._keys.get(words[1]) if len(words) == 3 else None
        expected = NOBODY if key is None else key.hash
        same = hmac.compare_digest(digest(token), expected)
        return key if same and key is not None and key.valid(time.time()) else None

    def _look_again(self) -> None:
        self._due = time.monotonic() + LOOK_AGAIN
        try:
            stamp = _stamp(self.path)
            if stamp != self._seen:
                self._keys, self._seen = read(self.path), stamp
                log.info("keys read again", extra={"keys": len(self._keys)})
        except (OSError, ValueError) as error:
            log.error("keys stay as they were: %s", error)


def digest(token: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def read(path: Path) -> dict[str, Key]:
    """The keys of a file by their ids."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        keys = [_key(entry) for entry in data["keys"]]
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"{path} is not a file of keys: make one with sojourn keys new {path}"
        ) from None
    return {key.id: key for key in keys}


def _key(entry: Mapping[str, Any]) -> Key:
    key = Key(**{**entry, "experiments": tuple(entry["experiments"])})
    if not (isinstance(key.id, str) and isinstance(key.hash, str) and len(key.hash) == 64):
        raise ValueError("not a key")
    return key


def make(
    path: Path, experiments: Sequence[str], expires_in_days: float | None = None
) -> tuple[Key, str]:
    """A new key in the file, which is made if need be; and its text, which is kept nowhere."""
    keys = read(path) if path.exists() else {}
    now = time.time()
    while (id := secrets.token_hex(4)) in keys:
        pass
    token = f"{PREFIX}_{id}_{secrets.token_urlsafe(32)}"
    expires = None if expires_in_days is None else now + DAY * expires_in_days
    key = Key(id, digest(token), tuple(experiments), round(now, 3), expires)
    _write(path, [*keys.values(), key])
    return key, token


def revoke(path: Path, id: str) -> None:
    """Take a key out of the file."""
    keys = read(path)
    if id not in keys:
        raise ValueError(f"there is no key {id!r} in {path}")
    _write(path, [key for key in keys.values() if key.id != id])


def _write(path: Path, keys: Sequence[Key]) -> None:
    """Atomically, and readable by the owner only (a temporary file has mode 0600)."""
    text = json.dumps({"keys": [asdict(key) for key in keys]}, indent=2) + "\n"
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise ValueError(f"{path} cannot be written ({error.strerror})") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def bearer(authorization: str) -> str:
    """The key in a header `Authorization: Bearer ...`, or nothing.

    >>> bearer("Bearer sj_1_x"), bearer("Basic dTpw")
    ('sj_1_x', '')
    """
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def from_cookie(header: str) -> str:
    """The key in a header `Cookie: ...`, or nothing.

    >>> from_cookie("theme=dark; sojourn_key=sj_1_x")
    'sj_1_x'
    """
    for pair in header.split(";"):
        name, _, value = pair.strip().partition("=")
        if name == COOKIE:
            return value
    return ""
