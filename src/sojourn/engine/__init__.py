"""The engine: all that is compiled, and all that makes compiled code faster."""
