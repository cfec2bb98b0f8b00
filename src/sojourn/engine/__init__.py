"""The machine room: all that is compiled, or that speeds the compiled up."""
