"""The report: one self-contained HTML page from the results of a comparison. Computes nothing new."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from . import figures as figures
    from .critical_difference import critical_difference_figure as critical_difference_figure
    from .markdown import render_markdown as render_markdown
    from .markdown import render_model_card as render_model_card
    from .markdown import write_markdown as write_markdown
    from .page import render_report as render_report
    from .page import write_report as write_report

__getattr__, __dir__ = lazy(
    __name__,
    {
        "critical_difference": "critical_difference_figure",
        "figures": "",
        "markdown": "render_markdown render_model_card write_markdown",
        "page": "render_report write_report",
    },
)
