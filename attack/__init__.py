"""The attack on the service: kill, stop, fill, flood and fuzz it, then see what the store has.

Run `make attack`, or ``python -m attack --help``. Nothing that was acknowledged may be lost or
counted twice, and every call has to be answered before its deadline.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
