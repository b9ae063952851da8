"""Splitters for bootstrap, leave-p-out by sampling, nested and time-aware resampling.

All follow scikit-learn: `split(X, y, groups)` and `get_n_splits`. Each carries its `design`, which says what it does
in words, how many rows each part has, and which test of the scores is valid. Replicate r draws from child stream r of
the seed, so that the first 50 of 200 replicates are those of a splitter with 50.

>>> train, test = next(BootstrapSplitter(100, random_state=0).split(range(1000)))
>>> train.size, 0.33 < test.size / 1000 < 0.41
(1000, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.errors import DataError, DesignError, ParameterError, plain
from ..base.randomness import Stream
from .resampling import Design, DesignSplitter, Split, _codes, _group_codes, _length, _looks_like_classes, make_design

Rows = tuple[np.ndarray, np.ndarray]
# The share of rows that a bootstrap sample of many rows leaves out: (1 - 1/n)^n tends to 1/e.
LEFT_OUT = math.exp(-1)


@dataclass(frozen=True)
class SplitterDesign(Design):
    """The design of a splitter: as `Design`, with the splitter that draws it.

    `kind` is "bootstrap", "leave-p-out" or "time"; `test_train_ratio` is what the corrected resampled t test needs,
    and `refusal` the reason where no test of the scores is valid.
    """

    words: str = ""
    test_train_ratio: float | None = None
    refusal: str = ""
    splitter: Any = None

    def describe(self) -> str:
        """The design in words."""
        return self.words

    def n_splits(self, n_rows: int) -> int:
        """How many splits the design has for a table of `n_rows` rows."""
        return int(self.splitter.get_n_splits(range(n_rows)))

    def sizes(self, n_rows: int) -> tuple[float, float]:
        """Different training rows, and test rows, per split on average."""
        return self.splitter._sizes(n_rows)

    def splits(self, y: Any, stratified: bool = False, random_state: Any = None, groups: Any = None) -> list[Split]:
        """The splits for rows with the targets `y`; the seed is the splitter's own if none is given."""
        splitter = self.splitter
        if random_state is not None:
            splitter = splitter._with_seed(random_state)
        pairs = splitter.split(np.zeros(_length(y)), y, groups)
        return [Split(i, 0, train=train, test=test) for i, (train, test) in enumerate(pairs)]


class _Splitter:
    """What the splitters share: parameters, their display, and row counts."""

    _names: tuple[str, ...] = ()

    def _with_seed(self, random_state: Any) -> Any:
        given = {name: getattr(self, name) for name in self._names}
        return type(self)(**(given | ({"random_state": random_state} if "random_state" in given else {})))

    def _rows(self, X: Any, y: Any) -> int:
        n_rows = _length(X)
        if y is not None and _length(y) != n_rows:
            raise DataError(
                type(self).__name__, "X and y", "must have the same number of rows", f"got {n_rows} and {_length(y)}"
            )
        if n_rows < 2:
            raise DataError(type(self).__name__, "X", "must have at least 2 rows", f"got {n_rows}")
        return n_rows

    def _whole(self, name: str, least: int) -> int:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ParameterError(
                type(self).__name__,
                f"parameter '{name}'",
                f"must be an integer >= {least}",
                f"got {plain(repr(value))}",
            )
        return int(value)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
        return f"{type(self).__name__}({inside})"


