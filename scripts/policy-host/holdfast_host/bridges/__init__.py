"""Policies that ask a server of another make. What they speak stays on this machine."""
