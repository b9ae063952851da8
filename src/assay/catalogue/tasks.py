"""The tasks: what each kind of method is given, what it gives back, how it is measured and what it must prove.

Tables, plans, metrics, the command line and the conformance tests read a task's record here; an entry of the catalogue
names its task. A new task is one record below and one file of claims in `tests/conformance`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..base.errors import ParameterError, plain


@dataclass(frozen=True)
class Task:
    """One task of the canon.

    Parameters
    ----------
    name : how entries, plans and the command line write it
    noun : what a method of the task is called
    done : what is done to the data, for sentences: "rows are classified"
    target : what y holds: "classes", "numbers" or "grades"; None if there is nothing to predict
    outputs : kinds of predictions; a metric measures the task if its `needs` is one of them
    calls : public methods that every class of the task has beside `fit`
    metrics : the usual metrics, of which the first decides; none where the task has no metric by name
    base : import path of the class that the task's classes inherit
    estimator_type : the type in scikit-learn's tags, or None where scikit-learn has none
    claims : groups of checks; each is a file `tests/conformance/test_<claim>_claims.py`
    planned : whether `Plan` and `assay compare` run methods of the task

    Examples
    --------
    >>> from assay.catalogue import get_task
    >>> get_task("classify").target, get_task("cluster").target
    ('classes', None)
    """

    name: str
    noun: str
    done: str
    outputs: tuple[str, ...]
    claims: tuple[str, ...]
    calls: tuple[str, ...] = ()
    target: str | None = None
    metrics: tuple[str, ...] = ()
    base: str = "assay.base.Estimator"
    estimator_type: str | None = None
    planned: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def classes(self) -> bool:
        """Whether the target holds classes."""
        return self.target == "classes"

    @property
    def numbers(self) -> bool:
        """Whether the target holds numbers."""
        return self.target == "numbers"


CLASSIFY = Task(
    name="classify",
    noun="classifier",
    done="rows are classified",
    target="classes",
    outputs=("labels", "probabilities"),
    calls=("predict",),
    metrics=("accuracy", "balanced_accuracy", "f1_macro", "log_loss", "roc_auc"),
    base="assay.base.LabelClassifier",
    estimator_type="classifier",
    claims=("table", "learner"),
    planned=True,
)
REGRESS = Task(
    name="regress",
    noun="regressor",
    done="rows are predicted as numbers",
    target="numbers",
    outputs=("values",),
    calls=("predict",),
    metrics=("rmse", "mae", "r2"),
    base="assay.base.Regressor",
    estimator_type="regressor",
    claims=("table", "learner"),
    planned=True,
)
CLUSTER = Task(
    name="cluster",
    noun="clustering",
    done="rows are put into clusters",
    outputs=("clusters",),
    calls=("fit_predict",),
    metrics=("adjusted_rand", "adjusted_mutual_information", "purity"),
    base="assay.base.Clusterer",
    estimator_type="clusterer",
    claims=("table", "cluster"),
)
TRANSFORM = Task(
    name="transform",
    noun="transformer",
    done="columns are made of columns",
    outputs=("columns",),
    calls=("transform", "fit_transform", "get_feature_names_out"),
    claims=("table", "transformer"),
)
DENSITY = Task(
    name="density",
    noun="density",
    done="densities of rows are estimated",
    outputs=("log_densities",),
    calls=("score_samples", "score", "sample"),
    base="assay.base.DensityEstimator",
    estimator_type="density_estimator",
    claims=("table", "density"),
)
SEQUENCE = Task(
    name="sequence",
    noun="sequence model",
    done="sequences are explained by hidden states",
    outputs=("states",),
    calls=("score", "decode", "sample"),
    claims=("sequence",),
)
RANK = Task(
    name="rank",
    noun="ranker",
    done="rows are put in order",
    target="grades",
    outputs=("scores",),
    calls=("predict", "score"),
    claims=("table", "rank"),
)
RULES = Task(
    name="rules",
    noun="rule miner",
    done="rules are found in baskets",
    outputs=("rules",),
    claims=("rules",),
)
DETECT = Task(
    name="detect",
    noun="detector",
    done="rows unlike the others are found",
    outputs=("anomalies",),
    calls=("score_samples", "decision_function", "predict", "fit_predict"),
    base="assay.base.Detector",
    estimator_type="outlier_detector",
    claims=("table", "detector"),
)
CONTROL = Task(
    name="control",
    noun="agent",
    done="actions are chosen",
    outputs=("actions",),
    calls=("predict",),
    claims=("control",),
)
IMAGE = Task(
    name="image",
    noun="image classifier",
    done="images are classified",
    target="classes",
    outputs=("image_labels",),
    calls=("predict", "predict_proba"),
    base="assay.base.LabelClassifier",
    estimator_type="classifier",
    claims=("image",),
)

TASKS: dict[str, Task] = {
    task.name: task
    for task in (CLASSIFY, REGRESS, CLUSTER, TRANSFORM, DENSITY, SEQUENCE, RANK, RULES, DETECT, CONTROL, IMAGE)
}
"""Every task by name, in the order of the canon."""

PLANNED = tuple(task.name for task in TASKS.values() if task.planned)
"""Names of the tasks that an experiment compares methods of."""


def get_task(name: str | Task, who: str = "catalogue", among: Iterable[str] = TASKS) -> Task:
    """The task with this name; one that is not `among` the allowed ones is refused in one sentence.

    >>> get_task("regress").metrics
    ('rmse', 'mae', 'r2')
    >>> get_task("guess")
    Traceback (most recent call last):
    ...
    assay.base.errors.ParameterError: catalogue: parameter 'task' must be one of classify, regress, cluster, transform,
        density, sequence, rank, rules, detect, control, image; got 'guess'.
    """
    allowed = list(among)
    text = str(name) if isinstance(name, (str, Task)) else None
    if text in allowed and text in TASKS:
        return TASKS[text]
    raise ParameterError(who, "parameter 'task'", f"must be one of {', '.join(allowed)}", f"got {plain(repr(name))}")


def check_task(who: str, name: str | None, among: Iterable[str] = PLANNED) -> Task | None:
    """The task a user asked for, or None if the data shall decide.

    >>> check_task("Plan", None) is None, check_task("Plan", "classify").noun
    (True, 'classifier')
    """
    return None if name is None else get_task(name, who, among)
