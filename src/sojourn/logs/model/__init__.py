"""Steps become totals, and totals a fitted model."""
