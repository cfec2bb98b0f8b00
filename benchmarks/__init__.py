"""How fast the simulator is: against bare loops, other packages, and the paper's precision.

Run `make bench`, or ``python -m benchmarks --help``. What the figures mean is said in
docs/benchmarks.md.
"""
