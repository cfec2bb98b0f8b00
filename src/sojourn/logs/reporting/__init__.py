"""A fit and a decision for people: a screen, a page, pictures."""
