"""What the numbers of a chunk mean, and the fingerprint of it that both sides compare.

The same text is hashed as in `runtime/contracts/action.ts`; `tests/vectors.json` holds both to it.
The observation transform is the robot's alone: here are only its version and golden hash, which the
handshake compares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

ACTION_SCHEMA_VERSION = 1

OBS_TRANSFORM_VERSION = 1
OBS_TRANSFORM_SHA256 = bytes.fromhex(
    "89d24d278cf22becba53198b772bef9ff1c417678ba9e5d851c9c2c8693de86f"
)
# Side of the square picture that a policy sees, in pixels.
OBS_SIDE_PX = 224

JOINT_SPACES = ("joint_pos", "joint_vel", "joint_delta")
TOOL_SPACE = "ee_pose_delta"
SPACES = (*JOINT_SPACES, TOOL_SPACE)
TOOL_FRAMES = ("base", "tool")
TOOL_COLUMNS = ("tx", "ty", "tz", "rx", "ry", "rz")


@dataclass(frozen=True)
class ActionSchema:
    """Gives each column of a row its meaning."""

    space: str
    representation: str
    translation_unit: Optional[str]
    rotation_unit: Optional[str]
    frame: str
    columns: tuple[str, ...]

    @property
    def fingerprint(self) -> int:
        """First 48 bits of SHA-256 over the schema and its version."""
        facts = [
            ACTION_SCHEMA_VERSION,
            self.space,
            self.representation,
            self.translation_unit,
            self.rotation_unit,
            self.frame,
            list(self.columns),
        ]
        text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def joint_schema(space: str, joint_names: Sequence[str]) -> ActionSchema:
    """A joint space over these joints, in this order: radians, or radians per second."""
    representation = "joint_rad_per_s" if space == "joint_vel" else "joint_rad"
    return ActionSchema(space, representation, None, None, "joint", tuple(joint_names))


def tool_schema(frame: str, extra_joints: Sequence[str]) -> ActionSchema:
    """Tool pose deltas in metres and radians as a rotation vector, then extra joints in radians."""
    columns = (*TOOL_COLUMNS, *extra_joints)
    return ActionSchema(TOOL_SPACE, "ee_se3_log", "m", "rotvec_rad", frame, columns)
