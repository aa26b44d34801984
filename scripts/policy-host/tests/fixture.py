"""A robot of two joints, as its hello says it, and what it sends."""

from __future__ import annotations

import sys
from typing import Any, Callable, TypeVar

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.schema import OBS_TRANSFORM_SHA256, OBS_TRANSFORM_VERSION

# A test that waits longer has found a hang.
HANG_S = 30.0
SIDE_PX = 224

Value = TypeVar("Value")


def hello(**changes: Any) -> pb.Hello:
    facts: dict[str, Any] = {
        "protocol_version": 1,
        "link_session": 3,
        "robot": "arm2",
        "joint_names": ["shoulder", "elbow"],
        "fields": [
            pb.Field(name="cube_pose", dtype="float32", shape=[7], unit="m"),
            pb.Field(name="front", dtype="rgb8", shape=[SIDE_PX, SIDE_PX, 3]),
        ],
        "obs_transform_version": OBS_TRANSFORM_VERSION,
        "obs_transform_sha256": OBS_TRANSFORM_SHA256,
        "control_period_ns": 5_000_000,
        "decision_period_ns": 50_000_000,
        "task_name": "pick_place",
    }
    return pb.Hello(**{**facts, **changes})


def observation(observation_id: int, epoch: int = 1, **changes: Any) -> pb.Observation:
    facts: dict[str, Any] = {
        "link_session": 3,
        "observation_id": observation_id,
        "epoch": epoch,
        "position_rad": [0.5, -0.25],
        "command_rad": [0.75, 1.5],
    }
    return pb.Observation(**{**facts, **changes})


def edge(**body: Any) -> pb.EdgeMessage:
    """edge(ping=pb.Ping(…)) and so on."""
    return pb.EdgeMessage(**body)


class Lines(list[str]):
    """Collects what a person is told."""

    def __call__(self, text: str) -> None:
        self.append(text)


def module_of(name: str, text: str) -> object:
    """A module as if it had been imported from a file of this name."""
    module = type(sys)(name)
    module.__file__ = f"{name}.py"
    sys.modules[name] = module
    exec(compile(text, module.__file__, "exec"), module.__dict__)
    return module


def drain(take: Callable[[], "Value | None"]) -> list[Value]:
    taken: list[Value] = []
    while True:
        value = take()
        if value is None:
            return taken
        taken.append(value)
