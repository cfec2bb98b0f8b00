"""A study beyond the paper: which policy to run where, at what gain, and at what risk."""
