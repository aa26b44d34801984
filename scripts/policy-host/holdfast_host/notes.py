"""Lines for a person. What repeats is told the first time, the tenth, the hundredth and so on: a
policy that fails twenty times a second must not bury what else is said, in new words each time."""

from __future__ import annotations

import re
import threading
import traceback
from collections import Counter
from typing import Callable

from .handshake import printable

NoteLine = Callable[[str], None]

# Kinds of trouble that are told apart; of more than these, all others count as one.
KIND_COUNT_MAX = 16
_OTHERS = "others"


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
            is_other = kind not in self._counts and len(self._counts) >= KIND_COUNT_MAX
            self._counts[_OTHERS if is_other else kind] += 1
            count = self._counts[_OTHERS if is_other else kind]
            if str(count).strip("0") == "1":
                times = "" if count == 1 else f" ({count} {_OTHERS if is_other else 'times'})"
                self._line(printable(text) + times)


def error_text(error: BaseException, module_file: str) -> str:
    """Kind, text and the deepest line of `module_file`, or the deepest of all. Never raises: what
    was raised has its own ways to fail as it is looked at."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == module_file] or frames
    try:
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    except BaseException:
        text = "it has no text"
    place = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {text}{place}"
