"""The plan: which table, which target, which learners, how to split, what to measure. It decides; it runs nothing."""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import numbers
import os
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from .. import catalogue
from ..base.errors import DataError, ParameterError, UsageError, plain
from ..catalogue import Entry
from ..data import Table, read_table
from ..evaluate import Design, Evidence, compare, default_metrics, get_metric, make_design
from ..prepare import step_for
from .store import digest, without_nan

FOREIGN_SIMPLICITY = 100
"""Rank of an estimator that is not in the catalogue: simpler models are preferred where both do equally well."""

FEWEST_TO_LEARN = 5
"""Training rows below which nothing is learned; the usual five neighbours need as many."""


@dataclass(frozen=True, eq=False)
class Learner:
    """One contender: an unfitted estimator with the catalogue entry that says what it takes."""

    id: str
    title: str
    entry: Entry
    estimator: BaseEstimator
    native: bool
    """True for a class of the catalogue; False for any other scikit-learn estimator."""

    def prototype(self, *, threads: int | None = None) -> Any:
        """A fresh clone; `threads` limits its own threads, which never changes what it learns."""
        copy = clone(self.estimator)
        if threads is not None and "n_jobs" in copy.get_params(deep=False):
            copy.set_params(n_jobs=threads)
        return copy

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Parameters as JSON-ready values, without the number of threads."""
        params = self.estimator.get_params(deep=False)
        return {name: describe_value(value) for name, value in sorted(params.items()) if name != "n_jobs"}

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What the results of this learner depend on, for the key of the store."""
        cls = type(self.estimator)
        package = cls.__module__.partition(".")[0]
        return {
            "class": f"{cls.__module__}.{cls.__qualname__}",
            "package": "" if self.native else _version(package),
            "parameters": self.parameters,
        }


