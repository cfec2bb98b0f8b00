"""What a running experiment says: insight from its counters, drift, and shadow mode."""
