"""Assay: machine learning you can prove.

The package loads nothing heavy on import; each part arrives when it is first used.

>>> import assay
>>> assay.catalogue.get("zero-r").title
'ZeroR'
"""

from typing import TYPE_CHECKING

from ._lazy import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import base as base
    from . import catalogue as catalogue
    from . import cli as cli
    from . import data as data
    from . import evaluate as evaluate
    from . import experiment as experiment
    from . import models as models
    from . import prepare as prepare
    from . import report as report
    from .base import config as config

__getattr__, __dir__ = lazy(
    __name__,
    {
        "base": "config",
        "catalogue": "",
        "cli": "",
        "data": "",
        "evaluate": "",
        "experiment": "",
        "models": "",
        "prepare": "",
        "report": "",
    },
)
