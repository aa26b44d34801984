"""The GR00T bridge against a small server that speaks the same bytes, and against bytes by hand."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import threading
import unittest
import warnings
from typing import Any, Callable

import numpy as np

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.reading import observation_of, robot_of

from .fixture import SIDE_PX, hello, observation

HAS_PACKAGES = all(importlib.util.find_spec(name) for name in ("zmq", "msgpack"))
if HAS_PACKAGES:
    import msgpack
    import zmq

    from holdfast_host.bridges.groot import Groot, GrootError, GrootLine, decode, encode

    class Arm(Groot):
        horizon = 2
        video = {"ego": "front"}
        state = {"arm": ("elbow", "shoulder")}
        action = {"lower": ("shoulder",), "upper": ("elbow",)}
        language = "task"

        def to_theirs(self, key: str, values_rad: np.ndarray) -> Any:
            return np.degrees(values_rad)

        def to_radians(self, key: str, values: np.ndarray) -> Any:
            return np.radians(values)


ROBOT = robot_of(hello())
# An npy file of float32 [1, 2], by its format: magic, version, length of the header, header, data.
HEADER = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
NPY = b"\x93NUMPY\x01\x00\x76\x00" + HEADER.ljust(117) + b"\n" + bytes.fromhex("0000803f00000040")
ARRAY = b"\x82\xb1__ndarray_class__\xc3\xa6as_npy\xc4" + bytes([len(NPY)]) + NPY
ACTION_KEYS = ["lower", "upper"]


def modality(keys: list[str], delta_indices: list[int]) -> dict[str, object]:
    quoted = ", ".join(f'"{key}"' for key in keys)
    text = f'{{"delta_indices": {delta_indices}, "modality_keys": [{quoted}]}}'
    return {"__ModalityConfig_class__": True, "as_json": text}


def config(**changes: object) -> dict[str, object]:
    one = [0]
    return {
        "video": modality(["ego"], one),
        "state": modality(["arm"], one),
        "action": modality(ACTION_KEYS, [0, 1, 2]),
        "language": modality(["task"], one),
        **changes,
    }


def degrees(values: list[float]) -> dict[str, object]:
    """(1, 3, 1): one batch, a row more than is asked for, one joint."""
    rows = np.array(values, np.float32).reshape(1, 3, 1)
    packed: dict[str, object] = msgpack.unpackb(encode(rows))
    return packed


Reply = Callable[[Any], object]


def answering(reply: object, _request: object) -> object:
    return reply


class Server:
    """Answers each endpoint as it is told to, and keeps what it was asked."""

    def __init__(self, replies: "dict[str, Reply]") -> None:
        self.asked: list[Any] = []
        self._replies = replies
        self._socket = zmq.Context.instance().socket(zmq.REP)
        self._socket.linger = 0
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            request = msgpack.unpackb(self._socket.recv(), raw=False)
            self.asked.append(request)
            self._socket.send(msgpack.packb(self._replies[request["endpoint"]](request)))
            if request["endpoint"] == "kill":
                self._socket.close()
                return

    def end(self) -> None:
        line = zmq.Context.instance().socket(zmq.REQ)
        line.connect(self.address)
        self._replies["kill"] = lambda _: {}
        line.send(msgpack.packb({"endpoint": "kill"}))
        line.recv()
        line.close()
        self._thread.join()


@unittest.skipUnless(HAS_PACKAGES, "sudo apt-get install python3-zmq python3-msgpack")
class GrootTest(unittest.TestCase):
    def setUp(self) -> None:
        # A socket is closed with the policy that holds it.
        warnings.simplefilter("ignore", ResourceWarning)

    def server(self, **replies: Reply) -> Server:
        usual: dict[str, Reply] = {
            "get_modality_config": lambda _: config(),
            "reset": lambda _: {},
            "get_action": lambda _: [
                {"lower": degrees([90, 180, 0]), "upper": degrees([0] * 3)},
                {},
            ],
        }
        server = Server({**usual, **replies})
        self.addCleanup(server.end)
        return server

    def arm(self, server: Server, timeout_s: float = 30.0) -> "Arm":
        arm = Arm()
        arm.server = server.address
        arm.timeout_s = timeout_s
        arm.setup(ROBOT)
        return arm

    def test_arrays_cross_as_npy_files_byte_for_byte(self) -> None:
        self.assertEqual(encode(np.array([1, 2], np.float32)), ARRAY)
        self.assertEqual(decode(ARRAY).tolist(), [1, 2])

    def test_an_array_of_objects_is_not_unpacked(self) -> None:
        evil = ARRAY.replace(b"'<f4'", b"'|O' ")
        with self.assertRaises(GrootError):
            decode(evil)

    def test_it_asks_in_their_words_and_units_and_answers_in_ours(self) -> None:
        server = self.server()
        arm = self.arm(server)
        arm.reset(1)
        pixels = bytes([1, 2, 3]) * SIDE_PX**2
        image = pb.Image(name="front", encoding=pb.Image.ENCODING_RGB8, pixels=pixels)
        message = observation(1, images=[image], task_text="put it there")
        rows = arm.act(observation_of(message, ROBOT))
        np.testing.assert_allclose(rows, [[np.pi / 2, 0], [np.pi, 0]], rtol=1e-6)
        endpoints = [each["endpoint"] for each in server.asked]
        self.assertEqual(endpoints, ["get_modality_config", "reset", "get_action"])
        asked = server.asked[-1]["data"]["observation"]
        self.assertEqual(asked["language"], {"task": [["put it there"]]})
        state = decode(msgpack.packb(asked["state"]["arm"]))
        expected = np.degrees([[[-0.25, 0.5]]]).astype(np.float32)
        self.assertEqual((state.dtype, state.tolist()), (np.float32, expected.tolist()))
        ego = decode(msgpack.packb(asked["video"]["ego"]))
        self.assertEqual((ego.dtype, ego.shape), (np.uint8, (1, 1, SIDE_PX, SIDE_PX, 3)))
        self.assertEqual(ego[0, 0, 7, 9].tolist(), [1, 2, 3])

    def test_a_model_that_wants_something_else_is_told_before_it_is_asked(self) -> None:
        cases = [
            (config(action=modality(["whole"], [0])), "action: expected whole, found lower, upper"),
            (config(state=modality(["arm"], [-1, 0])), "expected [0], no history, found [-1, 0]"),
            ("nonsense", "video: expected none, found ego"),
        ]
        for told, text in cases:
            server = self.server(get_modality_config=functools.partial(answering, told))
            with self.assertRaises(ValueError) as caught:
                self.arm(server)
            self.assertIn(text, str(caught.exception))

    def test_errors_and_strange_answers_are_told(self) -> None:
        long = degrees([0] * 3)
        cases: list[tuple[object, str]] = [
            ({"error": "CUDA out of memory"}, "says: CUDA out of memory"),
            ("hello", "no list of action and info"),
            ([{"lower": long}, {}], "action upper: expected (1, 2 or more, 1), found none"),
        ]
        answers = iter([answer for answer, _ in cases])
        arm = self.arm(self.server(get_action=lambda _: next(answers)))
        arm.video = {}
        for _, text in cases:
            with self.assertRaises(GrootError) as caught:
                arm.act(observation_of(observation(1), ROBOT))
            self.assertIn(text, str(caught.exception))

    def test_after_a_question_without_an_answer_the_next_one_is_asked(self) -> None:
        gate = threading.Event()

        def held(_: object) -> object:
            gate.wait()
            return {"status": "ok"}

        server = self.server(reset=held)
        line = GrootLine(server.address, timeout_s=0.05)
        with self.assertRaises(GrootError) as caught:
            line.ask("reset", {})
        self.assertIn("did not answer reset within 50 ms", str(caught.exception))
        gate.set()
        answer = None
        while answer is None:  # on a busy machine 50 ms may be too short once more
            with contextlib.suppress(GrootError):
                answer = line.ask("reset", {})
        self.assertEqual(answer, {"status": "ok"})
