"""One file per family; each holds a tuple `ENTRIES`. Nothing else in the project lists the methods."""

from . import baselines, bayes, glm, linear, neighbours, selection, trees

FAMILIES = (baselines, linear, glm, bayes, neighbours, trees, selection)
