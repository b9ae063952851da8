"""The classes that a package may hold: the methods of the catalogue, some records, and parts of scikit-learn.

A package names a class by its id in the catalogue or by a name listed here. The name is looked up and nothing else:
no text of a file is ever imported. Classes of other libraries are not listed; a caller who trusts one passes the class
itself (`trusted=`), on saving and again on loading.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import cache
from typing import Any

from .. import catalogue
from ..base.errors import PackageError, UsageError, plain

RECORDS = {
    "assay.data.columns": "ColumnSchema",
    "assay.data.roles": "Role",
    "assay.evaluate.conformal": "Conformal",
    "assay.experiment.learners": "Learner",
    "assay.experiment.model": "PreparedModel",
    "assay.models.ensembles.forest": "Forest",
    "assay.models.rule_sets.conditions": "Condition",
    "assay.models.rule_sets.linear": "LinearCondition LinearSum",
    "assay.models.rule_sets.rule_set": "Rule RuleSet",
    "assay.models.trees._engine": "Tree",
    "assay.prepare.auto": "Preparation",
    "assay.prepare.bag_of_words": "Words",
    "assay.prepare.chain": "Chain",
    "assay.prepare.encode": "Indicators",
    "assay.prepare.impute": "NumericBlock",
}
"""Where the records stand that fitted methods hold beside plain values: what predictions need, and nothing more."""

SKLEARN = {
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.feature_selection": "SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.impute": "MissingIndicator SimpleImputer",
    "sklearn.preprocessing": "Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler "
    "MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer "
    "RobustScaler SplineTransformer StandardScaler",
}
"""Parts of scikit-learn whose state is plain values and arrays, which we adopt rather than write again."""

RENAMED: dict[str, str] = {}
"""Names that packages of earlier versions use, and what they are called now."""


class Registry:
    """Names of classes and classes of names, with those that the caller trusts.

    >>> registry = Registry()
    >>> registry.name(registry.cls("ridge"))
    'ridge'
    """

    def __init__(self, trusted: Iterable[type] = ()):
        self.trusted: dict[str, type] = {}
        for cls in trusted:
            if not isinstance(cls, type):
                raise UsageError(
                    "package",
                    "parameter 'trusted'",
                    "must hold classes",
                    f"got {plain(repr(cls))}",
                    "pass the class itself",
                )
            self.trusted[f"trusted/{cls.__module__}.{cls.__qualname__}"] = cls

    def name(self, cls: type) -> str | None:
        """The name of a class in packages; None if it may not be in one."""
        entry = catalogue.of_class(cls)
        if entry is not None and entry.load() is cls:
            return entry.id
        module, name = cls.__module__, cls.__qualname__
        if name in RECORDS.get(module, "").split():
            return name
        if module.startswith("sklearn."):
            public = next((home for home in SKLEARN if module.startswith(home) and name in SKLEARN[home].split()), None)
            if public is not None and getattr(importlib.import_module(public), name) is cls:
                return f"sklearn/{name}"
        return next((key for key, known in self.trusted.items() if known is cls), None)

    def cls(self, name: Any) -> type:
        """The class of this name; a name that is not listed is refused."""
        name = RENAMED.get(name, name) if isinstance(name, str) else name
        if isinstance(name, str):
            home = _homes().get(name)
            if home is not None:
                return getattr(importlib.import_module(home), name.removeprefix("sklearn/"))
            if name in self.trusted:
                return self.trusted[name]
            if name in {entry.id for entry in catalogue.entries()}:
                return catalogue.get(name).load()
        if isinstance(name, str) and name.startswith("trusted/"):
            raise PackageError(
                "load",
                f"class '{plain(name.removeprefix('trusted/'))}' of the package",
                "is of another library and is only made when you say so",
                way_out="if you trust the package, import the class and pass trusted=[the class]",
            )
        raise PackageError(
            "load", f"class '{plain(name)}' of the package", "is not one that Assay knows", way_out="update Assay"
        )


@cache
def _homes() -> dict[str, str]:
    """The module of each record and each part of scikit-learn."""
    homes = {name: module for module, names in RECORDS.items() for name in names.split()}
    return homes | {f"sklearn/{name}": module for module, names in SKLEARN.items() for name in names.split()}
