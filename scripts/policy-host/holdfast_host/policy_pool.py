"""PolicyPool: a policy for each robot that connects. One that a robot left stays loaded, so that a
cable that was out for a moment costs no reloading of a model."""

from __future__ import annotations

import threading

from .limits import IDLE_COUNT_MAX
from .notes import Notes
from .policy import Robot
from .policy_thread import PolicyPlan, PolicyThread


class PolicyPool:
    def __init__(self, plan: PolicyPlan, notes: Notes) -> None:
        self.plan = plan
        self._notes = notes
        self._lock = threading.Lock()
        self._idle: list[PolicyThread] = []
        self._loading: list[PolicyThread] = []

    def take(self, robot: Robot) -> PolicyThread:
        """One that the same robot left, or a new one."""
        with self._lock:
            # One may have failed to be set up after its robot had left.
            self._idle = [thread for thread in self._idle if not thread.is_closed]
            for thread in self._idle:
                if thread.robot == robot:
                    self._idle.remove(thread)
                    return thread
            thread = PolicyThread(self.plan, robot, self._notes)
            self._loading.append(thread)
        return thread

    def watch(self, now_ns: int) -> None:
        """Tells what takes long to load, and gives up what takes too long. Call it every second."""
        with self._lock:
            loading = list(self._loading)
        over = [thread for thread in loading if not thread.watch(now_ns)]
        with self._lock:
            self._loading = [thread for thread in self._loading if thread not in over]

    def give_back(self, thread: PolicyThread) -> None:
        thread.detach()
        if thread.is_closed:
            return
        with self._lock:
            twins = [other for other in self._idle if other.robot == thread.robot]
            others = [other for other in self._idle if other.robot != thread.robot]
            self._idle = [*others, thread][-IDLE_COUNT_MAX:]
            surplus = [other for other in (*twins, *others) if other not in self._idle]
        for other in surplus:
            other.close()
