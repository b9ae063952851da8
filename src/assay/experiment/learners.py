"""Learners of a plan: what the user gave, as unfitted estimators with the catalogue entry that says what they take."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import inspect
import itertools
import json
import numbers
import re
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from .. import catalogue
from ..base.around import AroundLearners
from ..base.errors import ParameterError, UsageError, plain
from ..base.folds import open_seeds
from ..catalogue import Entry
from ..data.roles import nearest
from ..data.table import as_frame, to_pandas
from .search import METHODS, Search, Tuned
from .space import Space
from .store import without_nan

FOREIGN_SIMPLICITY = 100
"""Rank of an estimator that is not in the catalogue: simpler models are preferred where both do equally well."""


@dataclass(frozen=True, eq=False)
class Learner:
    """One contender: an unfitted estimator with the catalogue entry that says what it takes."""

    id: str
    title: str
    entry: Entry
    estimator: BaseEstimator
    native: bool
    """True for a class of the catalogue; False for any other scikit-learn estimator."""
    name: str | None = None
    """The name that the user gave, if any."""
    open_seeds: tuple[str, ...] = ()
    """Parameters that get a seed of each fold's own, since the user gave none."""
    search: Search | None = None
    """How its parameters are chosen inside the training rows of each fold; None where they are as they stand."""

    @property
    def word(self) -> str | None:
        """The learner as the command line takes it, NAME=ID{"parameter": value}; None if only Python can say it."""
        cls = type(self.estimator)
        if self.search is not None or (not self.native and not importable(cls)):
            return None
        changed = changed_parameters(self.estimator)
        try:
            text = json.dumps(changed, sort_keys=True) if changed else ""
            plain_values = json.loads(text) == changed if changed else True
        except (TypeError, ValueError):
            return None
        if not plain_values:
            return None
        base = self.entry.id if self.native else import_path(cls)
        return (f"{self.name}=" if self.name else "") + base + text

    def prototype(self, *, threads: int | None = None, seeds: Mapping[str, int] | None = None) -> Any:
        """A fresh clone; `threads` limits its own threads, which never changes what it learns, and `seeds` are those of
        a fold."""
        copy = clone(self.estimator).set_params(**(seeds or {}))
        if threads is not None and "n_jobs" in copy.get_params(deep=False):
            copy.set_params(n_jobs=threads)
        return copy

    def named(self, chain: Any, rows: Any) -> Any:
        """Prepared rows as this learner takes them: other libraries' estimators get a frame with column names."""
        if self.native:
            return rows
        if isinstance(rows, np.ndarray):
            names = [str(name) for name in chain.get_feature_names_out()]
            if len(set(names)) != rows.shape[1]:
                return rows
            rows = as_frame(rows, names)
        return to_pandas(rows)

    def settled(self, parameters: Mapping[str, Any]) -> Learner:
        """The learner with some parameters set and no search."""
        return replace(self, estimator=clone(self.estimator).set_params(**parameters), search=None)

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
            **({} if self.search is None else {"search": self.search.to_dict() | {"by": self.search.version}}),
        }


def changed_parameters(estimator: Any, keep_seeds: bool = False) -> dict[str, Any]:
    """The parameters that differ from the defaults, without threads and, unless they are kept, seeds."""
    defaults = _defaults(type(estimator))
    away = ("n_jobs",) if keep_seeds else ("random_state", "n_jobs")
    return {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if name not in away and not (name in defaults and _same(value, defaults[name]))
    }


def _defaults(cls: type) -> dict[str, Any]:
    """The parameters as a fresh estimator has them; of one that cannot be made without arguments (a pipeline and its
    steps) those that have a default."""
    try:
        return cls().get_params(deep=False)
    except TypeError:
        known = inspect.signature(cls).parameters.values()
        return {one.name: one.default for one in known if one.default is not one.empty}


def importable(cls: type) -> bool:
    """Whether the class can be found again by its module and name."""
    module = sys.modules.get(cls.__module__)
    return cls.__module__ != "__main__" and module is not None and getattr(module, cls.__qualname__, None) is cls


