"""The study of signs: users whom a success drives away, and what following that costs elsewhere."""