@dataclass(frozen=True, eq=False)
class Plan:
    """A comparison of learners on one table, checked as soon as it is made.

    Parameters
    ----------
    table : Table, pandas or Polars frame, or path of a file
    target : name of the column to predict
    learners : catalogue ids, pairs (id, parameters) or scikit-learn estimators; None for every method of the task
    design : how rows are split: "5x2", "10-fold", "5-fold" or "RxK"; one for which no test is valid is refused
    metrics : names of metrics, the first decides; None for the usual ones of the task
    seed : one integer from which every random choice follows
    task : name of a task with a target; None to take it from the target
    alpha : level of the tests
    prepare : steps that come before the preparation each learner needs, in order: catalogue ids, pairs
        (id, parameters), remedies of an audit, or transformers; fitted on the training rows of each fold

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> plan = Plan(load_dataset("iris"), "species", learners=["zero-r"])
    >>> plan.task, plan.design.name, [learner.id for learner in plan.learners]
    ('classify', '5x2', ['zero-r'])
    """

    table: Any
    target: Any
    learners: Any = None
    design: Any = "5x2"
    metrics: Any = None
    seed: int = 0
    task: str | None = None
    alpha: float = 0.05
    prepare: Any = ()

    def __post_init__(self) -> None:
        def settle(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        if isinstance(self.table, (str, os.PathLike)):
            settle("table", read_table(self.table))
        elif not isinstance(self.table, Table):
            settle("table", Table.from_frame(self.table))
        catalogue.check_task("Plan", self.task)
        if not isinstance(self.seed, numbers.Integral) or isinstance(self.seed, bool) or not 0 <= self.seed < 2**32:
            raise ParameterError(
                "Plan", "parameter 'seed'", "must be an integer from 0 to 4294967295", f"got {plain(repr(self.seed))}"
            )
        if not isinstance(self.alpha, numbers.Real) or isinstance(self.alpha, bool) or not 0 < float(self.alpha) <= 0.5:
            raise ParameterError(
                "Plan", "parameter 'alpha'", "must be a number > 0 and <= 0.5", f"got {plain(repr(self.alpha))}"
            )
        settle("seed", int(self.seed))
        settle("alpha", float(self.alpha))
        settle("design", _settle_design(self.design))
        settle("target", self.table.target(self.target, task=self.task))
        settle("task", self.target.task)
        settle("learners", _settle_learners(self.learners, self.task, self.seed))
        settle("prepare", settle_steps(self.prepare, self.seed))
        settle("metrics", _settle_metrics(self.metrics, self.task, 2 if self.classes is None else len(self.classes)))
        self.features  # noqa: B018  a table without a usable column is refused here, not in the middle of a run
        self._check_rows()

    # -- what follows from the choices -------------------------------------------------------------------------
    @cached_property
    def features(self) -> Any:
        """The usable columns of the rows whose target is known."""
        return self.table.features(self.target)

    @cached_property
    def classes(self) -> np.ndarray | None:
        """Sorted class labels, or None for regression."""
        return self._coded[0]

    @property
    def n_classes(self) -> int | None:
        """How many classes there are, or None for regression."""
        return None if self.classes is None else int(self.classes.shape[0])

    @cached_property
    def y(self) -> np.ndarray:
        """The target as learners meet it in the folds: class codes 0..K-1 in the order of `classes`, or float64."""
        return self._coded[1]

    @cached_property
    def labels(self) -> np.ndarray:
        """The target of the kept rows with its own labels."""
        return np.asarray(self.target.values)

    @cached_property
    def _coded(self) -> tuple[np.ndarray | None, np.ndarray]:
        if self.target.classes is None:
            return None, np.ascontiguousarray(self.labels, dtype=np.float64)
        labels = self.labels.astype(str) if self.labels.dtype.kind == "O" else self.labels
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.astype(np.int64)

    @cached_property
    def splits(self) -> list[Any]:
        """The folds, in order of repetition and fold."""
        y = self.y
        if self.classes is not None and np.bincount(y).min() < (self.design.folds or 1):
            y = self.classes[y]  # the same folds; a warning about small classes then names them
        return list(self.design.splits(y, self.stratified, self.seed))

    @property
    def stratified(self) -> bool:
        """Folds keep the class shares when there are classes."""
        return self.classes is not None

    @cached_property
    def _split_digests(self) -> list[str]:
        digests = []
        for split in self.splits:
            rows = hashlib.sha256()
            for part in (split.train, split.test):
                array = np.ascontiguousarray(part, dtype="<i8")
                rows.update(str(array.shape[0]).encode() + b":")
                rows.update(array.tobytes())
            digests.append(rows.hexdigest())
        return digests

    def unit_key(self, learner: Learner, split: int | None, code: str) -> str:
        """The key under which the store keeps this learner on this fold (None: on all rows)."""
        return digest(
            self._data_identity,
            {
                "native": sorted(learner.entry.native),
                "scales": learner.entry.scales,
                "steps": [describe_value(step) for step in self.prepare],
            },
            learner.identity,
            "all rows" if split is None else self._split_digests[split],
            self.seed,
            code,
        )

    @cached_property
    def _data_identity(self) -> dict[str, Any]:
        roles = {name: [role.role, role.order] for name, role in self.table.roles.items()}
        return {
            "table": self.table.fingerprint,
            "target": self.target.name,
            "task": self.task,
            "roles": without_nan(roles),
        }

    def _check_rows(self) -> None:
        """Refuse a table on which no comparison can mean anything, with the smallest that would do."""
        needed = _smallest_table(self.design.folds or 2, self.classes is None)
        if len(self.y) < needed:
            raise DataError(
                "Plan",
                f"table '{plain(self.table.name)}'",
                f"must have at least {needed} rows with a target for the design '{self.design.name}'",
                f"got {len(self.y)}",
                "bring more rows",
            )
        if self.classes is not None and np.count_nonzero(np.bincount(self.y) > 1) < 2:
            raise DataError(
                "Plan",
                f"target '{plain(self.target.name)}'",
                "must have at least 2 rows in each of two classes, one to learn from and one to test",
                f"got {len(self.classes)} classes of which "
                f"{np.count_nonzero(np.bincount(self.y) > 1) or 'none'} has more than one row",
                "bring more rows, or choose another target",
            )

    # -- description ---------------------------------------------------------------------------------------------
    def describe(self) -> dict[str, Any]:
        """Everything that was chosen, as plain data."""
        return {
            "data": self._data_identity,
            "prepare": [describe_value(step) for step in self.prepare],
            "learners": [{"id": learner.id, **learner.identity} for learner in self.learners],
            "design": self.design.name,
            "metrics": list(self.metrics),
            "seed": self.seed,
            "alpha": self.alpha,
        }

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the description: equal plans have equal fingerprints."""
        return digest(self.describe())

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.fingerprint == other.fingerprint

    def __repr__(self) -> str:
        ids = ", ".join(learner.id for learner in self.learners)
        return f"Plan({self.table.name!r}, {self.target.name!r}, learners=[{ids}], design={self.design.name!r})"


def default_learners(task: str) -> list[Entry]:
    """The learners of the catalogue that are compared when none are named, in catalogue order.

    >>> [entry.id for entry in default_learners("classify")]
    ['zero-r', 'one-r', 'logistic', 'naive-bayes', 'knn-classifier', 'cart-classifier']
    """
    return [entry for entry in catalogue.search(task=task) if entry.compared]


def describe_value(value: Any) -> Any:
    """A parameter value as plain data that is equal for equal values, in every process.

    >>> describe_value({"alpha": (0.1, None), "distance": max})
    {'alpha': [0.1, None], 'distance': 'builtins.max'}
    """
    if value is None or isinstance(value, (str, bool, int, float, np.generic, np.ndarray)):
        return without_nan(value)
    if isinstance(value, Mapping):
        return {str(k): describe_value(v) for k, v in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, (list, tuple)):
        return [describe_value(v) for v in value]
    if isinstance(value, types.FunctionType):
        # Functions made in place share their name; their code tells them apart.
        code = value.__code__
        body = hashlib.sha256(code.co_code + repr((code.co_consts, code.co_names)).encode()).hexdigest()[:16]
        return f"{value.__module__}.{value.__qualname__}" + (f" {body}" if "<" in value.__qualname__ else "")
    if isinstance(value, (types.BuiltinFunctionType, type)):
        return f"{value.__module__}.{value.__qualname__}"
    if hasattr(value, "get_params"):
        return {"class": type(value).__qualname__, **describe_value(value.get_params(deep=False))}
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _smallest_table(folds: int, regress: bool) -> int:
    """The fewest rows that leave `FEWEST_TO_LEARN` for training and enough to score (R² needs two) in each fold.

    >>> _smallest_table(2, False), _smallest_table(10, False), _smallest_table(10, True)
    (10, 10, 20)
    """
    test = 2 if regress else 1
    return next(n for n in itertools.count(2) if n // folds >= test and n - -(-n // folds) >= FEWEST_TO_LEARN)


# -- settling what the user gave -----------------------------------------------------------------------------------
def _settle_design(given: Any) -> Design:
    """The design, refused before anything runs if no test would be valid for its scores."""
    design = make_design(given)
    compare({"any": np.zeros((design.repetitions, design.folds or 1))}, design)
    return design


def _settle_learners(given: Any, task: str, seed: int) -> tuple[Learner, ...]:
    if given is None:
        given = [entry.id for entry in default_learners(task)]
    if isinstance(given, (str, BaseEstimator)):
        given = [given]
    if not isinstance(given, Iterable):
        raise ParameterError("Plan", "parameter 'learners'", "must be a list", f"got {type(given).__name__}")
    settled: list[Learner] = []
    for item in given:
        learner = _settle_learner(item, task, seed)
        twins = [other for other in settled if other.entry.id == learner.entry.id]
        if twins:
            if any(other.identity == learner.identity for other in twins):
                raise ParameterError(
                    "Plan",
                    f"learner '{plain(learner.id)}'",
                    "is listed twice with the same parameters",
                    way_out="list it once or change a parameter",
                )
            learner = Learner(
                f"{learner.entry.id}-{len(twins) + 1}",
                learner.title,
                learner.entry,
                learner.estimator,
                learner.native,
            )
        settled.append(learner)
    if not settled:
        raise ParameterError(
            "Plan", "parameter 'learners'", "must name at least one learner", way_out="`assay methods` lists them"
        )
    return tuple(settled)


def settle_steps(given: Any, seed: int) -> tuple[Any, ...]:
    """Preparation steps as unfitted transformers.

    >>> settle_steps(["scale", ("scale", {"method": "robust"})], seed=0)
    (Scale(), Scale(method='robust'))
    """
    if given is None:
        return ()
    if isinstance(given, (str, Mapping)) or hasattr(given, "fit"):
        given = [given]
    if not isinstance(given, Iterable):
        raise ParameterError("Plan", "parameter 'prepare'", "must be a list", f"got {type(given).__name__}")
    return tuple(_settle_step(item, seed) for item in given)


def _settle_step(item: Any, seed: int) -> Any:
    if isinstance(item, str):
        item = (item, {})
    if isinstance(item, Mapping) and "step" in item:
        item = step_for(dict(item))
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], Mapping):
        item = step_for({"step": item[0], "parameters": dict(item[1])})
    if isinstance(item, type) or not hasattr(item, "fit") or not hasattr(item, "transform"):
        raise ParameterError(
            "Plan",
            "parameter 'prepare'",
            "must hold catalogue ids, pairs (id, parameters), remedies or transformers",
            f"got {plain(repr(item))}",
            "`assay methods --task transform` lists the steps",
        )
    return _seed_unset(clone(item), seed)


def _settle_learner(item: Any, task: str, seed: int) -> Learner:
    params: Mapping[str, Any] = {}
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], Mapping):
        item, params = item
    if isinstance(item, str):
        entry = catalogue.get(item)
        if entry.task != task:
            fitting = ", ".join(e.id for e in default_learners(task)[:6])
            raise UsageError(
                "Plan",
                f"learner '{entry.id}'",
                f"is a method to {entry.task} and this target is one to {task}",
                way_out=f"choose from {fitting}" if fitting else "choose another method",
            )
        try:
            estimator = entry.load()(**params)
        except (ImportError, AttributeError) as error:
            raise UsageError("Plan", f"learner '{entry.id}'", f"cannot be loaded ({error})") from None
        except TypeError as error:
            raise ParameterError(str(error)) from None
        return _seeded(Learner(entry.id, _title(entry.title, params), entry, estimator, True), seed)
    if not isinstance(item, type) and hasattr(item, "fit") and hasattr(item, "get_params"):
        return _seeded(_from_estimator(item, task), seed)
    raise ParameterError(
        "Plan",
        "parameter 'learners'",
        "must hold catalogue ids, pairs (id, parameters) or scikit-learn estimators",
        f"got {plain(repr(item))}",
    )


def _from_estimator(estimator: Any, task: str) -> Learner:
    entry = catalogue.of_class(type(estimator))
    name = type(estimator).__name__
    wanted = catalogue.get_task(task)
    if get_tags(estimator).estimator_type != wanted.estimator_type:
        raise UsageError("Plan", f"learner '{name}'", f"is not a {wanted.noun} and this target needs one to {task}")
    if entry is not None:
        defaults = type(estimator)().get_params(deep=False)
        changed = {k: v for k, v in estimator.get_params(deep=False).items() if not _same(v, defaults.get(k))}
        return Learner(entry.id, _title(entry.title, changed), entry, clone(estimator), True)
    missing = ("missing",) if get_tags(estimator).input_tags.allow_nan else ()
    foreign = Entry(
        id=re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower(),
        title=name,
        class_path=f"{type(estimator).__module__}.{name}",
        task=task,
        native=("numeric", *missing),
        weights=False,
        probabilities=hasattr(estimator, "predict_proba"),
        simplicity=FOREIGN_SIMPLICITY,
        fit_cost="",
        predict_cost="",
        explains="",
        section="",
        references=(),
        summary=f"{name} of {type(estimator).__module__.partition('.')[0]}.",
        scales=True,
    )
    return Learner(foreign.id, name, foreign, clone(estimator), False)


def _seeded(learner: Learner, seed: int) -> Learner:
    _seed_unset(learner.estimator, seed)
    return learner


def _seed_unset(estimator: Any, seed: int) -> Any:
    """The plan's seed where the user gave none: every fold then repeats the same choices, whatever the order."""
    unset = {}
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] != "random_state":
            continue
        if value is None:
            unset[name] = seed
        elif not isinstance(value, numbers.Integral):
            raise ParameterError(
                "Plan",
                f"parameter '{name}' of {type(estimator).__name__}",
                "must be an integer or None in an experiment, so that every fold can be repeated",
                f"got {type(value).__name__}",
            )
    return estimator.set_params(**unset) if unset else estimator


