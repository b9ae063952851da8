"""The trees family of learners."""