def import_path(cls: type) -> str:
    """The shortest name under which a class can be imported: by a public package rather than the module inside it.

    >>> from sklearn.linear_model import LogisticRegression
    >>> LogisticRegression.__module__, import_path(LogisticRegression)
    ('sklearn.linear_model._logistic', 'sklearn.linear_model.LogisticRegression')
    """
    words = cls.__module__.split(".")
    packages = (".".join(words[:end]) for end in range(1, len(words)))
    shown = (name for name in packages if getattr(sys.modules.get(name), cls.__qualname__, None) is cls)
    return f"{next(shown, cls.__module__)}.{cls.__qualname__}"


def default_learners(task: str) -> list[Entry]:
    """The learners of the catalogue that are compared when none are named, in catalogue order.

    >>> [entry.id for entry in default_learners("classify")][:5]
    ['zero-r', 'one-r', 'logistic-cv', 'naive-bayes', 'knn-classifier']
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


def settle_learners(given: Any, task: str, seed: int, tune: Any = None) -> tuple[Learner, ...]:
    """The learners that the user gave, or the usual ones of the task, with distinct names; with `tune` (a method, or
    the options of `Tuned`) those that have a space in the catalogue are tuned."""
    options = _tuning_options(tune)
    if given is None:
        usual = default_learners(task)
        given = [_preset(entry) if options is None or not entry.space else entry.id for entry in usual]
    if isinstance(given, (str, BaseEstimator)):
        given = [given]
    if isinstance(given, Mapping):
        given = list(given.items())
    if not isinstance(given, Iterable):
        raise ParameterError("Plan", "parameter 'learners'", "must be a list", f"got {type(given).__name__}")
    settled: list[Learner] = []
    for item in given:
        learner = _settle_learner(item, task, seed)
        if options is not None and learner.native and learner.entry.space and learner.search is None:
            learner = _tuned(replace(learner, name=None), Tuned(None, **options))
        twins = [other for other in settled if other.entry.id == learner.entry.id]
        if any(other.id == learner.id for other in settled) or any(o.identity == learner.identity for o in twins):
            if learner.name is not None or any(other.identity == learner.identity for other in twins):
                raise ParameterError(
                    "Plan",
                    f"learner '{plain(learner.id)}'",
                    "is listed twice with the same name or the same parameters",
                    way_out="list it once, change a parameter or give it another name",
                )
            number = next(k for k in itertools.count(2) if all(o.id != f"{learner.id}-{k}" for o in settled))
            learner = replace(learner, id=f"{learner.id}-{number}")
        _check_parameters(learner)
        settled.append(learner)
    if not settled:
        raise ParameterError(
            "Plan", "parameter 'learners'", "must name at least one learner", way_out="`assay methods` lists them"
        )
    return tuple(_titled_apart(settled))


def _titled_apart(learners: list[Learner]) -> list[Learner]:
    """Learners under titles of their own, by which tables and sentences call them: names that the user gave stay."""
    taken = {learner.title for learner in learners if learner.title == learner.name}
    apart = []
    for learner in learners:
        if learner.title != learner.name:
            numbered = (f"{learner.title} {k}" for k in itertools.count(2))
            title = next(title for title in itertools.chain([learner.title], numbered) if title not in taken)
            taken.add(title)
            learner = replace(learner, title=title)
        apart.append(learner)
    return apart


def _check_parameters(learner: Learner) -> None:
    """Refuse a value that the method does not declare, under the name that the user knows the learner by."""
    for name, declared in getattr(type(learner.estimator), "__parameters__", {}).items():
        declared.check(learner.title, getattr(learner.estimator, name))


def _settle_learner(item: Any, task: str, seed: int) -> Learner:
    if isinstance(item, Learner):
        return _seeded(item, seed)
    if isinstance(item, Tuned):
        return _tuned(_settle_learner(item.learner, task, seed), item)
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and not isinstance(item[1], Mapping):
        return _named(item[0], _settle_learner(item[1], task, seed))
    params: Mapping[str, Any] = {}
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], Mapping):
        item, params = item
    if isinstance(item, str) and "." in item:
        item = by_path(item, params)
    if isinstance(item, str):
        entry = catalogue.get(item)
        if entry.task != task:
            fitting = ", ".join(e.id for e in default_learners(task)[:6])
            raise UsageError(
                "Plan",
                f"learner '{entry.id}'",
                f"is a method to {entry.task} and this target is one to {task}",
                way_out=(f"choose from {fitting}" if fitting else "choose another method")
                + f", or say task='{entry.task}'",
            )
        try:
            estimator = entry.load()(**params)
        except (ImportError, AttributeError) as error:
            raise UsageError("Plan", f"learner '{entry.id}'", f"cannot be loaded ({error})") from None
        except TypeError as error:
            raise ParameterError(str(error)) from None
        taken = _as_taken(entry, estimator)
        return _seeded(Learner(entry.id, _title(entry.title, params), taken, estimator, True), seed)
    if not isinstance(item, type) and hasattr(item, "fit") and hasattr(item, "get_params"):
        return _seeded(_from_estimator(item, task), seed)
    raise ParameterError(
        "Plan",
        "parameter 'learners'",
        "must hold catalogue ids, pairs (id, parameters), scikit-learn estimators or pairs (name, one of these)",
        f"got {plain(repr(item))}",
    )


def _tuning_options(tune: Any) -> dict[str, Any] | None:
    if tune is None or tune is False:
        return None
    if tune is True:
        return {}
    if isinstance(tune, str):
        return {"method": tune}
    if isinstance(tune, Mapping) and tune.keys() <= {"method", "trials", "levels", "folds"}:
        return dict(tune)
    raise ParameterError(
        "Plan",
        "parameter 'tune'",
        "must be a method of search or a dict of method, trials, levels and folds",
        f"got {plain(repr(tune))}",
        f"choose from {', '.join(METHODS)}",
    )


def _tuned(learner: Learner, asked: Tuned) -> Learner:
    """The learner with the search that was asked for, its space checked against its parameters."""
    if learner.search is not None:
        raise UsageError("search", f"learner '{plain(learner.id)}'", "is tuned already", way_out="name it once")
    given = asked.space if asked.space is not None else catalogue_space(learner.entry)
    if not given:
        raise UsageError(
            "search",
            f"learner '{plain(learner.id)}'",
            "has no search space in the catalogue",
            way_out="give one, such as space={'max_depth': {'low': 1, 'high': 10}}",
        )
    search = Search(Space.of(given), asked.method, asked.trials, asked.levels, asked.folds)
    known = learner.estimator.get_params(deep=True)
    for one in search.space.dimensions:
        if one.name not in known:
            raise ParameterError(
                "search",
                f"learner '{plain(learner.id)}'",
                f"has no parameter '{plain(one.name)}'",
                way_out=nearest(one.name, sorted(known), "its parameters are"),
            )
        declared = getattr(type(learner.estimator), "__parameters__", {}).get(one.name)
        if declared is not None:
            for value in one.levels(2):
                declared.check(f"search: {learner.title}", value)
    title = f"{learner.title}, tuned"
    return replace(learner, id=f"{learner.id}-tuned", title=title, search=search, name=None)


def catalogue_space(entry: Entry) -> dict[str, Any]:
    """The search space of a catalogue entry, as `Space.of` takes it.

    >>> catalogue_space(catalogue.get("ridge"))
    {'alpha': {'low': 0.001, 'high': 10000.0, 'log': True}}
    """
    return {name: dict(value) if value and isinstance(value[0], tuple) else list(value) for name, value in entry.space}


def _preset(entry: Entry) -> Learner:
    """A method with the settings that let it choose its own complexity by its training rows."""
    title = f"{entry.title} {entry.preset_words}" if entry.preset_words else entry.title
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in entry.preset}
    return Learner(entry.id, title, entry, entry.load()(**given), True)


def _named(name: str, learner: Learner) -> Learner:
    """The learner under a name of the user's."""
    name = name.strip()  # "a" and "a " would look the same
    if not re.fullmatch(r"[\w .+-]{1,60}", name):
        raise ParameterError(
            "Plan", f"the name '{plain(name)}'", "must be 1 to 60 letters, digits, spaces, dots, + or -"
        )
    return replace(learner, id=name, title=name, name=name)


