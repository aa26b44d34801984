"""python3 -m holdfast_host: runs a policy for robots on other machines, until a signal ends it.

On this machine alone anybody may speak to it; on another address robots that are paired.
"""

from __future__ import annotations

import argparse
import itertools
import platform
import signal
import sys
import threading
import time
from collections.abc import Sequence
from typing import NoReturn, Optional

import grpc
import numpy as np

from .facts import missing_for_jpeg
from .import_watch import ImportWatch
from .limits import LOOK_S, PROTOCOL_VERSION
from .load import load_policy, source_digest
from .notes import Notes
from .policy_thread import PolicyPlan
from .server import CannotListen, HostServer
from .trust import trust_for
from .usage import (
    EXIT_BAD_INPUT,
    LISTEN_DEFAULT,
    WARM_UP_COUNT_MAX,
    UsageError,
    address_of,
    count_of,
    length_ns_of,
)

EXIT_INTERRUPTED = 130
# How soon a robot that is revoked loses its session, and how often policies that load are looked at.
RECHECK_LOOKS = round(1 / LOOK_S)

DESCRIPTION = "Runs your policy for robots that connect over gRPC, with an instance for each."

EXAMPLES = f"""\
A policy is a class with one method. Save this as hold.py:

  from holdfast_host import Policy

  class Hold(Policy):
      def act(self, observation):
          return [list(observation.command_rad)] * self.horizon

Then, in the same folder:

  python3 -m holdfast_host --policy hold:Hold
  python3 -m holdfast_host --policy hold:Hold --promise 80ms   slower answers mean reduced speed

On the robot, or in another terminal of this machine:

  holdfast run --policy grpc://{LISTEN_DEFAULT}

For a robot on another machine pair once (holdfast pair host), then --listen 0.0.0.0:7777.

Whatever act answers is checked here first; what is wrong is told here and nothing is sent, so that
the robot holds. It checks again, and no answer moves it past its limits.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError("the command line", "options as in --help", message)


def main(given: Optional[Sequence[str]] = None) -> int:
    try:
        return _serve(_read(given))
    except UsageError as error:
        print(f"holdfast_host: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:  # while a module is imported
        return EXIT_INTERRUPTED


def _read(given: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = _Parser(
        prog="python3 -m holdfast_host",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--policy", metavar="MODULE:CLASS", help="your policy", required=True)
    add("--listen", metavar="ADDR", default=LISTEN_DEFAULT, help=f"where ({LISTEN_DEFAULT})")
    add("--warm-up", metavar="N", default="1", help="decisions before it is ready (1)")
    add("--promise", metavar="D", default="0s", help="slower answers mean reduced speed (none)")
    add("--tls-cert", metavar="FILE", help="this host's certificate, PEM")
    add("--tls-key", metavar="FILE", help="its key, PEM, readable by you alone")
    add("--tls-ca", metavar="FILE", help="who signs the robots' certificates, PEM")
    return parser.parse_args(given)


def _serve(values: argparse.Namespace) -> int:
    address = address_of("--listen", values.listen)
    trust = trust_for(values, address)
    warm_up_count = count_of("--warm-up", values.warm_up, WARM_UP_COUNT_MAX)
    promise_ns = length_ns_of("--promise", values.promise)
    notes = Notes(lambda text: print(text, file=sys.stderr, flush=True))
    with ImportWatch(values.policy, notes.note):
        policy = load_policy(values.policy)
    missing = missing_for_jpeg(policy)
    if missing is not None:
        notes.note(missing)
    plan = PolicyPlan(policy, warm_up_count, promise_ns, source_digest(policy))
    server = HostServer(plan, _versions(), notes, trust.admits)
    try:
        port = server.open(address.target, trust.credentials)
    except CannotListen as error:
        raise UsageError("--listen", "an address that is free", address.target) from error
    print(f"policy host: {values.policy}, on {address.with_port(port)}")
    for line in trust.lines:
        print(line)
    print(f"on the robot: holdfast run --policy grpc://{address.dial_text(port)}", flush=True)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    for look in itertools.count(1):
        if ended.wait(LOOK_S):
            break
        server.look()
        if look % RECHECK_LOOKS == 0:
            server.recheck()
            server.watch(time.monotonic_ns())
    server.close()
    return 0


def _versions() -> dict[str, str]:
    """The libraries that are loaded, so that a robot's log says what decided for it."""
    versions = {
        "holdfast_host": f"protocol {PROTOCOL_VERSION}",
        "python": platform.python_version(),
        "grpcio": grpc.__version__,
        "numpy": np.__version__,
    }
    torch = sys.modules.get("torch")
    if torch is not None:
        versions["torch"] = str(getattr(torch, "__version__", "unknown"))
    return versions
