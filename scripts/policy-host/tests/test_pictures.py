"""Pictures that come as JPEG: what a policy sees of them, and what is refused by name."""

from __future__ import annotations

import io
import queue
import unittest
from typing import Any, Optional

import numpy as np

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.notes import Notes
from holdfast_host.pictures import HAS_PILLOW, StrangePicture
from holdfast_host.policy import Observation, Policy
from holdfast_host.policy_pool import PolicyPool
from holdfast_host.policy_thread import PolicyPlan
from holdfast_host.reading import observation_of, robot_of
from holdfast_host.session import Decision

from .fixture import HANG_S, SIDE_PX, Lines, hello, observation

FIELDS = [pb.Field(name="front", dtype="jpeg", shape=[SIDE_PX, SIDE_PX, 3])]
ROBOT = robot_of(hello(fields=FIELDS))
COLOURS = [[200, 30, 40], [20, 190, 60], [30, 50, 210], [240, 240, 230]]


def quarters() -> np.ndarray:
    half = SIDE_PX // 2
    rows = [np.tile(np.array(COLOURS[at : at + 2], np.uint8)[None], (half, 1, 1)) for at in (0, 2)]
    return np.repeat(np.concatenate(rows), half, axis=1)


def jpeg_of(pixels: np.ndarray, **options: Any) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=90, **options)
    return out.getvalue()


def message(jpeg: bytes, side_px: int = SIDE_PX) -> pb.Observation:
    encoding = pb.Image.ENCODING_JPEG
    size = {"width_px": side_px, "height_px": side_px}
    return observation(1, images=[pb.Image(name="front", encoding=encoding, pixels=jpeg, **size)])


class Sees(Policy):
    """Answers the red and green of the corner that it sees."""

    accepts_jpeg = True
    horizon = 1

    def act(self, observation: Observation) -> Any:
        return observation.images["front"][2:3, 2, :2].astype(float)


@unittest.skipUnless(HAS_PILLOW, "needs Pillow: sudo apt-get install python3-pil")
class PicturesTest(unittest.TestCase):
    def test_a_policy_sees_the_colours_that_were_sent(self) -> None:
        jpeg = jpeg_of(quarters())
        seen = observation_of(message(jpeg), ROBOT, takes_jpeg=True).images["front"]
        self.assertEqual((seen.shape, seen.dtype), ((SIDE_PX, SIDE_PX, 3), np.dtype(np.uint8)))
        half = SIDE_PX // 2
        blocks = [seen[y : y + half, x : x + half] for y in (0, half) for x in (0, half)]
        means = np.array([block.reshape(-1, 3).mean(axis=0) for block in blocks])
        self.assertLess(np.abs(means - COLOURS).max(), 3)
        seen[0, 0] = 0  # its own, to be changed

    def test_what_is_no_such_picture_is_refused_by_name(self) -> None:
        good = jpeg_of(quarters())
        frame = good.index(b"\xff\xc0")
        bomb = good[: frame + 5] + b"\xff\xff\xff\xff" + good[frame + 9 :]
        size = "224 x 224 pixels, 3 colours of 8 bits"
        cases = [
            (b"", "a JPEG", "no bytes"),
            (b"\x89PNG\r\n\x1a\n..", "a JPEG", "bytes that begin with 89504e470d0a1a0a"),
            (bomb, size, "65535 x 65535 pixels, 3 colours of 8 bits"),
            (jpeg_of(quarters()[:, :, 0]), size, "224 x 224 pixels, 1 colours of 8 bits"),
            (jpeg_of(quarters(), progressive=True), "a baseline JPEG", "a progressive one"),
            (good[:-9], "a whole JPEG", "one that was cut off"),
            (good + b"x", "one scan, and nothing after its end", "more"),
            (bytes(SIDE_PX * SIDE_PX * 3 + 1), "at most 150528 bytes", "150529"),
        ]
        for jpeg, expected, found in cases:
            with self.subTest(found):
                with self.assertRaises(StrangePicture) as caught:
                    observation_of(message(jpeg), ROBOT, takes_jpeg=True)
                text = str(caught.exception)
                self.assertTrue(text.startswith(f"the picture front: expected {expected}"), text)
                self.assertTrue(text.endswith(f", found {found}"), text)
        with self.assertRaisesRegex(StrangePicture, "expected 224 x 224, found 9 x 9"):
            observation_of(message(good, 9), ROBOT, takes_jpeg=True)
        many = message(good)
        many.images.extend([many.images[0]] * 16)
        with self.assertRaisesRegex(StrangePicture, "at most 16 as JPEG, found 17"):
            observation_of(many, ROBOT, takes_jpeg=True)

    def test_whatever_bytes_are_broken_a_picture_comes_or_a_refusal(self) -> None:
        good = jpeg_of(quarters())
        random = np.random.default_rng(1)
        refused_count = 0
        for _ in range(300):
            broken = bytearray(good)
            for at in random.integers(len(broken), size=3):
                broken[at] = random.integers(256)
            try:
                seen = observation_of(message(bytes(broken)), ROBOT, takes_jpeg=True)
                self.assertEqual(seen.images["front"].shape, (SIDE_PX, SIDE_PX, 3))
            except StrangePicture:
                refused_count += 1
        self.assertGreater(refused_count, 30)

    def test_a_broken_one_is_told_and_the_next_is_decided_on(self) -> None:
        lines = Lines()
        pool = PolicyPool(PolicyPlan(Sees, 0, 0), Notes(lines))
        thread = pool.take(ROBOT)
        self.addCleanup(thread.close)
        thread.reset(1)
        ends: "queue.Queue[tuple[Optional[Decision], str]]" = queue.Queue()
        for jpeg in (b"no picture", jpeg_of(quarters())):
            thread.act(message(jpeg), lambda *end: ends.put(end))
            if jpeg == b"no picture":
                text = "the picture front: expected a JPEG, found bytes that begin with "
                self.assertEqual(ends.get(timeout=HANG_S), (None, f"{text}6e6f207069637475"))
        decision, trouble = ends.get(timeout=HANG_S)
        assert decision is not None, trouble
        self.assertLess(np.abs(decision.rows - COLOURS[0][:2]).max(), 6)
        self.assertEqual(trouble, "")
        self.assertIn("found bytes that begin with 6e6f207069637475; nothing was sent", lines[0])