class BootstrapSplitter(_Splitter):
    """Bootstrap with out-of-bag test rows: training rows are drawn with replacement, the rows never drawn are tested.

    A row is left out with probability (1 - 1/n)^n, about .368. Training indices repeat, ascending. With `groups`,
    whole groups are drawn. `stratified` ("auto": if y looks like classes, and there are no groups) draws as many rows
    of each class as there are. A sample that leaves nothing out is drawn again.

    >>> from sklearn.model_selection import cross_val_score
    >>> from assay.models.baselines import ZeroRClassifier
    >>> X, y = [[0]] * 30, ["yes"] * 20 + ["no"] * 10
    >>> cross_val_score(ZeroRClassifier(), X, y, cv=BootstrapSplitter(25, random_state=0)).shape
    (25,)
    """

    _names = ("n_replicates", "stratified", "random_state")

    def __init__(self, n_replicates: int = 200, *, stratified: bool | str = False, random_state: Any = None):
        self.n_replicates = n_replicates
        self.stratified = stratified
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        """Yield (train, test) index arrays."""
        n_rows = self._rows(X, y)
        replicates = self._whole("n_replicates", 1)
        units = np.arange(n_rows) if groups is None else _group_codes(groups, n_rows)
        n_units = int(units.max()) + 1
        if n_units < 2:
            raise DataError("BootstrapSplitter", "groups", "must be at least 2", f"got {n_units}")
        strata = self._strata(y, groups, n_units)
        root = Stream.of(self.random_state)
        for replicate in range(replicates):
            times = _draw(strata, n_units, root.child(replicate).generator())[units]
            yield np.repeat(np.arange(n_rows), times), np.flatnonzero(times == 0)

    def _strata(self, y: Any, groups: Any, n_units: int) -> list[np.ndarray]:
        stratified = self.stratified
        if stratified == "auto":
            stratified = groups is None and y is not None and _looks_like_classes(y)
        if not stratified:
            return [np.arange(n_units)]
        if y is None or groups is not None:
            raise ParameterError(
                "BootstrapSplitter", "parameter 'stratified'", "needs y, and does not go together with groups"
            )
        codes, _ = _codes(y)
        strata = [np.flatnonzero(codes == c) for c in range(int(codes.max()) + 1)]
        if all(stratum.size == 1 for stratum in strata):
            raise DataError("BootstrapSplitter", "y", "must hold a class with at least 2 rows to stratify by")
        return strata

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of replicates."""
        return self._whole("n_replicates", 1)

    def _sizes(self, n_rows: int) -> tuple[float, float]:
        left_out = n_rows * (1 - 1 / n_rows) ** n_rows
        return n_rows - left_out, left_out

    @property
    def design(self) -> SplitterDesign:
        """The design that `compare` takes; training parts count their different rows, so the test is conservative."""
        replicates = self._whole("n_replicates", 1)
        return SplitterDesign(
            f"bootstrap-{replicates}",
            "bootstrap",
            replicates,
            1,
            words=f"{replicates} bootstrap samples: the rows a sample leaves out, about 36.8 %, are its test rows",
            test_train_ratio=LEFT_OUT / (1 - LEFT_OUT),
            splitter=self,
        )


def _draw(strata: list[np.ndarray], n_units: int, generator: np.random.Generator) -> np.ndarray:
    """How often each unit is drawn; never each of them once."""
    times = np.zeros(n_units, dtype=np.int64)
    while True:
        for members in strata:
            drawn = generator.integers(0, members.size, members.size)
            times[members] = np.bincount(drawn, minlength=members.size)
        if not times.all():
            return times


class LeavePOutSplitter(_Splitter):
    """Leave-p-out by sampling: `n_samples` different sets of p test rows, each tested by a model of all others.

    All sets are taken, in order, where there are no more than `n_samples`. With `groups`, p groups are left out.

    >>> splitter = LeavePOutSplitter(2, n_samples=100, random_state=0)
    >>> splitter.get_n_splits(range(5))
    10
    >>> [test.tolist() for _, test in splitter.split(range(4))]
    [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """

    _names = ("p", "n_samples", "random_state")

    def __init__(self, p: int = 2, *, n_samples: int = 100, random_state: Any = None):
        self.p = p
        self.n_samples = n_samples
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        """Yield (train, test) index arrays."""
        n_rows = self._rows(X, y)
        units = np.arange(n_rows) if groups is None else _group_codes(groups, n_rows)
        n_units = int(units.max()) + 1
        for chosen in self._sets(n_units):
            tested = np.isin(units, chosen)
            yield np.flatnonzero(~tested), np.flatnonzero(tested)

    def _sets(self, n_units: int) -> Iterator[np.ndarray]:
        from itertools import combinations

        count = self._count(n_units)
        if count == math.comb(n_units, self.p):
            for every in combinations(range(n_units), self.p):
                yield np.array(every)
            return
        root = Stream.of(self.random_state)
        seen: set[bytes] = set()
        draw = 0
        while len(seen) < count:
            chosen = np.sort(root.child(draw).generator().choice(n_units, self.p, replace=False))
            draw += 1
            if (key := chosen.tobytes()) not in seen:
                seen.add(key)
                yield chosen

    def _count(self, n_units: int) -> int:
        p, wanted = self._whole("p", 1), self._whole("n_samples", 1)
        if p >= n_units:
            raise DesignError(
                "LeavePOutSplitter", "parameter 'p'", f"must be less than the {n_units} rows or groups", f"got {p}"
            )
        return min(wanted, math.comb(n_units, p))

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many sets there are; it takes X or groups to know whether they are all."""
        if groups is not None:
            return self._count(int(_codes(groups)[0].max()) + 1)
        if X is None:
            raise DataError("LeavePOutSplitter", "X", "is needed to count the splits")
        return self._count(_length(X))

    def _sizes(self, n_rows: int) -> tuple[float, float]:
        return float(n_rows - self.p), float(self.p)

    @property
    def design(self) -> SplitterDesign:
        """The design that `compare` takes, together with n_train and n_test."""
        p, samples = self._whole("p", 1), self._whole("n_samples", 1)
        return SplitterDesign(
            f"leave-{p}-out-{samples}",
            "leave-p-out",
            samples,
            1,
            words=f"{samples} random sets of {p} rows, each tested by a model of all others",
            refusal=("gives scores of single rows, for which no test of mean scores is valid" if p == 1 else ""),
            splitter=self,
        )


class TimeSplitter(_Splitter):
    """Time-aware splits: consecutive blocks of rows are tested, in order, without looking into the future.

    `scheme` "forward" trains on the rows before each block (all of them, or the last `max_train_size`); "blocked"
    tests every block, training on both sides of it. Where a target takes time to be known, or neighbouring rows
    share information, `gap` drops rows before each test block and `embargo` (for "blocked") rows after it.

    Rows are taken to be in order of time; otherwise pass the times as `groups`: rows of the same time stay together,
    and all sizes, gaps and embargoes then count different times instead of rows.

    >>> for train, test in TimeSplitter(3, gap=1).split(range(8)):
    ...     print(train.tolist(), test.tolist())
    [0] [2, 3]
    [0, 1, 2] [4, 5]
    [0, 1, 2, 3, 4] [6, 7]
    >>> train, test = list(TimeSplitter(4, scheme="blocked", gap=1, embargo=1).split(range(8)))[1]
    >>> train.tolist(), test.tolist()
    ([0, 5, 6, 7], [2, 3])
    """

    _names = ("n_splits", "scheme", "test_size", "gap", "embargo", "max_train_size")

    def __init__(
        self,
        n_splits: int = 5,
        *,
        scheme: str = "forward",
        test_size: int | None = None,
        gap: int = 0,
        embargo: int = 0,
        max_train_size: int | None = None,
    ):
        self.n_splits = n_splits
        self.scheme = scheme
        self.test_size = test_size
        self.gap = gap
        self.embargo = embargo
        self.max_train_size = max_train_size

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        """Yield (train, test) index arrays, ascending; `groups` are the times."""
        n_rows = self._rows(X, y)
        step = np.arange(n_rows) if groups is None else _times(groups, n_rows)
        n_steps = int(step.max()) + 1
        blocks = self._blocks(n_steps)
        gap, embargo = self._whole("gap", 0), self._whole("embargo", 0)
        for first, last in blocks:
            train = step < first - gap
            if self.max_train_size is not None:
                train &= step >= first - gap - self._whole("max_train_size", 1)
            if self.scheme == "blocked":
                train |= step >= last + embargo
            if not train.any():
                raise DesignError(
                    "TimeSplitter",
                    f"gap {gap} and embargo {embargo}" if self.scheme == "blocked" else f"gap {gap}",
                    "leave no training rows for the first test block",
                    way_out="use fewer splits, a smaller test_size or a smaller gap",
                )
            yield np.flatnonzero(train), np.flatnonzero((step >= first) & (step < last))

    def _blocks(self, n_steps: int) -> list[tuple[int, int]]:
        if self.scheme not in ("forward", "blocked"):
            raise ParameterError(
                "TimeSplitter",
                "parameter 'scheme'",
                "must be 'forward' or 'blocked'",
                f"got {plain(repr(self.scheme))}",
            )
        splits = self._whole("n_splits", 1 if self.scheme == "forward" else 2)
        if self.scheme == "blocked":
            if self.test_size is not None or self.max_train_size is not None:
                raise ParameterError(
                    "TimeSplitter", "parameters 'test_size' and 'max_train_size'", "are for the scheme 'forward'"
                )
            if n_steps < splits:
                raise DesignError("TimeSplitter", f"{splits} blocks", f"need as many times; got {n_steps}")
            edges = np.linspace(0, n_steps, splits + 1).round().astype(int)
            return list(zip(edges[:-1].tolist(), edges[1:].tolist()))
        if self.embargo:
            raise ParameterError("TimeSplitter", "parameter 'embargo'", "is for the scheme 'blocked'")
        size = n_steps // (splits + 1) if self.test_size is None else self._whole("test_size", 1)
        start = n_steps - splits * size
        if n_steps < 2:
            raise DesignError(
                "TimeSplitter", "at least 2 times", "are needed, an earlier and a later", f"got {n_steps}"
            )
        if size < 1 or start < 1:
            raise DesignError(
                "TimeSplitter",
                f"{splits} splits",
                f"do not fit into {n_steps} rows or times",
                way_out="use fewer splits or a smaller test_size",
            )
        return [(start + i * size, start + (i + 1) * size) for i in range(splits)]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of test blocks."""
        return self._whole("n_splits", 1)

    def _sizes(self, n_rows: int) -> tuple[float, float]:
        sizes = np.array([(train.size, test.size) for train, test in self.split(range(n_rows))], dtype=float)
        return float(sizes[:, 0].mean()), float(sizes[:, 1].mean())

    @property
    def design(self) -> SplitterDesign:
        """The design; no test is known to be valid for scores of consecutive blocks, so `compare` refuses it."""
        splits = self._whole("n_splits", 1)
        trained = "the rows before it" if self.scheme == "forward" else "the rows before and after it"
        apart = "".join(f", {name} {size}" for name, size in (("gap", self.gap), ("embargo", self.embargo)) if size)
        return SplitterDesign(
            f"time-{splits}",
            "time",
            splits,
            1,
            words=f"{splits} consecutive test blocks, each tested by a model of {trained}{apart}",
            refusal=(
                "gives scores of consecutive blocks, which drift together and come from training parts of different "
                "size, so that no test of their mean is known to be valid"
            ),
            splitter=self,
        )


class NestedSplitter(_Splitter):
    """Nested resampling: choose settings on inner splits of each outer training part, score on the outer test part.

    As a scikit-learn splitter it yields the outer splits. `nested` yields (train, test, inner), where `inner` lists the
    (train, validation) pairs within the outer training rows, all as row numbers of the whole table. `inner_splitter`
    is what a search takes as `cv` inside outer split k. Outer and inner are designs by name or splitters.

    >>> splitter = NestedSplitter("3-fold", "2-fold", random_state=0)
    >>> for train, test, inner in splitter.nested(range(6)):
    ...     print(test.tolist(), [validation.tolist() for _, validation in inner])
    [1, 3] [[2, 5], [0, 4]]
    [0, 5] [[2, 3], [1, 4]]
    [2, 4] [[0, 5], [1, 3]]
    """

    _names = ("outer", "inner", "stratified", "random_state")

    def __init__(
        self,
        outer: Any = "5x2",
        inner: Any = "5-fold",
        *,
        stratified: bool | str = "auto",
        random_state: Any = None,
    ):
        self.outer = outer
        self.inner = inner
        self.stratified = stratified
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        """Yield the outer (train, test) index arrays."""
        self._rows(X, y)
        yield from self._outer(Stream.of(self.random_state)).split(X, y, groups)

    def nested(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray, list[Rows]]]:
        """Yield (train, test, inner pairs) for each outer split."""
        n_rows = self._rows(X, y)
        root = Stream.of(self.random_state)
        target = None if y is None else np.asarray(y)
        of_group = None if groups is None else np.asarray(groups)
        positions = np.arange(n_rows)
        for k, (train, test) in enumerate(self._outer(root).split(positions, y, groups)):
            within = self._inner(root, k).split(
                train, None if target is None else target[train], None if of_group is None else of_group[train]
            )
            yield train, test, [(train[fit], train[validation]) for fit, validation in within]

    def inner_splitter(self, k: int) -> Any:
        """The splitter within the training rows of outer split k, for a search there."""
        if not isinstance(self.random_state, (int, np.integer)):
            raise ParameterError(
                "NestedSplitter", "parameter 'random_state'", "must be an integer to ask for one inner splitter"
            )
        return self._inner(Stream.of(self.random_state), k)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of outer splits."""
        return int(self._outer(Stream.of(0)).get_n_splits(X, y, groups))

    def _outer(self, root: Stream) -> Any:
        return self._part(self.outer, root.child(0))

    def _inner(self, root: Stream, k: int) -> Any:
        return self._part(self.inner, root.child(1).child(k))

    def _part(self, part: Any, stream: Stream) -> Any:
        return as_splitter("NestedSplitter", part, stream, self.stratified)

    @property
    def design(self) -> Design:
        """The design of the outer scores, which is what `compare` takes."""
        design = getattr(self.outer, "design", self.outer)
        return make_design(design)


def _times(times: Any, n_rows: int) -> np.ndarray:
    """The rank of each row's time among the different times."""
    values = np.asarray(times)
    if values.shape != (n_rows,):
        raise DataError(
            "TimeSplitter", "groups", f"must hold one time for each of {n_rows} rows", f"got {values.shape}"
        )
    if values.dtype.kind in "fmM" and (values != values).any():
        raise DataError("TimeSplitter", "groups", "must not hold missing times")
    try:
        return np.unique(values, return_inverse=True)[1]
    except TypeError:
        raise DataError("TimeSplitter", "groups", "must hold times that can be put in order") from None


def as_splitter(who: str, design: Any, random_state: Any, stratified: bool | str = "auto") -> Any:
    """A splitter from a design's name, a `Design`, a splitter, or a list of (train, test) pairs."""
    if isinstance(design, SplitterDesign):
        return design.splitter
    if isinstance(design, (str, Design)):
        return DesignSplitter(design, stratified=stratified, random_state=random_state)
    if hasattr(design, "split") and hasattr(design, "get_n_splits"):
        return design
    try:
        pairs = [(np.asarray(train), np.asarray(test)) for train, test in design]
    except (TypeError, ValueError):
        raise ParameterError(
            who,
            "parameter 'design'",
            "must be the name of a design, a splitter or a list of (train, test) pairs",
            f"got {plain(repr(design))}",
        ) from None
    return _Pairs(pairs)


def foreign_design(splitter: Any) -> SplitterDesign:
    """The design of another library's splitter, or of pairs of row numbers.

    >>> from sklearn.model_selection import ShuffleSplit
    >>> foreign_design(ShuffleSplit(20, test_size=0.2, random_state=0)).describe()
    '20 splits by ShuffleSplit'
    """
    name = type(splitter).__name__.strip("_")
    count = int(splitter.get_n_splits(range(1000), None, np.arange(1000)))
    refusal = "gives scores of single rows, for which no test of mean scores is valid" if count >= 1000 else ""
    drawn = _Foreign(splitter)
    return SplitterDesign(
        f"{name}-{count}", "splitter", count, 1, words=f"{count} splits by {name}", refusal=refusal, splitter=drawn
    )


class _Foreign:
    """A splitter of another library behind the few methods that a design asks for; its seed stays its own."""

    def __init__(self, splitter: Any):
        self.splitter = splitter

    def _with_seed(self, random_state: Any) -> Any:
        return self

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        """The pairs of the splitter."""
        yield from self.splitter.split(X, y, groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """As many as the splitter has."""
        return int(self.splitter.get_n_splits(X, y, groups))

    def _sizes(self, n_rows: int) -> tuple[float, float]:
        sizes = np.array([(len(a), len(b)) for a, b in self.split(np.zeros(n_rows), np.zeros(n_rows))], dtype=float)
        return float(sizes[:, 0].mean()), float(sizes[:, 1].mean())


class _Pairs:
    def __init__(self, pairs: list[Rows]):
        self.pairs = pairs

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Rows]:
        yield from self.pairs

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return len(self.pairs)
