"""API keys: a file of hashes, each with its role, its experiments and when it expires.

A key is `sj_<id>_<secret>` with a secret of 256 random bits, shown once. The file has the SHA-256
of the whole key; a slow hash would add nothing to 256 bits.
"""

import hashlib
import hmac
import json
import logging
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ... import validation
from ...live.files import locked, whole
from ...validation import InputError
from . import sessions

Roles = tuple[str, ...]
ROLES: Roles = ("decide", "read", "owner", "operator")
"""For front ends, for readers, for owners of experiments, for operators of the service."""

DECIDE, READ, OWNER, OPERATOR = ROLES
DECIDING: Roles = (DECIDE, OWNER, OPERATOR)
READING: Roles = (READ, OWNER, OPERATOR)
CHANGING: Roles = (OWNER, OPERATOR)
OPERATING: Roles = (OPERATOR,)
"""The roles that may decide, read, change an experiment, and operate the service."""

ALL = "*"
PREFIX = "sj"
SAFE_METHODS = ("GET", "HEAD")
CHECK_AGAIN = 1.0  # seconds between two checks of whether the file has changed
LOCK_PAUSE = 0.01  # seconds between two attempts to change it
DAY = 86_400.0
NOBODY = "0" * 64

log = logging.getLogger("sojourn.service")


@dataclass(frozen=True)
class Key:
    """The record of a key, without the key itself."""

    id: str
    hash: str
    experiments: tuple[str, ...]
    made: float
    role: str
    expires: float | None = None

    def __post_init__(self) -> None:
        validation.one_of("role", self.role, ROLES)
        if self.role == OPERATOR and not self.allows_all:
            raise InputError(
                f"role = {OPERATOR!r} is not allowed for {', '.join(self.experiments)}: "
                f"an operator has all experiments, {ALL!r}"
            )

    @property
    def allows_all(self) -> bool:
        """Whether it is for all experiments, those to come included."""
        return ALL in self.experiments

    def allows(self, experiment: str) -> bool:
        return self.allows_all or experiment in self.experiments

    def refusal(
        self, roles: Roles, experiment: str | None = None, *, whole: str | None = None
    ) -> str | None:
        """Why this key may not do what these roles allow, in one sentence; None: it may.

        A key for the `whole` that an experiment is a variant of will do.
        """
        if experiment is not None and not any(self.allows(n) for n in (experiment, whole) if n):
            return f"the key {self.id} is not for experiment {experiment[:200]!r}"
        if self.role in roles:
            return None
        *others, last = map(repr, roles)
        needed = f"{', '.join(others)} or {last}" if others else last
        return f"the key {self.id} has the role {self.role!r}: this needs the role {needed}"

    def valid(self, now: float) -> bool:
        return self.expires is None or now < self.expires


class Keyring:
    """The keys of a file, read again when it changes, so that nothing has to be restarted."""

    def __init__(self, path: Path) -> None:
        self.path, self._due = path, 0.0
        self._keys, self._seen = read(path), _stamp(path)
        self._signed_out = sessions.SignedOut(sessions.shared_file())

    def find(self, token: str) -> Key | None:
        """The key with this text, if there is one and it is still valid."""
        words = token.split("_", 2)
        key = self._valid(words[1]) if len(words) == 3 else None
        same = hmac.compare_digest(digest(token), NOBODY if key is None else key.hash)
        return key if same else None

    def caller(self, method: str, scheme: str, headers: Mapping[bytes, bytes]) -> Key | None:
        """The valid key of a request: that of its header, or to read only, that of its session."""
        token = bearer(headers.get(b"authorization", b"").decode("latin-1"))
        if not token and method in SAFE_METHODS:
            return self.signed_in(sessions.from_headers(scheme, headers))
        return self.find(token)

    def sign_in(self, key: Key) -> str:
        """A new session for a key, which it never outlives."""
        until = time.time() + sessions.LIFETIME
        return sessions.sign(key.id, key.hash, min(until, key.expires or until))

    def signed_in(self, text: str) -> Key | None:
        """The key of a session, if neither has ended."""
        session = sessions.parse(text)
        key = None if session is None else self._valid(session.key)
        if session is None or key is None or session.expires <= time.time():
            return None
        expected = sessions.sign(session.key, key.hash, session.expires, session.nonce)
        genuine = hmac.compare_digest(text, expected)
        return key if genuine and session.nonce not in self._signed_out else None

    def sign_out(self, text: str) -> None:
        session = sessions.parse(text)
        if session is not None and self.signed_in(text) is not None:
            self._signed_out.add(session)

    def _valid(self, id: str) -> Key | None:
        if time.monotonic() >= self._due:
            self._reread_if_changed()
        key = self._keys.get(id)
        return key if key is not None and key.valid(time.time()) else None

    def _reread_if_changed(self) -> None:
        self._due = time.monotonic() + CHECK_AGAIN
        try:
            stamp = _stamp(self.path)
            if stamp != self._seen:
                self._keys, self._seen = read(self.path), stamp
                log.info("keys read again", extra={"keys": len(self._keys)})
        except (OSError, InputError) as error:
            log.error("keys stay as they were: %s", error)


def digest(token: str) -> str:
    """The record of a key in the file."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def read(path: Path) -> dict[str, Key]:
    """The keys of a file by their ids."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        keys = [_key(entry) for entry in data["keys"]]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(
            f"{path} is not a file of keys: make one with sojourn keys new {path}"
        ) from None
    return {key.id: key for key in keys}


def _key(entry: Mapping[str, Any]) -> Key:
    key = Key(**{**entry, "experiments": tuple(entry["experiments"])})
    if not (isinstance(key.id, str) and isinstance(key.hash, str) and len(key.hash) == 64):
        raise InputError("not a key")
    return key


def make(
    path: Path, experiments: Sequence[str], expires_in_days: float | None = None, role: str = OWNER
) -> tuple[Key, str]:
    """Add a new key to the file, made if needed; returns also its text, which is not stored."""
    with _locked(path):
        keys = read(path) if path.exists() else {}
        now = time.time()
        while (id := secrets.token_hex(4)) in keys:
            pass
        token = f"{PREFIX}_{id}_{secrets.token_urlsafe(32)}"
        expires = None if expires_in_days is None else now + DAY * expires_in_days
        key = Key(id, digest(token), tuple(experiments), round(now, 3), role, expires)
        _write(path, [*keys.values(), key])
    return key, token


def revoke(path: Path, id: str) -> None:
    """Remove a key from the file."""
    with _locked(path):
        keys = read(path)
        if id not in keys:
            raise InputError(f"there is no key {id!r} in {path}")
        _write(path, [key for key in keys.values() if key.id != id])


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Nobody else changes the file meanwhile; the lock is on a file of its own, which stays."""
    try:
        file = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror})") from None
    try:
        while not locked(file):
            time.sleep(LOCK_PAUSE)
        yield
    finally:
        os.close(file)


def _write(path: Path, keys: Sequence[Key]) -> None:
    """Atomically; a new file is readable by its owner only, another stays as readable as it was."""
    text = json.dumps({"keys": [asdict(key) for key in keys]}, indent=2) + "\n"
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")
        if path.exists():
            found = path.stat()
            with suppress(OSError):
                shutil.chown(part, found.st_uid, found.st_gid)
            shutil.copymode(path, part)


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def bearer(authorization: str) -> str:
    """The key in a header `Authorization: Bearer ...`, or nothing."""
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
