"""Run with `python3 -m unittest` in the folder above."""

import os

# Failures that a test causes on purpose are no lines for its reader.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
