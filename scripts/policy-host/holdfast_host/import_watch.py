"""ImportWatch: says that a person's module is still being imported, and gives it up in the end. What
hangs in an import cannot be ended by anything but the end of the process."""

from __future__ import annotations

import os
import threading
from typing import Callable

from .limits import LOAD_NS_MAX, TELL_NS
from .usage import EXIT_BAD_INPUT, UsageError

Leave = Callable[[int], None]


class ImportWatch:
    def __init__(self, named: str, line: Callable[[str], None], leave: Leave = os._exit) -> None:
        self._named = named
        self._line = line
        self._leave = leave
        self._over = threading.Event()

    def __enter__(self) -> None:
        threading.Thread(target=self.watch, args=(self._over.wait,), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def watch(self, is_over_within: Callable[[float], bool]) -> None:
        """`is_over_within` waits for so many seconds, and says whether the import is over."""
        waited_ns, tell_ns = 0, TELL_NS
        limit = f"{LOAD_NS_MAX // 10**9} s"
        while not is_over_within((tell_ns - waited_ns) / 1e9):
            waited_ns = tell_ns
            if waited_ns >= LOAD_NS_MAX:
                expected = f"a module that imports within {limit}"
                error = UsageError("--policy", expected, "one that is still at it")
                self._line(f"holdfast_host: {error}")
                self._leave(EXIT_BAD_INPUT)
                return
            self._line(
                f"still imports {self._named} after {waited_ns // 10**9} s; given up after {limit}"
            )
            tell_ns = min(2 * tell_ns, LOAD_NS_MAX)
