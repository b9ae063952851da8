"""Attributes of a fit that are worked out when one of them is first asked for.

>>> class Fit(Inferring):
...     square_ = OnDemand()
...     def _infer(self):
...         self.square_ = 9.0
>>> fit = Fit()
>>> "square_" in vars(fit), fit.square_, "square_" in vars(fit)
(False, 9.0, True)
"""

from __future__ import annotations

from typing import Any


class OnDemand:
    """An attribute that `_infer` of the model sets, with all others of its kind."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        model._infer()
        try:
            return vars(model)[self.name]
        except KeyError:
            message = f"'{type(model).__name__}' object has no attribute '{self.name}'"
            raise AttributeError(message) from None


class Inferring:
    """Mixin of a learner with such attributes; a package holds them."""

    def _infer(self) -> None:
        """Set the attributes, unless they are there or there is no fit."""
        raise NotImplementedError  # pragma: no cover

    def _forget(self) -> None:
        """Leave out those of a fit before."""
        for name in [name for name in vars(self) if isinstance(getattr(type(self), name, None), OnDemand)]:
            delattr(self, name)

    def _saved(self) -> dict[str, Any]:
        self._infer()
        return super()._saved()  # type: ignore[misc]
