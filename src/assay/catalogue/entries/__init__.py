"""One file per family; each holds a tuple `ENTRIES`. Nothing else in the project lists the methods."""

from . import baselines, bayes, descent, linear, neighbours, trees

FAMILIES = (baselines, linear, descent, bayes, neighbours, trees)
