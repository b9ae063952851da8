"""The data package."""
