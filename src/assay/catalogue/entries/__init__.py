"""One file per family; each holds a tuple `ENTRIES`. Nothing else in the project lists the methods."""

from . import (
    baselines,
    bayes,
    descent,
    elastic_net,
    glm,
    imputation,
    linear,
    neighbours,
    rules,
    scaling,
    selection,
    trees,
)

FAMILIES = (
    baselines,
    linear,
    elastic_net,
    glm,
    descent,
    bayes,
    neighbours,
    trees,
    rules,
    selection,
    scaling,
    imputation,
)
