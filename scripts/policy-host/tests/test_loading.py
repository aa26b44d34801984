"""What loads for long is told, and given up: a module, a policy's setup, its warm-up. In made-up time;
a robot hears of it, and the next robot gets a policy of its own."""

from __future__ import annotations

import threading
import time
import unittest

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.import_watch import ImportWatch
from holdfast_host.notes import Notes
from holdfast_host.policy import Observation, Policy, Robot
from holdfast_host.policy_pool import PolicyPool
from holdfast_host.policy_thread import PolicyPlan
from holdfast_host.reading import robot_of

from .fixture import HANG_S, Lines, hello

ROBOT = robot_of(hello())
S = 1_000_000_000
INIT = "its __init__ and setup"
WARM_UP = "its first reset and act"


class Listener:
    def __init__(self) -> None:
        self.states: list[str] = []
        self.failures: list[str] = []

    def policy_state(self, state: "pb.HostStatus.State", text: str) -> None:
        self.states.append(text)

    def policy_failed(self, text: str) -> None:
        self.failures.append(text)


class LoadingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.others = set(threading.enumerate())
        self.gate = gate = threading.Event()
        self.addCleanup(gate.set)
        self.left = left = threading.Event()
        self.acts = acts = threading.Event()
        self.lines = Lines()

        class HangsInInit(Policy):
            def __init__(self) -> None:
                gate.wait(HANG_S)

            def setup(self, robot: Robot) -> None:
                left.set()

            def act(self, observation: Observation) -> list[list[float]]:
                acts.set()
                return [list(observation.command_rad)] * self.horizon

        class HangsInWarmUp(Policy):
            def act(self, observation: Observation) -> None:
                acts.set()
                gate.wait(HANG_S)

        self.init, self.warm_up = HangsInInit, HangsInWarmUp

    def pool(self, policy: type[Policy]) -> PolicyPool:
        return PolicyPool(PolicyPlan(policy, 1, 0), Notes(self.lines))

    def waited(self, pool: PolicyPool, until_s: int) -> None:
        """Looks once a second, as the host does."""
        start_ns = time.monotonic_ns()
        for second in range(until_s + 1):
            pool.watch(start_ns + second * S)

    def test_it_is_told_as_the_time_doubles_and_given_up(self) -> None:
        listener = Listener()
        pool = self.pool(self.init)
        thread = pool.take(ROBOT)
        thread.attach(listener)
        self.waited(pool, 601)
        still = [
            f"arm2: the policy still loads after {second} s: {INIT}; given up after 600 s"
            for second in (2, 4, 8, 16, 32, 64, 128, 256, 512)
        ]
        why = f"it was not ready within 600 s ({INIT})"
        self.assertEqual(self.lines, [*still, f"arm2: the policy cannot be set up: {why}"])
        self.assertEqual(listener.failures, [why])
        pool.give_back(thread)
        self.assertIsNot(pool.take(ROBOT), thread)

    def test_one_that_comes_after_all_serves_nobody(self) -> None:
        listener = Listener()
        pool = self.pool(self.init)
        thread = pool.take(ROBOT)
        thread.attach(listener)
        self.waited(pool, 601)
        self.gate.set()
        self.assertTrue(self.left.wait(HANG_S))
        for running in set(threading.enumerate()) - self.others:
            running.join(HANG_S)
        self.assertEqual((self.acts.is_set(), listener.states), (False, []))
        state, text = thread.attach(listener)
        self.assertEqual(state, pb.HostStatus.STATE_CLOSING)
        self.assertIn("not ready within 600 s", text)

    def test_so_is_one_that_hangs_in_its_warm_up(self) -> None:
        listener = Listener()
        pool = self.pool(self.warm_up)
        pool.take(ROBOT).attach(listener)
        self.assertTrue(self.acts.wait(HANG_S))
        self.waited(pool, 601)
        self.assertEqual(listener.failures, [f"it was not ready within 600 s ({WARM_UP})"])

    def test_one_that_is_ready_is_left_alone(self) -> None:
        self.gate.set()
        pool = self.pool(self.init)
        thread = pool.take(ROBOT)
        self.addCleanup(thread.close)
        ready = pb.HostStatus.STATE_READY
        while thread.attach(Listener())[0] != ready:
            threading.Event().wait(0)
        self.waited(pool, 601)
        self.assertEqual((self.lines, thread.is_closed), ([], False))


class ImportWatchTest(unittest.TestCase):
    def test_an_import_is_told_as_the_time_doubles_and_given_up(self) -> None:
        lines, codes, waits = Lines(), list[int](), list[float]()

        def never_over(seconds: float) -> bool:
            waits.append(seconds)
            return False

        ImportWatch("slow:Slow", lines, codes.append).watch(never_over)
        self.assertEqual(sum(waits), 600)
        self.assertEqual(lines[0], "still imports slow:Slow after 2 s; given up after 600 s")
        self.assertEqual(
            lines[-1],
            "holdfast_host: Cannot use --policy: expected a module that imports within 600 s, "
            "found one that is still at it",
        )
        self.assertEqual((len(lines), codes), (10, [2]))

    def test_one_that_is_soon_over_is_not_told(self) -> None:
        lines, codes = Lines(), list[int]()
        ImportWatch("quick:Quick", lines, codes.append).watch(lambda _seconds: True)
        self.assertEqual((lines, codes), ([], []))
