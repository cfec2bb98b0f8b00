"""The study of items that raise the exit rate: leaving that depends on the arm."""