def _same(a: Any, b: Any) -> bool:
    return describe_value(a) == describe_value(b)


def _title(title: str, params: Mapping[str, Any]) -> str:
    shown = ", ".join(
        f"{name}={plain(value, 20)}" for name, value in params.items() if name not in ("n_jobs", "random_state")
    )
    return f"{title} ({shown})" if shown else title


def _settle_metrics(given: Any, task: str, n_classes: int) -> tuple[str, ...]:
    if given is None:
        return tuple(default_metrics(task))
    names = [given] if isinstance(given, str) else list(given)
    if not names:
        raise ParameterError("Plan", "parameter 'metrics'", "must name at least one metric")
    settled = []
    for name in names:
        metric = get_metric(name)
        if metric.task != task:
            raise ParameterError(
                "Plan",
                f"metric '{plain(name)}'",
                f"does not measure how well {catalogue.get_task(task).done}",
                way_out=f"for example {', '.join(default_metrics(task))}",
            )
        if catalogue.get_task(task).classes:
            # A metric of one positive class refuses three here, before any fold is run.
            codes = np.arange(n_classes)
            metric.of(Evidence(codes, labels=codes, probabilities=np.eye(n_classes), classes=codes))
        if metric.name not in settled:
            settled.append(metric.name)
    return tuple(settled)


def _version(package: str) -> str:
    for name in {"sklearn": ["scikit-learn"]}.get(package, [package]):
        try:
            return f"{package} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return package
