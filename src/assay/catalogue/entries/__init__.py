"""One file per family; each holds a tuple `ENTRIES`. Nothing else in the project lists the methods."""

from . import baselines, bayes, c45, descent, elastic_net, glm, linear, neighbours, rules, selection, trees

FAMILIES = (baselines, linear, elastic_net, glm, descent, bayes, neighbours, trees, c45, rules, selection)
