"""The LeRobot bridge: pickles that it reads and refuses, and a small server of the same tongue."""

from __future__ import annotations

import os
import pickle
import unittest
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import numpy as np

from holdfast_host.bridges.lerobot import PIECE_SIZE_BYTES, SERVICE, LeRobot, LeRobotError, pieces
from holdfast_host.bridges.lerobot_pickles import StrangePickle, actions_of, helper_pickle
from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.reading import observation_of, robot_of
from holdfast_host.usage import UsageError

from .fixture import SIDE_PX, hello, observation
from .lerobot_fixture import Storage, Tensor, TimedAction, chunk_pickle, their_modules

ROBOT = robot_of(hello())
ROWS = np.array([[90.0, 0.0], [180.0, -90.0], [7.0, 8.0]])


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("/nonexistent/holdfast",)


def one_action(action: object) -> bytes:
    with their_modules():
        return pickle.dumps([TimedAction(0.0, 0, action)], protocol=4)


class PicklesTest(unittest.TestCase):
    def test_a_chunk_is_read_row_by_row_in_order_of_time(self) -> None:
        rows = actions_of(chunk_pickle(ROWS))
        self.assertEqual([row.tolist() for row in rows], ROWS.tolist())

    def test_everything_but_a_chunk_is_refused_and_nothing_is_called(self) -> None:
        storage = Storage(np.zeros(4))
        cases = [
            (pickle.dumps(Evil()), f"found a pickle that calls {os.name}.mkdir"),
            (one_action(Evil()), f"found a pickle that calls {os.name}.mkdir"),
            (pickle.dumps([os.system]), "found a pickle that calls"),
            (pickle.dumps({"no": "list"}), "expected a list of TimedAction, found dict"),
            (one_action([1.0, 2.0]), "expected a tensor"),
            (one_action(Tensor(storage, 3, (2,))), "expected a view of 4 floats"),
            (one_action(Tensor(storage, 0, (3, 2))), "expected a view of 4 floats"),
            (one_action(Tensor(storage, -1, (2,))), "expected a tensor, found size"),
            (one_action(Tensor(Storage(np.zeros(4), 5), 0, (2,))), "expected 5 floats"),
            (chunk_pickle(ROWS)[:-20], "a chunk that cannot be read"),
            (b"", "a chunk that cannot be read"),
        ]
        for content, text in cases:
            with self.subTest(text), self.assertRaises(StrangePickle) as caught:
                actions_of(content)
            self.assertIn(text, str(caught.exception))

    def test_what_is_written_is_what_their_class_would_be(self) -> None:
        state: dict[str, object] = {"timestep": 3, "observation": {"a.pos": 1.5}, "must_go": True}
        with their_modules():
            read = pickle.loads(helper_pickle("TimedObservation", state))
        self.assertEqual((type(read).__name__, vars(read)), ("TimedObservation", state))


class Server:
    """LeRobot's server as far as it goes: pieces are put together, a chunk is answered."""

    def __init__(self, chunk: bytes) -> None:
        self.chunk = chunk
        self.calls: list[str] = []
        self.received: list[Any] = []
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        unary = grpc.unary_unary_rpc_method_handler
        handlers = {
            "Ready": unary(self._ready),
            "SendPolicyInstructions": unary(self._instructions),
            "SendObservations": grpc.stream_unary_rpc_method_handler(self._observations),
            "GetActions": unary(self._actions),
        }
        handler = grpc.method_handlers_generic_handler(SERVICE, handlers)
        self._server.add_generic_rpc_handlers((handler,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self) -> None:
        self._server.stop(None).wait()

    def _ready(self, _message: bytes, _context: object) -> bytes:
        self.calls.append("Ready")
        return b""

    def _instructions(self, message: bytes, _context: object) -> bytes:
        self.calls.append("SendPolicyInstructions")
        self.received.append(message)
        return b""

    def _observations(self, messages: Iterator[bytes], _context: object) -> bytes:
        self.calls.append("SendObservations")
        self.received.append(list(messages))
        return b""

    def _actions(self, _message: bytes, _context: object) -> bytes:
        self.calls.append("GetActions")
        size = len(self.chunk)
        return b"\x0a" + bytes([size & 0x7F | 0x80, size >> 7]) + self.chunk if size else b""


class Arm(LeRobot):
    horizon = 2
    model = "someone/arm"
    cameras = {"top": "front"}

    def to_theirs(self, values_rad: np.ndarray) -> Any:
        return np.degrees(values_rad)

    def to_radians(self, rows: np.ndarray) -> Any:
        return np.radians(rows)


class BridgeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(chunk_pickle(ROWS))
        self.addCleanup(self.server.stop)
        self.arm = Arm()
        self.arm.server = self.server.address
        self.arm.setup(ROBOT)
        pixels = bytes([1, 2, 3]) * SIDE_PX**2
        image = pb.Image(name="front", encoding=pb.Image.ENCODING_RGB8, pixels=pixels)
        message = observation(1, images=[image], task_text="put it there")
        self.seen = observation_of(message, ROBOT)

    def test_it_names_the_model_asks_and_answers_in_radians(self) -> None:
        self.arm.reset(1)
        rows = self.arm.act(self.seen)
        np.testing.assert_allclose(rows, [[np.pi / 2, 0], [np.pi, -np.pi / 2]])
        order = ["Ready", "SendPolicyInstructions", "Ready", "SendObservations", "GetActions"]
        self.assertEqual(self.server.calls, order)
        [message] = self.server.received[1]
        self.assertEqual(message[:3], b"\x08\x03\x12")  # the end alone, then bytes
        with their_modules():
            read = pickle.loads(message[message.index(b"\x80\x03c") :])
        degrees = {name: round(read.observation[f"{name}.pos"], 3) for name in ROBOT.joint_names}
        self.assertEqual(degrees, {"shoulder": 28.648, "elbow": -14.324})
        self.assertEqual(read.observation["task"], "put it there")
        self.assertEqual(read.observation["top"][3, 4].tolist(), [1, 2, 3])
        self.assertTrue(read.must_go)

    def test_every_decision_lies_past_what_was_answered(self) -> None:
        for _ in range(2):
            self.arm.act(self.seen)
        steps = []
        for [message] in self.server.received[1:]:
            with their_modules():
                steps.append(pickle.loads(message[message.index(b"\x80\x03c") :]).timestep)
        self.assertGreaterEqual(steps[1] - steps[0], self.arm.horizon)

    def test_a_server_that_others_could_reach_is_refused(self) -> None:
        self.arm.server = "10.0.0.7:8080"
        with self.assertRaises(UsageError) as caught:
            self.arm.setup(ROBOT)
        self.assertIn("who reaches that port runs code there", str(caught.exception))

    def test_an_empty_answer_is_no_chunk(self) -> None:
        self.server.chunk = b""
        with self.assertRaises(LeRobotError):
            self.arm.act(self.seen)

    def test_a_large_payload_is_cut_into_begin_middle_end(self) -> None:
        cut = list(pieces(bytes(2 * PIECE_SIZE_BYTES + 1)))
        self.assertEqual([piece[1] for piece in cut], [1, 2, 3])
        self.assertEqual(sum(piece.count(b"\0") for piece in cut), 2 * PIECE_SIZE_BYTES + 1)
