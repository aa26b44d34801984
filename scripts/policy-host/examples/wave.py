"""Swings the first joint around where the episode began."""

import numpy as np
from holdfast_host import Policy


class Wave(Policy):
    def reset(self, epoch):
        self.start_rad = None

    def act(self, observation):
        if self.start_rad is None:
            self.start_rad = observation.command_rad
        times_s = observation.since_reset_s + self.dt_s * np.arange(self.horizon)
        rows = np.tile(self.start_rad, (self.horizon, 1))
        rows[:, 0] += 0.3 * (1 - np.cos(times_s))
        return rows
