"""An observation's message as what a policy reads. What does not fit the robot is refused whole;
a field of another size than the hello said, or a picture that is not as the transform made it, is
left out, so that a policy never reads one for the other. A JPEG that is none is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

import numpy as np

from .generated import policy_pb2 as pb
from .pictures import SHAPE as PICTURE_SHAPE
from .pictures import arrays_of
from .policy import Named, Observation, Robot
from .schema import OBS_SIDE_PX


class StrangeObservation(Exception):
    """An observation of another robot than the one of the hello."""


def robot_of(hello: pb.Hello) -> Robot:
    return Robot(
        name=hello.robot,
        joint_names=tuple(hello.joint_names),
        field_shapes={field.name: tuple(field.shape) for field in hello.fields},
        task_name=hello.task_name,
        control_period_s=hello.control_period_ns / 1e9,
        decision_period_s=hello.decision_period_ns / 1e9,
    )


def observation_of(message: pb.Observation, robot: Robot, takes_jpeg: bool = False) -> Observation:
    """Raises StrangeObservation and StrangePicture."""
    position_rad = _joints("position_rad", message.position_rad, robot)
    command_rad = _joints("command_rad", message.command_rad, robot)
    if position_rad is None or command_rad is None:
        raise StrangeObservation("position_rad and command_rad: expected both, found one or none")
    row_count = message.buffered_row_count
    rows = np.array(message.buffered_rows, dtype=np.float64)
    width = len(rows) // row_count if row_count else 0
    if row_count * width != len(rows):
        raise StrangeObservation(f"buffered_rows: {len(rows)} values are not {row_count} rows")
    return Observation(
        position_rad=position_rad,
        velocity_rad_per_s=_joints("velocity_rad_per_s", message.velocity_rad_per_s, robot),
        effort_nm=_joints("effort_nm", message.effort_nm, robot),
        command_rad=command_rad,
        fields=_fields(message, robot),
        images=arrays_of(message.images, takes_jpeg),
        task=message.task_text,
        epoch=message.epoch,
        since_reset_s=message.since_reset_ns / 1e9,
        age_s=message.age_ns / 1e9,
        buffered_rows=rows.reshape(row_count, width),
        measured_delay_s=message.measured_delay_ns / 1e9,
    )


def warm_up_message(robot: Robot, epoch: int) -> pb.Observation:
    """What nobody saw: everything that the robot can send, all zero."""
    zeros = [0.0] * len(robot.joint_names)
    message = pb.Observation(epoch=epoch, position_rad=zeros, command_rad=zeros)
    message.velocity_rad_per_s.extend(zeros)
    for name, shape in robot.field_shapes.items():
        if shape == PICTURE_SHAPE:
            pixels = bytes(OBS_SIDE_PX * OBS_SIDE_PX * 3)
            rgb8 = pb.Image.ENCODING_RGB8
            side = OBS_SIDE_PX
            message.images.add(
                name=name, width_px=side, height_px=side, encoding=rgb8, pixels=pixels
            )
        else:
            message.fields.add(name=name, values=[0.0] * int(np.prod(shape)))
    return message


def _joints(name: str, values: Sequence[float], robot: Robot) -> Optional[np.ndarray]:
    """None when there are none."""
    count = len(robot.joint_names)
    if len(values) not in (0, count):
        raise StrangeObservation(f"{name}: expected {count} joints, found {len(values)}")
    if not np.all(np.isfinite(values)):
        raise StrangeObservation(f"{name}: expected finite numbers, found {list(values)}")
    return np.array(values, dtype=np.float64) if len(values) else None


def _fields(message: pb.Observation, robot: Robot) -> Named[np.ndarray]:
    fields: Named[np.ndarray] = Named()
    for field in message.fields:
        shape = robot.field_shapes.get(field.name)
        if shape is None or int(np.prod(shape)) != len(field.values):
            continue
        if np.all(np.isfinite(field.values)):  # a sensor's fault is an absent sensor
            fields[field.name] = np.array(field.values, dtype=np.float64).reshape(shape)
    return fields
