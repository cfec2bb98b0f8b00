"""How results look: tables, plots, HTML pages, plain JSON."""
