"""The command line: `assay compare|audit|methods|demo`. It uses the public API and adds nothing to it."""

from .main import main as main

__all__ = ["main"]
