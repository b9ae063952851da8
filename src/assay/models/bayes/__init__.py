"""The bayes family of learners."""
