"""HostSession: the host's end of one stream, sans-IO.

A hello first, then observations for the one policy that this robot has here; while that policy is
busy the newest observation waits and older ones are forgotten. Pings are answered whatever the
policy does. No socket, no clock, no thread: what it wants done is taken with `take_output`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np

from .generated import policy_pb2 as pb
from .handshake import printable, refusal_of_hello
from .limits import PROTOCOL_VERSION, SILENT_LOOK_COUNT_MAX, TROUBLE_NS_MIN


@dataclass(frozen=True)
class Send:
    message: pb.HostMessage


@dataclass(frozen=True)
class Open:
    """Make this robot's policy; `welcome` or `refuse` answers it."""

    hello: pb.Hello


@dataclass(frozen=True)
class Reset:
    epoch: int


@dataclass(frozen=True)
class Act:
    """Decide; `decided` answers it."""

    observation: pb.Observation


@dataclass(frozen=True)
class End:
    pass


Output = Union[Send, Open, Reset, Act, End]


@dataclass(frozen=True)
class Decision:
    """Rows of float32, `horizon` by width, and how long the model took."""

    rows: np.ndarray
    inference_ns: int


class HostSession:
    def __init__(self, runtime_versions: Mapping[str, str]) -> None:
        self._versions = runtime_versions
        self._outputs: deque[Output] = deque()
        self._hello: Optional[pb.Hello] = None
        self._facts: Optional[pb.PolicyFacts] = None
        self._state = pb.HostStatus.STATE_LOADING
        self._epoch = -1
        self._waiting: Optional[tuple[pb.Observation, int]] = None
        self._acting: Optional[tuple[pb.Observation, int]] = None
        # Why the last act that came to nothing did, and what the edge knows of it.
        self._trouble = ""
        self._told_trouble = ""
        self._trouble_due_ns: Optional[int] = None
        # Looks since the robot was last heard.
        self._silent_look_count = 0
        # Observations that a newer one replaced before their turn came, or that were void.
        self.forgotten_count = 0

    @property
    def state(self) -> "pb.HostStatus.State":
        """How its policy stands."""
        return self._state

    @property
    def trouble(self) -> str:
        """Why its policy decides nothing; empty while it decides."""
        return self._trouble

    def look(self) -> None:
        """Ends the session of a robot that says nothing any more, though nobody closed its line. Call
        it every LOOK_S. Looks are counted, not time: a host that was away itself heard nobody."""
        self._silent_look_count += 1
        if self._silent_look_count == SILENT_LOOK_COUNT_MAX:
            self._outputs.append(End())

    def received(self, message: pb.EdgeMessage, now_ns: int) -> None:
        self._silent_look_count = 0
        kind = message.WhichOneof("message")
        if kind == "ping":
            self._pong(message.ping, now_ns)
            self._tell_trouble(now_ns)
        elif kind == "hello":
            self._greet(message.hello)
        elif self._hello is None:
            self.refuse("hello", "a hello before anything else", kind or "nothing", "")
        elif kind == "reset":
            self._reset(message.reset.epoch)
        elif kind == "observation":
            self._observe(message.observation, now_ns)
        elif kind != "receipt":
            self._outputs.append(End())

    def welcome(self, facts: pb.PolicyFacts) -> Optional[pb.Refusal]:
        """Judges the policy's facts against the hello: welcomes, or refuses and says why."""
        assert self._hello is not None, "a policy is made for a hello"
        refusal = refusal_of_hello(self._hello, facts)
        if refusal is not None:
            self._end(refusal)
            return refusal
        self._facts = facts
        welcome = pb.Welcome(
            protocol_version=PROTOCOL_VERSION,
            link_session=self._hello.link_session,
            policy=facts,
            runtime_versions=self._versions,
        )
        self._send(pb.HostMessage(welcome=welcome))
        return None

    def status(self, state: "pb.HostStatus.State", text: str) -> None:
        self._state = state
        if self._facts is not None:
            self._send(pb.HostMessage(status=pb.HostStatus(state=state, text=text)))

    def refuse(self, field: str, expected: str, found: str, remedy: str) -> None:
        self._end(pb.Refusal(field=field, expected=expected, found=found, remedy=remedy))

    def decided(self, decision: Optional[Decision], trouble: str, now_ns: int) -> None:
        """The act under way has ended: with a decision, or None when the policy made none, and
        why."""
        assert self._acting is not None and self._facts is not None, "one decision for one act"
        observation, queue_ns = self._acting
        self._acting = None
        if decision is not None or trouble != "":
            self._trouble = printable(trouble)
        self._tell_trouble(now_ns)
        if observation.epoch == self._epoch and decision is None:
            # Horizon 0 says so: else an edge in lockstep would wait for ever.
            self._send(
                pb.HostMessage(
                    chunk=pb.Chunk(
                        link_session=observation.link_session,
                        observation_id=observation.observation_id,
                        epoch=observation.epoch,
                    )
                )
            )
        elif observation.epoch == self._epoch and decision is not None:
            horizon, width = decision.rows.shape
            chunk = pb.Chunk(
                link_session=observation.link_session,
                observation_id=observation.observation_id,
                epoch=observation.epoch,
                action_schema_fingerprint=self._facts.action_schema_fingerprint,
                horizon=horizon,
                width=width,
                dt_ns=self._facts.dt_ns,
                values=decision.rows.ravel(),
                queue_ns=queue_ns,
                inference_ns=decision.inference_ns,
            )
            self._send(pb.HostMessage(chunk=chunk))
        self._next(now_ns)

    def take_output(self) -> Optional[Output]:
        return self._outputs.popleft() if self._outputs else None

    def _greet(self, hello: pb.Hello) -> None:
        if self._hello is None:
            self._hello = hello
            self._outputs.append(Open(hello))
        elif hello.link_session != self._hello.link_session:  # else a repeat of the network's
            self.refuse("hello", "one hello a stream", "a second", "")

    def _reset(self, epoch: int) -> None:
        if epoch <= self._epoch:
            return
        self._epoch = epoch
        self._waiting = None
        self._outputs.append(Reset(epoch))

    def _observe(self, observation: pb.Observation, now_ns: int) -> None:
        assert self._hello is not None, "a hello comes first"
        is_ours = observation.link_session == self._hello.link_session
        if not is_ours or self._facts is None or observation.epoch < self._epoch:
            self.forgotten_count += 1
            return
        self._reset(observation.epoch)  # its reset was lost or comes later
        if self._waiting is not None:
            self.forgotten_count += 1
        self._waiting = (observation, now_ns)
        self._next(now_ns)

    def _next(self, now_ns: int) -> None:
        if self._waiting is None or self._acting is not None:
            return
        observation, arrived_ns = self._waiting
        self._waiting = None
        self._acting = (observation, now_ns - arrived_ns)
        self._outputs.append(Act(observation))

    def _tell_trouble(self, now_ns: int) -> None:
        """A status says it, as it changes: a person at the robot does not see this terminal."""
        is_early = self._trouble_due_ns is not None and now_ns < self._trouble_due_ns
        if self._trouble == self._told_trouble or is_early:
            return
        self._told_trouble = self._trouble
        self._trouble_due_ns = now_ns + TROUBLE_NS_MIN
        self.status(self._state, self._trouble)

    def _pong(self, ping: pb.Ping, now_ns: int) -> None:
        pong = pb.Pong(
            ping_id=ping.ping_id,
            edge_sent_ns=ping.edge_sent_ns,
            host_received_ns=now_ns,
            host_sent_ns=now_ns,
            state=self._state,
        )
        self._send(pb.HostMessage(pong=pong))

    def _end(self, refusal: pb.Refusal) -> None:
        self._send(pb.HostMessage(refusal=refusal))
        self._outputs.append(End())

    def _send(self, message: pb.HostMessage) -> None:
        self._outputs.append(Send(message))
