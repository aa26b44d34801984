"""Lines for a person. What repeats is told the first time, the tenth, the hundredth and so on: a
policy that fails twenty times a second must not bury what else is said."""

from __future__ import annotations

import re
import threading
import traceback
from collections import Counter
from typing import Callable

from .handshake import printable

NoteLine = Callable[[str], None]


class Notes:
    """May be called from any thread."""

    def __init__(self, line: NoteLine) -> None:
        self._line = line
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def note(self, text: str) -> None:
        with self._lock:
            self._line(printable(text))

    def trouble(self, text: str) -> None:
        """Texts that differ in their numbers alone count as the same."""
        kind = re.sub(r"\d+", "#", text)
        with self._lock:
            self._counts[kind] += 1
            count = self._counts[kind]
            if str(count).strip("0") == "1":
                times = "" if count == 1 else f" ({count} times)"
                self._line(printable(text) + times)


def error_text(error: BaseException, module_file: str) -> str:
    """Kind, text and the deepest line of `module_file`, or the deepest of all."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == module_file] or frames
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    place = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {text}{place}"
