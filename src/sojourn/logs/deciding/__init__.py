"""What to run after a fit."""
