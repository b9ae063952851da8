"""The evaluate package."""
