"""What a session wants done, told what came in and when: no socket, no thread, no clock."""

import unittest
from typing import Any, Optional

import numpy as np

from holdfast_host.facts import facts_of
from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.limits import LOOK_S, SILENT_LOOK_COUNT_MAX, TROUBLE_NS_MIN
from holdfast_host.policy import Policy
from holdfast_host.session import Act, Decision, End, HostSession, Open, Output, Reset, Send

from .fixture import drain, edge, hello, observation


class Two(Policy):
    horizon = 2

    def act(self, observation: object) -> np.ndarray:
        raise NotImplementedError


ROWS = np.array([[1, 2], [3, 4]], dtype=np.float32)
DECISION = Decision(ROWS, inference_ns=70)
FACTS = facts_of(Two, ["shoulder", "elbow"], promise_ns=0)


def outputs(session: HostSession) -> list[Output]:
    return drain(session.take_output)


def welcomed() -> HostSession:
    session = HostSession({"python": "3"})
    session.received(edge(hello=hello()), 0)
    session.welcome(FACTS)
    outputs(session)
    return session


def chunk_of(output: Output) -> pb.Chunk:
    assert isinstance(output, Send), output
    return output.message.chunk


def status_of(output: Output) -> str:
    assert isinstance(output, Send), output
    status = output.message.status
    return f"{pb.HostStatus.State.Name(status.state)} {status.text}"


def refusals(session: HostSession) -> list[str]:
    """Those that were sent; the stream ends with one."""
    everything = outputs(session)
    assert everything[-1] == End(), everything
    sent = [each for each in everything if isinstance(each, Send)]
    texts = [each.message.refusal for each in sent if each.message.HasField("refusal")]
    return [f"{each.field}|{each.expected}|{each.found}" for each in texts]


def front(**changes: Any) -> pb.Field:
    shape = [224, 224, 3]
    return pb.Field(**{"name": "front", "dtype": "rgb8", "shape": shape, "frame": "cam", **changes})


