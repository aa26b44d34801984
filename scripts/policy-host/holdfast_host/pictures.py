"""A picture's bytes as an array. JPEG is decoded by Pillow, where that is installed; nothing else
here needs it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Optional

import numpy as np

from .generated import policy_pb2 as pb
from .jpeg_check import jpeg_fault
from .limits import JPEG_COUNT_MAX
from .policy import Named
from .schema import OBS_SIDE_PX

try:
    from PIL import Image as Pillow
except ImportError:
    HAS_PILLOW = False
else:
    HAS_PILLOW = True
    Pillow.preinit()  # its decoders, so that the first picture is no slower than the rest

SHAPE = (OBS_SIDE_PX, OBS_SIDE_PX, 3)
SIZE_BYTES = OBS_SIDE_PX * OBS_SIDE_PX * 3

INSTALL_PILLOW = "sudo apt-get install python3-pil, or: pip install pillow"


class StrangePicture(Exception):
    """A picture that a robot should not have sent."""

    def __init__(self, what: str, expected: str, found: str) -> None:
        super().__init__(f"the {what}: expected {expected}, found {found}")


def arrays_of(images: Sequence[pb.Image], takes_jpeg: bool) -> Named[np.ndarray]:
    """Without what is no picture as the transform makes it. Raises StrangePicture."""
    jpeg_count = sum(image.encoding == pb.Image.ENCODING_JPEG for image in images)
    if jpeg_count > JPEG_COUNT_MAX:
        raise StrangePicture("pictures", f"at most {JPEG_COUNT_MAX} as JPEG", str(jpeg_count))
    arrays: Named[np.ndarray] = Named()
    for image in images:
        pixels = _array_of(image, takes_jpeg)
        if pixels is not None:
            arrays[image.name] = pixels
    return arrays


def _array_of(image: pb.Image, takes_jpeg: bool) -> Optional[np.ndarray]:
    if takes_jpeg and image.encoding == pb.Image.ENCODING_JPEG:
        return _decoded(image)
    if image.encoding != pb.Image.ENCODING_RGB8 or len(image.pixels) != SIZE_BYTES:
        return None
    return np.frombuffer(image.pixels, dtype=np.uint8).reshape(SHAPE).copy()


def _decoded(image: pb.Image) -> np.ndarray:
    what = f"picture {image.name}"
    side = f"{OBS_SIDE_PX} x {OBS_SIDE_PX}"
    if (image.width_px, image.height_px) != (OBS_SIDE_PX, OBS_SIDE_PX):
        raise StrangePicture(what, side, f"{image.width_px} x {image.height_px}")
    fault = jpeg_fault(image.pixels, OBS_SIDE_PX, OBS_SIDE_PX)
    if fault is not None:
        raise StrangePicture(what, *fault)
    try:
        with Pillow.open(io.BytesIO(image.pixels), formats=("JPEG",)) as picture:
            return np.array(picture.convert("RGB"), dtype=np.uint8)
    except Exception as error:  # Pillow has many for broken data, not all of one kind
        expected, found = "a JPEG that can be decoded", "a broken one"
        raise StrangePicture(what, expected, found) from error
