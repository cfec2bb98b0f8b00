"""`python -m sojourn` is the command `sojourn`."""

import sys

from .cli import main

sys.exit(main())
