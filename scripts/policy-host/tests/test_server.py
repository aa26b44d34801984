"""The whole host over a real connection: threads, streams, certificates. Nothing here waits for a
length of time; a policy that is to be slow waits until the test lets it go on."""

from __future__ import annotations

import queue
import socket
import threading
import unittest
from collections.abc import Iterator
from typing import Any, Optional

import grpc
import numpy as np

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.host_stream import HostStream
from holdfast_host.limits import (
    RECEIVE_SIZE_BYTES_MAX,
    SEND_SIZE_BYTES_MAX,
    SILENT_LOOK_COUNT_MAX,
    STREAM_COUNT_MAX,
    TEXT_CHARACTERS_MAX,
    UNREAD_COUNT_MAX,
)
from holdfast_host.notes import KIND_COUNT_MAX, Notes, error_text
from holdfast_host.policy import Observation, Policy, Robot
from holdfast_host.policy_pool import PolicyPool
from holdfast_host.policy_thread import PolicyPlan, PolicyThread
from holdfast_host.reading import robot_of
from holdfast_host.server import SERVICE, CannotListen, HostServer

from .fixture import HANG_S, Lines, edge, hello, observation

READY = pb.HostStatus.STATE_READY


class Edge:
    """A robot, as far as the link goes."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._sent: "queue.Queue[Optional[pb.EdgeMessage]]" = queue.Queue()
        run = channel.stream_stream(
            f"/{SERVICE}/Run",
            request_serializer=pb.EdgeMessage.SerializeToString,
            response_deserializer=pb.HostMessage.FromString,
        )
        self._call = run(self._requests(), timeout=HANG_S)

    def send(self, **body: Any) -> None:
        self._sent.put(edge(**body))

    def next(self) -> pb.HostMessage:
        message: pb.HostMessage = next(self._call)
        return message

    def until(self, kind: str) -> pb.HostMessage:
        while True:
            message = self.next()
            if message.WhichOneof("message") == kind:
                return message

    def talk_until(self, kind: str) -> pb.HostMessage:
        """A robot pings all the time, or is taken for gone."""
        while True:
            self.send(ping=pb.Ping())
            message = self.next()
            if message.WhichOneof("message") == kind:
                return message

    def greet(self, **changes: Any) -> list[str]:
        """From hello to ready: the states on the way, by name."""
        self.send(hello=hello(**changes))
        self.until("welcome")
        states: list[str] = []
        while states[-1:] != ["STATE_READY"]:
            state = self.until("status").status.state
            states.append(pb.HostStatus.State.Name(state))
        return states

    def ping(self, ping_id: int) -> pb.Pong:
        self.send(ping=pb.Ping(ping_id=ping_id))
        return self.until("pong").pong

    def ask(self, observation_id: int, epoch: int = 1) -> None:
        self.send(observation=observation(observation_id, epoch))

    def leave(self) -> None:
        self._sent.put(None)
        for _ in self._call:
            pass

    def _requests(self) -> Iterator[pb.EdgeMessage]:
        while True:
            message = self._sent.get()
            if message is None:
                return
            yield message


def described(channel: grpc.Channel) -> pb.DescribeReply:
    describe = channel.unary_unary(
        f"/{SERVICE}/Describe",
        request_serializer=pb.DescribeRequest.SerializeToString,
        response_deserializer=pb.DescribeReply.FromString,
    )
    reply: pb.DescribeReply = describe(pb.DescribeRequest(), timeout=HANG_S)
    return reply


class Still(Policy):
    """Stays where it is commanded to be."""

    horizon = 2

    def act(self, observation: Observation) -> Any:
        return np.tile(observation.command_rad, (self.horizon, 1))


class ServerTest(unittest.TestCase):
    def serve(self, policy: type[Policy], warm_up_count: int = 0) -> int:
        self.lines = Lines()
        plan = PolicyPlan(policy, warm_up_count, promise_ns=0)
        self.server = server = HostServer(plan, {"python": "3"}, Notes(self.lines))
        self.addCleanup(server.close)
        return server.open("127.0.0.1:0", None)

    def channel(self, port: int) -> grpc.Channel:
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.addCleanup(channel.close)
        return channel

    def edge(self, policy: type[Policy], warm_up_count: int = 0) -> Edge:
        return Edge(self.channel(self.serve(policy, warm_up_count)))

    def test_it_loads_warms_up_and_is_ready_and_answers(self) -> None:
        gate = threading.Event()
        calls: list[object] = []

        class Told(Still):
            def setup(self, robot: Robot) -> None:
                gate.wait(HANG_S)
                calls.append(("setup", robot.joint_names, robot.field_shapes["cube_pose"]))

            def reset(self, epoch: int) -> None:
                calls.append(("reset", epoch))

            def act(self, observation: Observation) -> Any:
                calls.append(("act", observation.epoch, sorted(observation.images)))
                return super().act(observation)

        robot = self.edge(Told, warm_up_count=1)
        robot.send(hello=hello())
        self.assertEqual(robot.until("welcome").welcome.policy.name, "Told")
        self.assertEqual(robot.next().status.state, pb.HostStatus.STATE_LOADING)
        self.assertEqual(robot.ping(1).state, pb.HostStatus.STATE_LOADING)
        gate.set()
        states = [robot.next().status.state for _ in range(2)]
        self.assertEqual(states, [pb.HostStatus.STATE_WARMING_UP, READY])
        robot.ask(1)
        self.assertEqual(list(robot.until("chunk").chunk.values), [0.75, 1.5, 0.75, 1.5])
        self.assertEqual(
            calls,
            [
                ("setup", ("shoulder", "elbow"), (7,)),
                ("reset", 0),
                ("act", 0, ["front"]),
                ("reset", 1),
                ("act", 1, []),
            ],
        )

    def test_pings_are_answered_while_the_model_thinks(self) -> None:
        gate = threading.Event()

        class Slow(Still):
            def act(self, observation: Observation) -> Any:
                gate.wait(HANG_S)
                return super().act(observation)

        robot = self.edge(Slow)
        robot.greet()
        robot.ask(1)
        for ping_id in range(1, 20):
            self.assertEqual(robot.ping(ping_id).ping_id, ping_id)
        robot.ask(2)
        robot.ask(3)
        robot.ping(20)
        gate.set()
        chunks = [robot.until("chunk").chunk.observation_id for _ in range(2)]
        self.assertEqual(chunks, [1, 3])

    def test_bad_answers_are_told_once_and_are_no_decision(self) -> None:
        bad: list[object] = [np.zeros((3, 2)), np.full((2, 2), np.nan), None, 0.5, "raise"]
        answers = iter([answer for answer in bad for _ in range(3)])
        begun: "queue.Queue[int]" = queue.Queue()

        class Bad(Still):
            def act(self, observation: Observation) -> Any:
                begun.put(1)
                answer = next(answers, "good")
                if isinstance(answer, str) and answer == "raise":
                    raise SystemExit("gone")
                return super().act(observation) if isinstance(answer, str) else answer

        robot = self.edge(Bad)
        robot.greet()
        asked = 3 * len(bad) + 1
        for observation_id in range(1, asked + 1):
            robot.ask(observation_id)
            begun.get(timeout=HANG_S)
        horizons: list[int] = []
        troubles: list[str] = []
        while len(horizons) < asked:
            message = robot.next()
            chunk = message.chunk
            if message.HasField("status"):
                troubles.append(message.status.text)
            if message.HasField("chunk"):
                horizons.append(chunk.horizon)
        self.assertIn("found (3, 2)", troubles[0])  # the robot hears it too, and rarely
        self.assertEqual(chunk.observation_id, asked)
        self.assertEqual(horizons, [0] * (asked - 1) + [2])
        told = [line for line in self.lines if line.endswith("; nothing was sent")]
        self.assertEqual(len(told), 5, self.lines)
        self.assertIn("found (3, 2)", told[0])
        self.assertIn("found nan", told[1])
        self.assertIn("is a return missing?", told[2])
        self.assertIn("the wrong shape: expected (2, 2), 2 rows of 2, found ()", told[3])
        self.assertIn("act threw: SystemExit: gone (", told[4])

    def test_a_policy_that_cannot_be_set_up_is_a_refusal(self) -> None:
        class Broken(Still):
            def setup(self, robot: Robot) -> None:
                raise FileNotFoundError("no weights.pt")

        robot = self.edge(Broken)
        robot.send(hello=hello())
        refusal = robot.until("refusal").refusal
        self.assertEqual(
            (refusal.field, refusal.expected), ("policy", "a policy that can be set up")
        )
        self.assertIn("FileNotFoundError: no weights.pt", refusal.found)

    def test_why_it_cannot_be_set_up_fits_a_message(self) -> None:
        class Broken(Still):
            def setup(self, robot: Robot) -> None:
                raise ValueError("\x1b[2J" + "weights " * SEND_SIZE_BYTES_MAX)

        robot = self.edge(Broken)
        robot.send(hello=hello())
        found = robot.until("refusal").refusal.found
        self.assertEqual(len(found), TEXT_CHARACTERS_MAX)
        self.assertTrue(found.startswith("ValueError: ?[2Jweights "), found)

    def test_one_robot_more_is_told_so_and_served_once_another_has_left(self) -> None:
        channel = self.channel(self.serve(Still))
        robots = [Edge(channel) for _ in range(STREAM_COUNT_MAX)]
        for robot in robots:  # each is there, and says nothing more than that
            robot.ping(1)
        refusal = Edge(channel).until("refusal").refusal
        self.assertEqual((refusal.field, refusal.expected), ("robots", "at most 64 at once"))
        self.assertEqual(described(channel).status.edge_count, STREAM_COUNT_MAX)
        robots[0].leave()
        Edge(channel).greet()

    def test_a_robot_that_comes_back_finds_its_policy_loaded_and_two_at_once_have_two(self) -> None:
        made: list[Policy] = []

        class Counted(Still):
            def setup(self, robot: Robot) -> None:
                made.append(self)

        channel = self.channel(self.serve(Counted))
        first, second = Edge(channel), Edge(channel)
        first.greet()
        second.greet()
        self.assertEqual(len(made), 2)
        first.leave()
        again = Edge(channel)
        again.greet()
        self.assertEqual(len(made), 2)
        again.ask(1)
        self.assertEqual(again.until("chunk").chunk.epoch, 1)
        other = Edge(channel)
        other.greet(robot="another")
        self.assertEqual(len(made), 3)

    def test_one_whose_cable_was_pulled_has_left_and_finds_its_policy_loaded(self) -> None:
        made: list[Policy] = []

        class Counted(Still):
            def setup(self, robot: Robot) -> None:
                made.append(self)

        channel = self.channel(self.serve(Counted))
        robot = Edge(channel)
        robot.greet()
        for _ in range(SILENT_LOOK_COUNT_MAX):
            self.server.look()
        with self.assertRaises(StopIteration):
            robot.until("chunk")
        self.assertEqual(self.lines[-1], "arm2 left")
        Edge(channel).greet()
        self.assertEqual(len(made), 1)

    def test_it_is_described_without_a_handshake(self) -> None:
        channel = self.channel(self.serve(Still))
        robot = Edge(channel)
        robot.greet()
        reply = described(channel)
        facts = (reply.protocol_version, reply.policy.name, reply.status.edge_count)
        self.assertEqual(facts, (1, "Still", 1))
        robot.leave()
        while reply.status.edge_count > 0:
            reply = described(channel)

    def test_it_is_described_by_the_robot_that_is_furthest_from_deciding(self) -> None:
        gate = threading.Event()

        class Late(Still):
            def setup(self, robot: Robot) -> None:
                if robot.name == "late":
                    gate.wait(HANG_S)

            def act(self, observation: Observation) -> Any:
                raise ValueError("no model")

        def told() -> "tuple[str, str]":
            status = described(channel).status
            return pb.HostStatus.State.Name(status.state), status.text.partition(" (")[0]

        channel = self.channel(self.serve(Late))
        self.assertEqual(told(), ("STATE_READY", ""))
        robot = Edge(channel)
        robot.greet()
        self.assertEqual(told(), ("STATE_READY", ""))
        robot.ask(1)
        robot.until("chunk")
        trouble = "arm2: act threw: ValueError: no model"
        self.assertEqual(told(), ("STATE_READY", trouble))
        late = Edge(channel)
        late.send(hello=hello(robot="late"))
        late.until("welcome")
        self.assertEqual(told(), ("STATE_LOADING", trouble))
        gate.set()
        while told()[0] != "STATE_READY":
            pass

    def test_pictures_of_several_megabytes_are_taken_and_no_more(self) -> None:
        robot = self.edge(Still)
        robot.greet()
        for size_bytes in (5 << 20, 9 << 20):
            image = pb.Image(name="front", pixels=bytes(size_bytes))
            robot.send(observation=observation(1, images=[image]))
            if size_bytes < RECEIVE_SIZE_BYTES_MAX:
                self.assertEqual(robot.until("chunk").chunk.observation_id, 1)
        with self.assertRaises(grpc.RpcError) as caught:
            robot.until("chunk")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)

    def test_a_robot_that_reads_nothing_is_given_up(self) -> None:
        lines = Lines()
        notes = Notes(lines)
        all_read = threading.Event()

        def pings() -> Iterator[pb.EdgeMessage]:
            for ping_id in range(4 * UNREAD_COUNT_MAX):
                yield edge(ping=pb.Ping(ping_id=ping_id))
            all_read.set()

        plan = PolicyPlan(Still, 0, 0)
        stream = HostStream(PolicyPool(plan, notes), {}, notes, lambda _: None, lambda: True)
        messages = stream.messages(pings())
        next(messages)
        self.assertTrue(all_read.wait(HANG_S))
        self.assertLessEqual(len(list(messages)), UNREAD_COUNT_MAX)
        self.assertEqual(lines, ["a robot reads nothing: given up"])

    def test_a_connection_that_asks_nothing_is_ended_and_one_with_a_robot_is_not(self) -> None:
        port = self.serve(Still)
        robot = Edge(self.channel(port))
        robot.ping(1)
        settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
        for word in (b"", settings):
            with socket.create_connection(("127.0.0.1", port), timeout=HANG_S) as stranger:
                stranger.sendall(word)
                while stranger.recv(1024):
                    pass
        self.assertEqual(robot.ping(2).ping_id, 2)

    def test_a_port_is_never_shared(self) -> None:
        port = self.serve(Still)
        other = HostServer(PolicyPlan(Still, 0, 0), {}, Notes(Lines()))
        with self.assertRaises(CannotListen):
            other.open(f"127.0.0.1:{port}", None)


class NotesTest(unittest.TestCase):
    def test_what_repeats_is_told_at_powers_of_ten(self) -> None:
        lines = Lines()
        notes = Notes(lines)
        for number in range(1, 251):
            notes.trouble(f"bad {number}\x1b")
        notes.trouble("worse")
        expected = ["bad 1?", "bad 10? (10 times)", "bad 100? (100 times)", "worse"]
        self.assertEqual(lines, expected)

    def test_what_differs_each_time_is_told_at_powers_of_ten_in_all(self) -> None:
        lines = Lines()
        notes = Notes(lines)
        notes.trouble("known")
        for number in range(KIND_COUNT_MAX + 1_000):
            notes.trouble(f"bad {'x' * (number % 2_000)}y")
        for _ in range(9):
            notes.trouble("known")
        self.assertEqual(lines[0], "known")
        others = [line.split("(")[-1] for line in lines if line.endswith("others)")]
        self.assertEqual(others, ["10 others)", "100 others)", "1000 others)"])
        self.assertEqual(lines[-1], "known (10 times)")
        self.assertEqual(len(lines), KIND_COUNT_MAX + 1 + 3 + 1)


class HostileErrorTest(unittest.TestCase):
    def test_an_error_without_a_text_has_its_kind(self) -> None:
        class Silent(Exception):
            def __str__(self) -> str:
                raise SystemExit("hands off")

        self.assertEqual(error_text(Silent(), ""), "Silent: it has no text")

    def test_an_act_that_raises_one_is_no_decision_and_the_next_is_asked(self) -> None:
        class Silent(Exception):
            def __str__(self) -> str:
                raise self

        class Broken(Still):
            def act(self, observation: Observation) -> Any:
                raise Silent

        lines = Lines()
        thread = PolicyThread(PolicyPlan(Broken, 0, 0), robot_of(hello()), Notes(lines))
        self.addCleanup(thread.close)
        troubles: "queue.Queue[str]" = queue.Queue()
        for number in range(2):
            thread.act(observation(number, epoch=0), lambda _, trouble: troubles.put(trouble))
            self.assertIn("act threw: Silent: it has no text", troubles.get(timeout=HANG_S))
