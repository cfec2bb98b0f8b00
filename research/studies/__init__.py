"""The studies: one module or subpackage each, with a value `STUDY`."""
