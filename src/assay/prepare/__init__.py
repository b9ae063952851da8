"""The prepare package."""