class SessionTest(unittest.TestCase):
    def test_a_hello_opens_a_policy_and_its_facts_welcome_it(self) -> None:
        session = HostSession({"python": "3"})
        session.received(edge(hello=hello()), 0)
        self.assertEqual(outputs(session), [Open(hello())])
        self.assertIsNone(session.welcome(FACTS))
        welcome = pb.Welcome(
            protocol_version=1, link_session=3, policy=FACTS, runtime_versions={"python": "3"}
        )
        self.assertEqual(outputs(session), [Send(pb.HostMessage(welcome=welcome))])

    def test_anything_before_the_hello_is_refused_but_a_ping(self) -> None:
        session = HostSession({})
        session.received(edge(ping=pb.Ping(ping_id=1, edge_sent_ns=5)), 9)
        loading = pb.HostStatus.STATE_LOADING
        pong = pb.Pong(ping_id=1, edge_sent_ns=5, host_received_ns=9, host_sent_ns=9, state=loading)
        self.assertEqual(outputs(session), [Send(pb.HostMessage(pong=pong))])
        session.received(edge(reset=pb.Reset(epoch=1)), 9)
        self.assertEqual(refusals(session), ["hello|a hello before anything else|reset"])

    def test_a_second_hello_is_refused_and_a_repeat_is_not(self) -> None:
        session = welcomed()
        session.received(edge(hello=hello()), 1)
        self.assertEqual(outputs(session), [])
        session.received(edge(hello=hello(link_session=4)), 1)
        self.assertEqual(refusals(session), ["hello|one hello a stream|a second"])

    def test_what_does_not_fit_is_refused_by_its_field(self) -> None:
        golden = FACTS.obs_transform_sha256.hex()
        cases: list[tuple[dict[str, Any], str]] = [
            ({"protocol_version": 2}, "protocol_version|1|2"),
            ({"obs_transform_version": 9}, "obs_transform_version|1|9"),
            ({"obs_transform_sha256": b"\1"}, f"obs_transform_sha256|{golden}|01"),
            ({"joint_names": []}, "joint_names|at least one|none"),
            (
                {"joint_names": ["elbow", "shoulder"]},
                "policy.action_schema.columns|elbow, shoulder|shoulder, elbow",
            ),
            ({"fields": []}, "fields|front|none"),
            ({"fields": [front(dtype="float32")]}, "fields.front.dtype|rgb8|float32"),
            ({"fields": [front(shape=[9])]}, "fields.front.shape|224 x 224 x 3|9"),
            ({"fields": [front(frame="")]}, "fields.front.frame|cam|"),
            (
                {"fields": [front(dtype="jpeg")]},
                "fields.front.dtype|rgb8|jpeg",
            ),
            ({"fields": [front()], "manifest_sha256": b"\xab"}, "manifest_sha256|ab|"),
        ]
        facts = pb.PolicyFacts()
        facts.CopyFrom(FACTS)
        facts.required_fields.add(name="front", dtype="rgb8", shape=[224, 224, 3], frame="cam")
        for changes, text in cases:
            with self.subTest(text):
                session = HostSession({})
                session.received(edge(hello=hello(**changes)), 0)
                self.assertIsNotNone(session.welcome(facts))
                self.assertEqual(refusals(session), [text])

    def test_a_policy_that_accepts_jpeg_takes_both(self) -> None:
        facts = pb.PolicyFacts()
        facts.CopyFrom(FACTS)
        facts.accepts_jpeg = True
        for dtype in ("jpeg", "rgb8"):
            session = HostSession({})
            fields = [pb.Field(name="front", dtype=dtype, shape=[224, 224, 3])]
            session.received(edge(hello=hello(fields=fields)), 0)
            self.assertIsNone(session.welcome(facts))

    def test_more_columns_than_a_robot_takes_are_refused(self) -> None:
        names = [f"joint{index}" for index in range(17)]
        session = HostSession({})
        session.received(edge(hello=hello(joint_names=names)), 0)
        session.welcome(facts_of(Two, names, promise_ns=0))
        self.assertEqual(refusals(session), ["policy.action_schema.columns|at most 16|17"])

    def test_an_observation_before_the_welcome_is_forgotten(self) -> None:
        session = HostSession({})
        session.received(edge(hello=hello()), 0)
        session.received(edge(observation=observation(1)), 1)
        self.assertEqual((outputs(session), session.forgotten_count), ([Open(hello())], 1))

    def test_a_decision_answers_its_observation(self) -> None:
        session = welcomed()
        session.received(edge(observation=observation(7, epoch=2)), 100)
        self.assertEqual(outputs(session), [Reset(2), Act(observation(7, epoch=2))])
        session.decided(DECISION, "", 200)
        chunk = pb.Chunk(
            link_session=3,
            observation_id=7,
            epoch=2,
            action_schema_fingerprint=FACTS.action_schema_fingerprint,
            horizon=2,
            width=2,
            dt_ns=20_000_000,
            values=[1, 2, 3, 4],
            inference_ns=70,
        )
        self.assertEqual(outputs(session), [Send(pb.HostMessage(chunk=chunk))])

    def test_while_it_decides_only_the_newest_observation_waits(
        self,
    ) -> None:
        session = welcomed()
        for observation_id in (1, 2, 3):
            session.received(edge(observation=observation(observation_id)), 10 * observation_id)
        self.assertEqual(outputs(session), [Reset(1), Act(observation(1))])
        session.decided(DECISION, "", 50)
        first, following = outputs(session)
        self.assertEqual(chunk_of(first).observation_id, 1)
        self.assertEqual(following, Act(observation(3)))
        self.assertEqual(session.forgotten_count, 1)
        session.decided(DECISION, "", 60)
        [second] = outputs(session)
        self.assertEqual(chunk_of(second).queue_ns, 20)

    def test_pings_are_answered_while_it_decides(self) -> None:
        session = welcomed()
        session.received(edge(observation=observation(1)), 10)
        outputs(session)
        session.received(edge(ping=pb.Ping(ping_id=4)), 20)
        [pong] = outputs(session)
        assert isinstance(pong, Send)
        self.assertEqual(pong.message.pong.ping_id, 4)

    def test_a_reset_voids_what_is_being_decided_and_what_waits(self) -> None:
        session = welcomed()
        session.received(edge(observation=observation(1)), 10)
        session.received(edge(observation=observation(2)), 11)
        session.received(edge(reset=pb.Reset(epoch=5)), 12)
        session.decided(DECISION, "", 13)
        self.assertEqual(outputs(session), [Reset(1), Act(observation(1)), Reset(5)])
        session.received(edge(observation=observation(3, epoch=4)), 14)
        self.assertEqual(outputs(session), [])

    def test_an_observation_of_another_session_is_forgotten(self) -> None:
        session = welcomed()
        session.received(edge(observation=observation(1, link_session=2)), 10)
        self.assertEqual((outputs(session), session.forgotten_count), ([], 1))

    def test_no_decision_is_said_and_goes_on(self) -> None:
        session = welcomed()
        session.received(edge(observation=observation(1)), 10)
        session.received(edge(observation=observation(2)), 11)
        outputs(session)
        session.decided(None, "", 12)
        nothing = pb.Chunk(link_session=3, observation_id=1, epoch=1)
        self.assertEqual(
            outputs(session), [Send(pb.HostMessage(chunk=nothing)), Act(observation(2))]
        )

    def test_why_nothing_is_decided_is_told_before_the_answer_and_until_a_decision(self) -> None:
        session = welcomed()
        session.status(pb.HostStatus.STATE_READY, "")
        told: list[tuple[int, str]] = []
        ends: list[tuple[Optional[Decision], str]] = [
            (None, "act threw: no model\x1b"),
            (None, "act threw: no model\x1b"),
            (None, ""),
            (DECISION, ""),
            (DECISION, ""),
        ]
        for index, (decision, trouble) in enumerate(ends):
            now_ns = index * TROUBLE_NS_MIN
            session.received(edge(observation=observation(index + 1)), now_ns)
            outputs(session)
            session.decided(decision, trouble, now_ns)
            *before, chunk = outputs(session)
            self.assertEqual(chunk_of(chunk).observation_id, index + 1)
            told += [(index, status_of(each)) for each in before]
        self.assertEqual(told, [(0, "STATE_READY act threw: no model?"), (3, "STATE_READY ")])

    def test_a_trouble_that_is_new_at_every_act_is_told_once_a_second_and_the_last(self) -> None:
        session = welcomed()
        session.status(pb.HostStatus.STATE_READY, "")
        told: list[tuple[int, str]] = []
        step_ns = TROUBLE_NS_MIN // 10
        for index in range(25):
            session.received(edge(observation=observation(index + 1)), index * step_ns)
            outputs(session)
            session.decided(None, f"{index} {'x' * 5_000}", index * step_ns)
            *before, _ = outputs(session)
            told += [(index, status_of(each)) for each in before]
        session.received(edge(ping=pb.Ping(ping_id=1)), 25 * step_ns)
        session.received(edge(ping=pb.Ping(ping_id=2)), 30 * step_ns)
        statuses = [each for each in outputs(session) if "status" in str(each)]
        told += [(30, status_of(each)) for each in statuses]
        self.assertEqual([index for index, _ in told], [0, 10, 20, 30])
        self.assertEqual({len(text) for _, text in told}, {len("STATE_READY ") + 300})
        self.assertIn("STATE_READY 24 xx", told[-1][1])

    def test_a_robot_that_says_nothing_for_750_ms_of_looks_is_gone(self) -> None:
        self.assertEqual(LOOK_S * SILENT_LOOK_COUNT_MAX, 0.75)
        session = welcomed()
        for ping_id in (1, 2):
            for _ in range(SILENT_LOOK_COUNT_MAX - 1):
                session.look()
            # However late that is: a host that was stopped looked at nobody meanwhile.
            session.received(edge(ping=pb.Ping(ping_id=ping_id)), 3_600 * 10**9)
            self.assertNotIn(End(), outputs(session))
        for _ in range(SILENT_LOOK_COUNT_MAX - 1):
            session.look()
        self.assertEqual(outputs(session), [])
        session.look()
        self.assertEqual(outputs(session), [End()])
        session.look()
        self.assertEqual(outputs(session), [])

    def test_the_edges_refusal_ends_it(self) -> None:
        session = welcomed()
        session.received(edge(refusal=pb.Refusal(field="policy.horizon")), 1)
        self.assertEqual(outputs(session), [End()])

    def test_a_receipt_is_taken_and_changes_nothing(self) -> None:
        session = welcomed()
        session.received(edge(receipt=pb.Receipt(code="accepted")), 1)
        self.assertEqual(outputs(session), [])
