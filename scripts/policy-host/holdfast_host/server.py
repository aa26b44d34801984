"""HostServer: serves one policy class over gRPC to robots, each on a stream of its own. It listens
where it is told and nowhere else, and shares its port with nobody."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from typing import Optional

import grpc

from .generated import policy_pb2 as pb
from .health import Health
from .host_stream import HostStream
from .handshake import printable
from .limits import (
    CLOSE_S_MAX,
    DESCRIBE_COUNT_MAX,
    HEALTH_WATCHER_COUNT_MAX,
    IDLE_CONNECTION_MS_MAX,
    PROTOCOL_VERSION,
    RECEIVE_SIZE_BYTES_MAX,
    SEND_SIZE_BYTES_MAX,
    STREAM_COUNT_MAX,
)
from .notes import Notes
from .policy_pool import PolicyPool
from .policy_thread import PolicyPlan
from .trust import Admits, anybody
from .usage import UsageError

ONE_MORE = "start another host for it, or end another robot's run"
SERVICE = "holdfast.policy.v1.PolicyHost"


class CannotListen(Exception):
    """The address is taken, or none of this machine."""


class HostServer:
    def __init__(
        self,
        plan: PolicyPlan,
        versions: Mapping[str, str],
        notes: Notes,
        admits: Admits = anybody,
    ) -> None:
        self._pool = PolicyPool(plan, notes)
        self._versions = versions
        self._notes = notes
        self._lock = threading.Lock()
        self._admits = admits
        self._streams: set[HostStream] = set()
        self._facts: Optional[pb.PolicyFacts] = None
        self._health = Health(SERVICE, self._is_admitted)
        stream_count = STREAM_COUNT_MAX + DESCRIBE_COUNT_MAX + HEALTH_WATCHER_COUNT_MAX
        self._server = grpc.server(
            futures.ThreadPoolExecutor(max_workers=stream_count),
            maximum_concurrent_rpcs=stream_count,
            options=[
                ("grpc.max_receive_message_length", RECEIVE_SIZE_BYTES_MAX),
                ("grpc.max_send_message_length", SEND_SIZE_BYTES_MAX),
                ("grpc.max_connection_idle_ms", IDLE_CONNECTION_MS_MAX),
                ("grpc.server_handshake_timeout_ms", IDLE_CONNECTION_MS_MAX),
                # Else two hosts would share a port, and robots would meet one by chance.
                ("grpc.so_reuseport", 0),
            ],
        )
        handlers = {
            "Describe": grpc.unary_unary_rpc_method_handler(
                self._describe,
                request_deserializer=pb.DescribeRequest.FromString,
                response_serializer=pb.DescribeReply.SerializeToString,
            ),
            "Run": grpc.stream_stream_rpc_method_handler(
                self._run,
                request_deserializer=pb.EdgeMessage.FromString,
                response_serializer=pb.HostMessage.SerializeToString,
            ),
        }
        handler = grpc.method_handlers_generic_handler(SERVICE, handlers)
        self._server.add_generic_rpc_handlers((handler, self._health.handler()))

    def open(self, target: str, credentials: Optional[grpc.ServerCredentials]) -> int:
        """Listens at `host:port`, port 0 for any; without credentials in plain text. The port."""
        port: int
        try:
            if credentials is None:
                port = self._server.add_insecure_port(target)
            else:
                port = self._server.add_secure_port(target, credentials)
        except RuntimeError as error:
            raise CannotListen(target) from error
        if port == 0:
            raise CannotListen(target)
        self._server.start()
        return port

    def close(self) -> None:
        """Ends every stream, at once where nobody watches the host's health."""
        is_watched = self._health.close()
        self._server.stop(CLOSE_S_MAX if is_watched else None).wait()

    def look(self) -> None:
        """Ends the sessions of robots that say nothing any more. Call it every LOOK_S."""
        for stream in self._all_streams():
            stream.look()

    def recheck(self) -> None:
        """Ends the sessions of robots that are not admitted any more."""
        for stream in self._all_streams():
            stream.recheck()
        self._health.recheck()

    def watch(self, now_ns: int) -> None:
        """Looks at policies that load."""
        self._pool.watch(now_ns)

    def _all_streams(self) -> list[HostStream]:
        with self._lock:
            return list(self._streams)

    def _describe(
        self, _request: pb.DescribeRequest, context: grpc.ServicerContext
    ) -> pb.DescribeReply:
        if not self._is_admitted(context):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "not paired with this host")
        return pb.DescribeReply(
            protocol_version=PROTOCOL_VERSION,
            policy=self._facts,
            status=self._status(),
            runtime_versions=self._versions,
        )

    def _status(self) -> pb.HostStatus:
        """Of the robot whose policy is furthest from deciding."""
        streams = self._all_streams()
        robots = [stream for stream in streams if stream.robot != ""]
        state = min([pb.HostStatus.STATE_READY, *(stream.state for stream in robots)])
        troubles = (f"{robot.robot}: {robot.trouble}" for robot in robots if robot.trouble != "")
        text = printable(next(troubles, ""))
        return pb.HostStatus(state=state, text=text, edge_count=len(streams))

    def _run(
        self, requests: Iterator[pb.EdgeMessage], context: grpc.ServicerContext
    ) -> Iterator[pb.HostMessage]:
        stream = HostStream(
            self._pool,
            self._versions,
            self._notes,
            self._welcomed,
            lambda: self._is_admitted(context),
        )
        with self._lock:
            self._streams.add(stream)
            is_one_more = len(self._streams) > STREAM_COUNT_MAX

        def ended() -> None:
            stream.close()
            with self._lock:
                self._streams.discard(stream)

        if not context.add_callback(ended):
            ended()
        if is_one_more:
            stream.refuse("robots", f"at most {STREAM_COUNT_MAX} at once", "one more", ONE_MORE)
        yield from stream.messages(requests)

    def _is_admitted(self, context: grpc.ServicerContext) -> bool:
        certificates = context.auth_context().get("x509_pem_cert", [])
        try:
            return self._admits(certificates[0] if certificates else None)
        except UsageError as error:
            self._notes.trouble(f"nobody is admitted: {error}")
            return False

    def _welcomed(self, facts: pb.PolicyFacts) -> None:
        self._facts = facts
