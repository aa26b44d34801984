"""Pickles as LeRobot and torch write them: made by Python's own pickle, of classes so named."""

from __future__ import annotations

import contextlib
import io
import pickle
import struct
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np

from holdfast_host.bridges.lerobot_pickles import HELPERS, TORCH_MAGIC, TORCH_VERSION


class TimedAction:
    """As LeRobot's dataclass is pickled: class, no arguments, attributes."""

    def __init__(self, timestamp: float, timestep: int, action: object) -> None:
        self.timestamp = timestamp
        self.timestep = timestep
        self.action = action


@dataclass
class TimedObservation:
    timestamp: float
    timestep: int
    observation: dict[str, Any]
    must_go: bool


class FloatStorage:
    pass


def _rebuild_tensor_v2() -> None: ...


def _load_from_bytes() -> None: ...


MODULES = {
    HELPERS: (TimedAction, TimedObservation),
    "torch": (FloatStorage,),
    "torch._utils": (_rebuild_tensor_v2,),
    "torch.storage": (_load_from_bytes,),
}


@contextlib.contextmanager
def their_modules() -> Iterator[None]:
    """While this lasts the stand-ins are where Python's pickle looks for them."""
    made: dict[str, ModuleType] = {}
    for name, things in MODULES.items():
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            path = ".".join(parts[:count])
            made.setdefault(path, ModuleType(path))
        for thing in things:
            thing.__module__ = name
            setattr(made[name], thing.__name__, thing)
    with mock.patch.dict(sys.modules, made):
        yield


class Storage:
    """float32 values as a legacy torch file."""

    def __init__(self, values: np.ndarray, count: int | None = None) -> None:
        self.values = values.astype("<f4")
        self.count = len(values) if count is None else count

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return _load_from_bytes, (self.file(),)

    def file(self) -> bytes:
        file = io.BytesIO()
        for head in (TORCH_MAGIC, TORCH_VERSION, {"little_endian": True}):
            pickle.dump(head, file, protocol=2)
        pickler = pickle.Pickler(file, protocol=2)
        told = ("storage", FloatStorage, "94", "cpu", self.count, None)
        pickler.persistent_id = lambda each: told if each is self else None  # type: ignore
        pickler.dump(self)
        pickle.dump(["94"], file, protocol=2)
        return file.getvalue() + struct.pack("<q", self.count) + self.values.tobytes()


class Tensor:
    """A row of a chunk: a view of the whole chunk's storage."""

    def __init__(self, storage: Storage, offset: int, size: Sequence[int]) -> None:
        self.told: tuple[object, ...] = (
            storage,
            offset,
            tuple(size),
            (1,) * len(size),
            False,
            OrderedDict(),
        )

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _rebuild_tensor_v2, self.told


def chunk_pickle(rows: np.ndarray) -> bytes:
    """A chunk as the server answers it, last row first: order is by time step."""
    storage = Storage(rows.ravel())
    width = rows.shape[1]
    actions = [
        TimedAction(1.0 + index / 30, 5 + index, Tensor(storage, index * width, (width,)))
        for index in range(len(rows))
    ]
    with their_modules():
        return pickle.dumps(actions[::-1], protocol=4)
