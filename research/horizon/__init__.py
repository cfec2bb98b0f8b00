"""The study of the horizon: growth with the number of visits, the worst runs, not knowing it."""
