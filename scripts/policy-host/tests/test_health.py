"""The health of a host over a real connection, in bytes of the protocol's own text."""

from __future__ import annotations

import unittest
from typing import Any

import grpc

from holdfast_host.health import HEALTH_SERVICE, NOT_SERVING, SERVICE_UNKNOWN, SERVING
from holdfast_host.limits import HEALTH_WATCHER_COUNT_MAX
from holdfast_host.notes import Notes
from holdfast_host.policy import Observation, Policy
from holdfast_host.policy_thread import PolicyPlan
from holdfast_host.server import HostServer

from .fixture import HANG_S, Lines

WHOLE = b""
OURS = b"\x0a\x1dholdfast.policy.v1.PolicyHost"
OTHER = b"\x0a\x0fanother.Service"
ASKS_MAX = 1_000


class Still(Policy):
    def act(self, observation: Observation) -> Any:
        return None


class HealthTest(unittest.TestCase):
    def setUp(self) -> None:
        self.is_paired = True
        plan = PolicyPlan(Still, 0, 0)
        self.server = HostServer(plan, {}, Notes(Lines()), lambda _: self.is_paired)
        self.addCleanup(self.server.close)
        port = self.server.open("127.0.0.1:0", None)
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.addCleanup(self.channel.close)

    def check(self, request: bytes) -> Any:
        return self.channel.unary_unary(f"/{HEALTH_SERVICE}/Check")(request, timeout=HANG_S)

    def watch(self, request: bytes) -> Any:
        return self.channel.unary_stream(f"/{HEALTH_SERVICE}/Watch")(request, timeout=HANG_S)

    def is_refused(self) -> bool:
        watch = self.watch(WHOLE)
        try:
            next(watch)
        except grpc.RpcError as error:
            self.assertEqual(error.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
            return True
        return False

    def test_it_serves_as_a_whole_and_by_name_and_no_other(self) -> None:
        self.assertEqual([self.check(WHOLE), self.check(OURS)], [SERVING, SERVING])
        with self.assertRaises(grpc.RpcError) as raised:
            self.check(OTHER)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_a_watch_is_told_at_once_and_as_the_host_closes(self) -> None:
        watches = [self.watch(request) for request in (WHOLE, OURS, OTHER)]
        first = [next(watch) for watch in watches]
        self.assertEqual(first, [SERVING, SERVING, SERVICE_UNKNOWN])
        self.server.close()
        self.assertEqual([list(watch) for watch in watches], [[NOT_SERVING], [NOT_SERVING], []])

    def test_who_is_not_paired_any_more_is_told_so(self) -> None:
        watch = self.watch(WHOLE)
        self.assertEqual(next(watch), SERVING)
        self.is_paired = False
        self.server.recheck()
        with self.assertRaises(grpc.RpcError) as raised:
            next(watch)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNAUTHENTICATED)

    def test_more_than_there_is_room_for_are_refused_until_one_leaves(self) -> None:
        watches = [self.watch(WHOLE) for _ in range(HEALTH_WATCHER_COUNT_MAX)]
        self.assertEqual({next(watch) for watch in watches}, {SERVING})
        self.assertTrue(self.is_refused())
        self.assertEqual(self.check(WHOLE), SERVING)
        watches[0].cancel()
        asks = 0  # the host hears of it a little later
        while self.is_refused() and asks < ASKS_MAX:
            asks += 1
        self.assertLess(asks, ASKS_MAX)
