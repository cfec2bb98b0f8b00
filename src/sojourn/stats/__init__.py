"""Statistics: moments, intervals, clusters."""
