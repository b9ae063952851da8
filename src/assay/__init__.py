"""Assay: machine learning you can prove.

The package loads nothing heavy on import; each part arrives when it is first used.

>>> import assay
>>> assay.catalogue.get("zero-r").title
'ZeroR'
>>> from assay import audit, compare, read_table
"""

from typing import TYPE_CHECKING

from ._lazy import lazy

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import base as base
    from . import catalogue as catalogue
    from . import cli as cli
    from . import data as data
    from . import deploy as deploy
    from . import evaluate as evaluate
    from . import experiment as experiment
    from . import explain as explain
    from . import models as models
    from . import prepare as prepare
    from . import report as report
    from .base import config as config
    from .data import audit as audit
    from .data import load_dataset as load_dataset
    from .data import read_table as read_table
    from .deploy import load as load
    from .deploy import save as save
    from .experiment import Plan as Plan
    from .experiment import Tuned as Tuned
    from .experiment.comparing import compare as compare
    from .experiment.comparing import tune as tune
    from .experiment.run import run as run

__getattr__, __dir__ = lazy(
    __name__,
    {
        "base": "config",
        "catalogue": "",
        "cli": "",
        "data": "audit load_dataset read_table",
        "deploy": "load save",
        "evaluate": "",
        "experiment": "Plan Tuned compare run tune",
        "explain": "",
        "models": "",
        "prepare": "",
        "report": "",
    },
)
