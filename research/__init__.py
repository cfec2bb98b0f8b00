"""Studies of the policies: problems, claims and pages. Not part of the package."""
