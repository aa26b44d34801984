"""Policies outlive their robots' streams, and one that failed is heard of whenever it failed."""

from __future__ import annotations

import queue
import threading
import unittest

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.limits import IDLE_COUNT_MAX
from holdfast_host.notes import Notes
from holdfast_host.policy import Observation, Policy, Robot
from holdfast_host.policy_pool import PolicyPool
from holdfast_host.policy_thread import PolicyPlan, PolicyThread
from holdfast_host.reading import robot_of

from .fixture import HANG_S, Lines, hello, observation

ROBOT = robot_of(hello())
CLOSING = pb.HostStatus.STATE_CLOSING


class Quiet(Policy):
    def act(self, observation: Observation) -> None:
        return None


class Listener:
    def __init__(self) -> None:
        self.failure = ""
        self.heard = threading.Event()

    def policy_state(self, state: "pb.HostStatus.State", text: str) -> None: ...

    def policy_failed(self, text: str) -> None:
        self.failure = text
        self.heard.set()


def pool(policy: type[Policy]) -> PolicyPool:
    return PolicyPool(PolicyPlan(policy, 0, 0), Notes(Lines()))


def broken(gate: threading.Event) -> type[Policy]:
    class Broken(Quiet):
        def setup(self, robot: Robot) -> None:
            gate.wait(HANG_S)
            raise ValueError("no weights")

    return Broken


def until_closed(thread: PolicyThread) -> None:
    while not thread.is_closed:
        threading.Event().wait(0)


class PolicyPoolTest(unittest.TestCase):
    def test_a_failure_before_anybody_listens_is_told_to_who_comes(self) -> None:
        gate = threading.Event()
        gate.set()
        thread = pool(broken(gate)).take(ROBOT)
        until_closed(thread)
        state, text = thread.attach(Listener())
        self.assertEqual(state, CLOSING)
        self.assertIn("ValueError: no weights", text)

    def test_a_failure_while_somebody_listens_is_told_at_once(self) -> None:
        gate = threading.Event()
        listener = Listener()
        state, _ = pool(broken(gate)).take(ROBOT).attach(listener)
        self.assertEqual(state, pb.HostStatus.STATE_LOADING)
        gate.set()
        self.assertTrue(listener.heard.wait(HANG_S))
        self.assertIn("ValueError: no weights", listener.failure)

    def test_one_that_failed_after_its_robot_left_is_not_taken_again(self) -> None:
        gate = threading.Event()
        policies = pool(broken(gate))
        thread = policies.take(ROBOT)
        policies.give_back(thread)
        gate.set()
        until_closed(thread)
        self.assertIsNot(policies.take(ROBOT), thread)

    def test_one_a_robot_and_a_few_in_all_stay_loaded(self) -> None:
        policies = pool(Quiet)
        robots = [robot_of(hello(robot=f"arm{index}")) for index in range(IDLE_COUNT_MAX + 1)]
        first = [policies.take(robot) for robot in robots]
        twin = policies.take(robots[-1])
        for thread in (*first, twin):
            policies.give_back(thread)
        closed = [thread.is_closed for thread in (*first, twin)]
        self.assertEqual(closed, [True, *[False] * (IDLE_COUNT_MAX - 1), True, False])
        self.assertIs(policies.take(robots[-1]), twin)


class PolicyThreadTest(unittest.TestCase):
    def setUp(self) -> None:
        self.gate = gate = threading.Event()
        self.calls = calls = list[object]()
        self.lines = Lines()

        class Held(Policy):
            horizon = 1

            def setup(self, robot: Robot) -> None:
                gate.wait(HANG_S)

            def reset(self, epoch: int) -> None:
                calls.append(f"reset {epoch}")
                if epoch == 3:
                    raise SystemExit("no epoch 3")

            def act(self, observation: Observation) -> list[list[float]]:
                calls.append(f"act {observation.epoch}")
                return [[1.0, 2.0]]

        self.thread = PolicyThread(PolicyPlan(Held, 0, 0), ROBOT, Notes(self.lines))
        self.addCleanup(self.thread.close)
        self.decisions: "queue.Queue[object]" = queue.Queue()

    def _decided(self, decision: object, trouble: str) -> None:
        self.assertEqual(trouble, "")
        self.decisions.put(decision)

    def test_an_act_that_a_reset_overtook_is_not_decided(self) -> None:
        self.thread.act(observation(1, epoch=1), self._decided)
        self.thread.reset(2)
        self.gate.set()
        self.assertIsNone(self.decisions.get(timeout=HANG_S))
        self.assertEqual(self.calls, ["reset 2"])

    def test_what_waits_for_a_stream_that_ended_is_forgotten(self) -> None:
        self.thread.reset(9)
        self.thread.act(observation(1, epoch=9), self._decided)
        self.thread.detach()
        self.thread.act(observation(1, epoch=0), self._decided)  # as warm-up left it
        self.gate.set()
        self.assertIsNotNone(self.decisions.get(timeout=HANG_S))
        self.assertEqual(self.calls, ["act 0"])

    def test_a_reset_that_throws_fails_the_acts_of_its_epoch_and_no_other(self) -> None:
        self.gate.set()
        troubles: "queue.Queue[str]" = queue.Queue()
        for epoch in (3, 4):
            self.thread.reset(epoch)
            told = observation(1, epoch=epoch)
            self.thread.act(told, lambda _, trouble: troubles.put(trouble))
            trouble = troubles.get(timeout=HANG_S)
            if epoch == 3:
                self.assertIn("reset threw: SystemExit: no epoch 3", trouble)
            else:
                self.assertEqual(trouble, "")
        self.assertEqual(self.calls, ["reset 3", "reset 4", "act 4"])
        [line] = self.lines
        self.assertIn("arm2: reset threw: SystemExit: no epoch 3", line)
