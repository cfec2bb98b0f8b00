"""`python -m sojourn` is the command `sojourn`."""

import sys

from .cli.main import main

sys.exit(main())
