"""From a fitted model to one that others can use: packages without pickle, predictions for files, a server, exports.

>>> import assay
>>> from assay.deploy import load, save
"""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from .exports import export as export
    from .package import Package as Package
    from .package import load as load
    from .package import open_package as open_package
    from .package import save as save
    from .predict import Predictor as Predictor

__getattr__, __dir__ = lazy(
    __name__, {"exports": "export", "package": "Package load open_package save", "predict": "Predictor"}
)
