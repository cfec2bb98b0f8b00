"""A study beyond the paper: which policy to run where, at what gain, and at what risk.

`sojourn.lab.beyond.beyond` has the function that runs, draws and checks it.
"""
