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

    def take(self, robot: Robot) -> PolicyThread:
        """One that the same robot left, or a new one."""
        with self._lock:
            for thread in self._idle:
                if thread.robot == robot:
                    self._idle.remove(thread)
                    return thread
        return PolicyThread(self.plan, robot, self._notes)

    def give_back(self, thread: PolicyThread) -> None:
        thread.detach()
        if thread.is_closed:
            return
        with self._lock:
            self._idle.append(thread)
            surplus = [other for other in self._idle if other.robot == thread.robot][:-1]
            oldest = self._idle[:-IDLE_COUNT_MAX]
            for other in {id(each): each for each in (*surplus, *oldest)}.values():
                self._idle.remove(other)
                other.close()
