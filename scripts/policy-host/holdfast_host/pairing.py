"""What `holdfast pair host` left on this machine: this host's certificate, and the robots that it
is paired with. Files are read each time they matter, so that revoking a robot ends its session.
Keys are for their owner alone: a file that others can read is refused. Nothing is written here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional

from .usage import UsageError

SEQUENCE = 0x30
VERSION = 0xA0
# What stands in a certificate before its public key: serial, algorithm, issuer, validity, subject.
BEFORE_KEY_COUNT = 5


@dataclass(frozen=True)
class Identity:
    """PEM: whose certificates are believed, what is shown, and the key to it."""

    authority: bytes
    certificate: bytes
    key: bytes


@dataclass(frozen=True)
class PairedRobot:
    name: str
    fingerprint: str
    is_revoked: bool


class Pairing:
    def __init__(self, state_folder: Path) -> None:
        self._folder = state_folder / "holdfast" / "pairing" / "host"

    def identity(self) -> Optional[Identity]:
        """None before the first pairing. Raises UsageError."""
        told = _read(self._folder / "identity.json")
        if told is None:
            return None
        try:
            host, authority = told["host"], told["authority"]
            parts = (authority["certificate"], host["certificate"], host["key"])
            return Identity(*(part.encode("ascii") for part in parts))
        except (KeyError, TypeError, AttributeError) as error:
            raise _strange(self._folder / "identity.json") from error

    def robots(self) -> list[PairedRobot]:
        """Raises UsageError."""
        robots = []
        for path in sorted((self._folder / "robots").glob("*.json")):
            told = _read(path)
            try:
                if told is not None:
                    facts = (told["name"], told["fingerprint"], told["isRevoked"])
                    robots.append(PairedRobot(*facts))
            except (KeyError, TypeError) as error:
                raise _strange(path) from error
        return robots

    def admits(self, certificate: bytes) -> bool:
        """Whether a robot that shows this certificate (PEM) is paired and not revoked since."""
        shown = fingerprint_of(certificate)
        return any(each.fingerprint == shown and not each.is_revoked for each in self.robots())


def state_folder(env: Mapping[str, str]) -> Path:
    """$XDG_STATE_HOME, or its default; a relative one is void, as its specification has it."""
    state = Path(env.get("XDG_STATE_HOME", ""))
    return state if state.is_absolute() else Path.home() / ".local" / "state"


def fingerprint_of(certificate: bytes) -> str:
    """Of the public key in a certificate (PEM), as `holdfast pair list` shows it."""
    body = certificate.split(b"-----BEGIN CERTIFICATE-----")[1].partition(b"-----END")[0]
    der = base64.b64decode(body)
    signed = _inside(der, _inside(der, 0)[0])  # the certificate, and in it what is signed
    at = signed[0]
    if der[at] == VERSION:
        at = _inside(der, at)[1]
    for _ in range(BEFORE_KEY_COUNT):
        at = _inside(der, at)[1]
    if der[at] != SEQUENCE:
        raise ValueError("a certificate without a public key where it belongs")
    digest = hashlib.sha256(der[at : _inside(der, at)[1]]).digest()
    return "SHA256:" + base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")


def _inside(der: bytes, at: int) -> tuple[int, int]:
    """Where the content of the element at `at` begins, and where it ends."""
    size, begin = der[at + 1], at + 2
    if size & 0x80:
        count = size & 0x7F
        size = int.from_bytes(der[begin : begin + count], "big")
        begin += count
    return begin, begin + size


def _read(path: Path) -> Any:
    """None when nothing is there. Raises UsageError."""
    try:
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        if mode & 0o077:
            expected = f'a file for its owner alone (chmod 600 "{path}")'
            raise UsageError(str(path), expected, f"mode {mode:o}")
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(str(path), "a file to read", str(error.strerror)) from error
    except ValueError as error:
        raise _strange(path) from error


def _strange(path: Path) -> UsageError:
    expected = "what pairing wrote (remove it and pair again)"
    return UsageError(str(path), expected, "something else")
