"""python3 -m holdfast_host."""

import os
import sys

# What gRPC says of its own is for its makers; what matters to a person is told here.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

from .cli import main  # noqa: E402 gRPC reads the variable as it is imported

sys.exit(main())
