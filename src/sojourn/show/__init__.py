"""How results look: tables, pictures, pages, plain data."""
