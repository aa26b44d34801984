"""What is asked of a JPEG that came from elsewhere, before a codec is given it: the picture that was
stated, in the one form that a robot's encoder writes. The rules and words are those of
`hal/jpeg-check.ts`."""

from __future__ import annotations

from typing import Optional

# What was expected, and what was found.
Fault = tuple[str, str]

MARK = 0xFF
START = bytes((MARK, 0xD8))
END = 0xD9
SCAN = 0xDA
BASELINE = 0xC0
PROGRESSIVE = 0xC2
RESTARTS = range(0xD0, 0xD8)
BITS_PER_COLOUR = 8
COLOUR_COUNT = 3
# Tables, the restart interval, a comment, the sixteen kinds of application data.
SKIPPED = frozenset((0xDB, 0xC4, 0xDD, 0xFE, *range(0xE0, 0xF0)))


def jpeg_fault(data: bytes, width_px: int, height_px: int) -> Optional[Fault]:
    """None for a baseline JPEG of this size in three colours, with one scan, whole."""
    size_bytes_max = width_px * height_px * COLOUR_COUNT
    if len(data) > size_bytes_max:
        return f"at most {size_bytes_max} bytes, those of raw pixels", str(len(data))
    if not data.startswith(START):
        return "a JPEG", f"bytes that begin with {data[:8].hex()}" if data else "no bytes"
    frame_count = 0
    at = len(START)
    while True:
        marker = data[at + 1] if at + 1 < len(data) and data[at] == MARK else None
        if marker == SCAN and frame_count == 1:
            return _scan_fault(data, at + 2 + _word(data, at + 2))
        if marker == BASELINE and frame_count == 0:
            wrong = _frame_fault(data[at:], width_px, height_px)
            if wrong is not None:
                return wrong
            frame_count += 1
        elif marker not in SKIPPED:
            return "a baseline JPEG", _name(marker, is_over=at >= len(data))
        at += 2 + _word(data, at + 2)


def _frame_fault(frame: bytes, width_px: int, height_px: int) -> Optional[Fault]:
    expected = _words(width_px, height_px, COLOUR_COUNT, BITS_PER_COLOUR)
    found = _words(_word(frame, 7), _word(frame, 5), _byte(frame, 9), _byte(frame, 4))
    return None if found == expected else (expected, found)


def _scan_fault(data: bytes, start: int) -> Optional[Fault]:
    """Only restarts may stand between a scan's beginning and the end, and nothing after it."""
    at = data.find(MARK, start)
    while 0 <= at < len(data) - 1 and (data[at + 1] == 0 or data[at + 1] in RESTARTS):
        at = data.find(MARK, at + 2)
    if at < 0 or at + 1 >= len(data):
        return "a whole JPEG", "one that was cut off"
    is_end = data[at + 1] == END and at + 2 == len(data)
    return None if is_end else ("one scan, and nothing after its end", "more")


def _words(width_px: int, height_px: int, colours: int, bits: int) -> str:
    return f"{width_px} x {height_px} pixels, {colours} colours of {bits} bits"


def _byte(data: bytes, at: int) -> int:
    return data[at] if at < len(data) else 0


def _word(data: bytes, at: int) -> int:
    return _byte(data, at) << 8 | _byte(data, at + 1)


def _name(marker: Optional[int], is_over: bool) -> str:
    if is_over:
        return "one that was cut off"
    if marker == PROGRESSIVE:
        return "a progressive one"
    return "other bytes in its header" if marker is None else f"marker 0x{marker:x}"
