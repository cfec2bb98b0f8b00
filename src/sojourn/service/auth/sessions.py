"""Sessions of the dashboard: signed texts in a cookie, which end with their key.

A session is `<key id>.<expires>.<nonce>.<HMAC-SHA256>`, signed with the hash that the key file has
of its key, so that every process that reads this file can check it.
"""

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

LIFETIME = 12 * 3600.0  # seconds
COOKIE = "sojourn_session"
SECURE_COOKIE = f"__Host-{COOKIE}"  # browsers take it over TLS only, and from this host only
FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # names the folder that the workers of a service share
MOST_SIGNED_OUT = 100_000


class Session(NamedTuple):
    """The content of a session; `Keyring.signed_in` checks that it is genuine."""

    key: str
    expires: int
    nonce: str


def sign(key: str, hash: str, expires: float, nonce: str | None = None) -> str:
    """The text of a session of a key, by the hash of that key."""
    body = f"{key}.{int(expires)}.{nonce or secrets.token_hex(16)}"
    return f"{body}.{hmac.new(hash.encode(), body.encode(), hashlib.sha256).hexdigest()}"


def parse(text: str) -> Session | None:
    """The content of a text, if it has the form of a session."""
    words = text.split(".")
    if len(words) != 4 or not text.isascii() or not words[1].isdecimal() or len(words[1]) > 12:
        return None
    return Session(words[0], int(words[1]), words[2])


class SignedOut:
    """Sessions that were signed out, until they would have expired.

    With a file, other processes learn of them at once.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._seen = file, 0
        self._expires: dict[str, int] = {}

    def add(self, session: Session) -> None:
        self._keep(session.nonce, session.expires)
        if self._file is not None:
            with self._file.open("a", encoding="ascii") as file:  # one short line: a single write
                file.write(f"{session.nonce} {session.expires}\n")

    def __contains__(self, nonce: str) -> bool:
        if self._file is not None and self._file.exists():
            with self._file.open("rb") as file:
                file.seek(self._seen)
                for line in file.read().splitlines(keepends=True):
                    if line.endswith(b"\n"):
                        self._seen += len(line)
                        known, expires = line.decode("ascii").split()
                        self._keep(known, int(expires))
        return nonce in self._expires

    def _keep(self, nonce: str, expires: int) -> None:
        self._expires[nonce] = expires
        if len(self._expires) > MOST_SIGNED_OUT:
            now = time.time()
            self._expires = {n: e for n, e in self._expires.items() if e > now}
            while len(self._expires) > MOST_SIGNED_OUT:
                del self._expires[next(iter(self._expires))]


def shared_file() -> Path | None:
    """The file of ended sessions that workers share; None: there is one process."""
    folder = os.environ.get(FOLDER)
    return Path(folder) / "signed-out" if folder else None


def secure(scheme: str, headers: Mapping[bytes, bytes]) -> bool:
    """Whether the browser came by TLS, to this service or to a proxy that says so.

    Anybody may say so: it decides about the caller's own cookie, and nothing else.
    """
    forwarded = headers.get(b"x-forwarded-proto", b"").split(b",")[0].strip().lower()
    return scheme == "https" or forwarded == b"https"


def cookie_name(scheme: str, headers: Mapping[bytes, bytes]) -> str:
    """The name of the cookie of a request."""
    return SECURE_COOKIE if secure(scheme, headers) else COOKIE


def from_headers(scheme: str, headers: Mapping[bytes, bytes]) -> str:
    """The session in the header `Cookie: ...`, or nothing."""
    pairs = headers.get(b"cookie", b"").decode("latin-1").split(";")
    cookies = {name.strip(): value for name, _, value in (pair.partition("=") for pair in pairs)}
    return cookies.get(cookie_name(scheme, headers), "").strip()
