"""The neighbours family of learners."""
