"""The experiment package."""
