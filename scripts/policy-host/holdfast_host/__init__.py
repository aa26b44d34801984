"""Runs your policy for robots of Holdfast: subclass `Policy`, fill in `act`."""

from .policy import Observation, Policy, Robot

__all__ = ["Observation", "Policy", "Robot"]
