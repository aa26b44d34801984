"""PolicyThread: one robot's policy in a thread of its own, so that a slow or hung one keeps neither
the line nor another robot waiting. It outlives a stream: a robot that comes back finds it loaded.

It holds its lock never while it calls the policy or a listener.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass
from typing import Callable, Optional, Protocol

from .answer import BadAnswer, rows_of
from .facts import schema_of, takes_jpeg
from .generated import policy_pb2 as pb
from .limits import LOAD_NS_MAX, TELL_NS
from .notes import Notes, error_text
from .pictures import StrangePicture
from .policy import Policy, Robot
from .reading import StrangeObservation, observation_of, warm_up_message
from .session import Decision

WARM_UP_EPOCH = 0

# A decision, or None and why there is none.
Decided = Callable[[Optional[Decision], str], None]


class Listener(Protocol):
    """Who hears how the policy stands."""

    def policy_state(self, state: "pb.HostStatus.State", text: str) -> None: ...

    def policy_failed(self, text: str) -> None: ...


@dataclass(frozen=True)
class PolicyPlan:
    policy: type[Policy]
    # Decisions that nobody gets, so that the first that counts is no slower than the rest.
    warm_up_count: int
    # The latency that 99 of 100 answers keep; 0: no promise.
    promise_ns: int
    # SHA-256 of the policy's file; empty where there is none.
    digest: bytes = b""


class PolicyThread:
    def __init__(self, plan: PolicyPlan, robot: Robot, notes: Notes) -> None:
        self.robot = robot
        self._plan = plan
        self._notes = notes
        width = len(schema_of(plan.policy, robot.joint_names).columns)
        self._shape = (plan.policy.horizon, width)
        self._file = getattr(sys.modules[plan.policy.__module__], "__file__", None) or ""
        self._wake = threading.Condition()
        self._listener: Optional[Listener] = None
        self._state: "pb.HostStatus.State" = pb.HostStatus.STATE_LOADING
        self._reset: Optional[int] = None
        self._act: Optional[tuple[pb.Observation, Decided]] = None
        self._is_closed = False
        self._failure = ""
        self._started_ns = time.monotonic_ns()
        self._tell_ns = TELL_NS
        self._epoch = WARM_UP_EPOCH
        # Why the reset of this epoch failed.
        self._reset_error = ""
        # A hung policy must not keep the process from ending.
        threading.Thread(target=self._run, name=f"policy of {robot.name}", daemon=True).start()

    def attach(self, listener: Listener) -> tuple["pb.HostStatus.State", str]:
        """From now on this listener hears. How the policy stands now: closing, and why, when it
        could not be set up."""
        with self._wake:
            self._listener = listener
            return self._state, self._failure or _state_text(self._state)

    def detach(self) -> None:
        """Nobody hears any more, and what waits is forgotten."""
        with self._wake:
            self._listener = None
            self._reset = None
            self._act = None

    def close(self) -> None:
        with self._wake:
            self._is_closed = True
            self._wake.notify()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def watch(self, now_ns: int) -> bool:
        """While it loads: tells that it does, and gives it up when it has taken too long, though the
        thread itself cannot be ended. False once there is nothing to watch."""
        with self._wake:
            state = self._state
            if self._is_closed or state == pb.HostStatus.STATE_READY:
                return False
        is_made = state != pb.HostStatus.STATE_LOADING
        what = "its first reset and act" if is_made else "its __init__ and setup"
        loading_ns = now_ns - self._started_ns
        limit = f"{LOAD_NS_MAX // 10**9} s"
        if loading_ns >= LOAD_NS_MAX:
            self._fail(f"it was not ready within {limit} ({what})")
            return False
        if loading_ns >= self._tell_ns:
            self._tell_ns *= 2
            still = f"still loads after {loading_ns // 10**9} s: {what}; given up after {limit}"
            self._notes.note(f"{self.robot.name}: the policy {still}")
        return True

    def reset(self, epoch: int) -> None:
        with self._wake:
            self._reset = epoch
            self._wake.notify()

    def act(self, observation: pb.Observation, decided: Decided) -> None:
        with self._wake:
            self._act = (observation, decided)
            self._wake.notify()

    def _run(self) -> None:
        try:
            policy = self._plan.policy()
            policy.setup(self.robot)
        except BaseException as error:  # sys.exit in a policy ends no more than that policy
            self._fail(error_text(error, self._file))
            return
        if self._plan.warm_up_count > 0 and not self._is_closed:
            self._enter(pb.HostStatus.STATE_WARMING_UP)
            self._warm_up(policy)
        self._enter(pb.HostStatus.STATE_READY)
        while self._serve(policy):
            pass

    def _serve(self, policy: Policy) -> bool:
        """Does what came next. False once closed."""
        with self._wake:
            while not (self._is_closed or self._reset is not None or self._act is not None):
                self._wake.wait()
            if self._is_closed:
                return False
            epoch, self._reset = self._reset, None
            act, self._act = self._act, None
        if epoch is not None:
            self._reset_policy(policy, epoch)
        if act is not None:
            observation, decided = act
            decided(*self._decide(policy, observation))
        return True

    def _reset_policy(self, policy: Policy, epoch: int) -> None:
        self._epoch = epoch
        self._reset_error = ""
        try:
            policy.reset(epoch)
        except BaseException as error:
            self._reset_error = f"reset threw: {error_text(error, self._file)}"
            self._trouble(f"{self._reset_error}; this epoch's acts fail")

    def _warm_up(self, policy: Policy) -> None:
        self._reset_policy(policy, WARM_UP_EPOCH)
        message = warm_up_message(self.robot, WARM_UP_EPOCH)
        for _ in range(self._plan.warm_up_count):
            self._decide(policy, message)

    def _decide(self, policy: Policy, message: pb.Observation) -> tuple[Optional[Decision], str]:
        if message.epoch != self._epoch:
            return None, ""  # a reset overtook it
        if self._reset_error != "":
            return None, self._reset_error
        started_ns = time.monotonic_ns()
        try:
            seen = observation_of(message, self.robot, takes_jpeg(self._plan.policy))
            rows = rows_of(policy.act(seen), self._shape)
        except BadAnswer as error:
            text = str(error)
        except StrangePicture as error:
            text = str(error)
        except StrangeObservation as error:
            text = f"an observation of another robot: {error}"
        except BaseException as error:
            text = f"act threw: {error_text(error, self._file)}"
        else:
            return Decision(rows, time.monotonic_ns() - started_ns), ""
        self._trouble(f"{text}; nothing was sent")
        return None, text

    def _trouble(self, text: str) -> None:
        is_warm_up = self._state != pb.HostStatus.STATE_READY
        warm_up = "warm-up (everything is zero): " if is_warm_up else ""
        self._notes.trouble(f"{self.robot.name}: {warm_up}{text}")

    def _enter(self, state: "pb.HostStatus.State") -> None:
        with self._wake:
            if self._is_closed:
                return  # it was given up
            self._state = state
            listener = self._listener
        if listener is not None:
            listener.policy_state(state, _state_text(state))

    def _fail(self, text: str) -> None:
        with self._wake:
            if self._is_closed:
                return
            self._is_closed = True
            self._state = pb.HostStatus.STATE_CLOSING
            self._failure = text
            listener = self._listener
        self._notes.trouble(f"{self.robot.name}: the policy cannot be set up: {text}")
        if listener is not None:
            listener.policy_failed(text)


def _state_text(state: "pb.HostStatus.State") -> str:
    """Of a policy that is ready there is nothing to say until it fails."""
    if state == pb.HostStatus.STATE_READY:
        return ""
    name: str = pb.HostStatus.State.Name(state)
    return name[len("STATE_") :].lower().replace("_", " ")
