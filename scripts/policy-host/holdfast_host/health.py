"""Health: the standard `grpc.health.v1`, for whoever looks after this host. Check answers once;
Watch tells the status at once, and again as the host closes. Where robots must be paired, so must
whoever asks. Answers of two bytes need no schema."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Callable, Optional

import grpc

from .limits import HEALTH_WATCHER_COUNT_MAX

HEALTH_SERVICE = "grpc.health.v1.Health"

# HealthCheckResponse: field 1, a ServingStatus.
SERVING = b"\x08\x01"
NOT_SERVING = b"\x08\x02"
SERVICE_UNKNOWN = b"\x08\x03"

IsAdmitted = Callable[[grpc.ServicerContext], bool]
Watch = tuple["queue.SimpleQueue[Optional[bytes]]", grpc.ServicerContext]


class Health:
    def __init__(self, service: str, is_admitted: IsAdmitted) -> None:
        # HealthCheckRequest: field 1, a text; empty asks for the server as such.
        self._asked = (b"", b"\x0a" + bytes([len(service)]) + service.encode())
        self._lock = threading.Lock()
        self._is_admitted = is_admitted
        self._watches: dict[int, Watch] = {}
        self._is_closing = False

    def handler(self) -> grpc.GenericRpcHandler:
        handlers = {
            "Check": grpc.unary_unary_rpc_method_handler(self._check),
            "Watch": grpc.unary_stream_rpc_method_handler(self._watch),
        }
        return grpc.method_handlers_generic_handler(HEALTH_SERVICE, handlers)

    def close(self) -> bool:
        """Tells all who watch. Whether anybody does."""
        with self._lock:
            self._is_closing = True
            watches = list(self._watches.values())
        for watch, _ in watches:
            watch.put(NOT_SERVING)
            watch.put(None)
        return bool(watches)

    def recheck(self) -> None:
        """Ends the watches of those who are not admitted any more."""
        with self._lock:
            watches = list(self._watches.values())
        for watch, context in watches:
            if not self._is_admitted(context):
                watch.put(None)

    def _check(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self._need_admitted(context)
        if request not in self._asked:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such service here")
        return NOT_SERVING if self._is_closing else SERVING

    def _watch(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        self._need_admitted(context)
        watch: "queue.SimpleQueue[Optional[bytes]]" = queue.SimpleQueue()
        with self._lock:
            is_full = len(self._watches) >= HEALTH_WATCHER_COUNT_MAX
            if not is_full:
                self._watches[id(watch)] = (watch, context)
        if is_full:
            details = f"{HEALTH_WATCHER_COUNT_MAX} watch this host already"
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, details)
        try:
            if not context.add_callback(lambda: watch.put(None)):
                return  # it has left already
            yield from self._told(watch, request in self._asked)
            if context.is_active():
                self._need_admitted(context)  # else it would seem to have ended well
        finally:
            with self._lock:
                del self._watches[id(watch)]

    def _need_admitted(self, context: grpc.ServicerContext) -> None:
        if not self._is_admitted(context):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "not paired with this host")

    def _told(
        self, watch: "queue.SimpleQueue[Optional[bytes]]", is_known: bool
    ) -> Iterator[bytes]:
        if not is_known:
            yield SERVICE_UNKNOWN
        elif not self._is_closing:
            yield SERVING
        while True:
            status = watch.get()
            if status is None:
                return
            if is_known:
                yield status
