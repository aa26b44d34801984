"""What a class says of itself is what the robot is told."""

import unittest

from unittest import mock

from holdfast_host.facts import facts_of, missing_for_jpeg
from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.policy import Observation, Policy
from holdfast_host.schema import OBS_TRANSFORM_SHA256, OBS_TRANSFORM_VERSION, tool_schema

JOINTS = ("shoulder", "elbow", "gripper")


class Plain(Policy):
    def act(self, observation: Observation) -> None:
        return None


class Reach(Plain):
    name = "reach"
    space = "ee_pose_delta"
    frame = "tool"
    extra_joints = ("gripper",)
    horizon = 50
    dt_s = 0.1
    requires = ("front",)


class FactsTest(unittest.TestCase):
    def test_the_defaults_are_positions_of_every_joint(self) -> None:
        facts = facts_of(Plain, JOINTS, promise_ns=0)
        schema = facts.action_schema
        told = (facts.name, facts.horizon, facts.dt_ns, list(schema.columns), schema.space)
        self.assertEqual(told, ("Plain", 16, 20_000_000, list(JOINTS), "joint_pos"))

    def test_everything_that_a_class_changes_is_told(self) -> None:
        columns = ["tx", "ty", "tz", "rx", "ry", "rz", "gripper"]
        schema = pb.ActionSchema(
            space="ee_pose_delta",
            representation="ee_se3_log",
            translation_unit="m",
            rotation_unit="rotvec_rad",
            frame="tool",
            columns=columns,
        )
        expected = pb.PolicyFacts(
            name="reach",
            action_schema=schema,
            action_schema_fingerprint=tool_schema("tool", ["gripper"]).fingerprint,
            horizon=50,
            dt_ns=100_000_000,
            required_fields=[pb.Field(name="front")],
            obs_transform_version=OBS_TRANSFORM_VERSION,
            obs_transform_sha256=OBS_TRANSFORM_SHA256,
            manifest_sha256=b"\1",
            latency_ns_p99=80_000_000,
        )
        self.assertEqual(facts_of(Reach, JOINTS, 80_000_000, b"\1"), expected)

    def test_jpeg_is_accepted_where_the_class_says_so_and_pillow_is_there(self) -> None:
        class Lossy(Plain):
            accepts_jpeg = True

        told = []
        for has_pillow in (True, False):
            with mock.patch("holdfast_host.facts.HAS_PILLOW", has_pillow):
                for policy in (Plain, Lossy):
                    accepts = facts_of(policy, JOINTS, promise_ns=0).accepts_jpeg
                    told.append((accepts, missing_for_jpeg(policy)))
        line = (
            "Lossy accepts JPEG, which needs Pillow: until then a robot that sends it is refused "
            "(sudo apt-get install python3-pil, or: pip install pillow)"
        )
        self.assertEqual(told, [(False, None), (True, None), (False, None), (False, line)])
