"""A policy reads what the robot sent, in the units of the names, and nothing that does not fit."""

import unittest
from typing import Any

import numpy as np

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.reading import StrangeObservation, observation_of, robot_of, warm_up_message

from .fixture import SIDE_PX, hello, observation

ROBOT = robot_of(hello())
PIXELS = bytes(range(256)) * (SIDE_PX * SIDE_PX * 3 // 256)


def image(**changes: Any) -> pb.Image:
    facts: dict[str, Any] = {
        "name": "front",
        "width_px": SIDE_PX,
        "height_px": SIDE_PX,
        "encoding": pb.Image.ENCODING_RGB8,
        "pixels": PIXELS,
    }
    return pb.Image(**{**facts, **changes})


class ReadingTest(unittest.TestCase):
    def test_everything_that_was_sent_is_read(self) -> None:
        seen = observation_of(
            observation(
                1,
                epoch=4,
                velocity_rad_per_s=[1, 2],
                fields=[pb.FieldValue(name="cube_pose", values=[1, 2, 3, 4, 5, 6, 7])],
                images=[image()],
                task_text="put it there",
                age_ns=2_000_000,
                buffered_rows=[1, 2, 3, 4, 5, 6],
                buffered_row_count=3,
                measured_delay_ns=150_000_000,
                since_reset_ns=1_500_000_000,
            ),
            ROBOT,
        )
        self.assertEqual(seen.position_rad.tolist(), [0.5, -0.25])
        self.assertEqual(seen.command_rad.tolist(), [0.75, 1.5])
        assert seen.velocity_rad_per_s is not None
        self.assertEqual(seen.velocity_rad_per_s.tolist(), [1, 2])
        self.assertIsNone(seen.effort_nm)
        self.assertEqual(seen.fields["cube_pose"].tolist(), [1, 2, 3, 4, 5, 6, 7])
        self.assertEqual(seen.images["front"].shape, (SIDE_PX, SIDE_PX, 3))
        self.assertEqual(seen.images["front"][0, 1].tolist(), [3, 4, 5])
        self.assertEqual(seen.buffered_rows.tolist(), [[1, 2], [3, 4], [5, 6]])
        facts = (seen.task, seen.epoch, seen.since_reset_s, seen.age_s, seen.measured_delay_s)
        self.assertEqual(facts, ("put it there", 4, 1.5, 0.002, 0.15))

    def test_what_did_not_come_is_told_by_name(self) -> None:
        seen = observation_of(observation(1), ROBOT)
        with self.assertRaises(KeyError) as caught:
            seen.images["front"]
        self.assertIn('"front" did not come: this robot sent nothing', str(caught.exception))
        self.assertEqual(seen.buffered_rows.shape, (0, 0))

    def test_fields_and_pictures_of_another_size_or_kind_are_left_out(self) -> None:
        jpeg = pb.Image.ENCODING_JPEG
        strange = [
            observation(1, fields=[pb.FieldValue(name="cube_pose", values=[1, 2])]),
            observation(1, fields=[pb.FieldValue(name="unheard_of", values=[1, 2])]),
            observation(1, fields=[pb.FieldValue(name="cube_pose", values=[float("nan")] * 7)]),
            observation(1, images=[image(pixels=PIXELS[:-1])]),
            observation(1, images=[image(encoding=jpeg)]),
        ]
        for message in strange:
            seen = observation_of(message, ROBOT)
            self.assertEqual((dict(seen.fields), dict(seen.images)), ({}, {}))

    def test_other_joints_than_the_hellos_are_refused(self) -> None:
        strange = [
            observation(1, position_rad=[1]),
            observation(1, command_rad=[]),
            observation(1, effort_nm=[1, 2, 3]),
            observation(1, position_rad=[1, float("nan")]),
            observation(1, command_rad=[float("inf"), 1]),
            observation(1, buffered_rows=[1, 2, 3], buffered_row_count=2),
        ]
        for message in strange:
            with self.assertRaises(StrangeObservation):
                observation_of(message, ROBOT)

    def test_the_warm_up_has_all_that_the_robot_can_send(self) -> None:
        seen = observation_of(warm_up_message(ROBOT, 0), ROBOT)
        self.assertEqual(seen.fields["cube_pose"].tolist(), [0] * 7)
        self.assertEqual(int(np.max(seen.images["front"])), 0)
        self.assertEqual(seen.position_rad.tolist(), [0, 0])
