"""The study of drift: arms that change, and what it costs to be ready for that if none does."""
