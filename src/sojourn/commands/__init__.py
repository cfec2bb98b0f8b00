"""Commands of the live half: `sojourn serve`, `drive`, `keys`, `verify`, `export` and others."""