def by_path(path: str, params: Mapping[str, Any]) -> Any:
    """An estimator of another package by its import path, such as `xgboost.XGBClassifier`."""
    module, _, name = path.rpartition(".")
    try:
        cls = getattr(importlib.import_module(module), name)
    except AttributeError:
        raise UsageError(
            "Plan",
            f"learner '{plain(path)}'",
            f"is not in the module '{plain(module)}', which has no class '{plain(name)}'",
            way_out="check its name, or choose from `assay methods`",
        ) from None
    except (ImportError, ValueError) as error:
        raise UsageError(
            "Plan",
            f"learner '{plain(path)}'",
            f"cannot be loaded ({plain(error, 100)})",
            way_out="install its package, or choose from `assay methods`",
        ) from None
    if not isinstance(cls, type) or not hasattr(cls, "fit") or not hasattr(cls, "get_params"):
        raise UsageError("Plan", f"learner '{plain(path)}'", "is not a class of estimators with fit and get_params")
    try:
        return cls(**params)
    except TypeError as error:
        raise ParameterError(
            "Plan",
            f"learner '{plain(path)}'",
            f"cannot be made ({plain(error, 200)})",
            way_out=f'give its parameters with their values, such as {plain(path)}{{"parameter": 1}}',
        ) from None


def _from_estimator(estimator: Any, task: str) -> Learner:
    entry = catalogue.of_class(type(estimator))
    name = type(estimator).__name__
    wanted = catalogue.get_task(task)
    try:
        tags = get_tags(estimator)
    except (AttributeError, TypeError) as error:  # a parameter that should be an estimator and is none
        raise ParameterError(
            "Plan",
            f"learner '{name}'",
            f"cannot be used as it was made ({plain(error, 120)})",
            way_out="check that its parameters are of the kind that it takes",
        ) from None
    if tags.estimator_type != wanted.estimator_type:
        raise UsageError(
            "Plan",
            f"learner '{name}'",
            f"is not a {wanted.noun} and this target needs one to {task}",
            way_out="choose another, or say the task with task= (--task)",
        )
    if entry is not None:
        defaults = type(estimator)().get_params(deep=False)
        changed = {k: v for k, v in estimator.get_params(deep=False).items() if not _same(v, defaults.get(k))}
        return Learner(entry.id, _title(entry.title, changed), _as_taken(entry, estimator), clone(estimator), True)
    missing = ("missing",) if tags.input_tags.allow_nan else ()
    # A pipeline that picks columns by name brings its own preparation: it gets the table as it is.
    by_name = _picks_columns(estimator)
    inside = [type(step).__name__ for _, step in getattr(estimator, "steps", ()) if hasattr(step, "fit")]
    name = " + ".join(inside) if inside else name
    foreign = Entry(
        id=re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower().replace(" + ", "+"),
        title=name,
        class_path=f"{type(estimator).__module__}.{type(estimator).__name__}",
        task=task,
        native=("numeric", "nominal", "missing", "text") if by_name else ("numeric", *missing),
        weights=False,
        probabilities=hasattr(estimator, "predict_proba"),
        simplicity=FOREIGN_SIMPLICITY,
        fit_cost="",
        predict_cost="",
        explains="",
        section="",
        references=(),
        summary=f"{name} of {type(estimator).__module__.partition('.')[0]}.",
        scales=not by_name,
    )
    return Learner(foreign.id, name, foreign, clone(estimator), False)


