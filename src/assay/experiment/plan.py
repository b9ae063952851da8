"""The plan: which table, which target, which learners, how to split, what to measure. It decides; it runs nothing."""

from __future__ import annotations

import hashlib
import itertools
import numbers
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import catalogue
from ..base.errors import DataError, DesignError, ParameterError, UsageError, plain
from ..base.folds import seeds_of
from ..base.randomness import Stream
from ..base.words import percent
from ..data import Table, audit, read_table
from ..data.findings.rows import unlikely_copies
from ..data.roles import nearest
from ..data.time_order import time_order
from ..evaluate import Design, Evidence, TimeSplitter, compare, default_metrics, get_metric, make_design
from ..evaluate.metrics import Metric
from ..evaluate.splitters import as_splitter, foreign_design
from ..prepare import Preparation, step_for
from ..prepare.bag_of_words import Words
from ..prepare.encode import as_text
from .design_choice import DesignChoice, choose_design
from .holdout import draw_held
from .learners import Learner as Learner
from .learners import default_learners as default_learners
from .learners import describe_value as describe_value
from .learners import seed_unset, settle_learners
from .limits import Limits, bytes_of
from .plan_file import plan_of, read_record, write_plan
from .store import digest, without_nan

_FOLDED = re.compile(r"auto|\d+-fold|\d+x\d+|hold-?out.*")
FEWEST_TO_LEARN = 5
"""Training rows below which nothing is learned; the usual five neighbours need as many."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A comparison of learners on one table, checked as soon as it is made.

    Parameters
    ----------
    table : Table, pandas or Polars frame, or path of a file
    target : name of the column to predict
    learners : catalogue ids, pairs (id, parameters), scikit-learn estimators or pairs (name, any of these); None for
        the usual methods of the task, each with settings of its own choice
    design : how rows are split: "auto" (by the table and the cost of the fits), "3x10", "10-fold", "RxK", "5x2",
        "holdout", a splitter of Assay or scikit-learn; one for which no test is valid is refused
    metrics : names of metrics, the first decides; None for the usual ones of the task
    random_state : one integer from which every random choice follows
    task : name of a task with a target; None to take it from the target
    alpha : level of the tests
    prepare : steps that come before the preparation each learner needs, in order: catalogue ids, pairs
        (id, parameters), remedies of an audit, or transformers; fitted on the training rows of each fold
    groups : column (or one value per row of the table) whose rows stay together in one fold, such as the patient
    time : column (or one value per row) that gives the order in time: models are tested on rows after their own
    margin : difference that does not matter in practice; None for 0.01, or 2 % of the best for errors
    budget : seconds of one core that all fits may take; decides the design, and which learners are left out
    pairs : "best" (each learner against the best) or "all" (every pair, with letters)
    drop : columns that no learner may see, such as one that is known only after the target
    tune : how the parameters of learners that have a space in the catalogue are searched inside the training rows:
        "random", "grid", "one-factor", "optuna", or a dict with method, trials, levels and folds; None does not. A
        `Tuned` in the list of learners says it for one learner
    race : whether a learner stops, between repetitions, once it is shown to be worse than the best
    holdout : share of the rows that are set aside before anything else, for one look at the very end
    time_limit, memory_limit : seconds, and bytes (or text such as "2 GB"), that one fit may take; learners then work
        in processes of their own, and one that goes over is stopped

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> plan = Plan(load_dataset("iris"), "species", learners=["zero-r"])
    >>> plan.task, plan.design.name, [learner.id for learner in plan.learners]
    ('classify', '10x10', ['zero-r'])
    """

    table: Any
    target: Any
    learners: Any = None
    design: Any = "auto"
    metrics: Any = None
    random_state: int = 0
    task: str | None = None
    alpha: float = 0.05
    prepare: Any = ()
    groups: Any = None
    time: Any = None
    margin: float | None = None
    budget: float | None = None
    pairs: str = "best"
    drop: Any = ()
    tune: Any = None
    race: bool = False
    holdout: float | None = None
    time_limit: float | None = None
    memory_limit: Any = None
    choice: DesignChoice | None = field(default=None, init=False, repr=False)
    """Why the design was chosen, where it was left to the plan."""
    metric_reason: str = field(default="", init=False, repr=False)
    """Why the first metric decides, where it is not the usual one."""
    over_budget: tuple[str, ...] = field(default=(), init=False, repr=False)
    """Titles of the learners that were left out because one of them would have taken half of the budget."""
    held: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64), init=False, repr=False)
    """Numbers of the rows of the table that are set aside for one look at the end."""
    _units: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        def settle(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        if isinstance(self.table, (str, os.PathLike)):
            settle("table", read_table(self.table))
        elif not isinstance(self.table, Table):
            settle("table", Table.from_frame(self.table))
        catalogue.check_task("Plan", self.task)
        seed = self.random_state
        if not isinstance(seed, numbers.Integral) or isinstance(seed, bool) or not 0 <= seed < 2**32:
            raise ParameterError(
                "Plan",
                "parameter 'random_state'",
                "must be an integer from 0 to 4294967295",
                f"got {plain(repr(seed))}",
            )
        if not isinstance(self.alpha, numbers.Real) or isinstance(self.alpha, bool) or not 0 < float(self.alpha) <= 0.5:
            raise ParameterError(
                "Plan", "parameter 'alpha'", "must be a number > 0 and <= 0.5", f"got {plain(repr(self.alpha))}"
            )
        settle("random_state", int(seed))
        settle("alpha", float(self.alpha))
        if self.pairs not in ("best", "all"):
            raise ParameterError(
                "Plan", "parameter 'pairs'", "must be 'best' or 'all'", f"got {plain(repr(self.pairs))}"
            )
        if not isinstance(self.race, bool):
            raise ParameterError("Plan", "parameter 'race'", "must be True or False", f"got {plain(repr(self.race))}")
        settle("memory_limit", bytes_of(self.memory_limit))
        for name in ("margin", "budget", "time_limit"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, numbers.Real) and 0 <= float(value) < np.inf):
                raise ParameterError(
                    "Plan", f"parameter '{name}'", "must be a number >= 0", f"got {plain(repr(value))}"
                )
        for name in ("budget", "time_limit"):
            if getattr(self, name) == 0:
                raise ParameterError("Plan", f"parameter '{name}'", "must be a number > 0", "got 0")
        settle("target", self.table.target(self.target, task=self.task))
        settle("task", self.target.task)
        settle("drop", self._settle_drop())
        object.__setattr__(self, "_units", self._settle_units())
        if self.holdout is not None:
            self._set_aside(settle)
        self._check_classes()
        settle("learners", settle_learners(self.learners, self.task, self.random_state, self.tune))
        settle("prepare", settle_steps(self.prepare, self.random_state))
        self.features  # noqa: B018  a table without a usable column is refused here, not in the middle of a run
        self._settle_design(settle)
        self._check_rows()
        names, reason = _settle_metrics(self.metrics, self)
        settle("metrics", names)
        object.__setattr__(self, "metric_reason", reason)

    # -- settling ------------------------------------------------------------------------------------------------
    def _settle_drop(self) -> tuple[str, ...]:
        given = [self.drop] if isinstance(self.drop, str) else list(self.drop or ())
        for name in given:
            if name not in self.table.columns or name == self.target.name:
                raise UsageError(
                    "Plan",
                    "parameter 'drop'",
                    "must hold columns of the table other than the target",
                    f"got '{plain(name)}'",
                    nearest(str(name), [column for column in self.table.columns if column != self.target.name]),
                )
        return tuple(dict.fromkeys(given))

    def _set_aside(self, settle: Any) -> None:
        """Take the rows of the final hold-out away: from here on they are as if they had no target."""
        target, units = self.target, self._units
        labels = None if target.classes is None else np.asarray(target.values).astype(str)
        held = draw_held(self.holdout, labels, units["groups"], units["time"], len(target.values), self.random_state)
        if not held.any():
            raise ParameterError(
                "Plan", "parameter 'holdout'", "must set a row aside", f"got {self.holdout} of {len(held)} rows"
            )
        places = np.flatnonzero(np.asarray(target.kept))
        kept = np.asarray(target.kept).copy()
        kept[places[held]] = False
        settle("held", places[held])
        settle("target", replace(target, values=target.values[~held], kept=kept))
        object.__setattr__(self, "_units", {k: None if v is None else v[~held] for k, v in units.items()})

    def _check_classes(self) -> None:
        """Refuse a target whose labels hardly repeat: free text or an identifier, of which nothing can be learned."""
        if self.classes is None:
            return
        sizes = np.bincount(self.y)
        rows, single = int(sizes.sum()), int(np.count_nonzero(sizes == 1))
        if sizes.size > MANY_CLASSES and (sizes.size > rows / 2 or single > sizes.size / 2):
            raise DataError(
                "Plan",
                f"target '{plain(self.target.name)}'",
                "must have classes that repeat, and its values look like free text or an identifier",
                f"got {sizes.size:,} classes in {rows:,} rows, {single:,} of them of one row",
                "choose another target, put rare classes together first, or use task='regress' for numbers",
            )

    def _settle_units(self) -> dict[str, np.ndarray | None]:
        """Groups and times of the rows whose target is known."""
        if self.groups is not None and self.time is not None:
            raise UsageError("Plan", "groups and time", "cannot both decide the folds", way_out="give one of them")
        found: dict[str, np.ndarray | None] = {}
        for name in ("groups", "time"):
            given = getattr(self, name)
            if given is None:
                found[name] = None
                continue
            if isinstance(given, str):
                if given not in self.table.columns or given == self.target.name:
                    raise UsageError(
                        "Plan",
                        f"parameter '{name}'",
                        "must be a column of the table other than the target",
                        f"got '{plain(given)}'",
                        nearest(given, [column for column in self.table.columns if column != self.target.name]),
                    )
                values = self.table.frame[given].to_numpy()
            else:
                values = np.asarray(given)
                if values.shape != (self.table.n_rows,):
                    raise DataError(
                        "Plan",
                        f"parameter '{name}'",
                        f"must hold one value for each of {self.table.n_rows} rows",
                        f"got shape {values.shape}",
                    )
                object.__setattr__(self, name, f"array {digest(without_nan(values.astype(str)))[:16]}")
            values = values[np.asarray(self.target.kept)]
            missing = np.array([value is None or value != value for value in values.tolist()], dtype=bool)
            if missing.any():
                raise DataError(
                    "Plan",
                    f"parameter '{name}'",
                    "must be known for every row with a target",
                    f"got {int(missing.sum())} missing",
                    "drop those rows first",
                )
            if name == "time":
                column = self.time if isinstance(given, str) else None
                values = time_order(values, self.table.roles.get(column), column)
            elif values.dtype.kind == "O":
                values = values.astype(str)
            found[name] = values
        if (
            self.groups is None
            and self.time is None
            and _FOLDED.fullmatch(str(getattr(self.design, "name", self.design)).strip().lower())
        ):
            found["groups"] = unlikely_copies(self.table, self.target)
        return found

    def _settle_design(self, settle: Any) -> None:
        """The design, chosen where it was left open and refused before anything runs if no test would be valid."""
        groups, times = self._units["groups"], self._units["time"]
        given = self.design
        choice: DesignChoice | None = None
        if isinstance(given, str) and given.strip().lower() == "auto":
            if times is not None:
                steps = np.unique(times).size
                given = TimeSplitter(min(10, max(2, steps // 4))).design
            else:
                choice = self._choose()
                given = choice.design
        elif not isinstance(given, (str, Design)):
            given = _splitter_design(given)
        design = make_design(given)
        if times is not None and design.kind != "time":
            raise DesignError(
                "Plan",
                f"design '{plain(design.name)}'",
                "draws its folds at random, and would train on rows after those it is tested on",
                way_out="leave the design to Plan, or use TimeSplitter",
            )
        if groups is not None and design.kind in ("bootstrap", "leave-p-out", "leave-one-out", "time"):
            raise DesignError(
                "Plan", f"design '{plain(design.name)}'", "takes no groups here", way_out="use folds such as 10-fold"
            )
        if design.kind in ("leave-one-out", "leave-p-out"):
            compare({"any": np.zeros((design.repetitions, design.folds or 1))}, design)
        if self.race and design.kind != "repeated":
            raise DesignError(
                "Plan",
                f"design '{plain(design.name)}'",
                "has no repetitions between which a race could stop learners",
                way_out="use one such as 3x10, or run without the race",
            )
        settle("design", design)
        object.__setattr__(self, "choice", choice)

    def _choose(self) -> DesignChoice:
        rows = self.features.frame.height
        smallest = None
        if self.classes is not None:
            sizes = np.bincount(self.y[self.cases])
            # A class of a few rows beside others must not take the folds from them; the answer warns of it.
            common = sizes[sizes >= 5]
            smallest = int(common.min() if common.size > 1 else sizes[sizes > 1].min(initial=rows))
        groups = None if self.copies else self._units["groups"]
        options: dict[str, Any] = {
            "smallest_class": smallest,
            "n_groups": None if groups is None else int(np.unique(groups).size),
            "cases": len(self.cases) if self.copies else None,
            "budget": self.budget,
        }

        def choose(learners: Iterable[Learner]) -> DesignChoice:
            columns = [self.columns_met(learner) for learner in learners]
            work = [1.0 if one.search is None else 1.0 + 0.8 * one.search.count * one.search.folds for one in learners]
            return choose_design(rows, columns, [learner.estimator for learner in learners], work=work, **options)

        choice = choose(self.learners)
        if self.budget is None or choice.seconds <= self.budget:
            return choice
        kept = [learner for learner, cost in zip(self.learners, choice.by_learner) if cost <= self.budget / 2]
        if kept and len(kept) < len(self.learners):
            left = [learner.title for learner in self.learners if learner not in kept]
            object.__setattr__(self, "over_budget", tuple(left))
            object.__setattr__(self, "learners", tuple(kept))
            choice = choose(kept)
        return choice

    # -- what follows from the choices -------------------------------------------------------------------------
    @property
    def limits(self) -> Limits | None:
        """What one fit may take; None where nothing is said."""
        if self.time_limit is None and self.memory_limit is None:
            return None
        return Limits(self.time_limit, self.memory_limit)

    @property
    def level(self) -> float:
        """The level of the comparison at the end: a race spends a fifth of `alpha` on the way."""
        return 0.8 * self.alpha if self.race else self.alpha

    @property
    def race_level(self) -> float:
        """The level of each look between repetitions."""
        return 0.2 * self.alpha / max(1, self.design.repetitions - 1)

    @cached_property
    def features(self) -> Any:
        """The usable columns of the rows whose target is known, without those that say the group or that the user
        drops; a date that gives the order in time stays, for it is known before and the target may drift with it."""
        found = self.table.features(self.target)
        away = dict.fromkeys(self.drop, "dropped as asked")
        if self._units["groups"] is not None:
            away.setdefault(self.groups, "gives the groups, which stay together")
        for column, why in away.items():
            if column in found.frame.columns:
                if found.frame.width == 1:
                    raise DataError(
                        "Plan", f"table '{plain(self.table.name)}'", f"has no column beside '{plain(column)}'"
                    )
                found = replace(
                    found,
                    frame=found.frame.drop(column),
                    roles={name: role for name, role in found.roles.items() if name != column},
                    set_aside=[*found.set_aside, {"column": column, "reason": why}],
                )
        return found

    @property
    def columns(self) -> list[str]:
        """The columns that the learners see, in order."""
        return list(self.features.frame.columns)

    @cached_property
    def n_columns(self) -> int:
        """About how many columns learners meet, for the cost: the words of free text are counted, on the first rows."""
        frame, roles = self.features.frame, self.features.roles
        texts = [name for name in frame.columns if roles[name].role == "text"]
        sizes = [len(Words.fit(as_text(frame[name].head(2000)), Preparation().max_words).words) for name in texts]
        return int(frame.width - len(texts) + sum(sizes))

    @cached_property
    def _n_indicators(self) -> int:
        """How many columns more than labels their indicators are."""
        frame, most = self.features.frame, Preparation().max_categories
        labels = [name for name in frame.columns if self.features.roles[name].role == "nominal"]
        return sum(min(frame[name].n_unique(), most) - 1 for name in labels)

    def columns_met(self, learner: Learner) -> int:
        """About how many columns a learner meets, for the cost: indicators of labels where it takes numbers alone."""
        return self.n_columns + (0 if "nominal" in learner.entry.native else self._n_indicators)

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        """What the audit finds wrong with the table, most severe first."""
        found = audit(self.table, target=self.target.name).to_dict()["findings"]
        return [finding for finding in found if not self._answered(finding)]

    def about_target(self, finding: Mapping[str, Any]) -> bool:
        """Whether a finding says that values of the target cannot be or lie far from the others."""
        return (
            finding["code"] in ("A027", "A028")
            and finding["severity"] != "low"
            and finding["columns"][:1] == [self.target.name]
        )

    def _answered(self, finding: Mapping[str, Any]) -> bool:
        """Whether the plan already does what a finding asks for: groups, order in time, a column left out."""
        code, column = finding["code"], next(iter(finding["columns"]), None)
        if code == "A042" and self._units["groups"] is not None:
            units = self.table.frame[column].to_numpy()[np.asarray(self.target.kept)].astype(str)
            pairs = set(zip(units.tolist(), self._units["groups"].tolist()))
            return len(pairs) == np.unique(units).size  # each unit lies in one group
        if code == "A043":
            return self._units["time"] is not None
        return code in ("A006", "A032") and (column in self.drop or column == self.time)

    @property
    def copies(self) -> int:
        """Rows that equal an earlier one, where the plan keeps copies in one fold by itself."""
        values = self.group_values
        return 0 if self.groups is not None or values is None else len(values) - np.unique(values).size

    @property
    def cases(self) -> np.ndarray:
        """The first row of each case: all rows, but copies that the plan keeps in one fold count once."""
        if not self.copies:
            return np.arange(len(self.y))
        return np.unique(self._units["groups"], return_index=True)[1]

    @property
    def group_values(self) -> np.ndarray | None:
        """The group of each row with a target."""
        return self._units["groups"]

    @property
    def time_values(self) -> np.ndarray | None:
        """The time of each row with a target."""
        return self._units["time"]

    @cached_property
    def classes(self) -> np.ndarray | None:
        """Sorted class labels, or None for regression."""
        return self._coded[0]

    @property
    def n_classes(self) -> int | None:
        """How many classes there are, or None for regression."""
        return None if self.classes is None else int(self.classes.shape[0])

    @property
    def whole_numbers_repeat(self) -> bool:
        """Whether a target to regress holds few whole numbers that repeat, as codes of classes do."""
        values = np.unique(self.y)
        return self.classes is None and 5 * values.size <= len(self.y) and bool((values == np.floor(values)).all())

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
        classes, codes, counts = self.target.coded
        if self.labels.dtype.kind == "O" or not counts.all():
            classes, codes = np.unique(self.labels.astype(str), return_inverse=True)
        return classes, codes.astype(np.int64)

    @cached_property
    def splits(self) -> list[Any]:
        """The folds, in order of repetition and fold."""
        y = self.y
        if self.classes is not None and np.bincount(y).min() < (self.design.folds or 1):
            y = self.classes[y]  # the same folds; a warning about small classes then names them
        units = self._units["groups"] if self._units["time"] is None else self._units["time"]
        splits = list(self.design.splits(y, self.stratified, self.random_state, units))
        if self.design.kind == "holdout" and units is not None:
            return splits[:1]
        # Folds that keep the class shares leave a row of every class that has two.
        by_class = units is None and self.design.kind != "holdout"
        sure = self.classes is None or (by_class and np.count_nonzero(np.bincount(self.y) > 1) > 1)
        if not sure and any(np.ptp(self.y[split.train]) == 0 for split in splits):
            raise DesignError(
                "Plan",
                f"design '{plain(self.design.name)}'",
                "leaves training rows of one class only in some fold",
                way_out="use fewer folds, or another column for the groups or the time",
            )
        return splits

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

    def seeds(self, learner: Learner, split: int) -> dict[str, int]:
        """The seeds of a learner on a fold, from the fold's own stream: its rows say which, so that neither the order
        of the work nor the other folds of the design matter."""
        return seeds_of(learner.open_seeds, self.stream(split)) if learner.open_seeds else {}

    def stream(self, split: int | None) -> Stream:
        """The stream of chance of a fold, or of all rows."""
        rows = 0 if split is None else int(self._split_digests[split][:15], 16)
        return Stream.of(self.random_state).child(rows)

    def unit_key(self, learner: Learner, split: int | None, code: str) -> str:
        """The key under which the store keeps this learner on this fold (None: on all rows)."""
        return digest(
            self._data_identity,
            {
                "native": sorted(learner.entry.native),
                "scales": learner.entry.scales,
                "steps": [[type(step).__module__, describe_value(step)] for step in self.prepare],
            },
            learner.identity,
            "all rows" if split is None else self._split_digests[split],
            self.random_state,
            code,
            # What a search chooses depends on the metric, its inner folds on groups and time; a plain fit on neither.
            *([] if learner.search is None else [self.metrics[0], self._inner_units]),
        )

    @cached_property
    def _inner_units(self) -> str:
        found = [None if values is None else values.astype(str).tolist() for values in self._units.values()]
        return digest(found)

    @cached_property
    def _data_identity(self) -> dict[str, Any]:
        roles = {name: [role.role, role.order] for name, role in self.table.roles.items()}
        # What the learners see: a column that gives the groups or the time, or that is set aside, is not among them.
        used = [[name, self.features.roles[name].role, self.features.roles[name].order] for name in self.columns]
        return {
            "table": self.table.fingerprint,
            "target": self.target.name,
            "task": self.task,
            "roles": without_nan(roles),
            "columns": without_nan(used),
        }

    def _check_rows(self) -> None:
        """Refuse a table on which no comparison can mean anything, with the smallest that would do."""
        folds = self.design.folds if self.design.kind in ("5x2", "kfold", "repeated") else 2
        needed, purpose = _smallest_table(folds or 2, self.classes is None), f"the design '{self.design.name}'"
        if len(self.y) < needed:
            if self.choice is not None:  # another number of rows would have another design
                needed, purpose = 2 * FEWEST_TO_LEARN, "a comparison"
            raise DataError(
                "Plan",
                f"table '{plain(self.table.name)}'",
                f"must have at least {needed} rows with a target for {purpose}",
                f"got {len(self.y)}",
                "bring more rows" if self.choice is not None else "choose fewer folds, or bring more rows",
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
            "random_state": self.random_state,
            "alpha": self.alpha,
            "groups": None if self.groups is None else str(self.groups),
            "time": None if self.time is None else str(self.time),
            "margin": self.margin,
            **({"race": True} if self.race else {}),
            **({"holdout": self.holdout} if self.holdout is not None else {}),
        }

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the description: equal plans have equal fingerprints."""
        return digest(self.describe())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the plan to a file, as JSON where its name ends in .json, else as TOML; `assay run` takes it.

        >>> import tempfile
        >>> from assay.data import load_dataset
        >>> plan = Plan(load_dataset("iris"), "species", learners=["zero-r", ("one-r", {})], design="5-fold")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = Plan.load(plan.save(f"{folder}/plan.toml"))
        >>> again == plan
        True
        """
        return write_plan(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], table: Any = None, *, any_data: bool = False) -> Plan:
        """The plan of a file, on its own data or on `table`; data that have changed since are refused unless
        `any_data`."""
        return plan_of(read_record(path), table, home=Path(path).parent, any_data=any_data)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.fingerprint == other.fingerprint

    def __repr__(self) -> str:
        ids = ", ".join(learner.id for learner in self.learners)
        return f"Plan({self.table.name!r}, {self.target.name!r}, learners=[{ids}], design={self.design.name!r})"


def _smallest_table(folds: int, regress: bool) -> int:
    """The fewest rows that leave `FEWEST_TO_LEARN` for training and enough to score (R² needs two) in each fold.

    >>> _smallest_table(2, False), _smallest_table(10, False), _smallest_table(10, True)
    (10, 10, 20)
    """
    test = 2 if regress else 1
    return next(n for n in itertools.count(2) if n // folds >= test and n - -(-n // folds) >= FEWEST_TO_LEARN)


# -- settling what the user gave -----------------------------------------------------------------------------------
def _splitter_design(given: Any) -> Design:
    """The design of a splitter of Assay, of scikit-learn, or of a list of (train, test) pairs."""
    design = getattr(given, "design", None)
    if isinstance(design, Design):
        return design
    splitter = as_splitter("Plan", given, None)
    return foreign_design(splitter)


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
    return seed_unset(clone(item), seed)


MANY_CLASSES = 20
"""Classes above which a target whose labels hardly repeat is refused."""

LOPSIDED = 0.2
"""Share of rows of the smaller of two classes below which accuracy says little."""


def _settle_metrics(given: Any, plan: Plan) -> tuple[tuple[str, ...], str]:
    """The metrics, the deciding one first, and why it decides (empty where the user said so)."""
    task, n_classes = str(plan.task), 2 if plan.classes is None else len(plan.classes)
    if given is None:
        usual = list(default_metrics(task))
        first, reason = _deciding(plan, usual[0])
        return (first, *(name for name in usual if name != first)), reason
    names = [given] if isinstance(given, str) else list(given)
    if not names:
        raise ParameterError("Plan", "parameter 'metrics'", "must name at least one metric")
    settled: list[str] = []
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
            _try_metric(metric, n_classes)
        if not metric.decides and not settled:
            raise ParameterError(
                "Plan",
                f"metric '{plain(name)}'",
                "has no better and worse end and cannot decide",
                way_out="put another first, such as 'absolute_bias'" if name == "bias" else "put another first",
            )
        if metric.name not in settled:
            settled.append(metric.name)
    return tuple(settled), ""


@lru_cache(maxsize=256)
def _try_metric(metric: Metric, n_classes: int) -> None:
    """A metric of one positive class refuses three here, before any fold is run."""
    codes = np.arange(n_classes)
    metric.of(Evidence(codes, labels=codes, probabilities=np.eye(n_classes), classes=codes))


def _deciding(plan: Plan, usual: str) -> tuple[str, str]:
    """The metric that decides for this target: where one class is rare, accuracy is high for those who ignore it."""
    if plan.classes is None:
        return usual, ""
    sizes = np.bincount(plan.y)
    share = sizes.min() / sizes.sum()
    lopsided = share < LOPSIDED if sizes.size == 2 else sizes.max() / sizes.sum() > 1 - LOPSIDED
    if not lopsided:
        return usual, ""
    rare = f"'{plain(plan.classes[int(sizes.argmin())], 30)}' has {percent(share, 1)} of the rows"
    if not all(hasattr(learner.estimator, "predict_proba") for learner in plan.learners):
        return (
            "balanced_accuracy",
            f"balanced accuracy decides, because {rare} and not every learner gives probabilities",
        )
    if any(np.unique(plan.y[split.test]).size < sizes.size for split in plan.splits):
        return "log_loss", f"log loss decides, because {rare} and some folds hold none of them"
    return "roc_auc", f"the area under ROC decides, because {rare}: guessing the other always would be right that often"
