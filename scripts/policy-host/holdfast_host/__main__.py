"""python3 -m holdfast_host."""

import sys

from .cli import main

sys.exit(main())
