"""What a person may type: the error of a bad option, and the readers of option values. Nothing is
rounded, clipped or guessed; what cannot be used is told with what was expected and found."""

from __future__ import annotations

import ipaddress
import json
import re
import socket
from dataclasses import dataclass

PORT_DEFAULT = 7777
EXIT_BAD_INPUT = 2
LISTEN_DEFAULT = f"127.0.0.1:{PORT_DEFAULT}"
PORT_MAX = 65_535
# An address that is nobody's: the way there is the way to everywhere else.
ELSEWHERE = ("192.0.2.1", 9)
EVERY_ADDRESS = ("0.0.0.0", "[::]")
LENGTH_NS_MAX = 3_600 * 10**9
UNIT_NS = {"us": 10**3, "ms": 10**6, "s": 10**9}
WARM_UP_COUNT_MAX = 1_000


class UsageError(Exception):
    """Something typed that cannot be used. Nothing was started."""

    def __init__(self, place: str, expected: str, found: str) -> None:
        super().__init__(f"Cannot use {place}: expected {expected}, found {found}")


@dataclass(frozen=True)
class Address:
    # As gRPC wants it: "host:port", "[ipv6]:port".
    target: str
    is_loopback: bool

    def dial_text(self, port: int) -> str:
        """Where a robot finds it: nobody dials an address that stands for every one."""
        host = self.target.rpartition(":")[0]
        return f"{_own_address() if host in EVERY_ADDRESS else host}:{port}"

    def with_port(self, port: int) -> str:
        return f"{self.target.rpartition(':')[0]}:{port}"


def address_of(option: str, text: str) -> Address:
    """Reads `host`, `host:port` or `[ipv6]:port`."""
    match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:/\s\[\]]+))(?::(\d{1,5}))?", text)
    port = int(match[3] or PORT_DEFAULT) if match else PORT_MAX + 1
    if match is None or port > PORT_MAX or (match[1] and not _is_ipv6(match[1])):
        raise UsageError(option, f"an address such as {LISTEN_DEFAULT}", quoted(text))
    host = match[1] or match[2]
    target = f"[{host}]:{port}" if match[1] else f"{host}:{port}"
    return Address(target, _is_loopback(host))


def length_ns_of(option: str, text: str) -> int:
    """A length of time with its unit, from 0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s)", text)
    length_ns = round(float(match[1]) * UNIT_NS[match[2]]) if match else LENGTH_NS_MAX + 1
    if length_ns > LENGTH_NS_MAX:
        raise UsageError(option, "a length such as 150ms or 2s, at most an hour", quoted(text))
    return length_ns


def count_of(option: str, text: str, count_max: int) -> int:
    if re.fullmatch(r"\d{1,9}", text) is None or int(text) > count_max:
        raise UsageError(option, f"a whole number from 0 to {count_max}", quoted(text))
    return int(text)


def quoted(text: str) -> str:
    return json.dumps(text if len(text) <= 60 else f"{text[:57]}...", ensure_ascii=False)


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _own_address() -> str:
    """By which a robot on the usual network reaches this machine, or its name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)  # of a datagram socket: nothing is sent
            host: str = probe.getsockname()[0]
            return host
        except OSError:
            return socket.gethostname()
