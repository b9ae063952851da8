"""What every family computes with, below tables and learners: distances and neighbours, kernel functions, moments,
linear solves.

Nothing here knows a table, a column's role or an estimator: arrays go in, arrays come out. A learner or a step takes
what it needs from here instead of keeping its own copy.
"""
