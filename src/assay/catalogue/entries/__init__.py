"""One file per family; each holds a tuple `ENTRIES`. Nothing else in the project lists the methods."""

from . import baselines, bayes, elastic_net, linear, neighbours, trees

FAMILIES = (baselines, linear, elastic_net, bayes, neighbours, trees)
