"""What LeRobot's policy server says and is told, as pickles, on this machine and nowhere else.

A pickle is a program. What is read here may name exactly the five globals that a chunk of
actions needs, and each is a stand-in that makes numbers; anything else is refused before it is
called. What is written is spelled out, so that neither lerobot nor torch need be here.
"""

from __future__ import annotations

import io
import pickle
import struct
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

HELPERS = "lerobot.async_inference.helpers"
TORCH_MAGIC = 0x1950A86A20F9469CFC6C
TORCH_VERSION = 1001
VALUE_SIZE_BYTES = 4


class StrangePickle(Exception):
    """A pickle that is no chunk of actions."""


def helper_pickle(name: str, state: Mapping[str, object]) -> bytes:
    """An instance of a dataclass of LeRobot's helpers, with these attributes."""
    body = pickle.dumps(dict(state), protocol=3)[2:-1]  # without its start and stop
    return b"\x80\x03c" + f"{HELPERS}\n{name}\n".encode() + b")\x81" + body + b"b."


def actions_of(content: bytes) -> list[np.ndarray]:
    """The rows of a chunk, by time step. Raises StrangePickle."""
    try:
        actions = _Reader(io.BytesIO(content), GLOBALS).load()
    except StrangePickle:
        raise
    except Exception as error:  # a broken pickle fails in as many ways as there are opcodes
        raise StrangePickle(f"a chunk that cannot be read: {error}") from error
    if not isinstance(actions, list) or not all(isinstance(each, TimedAction) for each in actions):
        raise StrangePickle(f"expected a list of TimedAction, found {type(actions).__name__}")
    if not all(isinstance(each.action, np.ndarray) for each in actions):
        raise StrangePickle("expected a tensor in each TimedAction")
    return [each.action for each in sorted(actions, key=lambda each: int(each.timestep))]


class TimedAction:
    """Stands in for LeRobot's own."""

    timestamp: Any
    timestep: Any
    action: Any


class _FloatStorage:
    """Stands in for torch's type, which is named and never made."""


class _Reader(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, names: Mapping[tuple[str, str], Any]) -> None:
        super().__init__(file)
        self._names = names
        self.storage: tuple[str, int] | None = None

    def find_class(self, module: str, name: str) -> Any:
        allowed = self._names.get((module, name))
        if allowed is None:
            raise StrangePickle(f"expected numbers, found a pickle that calls {module}.{name}")
        return allowed

    def persistent_load(self, told: Any) -> object:
        kind, storage, key, _place, count, _view = told
        if kind != "storage" or storage is not _FloatStorage:
            raise StrangePickle(f"expected a storage of floats, found {kind}")
        self.storage = (str(key), int(count))
        return self.storage


def _storage_of(content: bytes) -> np.ndarray:
    """A legacy torch file that holds one storage of float32."""
    file = io.BytesIO(content)
    magic, version, _system = (_Reader(file, {}).load() for _ in range(3))
    if (magic, version) != (TORCH_MAGIC, TORCH_VERSION):
        raise StrangePickle("expected a legacy torch file, found another")
    reader = _Reader(file, {("torch", "FloatStorage"): _FloatStorage})
    reader.load()
    keys = _Reader(file, {}).load()
    if reader.storage is None or keys != [reader.storage[0]]:
        raise StrangePickle("expected one storage in a torch file, found another count")
    (count,) = struct.unpack("<q", file.read(8))
    values = np.frombuffer(file.read(), dtype="<f4")
    if count != reader.storage[1] or len(values) != count:
        raise StrangePickle(f"expected {count} floats in a storage, found {len(values)}")
    return values


def _tensor_of(
    storage: np.ndarray, offset: int, size: Sequence[int], stride: Sequence[int], *_: object
) -> np.ndarray:
    """A view into a storage, as a copy. Each action carries the whole chunk and its own offset."""
    if len(size) != len(stride) or offset < 0 or any(each < 0 for each in (*size, *stride)):
        raise StrangePickle(f"expected a tensor, found size {size} and stride {stride}")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride))
    if 0 in size or last >= len(storage) or np.prod(size) > len(storage):
        raise StrangePickle(f"expected a view of {len(storage)} floats, found one up to {last}")
    strides = [step * VALUE_SIZE_BYTES for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, strides).copy()


GLOBALS: Mapping[tuple[str, str], Any] = {
    (HELPERS, "TimedAction"): TimedAction,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor_of,
    ("torch.storage", "_load_from_bytes"): _storage_of,
    ("collections", "OrderedDict"): OrderedDict,
}
