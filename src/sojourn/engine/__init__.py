"""All that is compiled, and what makes compiled code faster."""
