"""What a policy is: subclass `Policy`, fill in `act`, and name the class on the command line.

Units are in the names. Joints are in the order of `robot.joint_names`, everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Optional, TypeVar

import numpy as np
from numpy.typing import ArrayLike

Value = TypeVar("Value")


class Named(dict[str, Value], Generic[Value]):
    """Values by name; a name that is not there is told together with those that are."""

    def __missing__(self, name: str) -> Value:
        there = ", ".join(self) or "nothing"
        raise KeyError(f'"{name}" did not come: this robot sent {there}; see Policy.requires')


@dataclass(frozen=True)
class Robot:
    """The robot that this policy decides for."""

    name: str
    joint_names: tuple[str, ...]
    # All that can come in an observation, by name: "cube_pose": (7,), "front": (224, 224, 3).
    field_shapes: dict[str, tuple[int, ...]]
    task_name: str
    control_period_s: float
    # How often the robot asks at most.
    decision_period_s: float


@dataclass(frozen=True)
class Observation:
    """What the robot saw. The arrays are this decision's own: change them as you like."""

    position_rad: np.ndarray
    # None when the robot does not measure it.
    velocity_rad_per_s: Optional[np.ndarray]
    effort_nm: Optional[np.ndarray]
    # The last command of the safety gate. Plan from here: a held arm hangs below its command.
    command_rad: np.ndarray
    # Numbers by name, such as "cube_pose"; only what is there and fresh.
    fields: Named[np.ndarray]
    # Pictures by name: 224 x 224 x 3 bytes, rows from the top, red green blue.
    images: Named[np.ndarray]
    # The instruction, as text.
    task: str
    # Rises with each new episode or authority.
    epoch: int
    # Time of the run since this epoch's first observation. In lockstep it is no wall clock's.
    since_reset_s: float
    # How old the joints were as this was sent.
    age_s: float
    # Rows of the last chunk that the robot will still execute; the first is the one in force.
    buffered_rows: np.ndarray
    # How long an answer has lately taken, from the robot's sample to its arrival there.
    measured_delay_s: float


class Policy:
    """One robot's policy. Every robot that connects gets an instance of its own.

    All methods are called in one thread; a slow `act` keeps no other robot waiting, and while it
    runs only the newest observation waits for it.
    """

    # Shown to people; the name of the class when empty.
    name: str = ""
    # What a row holds: joint_pos (radians), joint_vel (radians per second), joint_delta (radians,
    # against the positions of the observation), or ee_pose_delta (metres and a rotation vector).
    space: str = "joint_pos"
    # Rows of a chunk, and how far apart they are.
    horizon: int = 16
    dt_s: float = 0.02
    # Names of fields and images that it cannot do without: a robot without them is refused.
    requires: tuple[str, ...] = ()
    # True when JPEG's losses do it no harm: a robot whose profile says so sends its pictures in that
    # form. Needs Pillow.
    accepts_jpeg: bool = False
    # Of ee_pose_delta only: "base" or "tool", and joints that follow the six columns of the pose.
    frame: str = "base"
    extra_joints: tuple[str, ...] = ()

    def setup(self, robot: Robot) -> None:
        """Called once, before anything else: load your model here. The robot waits."""

    def reset(self, epoch: int) -> None:
        """Called before the first `act` of an epoch: forget what was observed before."""

    def act(self, observation: Observation) -> Optional[ArrayLike]:
        """Answers `horizon` rows of floats, one column a joint, row 0 for the observation's time.

        None decides nothing: the robot goes on with what it has, then holds.
        """
        raise NotImplementedError("fill in act")
