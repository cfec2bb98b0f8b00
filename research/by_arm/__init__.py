"""The study of items that drive people away: leaving that depends on the arm."""
