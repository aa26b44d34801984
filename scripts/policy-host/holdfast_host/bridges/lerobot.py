"""A policy that asks LeRobot's asynchronous policy server (gRPC, pickles) on this machine.

That server takes pickles from whoever reaches its port, so it belongs on this machine's loopback
and this bridge beside it: robots meet neither. Subclass `LeRobot`, say which model, and serve your
class. Units are the model's own; `to_theirs` and `to_radians` are between them and radians.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import grpc
import numpy as np
from google.protobuf.any_pb2 import Any
from google.protobuf.wrappers_pb2 import BytesValue

from ..policy import Observation, Policy, Robot
from ..usage import UsageError, address_of, quoted
from .lerobot_pickles import actions_of, helper_pickle

SERVICE = "transport.AsyncInference"
PIECE_SIZE_BYTES = 2 << 20
MESSAGE_SIZE_BYTES_MAX = 4 << 20
BEGIN, MIDDLE, END = 1, 2, 3


class LeRobotError(Exception):
    """No chunk came."""


class LeRobot(Policy):
    server = "127.0.0.1:8080"
    policy_type = "act"
    # A folder or a name of the hub, as the server understands it.
    model = ""
    device = "cuda"
    # Their camera: our picture.
    cameras: Mapping[str, str] = {}
    # Loading a model takes minutes; a question that takes longer than the other is given up.
    load_timeout_s = 600.0
    timeout_s = 15.0

    def to_theirs(self, values_rad: np.ndarray) -> np.ndarray:
        return values_rad

    def to_radians(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def setup(self, robot: Robot) -> None:
        if not address_of("server", self.server).is_loopback:
            text = "an address of this machine alone: who reaches that port runs code there"
            raise UsageError("server", text, quoted(self.server))
        self._joints = robot.joint_names
        self._timestep = 0
        options = [("grpc.max_receive_message_length", MESSAGE_SIZE_BYTES_MAX)]
        self._channel = grpc.insecure_channel(self.server, options=options)
        self._call("Ready", b"", self.load_timeout_s)
        setup = helper_pickle("RemotePolicyConfig", self._config())
        self._call("SendPolicyInstructions", data_message(setup), self.load_timeout_s)

    def reset(self, epoch: int) -> None:
        """The server forgets which time steps it has answered."""
        self._call("Ready", b"", self.timeout_s)

    def act(self, observation: Observation) -> np.ndarray:
        state = dict(zip(self._joints, self.to_theirs(observation.position_rad)))
        seen: dict[str, object] = {f"{name}.pos": float(value) for name, value in state.items()}
        seen.update({theirs: observation.images[ours] for theirs, ours in self.cameras.items()})
        # Each decision lies past all that was answered, or the server would skip it as done.
        self._timestep += self.horizon
        timed = {
            "timestamp": time.time(),
            "timestep": self._timestep,
            "observation": {**seen, "task": observation.task},
            "must_go": True,
        }
        send = self._channel.stream_unary(f"/{SERVICE}/SendObservations")
        send(pieces(helper_pickle("TimedObservation", timed)), timeout=self.timeout_s)
        answer = data_of(self._call("GetActions", b"", self.timeout_s))
        if not answer:
            raise LeRobotError(f"{self.server} answered no chunk: its own terminal says why")
        rows = np.array(actions_of(answer), dtype=np.float64)
        return self.to_radians(rows[: self.horizon])

    def _call(self, method: str, message: bytes, timeout_s: float) -> bytes:
        call = self._channel.unary_unary(f"/{SERVICE}/{method}")
        answer: bytes = call(message, timeout=timeout_s, wait_for_ready=True)
        return answer

    def _config(self) -> dict[str, object]:
        names = [f"{name}.pos" for name in self._joints]
        state = {"dtype": "float32", "shape": (len(names),), "names": names}
        features: dict[str, object] = {"observation.state": state}
        for camera in self.cameras:
            features[f"observation.images.{camera}"] = {
                "dtype": "image",
                "shape": (224, 224, 3),
                "names": ["height", "width", "channels"],
                "info": {"is_depth_map": False},
            }
        return {
            "policy_type": self.policy_type,
            "pretrained_name_or_path": self.model,
            "lerobot_features": features,
            "actions_per_chunk": self.horizon,
            "device": self.device,
            "rename_map": {},
        }


def pieces(payload: bytes) -> Iterator[bytes]:
    """A payload as Observation messages of at most 2 MiB; one that fits is an end alone."""
    count = max(1, -(-len(payload) // PIECE_SIZE_BYTES))
    for index in range(count):
        state = END if index == count - 1 else BEGIN if index == 0 else MIDDLE
        part = payload[index * PIECE_SIZE_BYTES : (index + 1) * PIECE_SIZE_BYTES]
        # Field 1 is the state as a varint; field 2 is encoded as Any has its own.
        yield bytes([0x08, state]) + Any(value=part).SerializeToString()


def data_message(content: bytes) -> bytes:
    """PolicySetup and Actions: bytes as field 1, which is how BytesValue is encoded."""
    encoded: bytes = BytesValue(value=content).SerializeToString()
    return encoded


def data_of(message: bytes) -> bytes:
    content: bytes = BytesValue.FromString(message).value
    return content
