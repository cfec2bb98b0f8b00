"""The version of the package, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("sojourn")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0"
