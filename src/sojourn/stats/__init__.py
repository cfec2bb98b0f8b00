"""Statistics: moments over runs, intervals, clustered ratios."""
