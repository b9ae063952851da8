"""The linear family of learners."""
