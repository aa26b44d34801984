"""Who may speak to this host. On this machine alone anybody, in plain text; on any other address
paired robots, or whoever an authority that was named on the command line signed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

import grpc

from .pairing import Pairing, fingerprint_of, state_folder
from .usage import LISTEN_DEFAULT, Address, UsageError, quoted

# Whether one that shows this certificate (PEM) is admitted.
Admits = Callable[[Optional[bytes]], bool]


def anybody(_certificate: Optional[bytes]) -> bool:
    return True


@dataclass(frozen=True)
class Trust:
    # None is plain text.
    credentials: Optional[grpc.ServerCredentials] = None
    admits: Admits = anybody
    # For a person who starts the host.
    lines: Sequence[str] = ()


def trust_for(values: argparse.Namespace, address: Address) -> Trust:
    """Raises UsageError."""
    files = {
        "--tls-cert": values.tls_cert,
        "--tls-key": values.tls_key,
        "--tls-ca": values.tls_ca,
    }
    missing = [option for option, path in files.items() if path is None]
    if not missing:
        certificate, key, authority = (_bytes_of(option, path) for option, path in files.items())
        return Trust(_credentials(authority, certificate, key))
    if len(missing) < len(files):
        raise UsageError(missing[0], "all three of " + ", ".join(files), "none")
    if address.is_loopback:
        return Trust()
    return _paired(Pairing(state_folder(os.environ)), quoted(values.listen))


def _paired(pairing: Pairing, listen: str) -> Trust:
    identity = pairing.identity()
    robots = [each.name for each in pairing.robots() if not each.is_revoked]
    if identity is None or not robots:
        remedy = f"type holdfast pair host; on this machine alone: {LISTEN_DEFAULT}"
        expected = f"a paired robot ({remedy})"
        raise UsageError(f"--listen {listen}", expected, "none")
    lines = (
        f"its key: {fingerprint_of(identity.certificate)}",
        f"paired robots: {', '.join(robots)}",
    )
    credentials = _credentials(identity.authority, identity.certificate, identity.key)

    def admits(certificate: Optional[bytes]) -> bool:
        return certificate is not None and pairing.admits(certificate)

    return Trust(credentials, admits, lines)


def _credentials(authority: bytes, certificate: bytes, key: bytes) -> grpc.ServerCredentials:
    return grpc.ssl_server_credentials(
        [(key, certificate)], root_certificates=authority, require_client_auth=True
    )


def _bytes_of(option: str, path: str) -> bytes:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(option, "a file to read", f"{path}: {error.strerror}") from error
    if b"-----BEGIN " not in content:
        raise UsageError(option, "a PEM file", path)
    return content
