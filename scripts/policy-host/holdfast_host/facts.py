"""What a policy class says of itself, checked once, before anything listens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from .generated import policy_pb2 as pb
from .limits import DT_NS_MAX, HORIZON_MAX
from .pictures import HAS_PILLOW, INSTALL_PILLOW
from .policy import Policy
from .schema import (
    JOINT_SPACES,
    OBS_TRANSFORM_SHA256,
    OBS_TRANSFORM_VERSION,
    SPACES,
    TOOL_FRAMES,
    ActionSchema,
    joint_schema,
    tool_schema,
)


def wrong_attribute(policy: type[Policy]) -> Optional[tuple[str, str, str]]:
    """The first attribute that cannot be used, what was expected, and what was found."""
    dt_s = policy.dt_s
    horizon = policy.horizon
    is_count = isinstance(horizon, int) and not isinstance(horizon, bool)
    is_time = isinstance(dt_s, (int, float)) and not isinstance(dt_s, bool)
    checks: list[tuple[bool, str, str, object]] = [
        (policy.act is not Policy.act, "act", "a method of its own", "none"),
        (isinstance(policy.name, str), "name", "a text", policy.name),
        (policy.space in SPACES, "space", " or ".join(SPACES), policy.space),
        (
            is_count and 1 <= horizon <= HORIZON_MAX,
            "horizon",
            f"a whole number from 1 to {HORIZON_MAX}",
            horizon,
        ),
        (
            is_time and 1 <= dt_s * 1e9 <= DT_NS_MAX,
            "dt_s",
            f"seconds above 0 and up to {DT_NS_MAX / 1e9:g}",
            dt_s,
        ),
        (_are_names(policy.requires), "requires", 'names, such as ("cube_pose",)', policy.requires),
        (
            isinstance(policy.accepts_jpeg, bool),
            "accepts_jpeg",
            "True or False",
            policy.accepts_jpeg,
        ),
        (policy.frame in TOOL_FRAMES, "frame", " or ".join(TOOL_FRAMES), policy.frame),
        (
            _are_names(policy.extra_joints),
            "extra_joints",
            'names, such as ("gripper",)',
            policy.extra_joints,
        ),
    ]
    for is_right, name, expected, found in checks:
        if not is_right:
            return name, expected, found if found == "none" else repr(found)
    return None


def _are_names(names: object) -> bool:
    """A tuple or list of texts; a lone text would be read letter by letter."""
    return isinstance(names, (tuple, list)) and all(isinstance(name, str) for name in names)


def schema_of(policy: type[Policy], joint_names: Sequence[str]) -> ActionSchema:
    if policy.space in JOINT_SPACES:
        return joint_schema(policy.space, joint_names)
    return tool_schema(policy.frame, policy.extra_joints)


def takes_jpeg(policy: type[Policy]) -> bool:
    """It says so, and this machine can decode it."""
    return policy.accepts_jpeg and HAS_PILLOW


def missing_for_jpeg(policy: type[Policy]) -> Optional[str]:
    """One line for a person, where a class says more than this machine can do."""
    if not policy.accepts_jpeg or takes_jpeg(policy):
        return None
    why = "accepts JPEG, which needs Pillow: until then a robot that sends it is refused"
    return f"{policy.__name__} {why} ({INSTALL_PILLOW})"


def facts_of(
    policy: type[Policy], joint_names: Sequence[str], promise_ns: int, digest: bytes = b""
) -> pb.PolicyFacts:
    """The facts of a checked class, over this robot's joints, and the digest of its file."""
    schema = schema_of(policy, joint_names)
    return pb.PolicyFacts(
        name=policy.name or policy.__name__,
        action_schema=pb.ActionSchema(
            space=schema.space,
            representation=schema.representation,
            translation_unit=schema.translation_unit or "",
            rotation_unit=schema.rotation_unit or "",
            frame=schema.frame,
            columns=schema.columns,
        ),
        action_schema_fingerprint=schema.fingerprint,
        horizon=policy.horizon,
        dt_ns=round(policy.dt_s * 1e9),
        required_fields=[pb.Field(name=name) for name in policy.requires],
        obs_transform_version=OBS_TRANSFORM_VERSION,
        obs_transform_sha256=OBS_TRANSFORM_SHA256,
        accepts_jpeg=takes_jpeg(policy),
        manifest_sha256=digest,
        latency_ns_p99=promise_ns,
    )
