"""One file per family; each holds a tuple `ENTRIES`. Nothing else in the project lists the methods."""

from . import (
    baselines,
    bayes,
    c45,
    construct,
    descent,
    discretise,
    elastic_net,
    glm,
    linear,
    model_tree,
    neighbours,
    reduction,
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
    c45,
    model_tree,
    rules,
    selection,
    scaling,
    construct,
    discretise,
    reduction,
)
