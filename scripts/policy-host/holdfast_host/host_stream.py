"""HostStream: one robot's stream. One thread reads, one writes, the policy has its own; a lock
around the session keeps them apart, and nothing is waited for while it is held."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Callable, Optional

from .facts import facts_of
from .generated import policy_pb2 as pb
from .handshake import printable, refusal_text
from .limits import UNREAD_COUNT_MAX
from .notes import Notes
from .policy_pool import PolicyPool
from .policy_thread import PolicyThread
from .reading import robot_of
from .session import Act, Decision, HostSession, Open, Reset, Send

PAIR_AGAIN = "pair again: on the host type holdfast pair host"

Welcomed = Callable[[pb.PolicyFacts], None]


class HostStream:
    def __init__(
        self,
        pool: PolicyPool,
        versions: Mapping[str, str],
        notes: Notes,
        welcomed: Welcomed,
        is_admitted: Callable[[], bool],
    ) -> None:
        self._pool = pool
        self._notes = notes
        self._welcomed = welcomed
        self._is_admitted = is_admitted
        self._session = HostSession(versions)
        self._lock = threading.RLock()
        self._policy: Optional[PolicyThread] = None
        self._robot = ""
        self._is_over = False
        # None is the end.
        self._out: "queue.SimpleQueue[Optional[pb.HostMessage]]" = queue.SimpleQueue()

    @property
    def robot(self) -> str:
        """Empty before its hello."""
        return self._robot

    @property
    def state(self) -> "pb.HostStatus.State":
        return self._session.state

    @property
    def trouble(self) -> str:
        return self._session.trouble

    def messages(self, requests: Iterator[pb.EdgeMessage]) -> Iterator[pb.HostMessage]:
        """What goes out, until the stream is over."""
        self.recheck()
        threading.Thread(target=self._read, args=(requests,), daemon=True).start()
        while True:
            message = self._out.get()
            if message is None:
                return
            yield message

    def recheck(self) -> None:
        """Refuses a robot whose certificate is good and not wanted, or not any more."""
        if self._is_admitted():
            return
        self._notes.trouble("a robot was refused: it is not paired with this host")
        found = "one that is not, or was revoked"
        self.refuse("certificate", "that of a paired robot", found, PAIR_AGAIN)

    def refuse(self, field: str, expected: str, found: str, remedy: str) -> None:
        """Ends the stream with these words."""
        with self._lock:
            self._session.refuse(field, expected, found, remedy)
            self._carry_out()

    def look(self) -> None:
        """Ends the stream of a robot that is gone without a word: a pulled cable tells nobody."""
        with self._lock:
            self._session.look()
            self._carry_out()

    def close(self) -> None:
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            if self._policy is not None:
                self._pool.give_back(self._policy)
            self._out.put(None)
        if self._robot != "":
            self._notes.note(f"{self._robot} left")

    def policy_state(self, state: "pb.HostStatus.State", text: str) -> None:
        with self._lock:
            self._session.status(state, text)
            self._carry_out()

    def policy_failed(self, text: str) -> None:
        expected, remedy = "a policy that can be set up", "look at the host's terminal"
        self.refuse("policy", expected, printable(text), remedy)

    def _read(self, requests: Iterator[pb.EdgeMessage]) -> None:
        try:
            for message in requests:
                with self._lock:
                    self._session.received(message, time.monotonic_ns())
                    self._carry_out()
        except Exception:  # gRPC raises a bare one for a stream that broke: that is its end
            pass
        self.close()

    def _decided(self, decision: Optional[Decision], trouble: str) -> None:
        with self._lock:
            if not self._is_over:
                self._session.decided(decision, trouble, time.monotonic_ns())
                self._carry_out()

    def _carry_out(self) -> None:
        while not self._is_over:
            output = self._session.take_output()
            if output is None:
                return
            if isinstance(output, Send):
                self._send(output.message)
            elif isinstance(output, Open):
                self._open(output.hello)
            elif isinstance(output, Reset):
                if self._policy is not None:
                    self._policy.reset(output.epoch)
            elif isinstance(output, Act):
                assert self._policy is not None, "a welcome comes before the first act"
                self._policy.act(output.observation, self._decided)
            else:
                self.close()

    def _open(self, hello: pb.Hello) -> None:
        robot = robot_of(hello)
        plan = self._pool.plan
        facts = facts_of(plan.policy, robot.joint_names, plan.promise_ns, plan.digest)
        self._robot = robot.name
        self._notes.note(f"{robot.name} connected, session {hello.link_session}")
        refusal = self._session.welcome(facts)
        if refusal is not None:
            self._notes.trouble(f"{robot.name} was refused: {refusal_text(refusal)}")
            return
        self._welcomed(facts)
        self._policy = self._pool.take(robot)
        state, text = self._policy.attach(self)
        if state == pb.HostStatus.STATE_CLOSING:
            self.policy_failed(text)
        else:
            self._session.status(state, text)

    def _send(self, message: pb.HostMessage) -> None:
        if self._out.qsize() < UNREAD_COUNT_MAX:
            self._out.put(message)
        else:
            self._notes.trouble(f"{self._robot or 'a robot'} reads nothing: given up")
            self.close()