def _as_taken(entry: Entry, estimator: Any) -> Entry:
    """The entry of a method made of other learners, with what these learners take and whether they need scaling."""
    if not isinstance(estimator, AroundLearners):
        return entry
    tags = get_tags(estimator).input_tags
    lacking = {"nominal": not tags.categorical, "missing": not tags.allow_nan, "sparse": not tags.sparse}
    native = tuple(one for one in entry.native if not lacking.get(one, False))
    inner = [catalogue.of_class(type(one)) for one in estimator.inner_learners()]
    return replace(entry, native=native, scales=entry.scales or any(one is None or one.scales for one in inner))


def _picks_columns(estimator: Any) -> bool:
    """Whether some part of an estimator chooses columns, as a ColumnTransformer does."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(hasattr(part, "transformers") and hasattr(part, "fit_transform") for part in parts)


def _seeded(learner: Learner, seed: int) -> Learner:
    names = learner.open_seeds or open_seeds(learner.estimator)
    seed_unset(learner.estimator, seed)
    return replace(learner, open_seeds=names)


def seed_unset(estimator: Any, seed: int) -> Any:
    """The plan's seed where the user gave none, for the fit on all rows; each fold has seeds of its own."""
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


def _version(package: str) -> str:
    for name in {"sklearn": ["scikit-learn"]}.get(package, [package]):
        try:
            return f"{package} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return package
