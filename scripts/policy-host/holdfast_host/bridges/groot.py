"""A policy that asks a GR00T policy server (ZeroMQ, msgpack) on this machine.

Needs python3-zmq and python3-msgpack. Subclass `Groot`, name what is what, and serve your class.
Arrays cross as npy files that may hold no objects, so nothing of the answer is executed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgpack
import numpy as np
import zmq

from ..policy import Observation, Policy, Robot

ARRAY = "__ndarray_class__"
CONFIG = "__ModalityConfig_class__"


class GrootError(Exception):
    """The server's own error, none in time, or an answer that is none."""


def encode(message: object) -> bytes:
    packed: bytes = msgpack.packb(message, default=_array_map)
    return packed


def decode(content: bytes) -> Any:
    """Raises GrootError."""
    try:
        return msgpack.unpackb(content, object_hook=_array_of)
    except (ValueError, KeyError, TypeError, msgpack.UnpackException) as error:
        raise GrootError(f"an answer that cannot be read: {error}") from error


def _array_map(value: object) -> dict[str, object]:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"GR00T has no {type(value).__name__}")
    file = io.BytesIO()
    np.save(file, value, allow_pickle=False)
    return {ARRAY: True, "as_npy": file.getvalue()}


def _array_of(value: dict[str, Any]) -> object:
    if ARRAY in value:
        return np.load(io.BytesIO(value["as_npy"]), allow_pickle=False)
    if CONFIG in value:
        told = value["as_json"]
        return json.loads(told) if isinstance(told, str) else told
    return value


class GrootLine:
    """One question at a time. A socket that got no answer can ask no more, so it is made anew."""

    def __init__(self, server: str, timeout_s: float) -> None:
        self._server = server
        self._timeout_ms = round(timeout_s * 1e3)
        self._context = zmq.Context.instance()
        self._socket = self._connect()

    def ask(self, endpoint: str, data: Mapping[str, object]) -> Any:
        """Raises GrootError."""
        try:
            self._socket.send(encode({"endpoint": endpoint, "data": data}))
            content = self._socket.recv()
        except zmq.Again as error:
            self._socket.close(linger=0)
            self._socket = self._connect()
            text = f"{self._server} did not answer {endpoint} within {self._timeout_ms} ms"
            raise GrootError(text) from error
        answer = decode(content)
        if isinstance(answer, dict) and "error" in answer:
            raise GrootError(f"{self._server} says: {answer['error']}")
        return answer

    def _connect(self) -> "zmq.Socket[bytes]":
        socket = self._context.socket(zmq.REQ)
        socket.linger = 0
        socket.sndtimeo = socket.rcvtimeo = self._timeout_ms
        socket.connect(self._server)
        return socket


class Groot(Policy):
    """Extend it: name `video`, `state` and `action` and, where theirs are no radians, the units."""

    server = "tcp://127.0.0.1:5555"
    # A question that takes longer is given up: the robot holds meanwhile.
    timeout_s = 15.0
    # Their names: our picture, and our joints in their order.
    video: Mapping[str, str] = {}
    state: Mapping[str, Sequence[str]] = {}
    # Every joint of the robot once: a part of an action is no action.
    action: Mapping[str, Sequence[str]] = {}
    language = "annotation.human.task_description"

    def to_theirs(self, key: str, values_rad: np.ndarray) -> np.ndarray:
        """Radians in the units of their state `key`."""
        return values_rad

    def to_radians(self, key: str, values: np.ndarray) -> np.ndarray:
        """Rows of their action `key` in radians."""
        return values

    def setup(self, robot: Robot) -> None:
        self._joints = robot.joint_names
        _require("action", sorted(robot.joint_names), sorted(_flat(self.action)))
        for name in _flat(self.state):
            if name not in robot.joint_names:
                raise ValueError(f"state: expected {', '.join(robot.joint_names)}, found {name}")
        self._line = GrootLine(self.server, self.timeout_s)
        self._check(self._line.ask("get_modality_config", {}))

    def reset(self, epoch: int) -> None:
        self._line.ask("reset", {"options": None})

    def act(self, observation: Observation) -> np.ndarray:
        where = {name: index for index, name in enumerate(self._joints)}
        asked = {
            "video": {
                theirs: observation.images[ours][np.newaxis, np.newaxis]
                for theirs, ours in self.video.items()
            },
            "state": {
                key: self._state_of(key, observation.position_rad[[where[name] for name in names]])
                for key, names in self.state.items()
            },
            "language": {self.language: [[observation.task]]},
        }
        answer = self._line.ask("get_action", {"observation": asked, "options": None})
        if not (isinstance(answer, list) and len(answer) == 2 and isinstance(answer[0], dict)):
            raise GrootError("an answer to get_action that is no list of action and info")
        rows = np.empty((self.horizon, len(self._joints)))
        for key, names in self.action.items():
            shape = (self.horizon, len(names))
            rows[:, [where[name] for name in names]] = self._action_of(key, answer[0], shape)
        return rows

    def _state_of(self, key: str, values_rad: np.ndarray) -> np.ndarray:
        return self.to_theirs(key, values_rad).astype(np.float32)[np.newaxis, np.newaxis]

    def _action_of(
        self, key: str, actions: Mapping[str, Any], shape: tuple[int, int]
    ) -> np.ndarray:
        """The first rows of one batch of one. Raises GrootError."""
        values: Any = actions.get(key)
        found: tuple[int, ...] = getattr(values, "shape", ())
        if len(found) != 3 or found[0] != 1 or found[1] < shape[0] or found[2] != shape[1]:
            expected = f"(1, {shape[0]} or more, {shape[1]})"
            raise GrootError(f"action {key}: expected {expected}, found {found or 'none'}")
        return self.to_radians(key, values[0, : shape[0]])

    def _check(self, config: Any) -> None:
        """The server's model must want what is named here, and no history."""
        named = {
            "video": sorted(self.video),
            "state": sorted(self.state),
            "action": sorted(self.action),
            "language": [self.language],
        }
        for kind, ours in named.items():
            told = config.get(kind, {}) if isinstance(config, dict) else {}
            _require(kind, sorted(told.get("modality_keys", [])), ours)
            history = told.get("delta_indices", [0])
            if kind != "action" and history != [0]:
                raise ValueError(f"{kind}.delta_indices: expected [0], no history, found {history}")


def _flat(names: Mapping[str, Sequence[str]]) -> list[str]:
    return [name for each in names.values() for name in each]


def _require(what: str, expected: Sequence[str], found: Sequence[str]) -> None:
    if list(expected) != list(found):
        texts = [", ".join(each) or "none" for each in (expected, found)]
        raise ValueError(f"{what}: expected {texts[0]}, found {texts[1]}")
