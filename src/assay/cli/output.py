"""How results look on a terminal. Text that comes from data is made plain and never read as markup."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ..base.errors import AssayWarning, UsageError, plain
from ..base.files import write_whole
from ..base.redaction import like_an_address
from ..base.words import duration
from .main import say


def console() -> Any:
    """A rich console on stdout that prints text as it is; colour only on a terminal and without NO_COLOR."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    return Console(
        file=sys.stdout,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=not terminal,
        width=None if terminal else 120,
        no_color=True if os.environ.get("NO_COLOR") or not terminal else None,
    )


def table(title: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> Any:
    """A rich table; columns are (heading, "left" or "right"), cells any text. A column "id" is never folded."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(title=Text(plain(title, 200), style="bold"), box=box.SIMPLE, title_justify="left", pad_edge=False)
    for heading, side in columns:
        made.add_column(
            Text(plain(heading)),
            justify="right" if side == "right" else "left",
            overflow="fold",
            no_wrap=heading == "id",
        )
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell, 300)) for cell in row))
    return made


def print_json(value: Any) -> None:
    """Plain data on stdout, one text for one value."""
    click.echo(json_text(value), nl=False)


def give_report(report: Any, schema: str, page: Path | None, as_json: bool, tell: Any) -> bool:
    """Write the page that was asked for, and JSON on stdout; whether that was all."""
    if page is not None:
        write_text(page, report.to_page())
        tell(f"assay: the page is {plain(page, 1000)}.")
    if as_json:
        print_json({"schema": schema, **report.to_dict()})
    return as_json


def json_text(value: Any) -> str:
    """Indented JSON; NaN is refused, since no reader would take it."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write a file so that readers see the old one or the new one, never half of it."""
    write_whole("assay", place_for(path), text)


def place_for(path: Path) -> Path:
    """A file or folder to write; an address in its place is refused and not repeated."""
    if like_an_address(str(path)) is not None and not path.exists():
        raise UsageError(
            "assay", "the place to write to", "looks like the address of a database", way_out="name a file"
        )
    return path


@contextlib.contextmanager
def messages(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A function that says one line on stderr, and Python warnings in the same plain form (none when quiet)."""

    def tell(text: str) -> None:
        if not quiet:
            say(text)

    seen: set[str] = set()

    def hear(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        text = plain(message, 600)
        if text not in seen and (issubclass(category, AssayWarning) or not issubclass(category, _FOR_DEVELOPERS)):
            seen.add(text)
            tell(f"assay: {text}")

    with warnings.catch_warnings():
        warnings.showwarning = hear
        warnings.simplefilter("always", AssayWarning)
        yield tell


@contextlib.contextmanager
def prints_aside() -> Iterator[None]:
    """What is printed inside, by Python or by compiled code, goes to stderr: stdout is for results, and learners of
    other packages print what they like."""
    own = sys.stdout

    def flush() -> None:
        with contextlib.suppress(OSError, ValueError):
            own.flush()
        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)  # compiled code has a buffer of its own

    flush()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a stream that is closed needs no other way
            held = os.dup(1)
            stack.callback(os.close, held)
            os.dup2(2, 1)
            stack.callback(os.dup2, held, 1)
            stack.callback(flush)
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield


_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


@contextlib.contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Any], None] | None]:
    """A bar with time left on stderr; None where stderr is no terminal or the user wants quiet."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
    from rich.text import Text

    bar = Progress(
        SpinnerColumn(),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        TextColumn("{task.fields[what]}", markup=False),
        console=Console(stderr=True, markup=False, highlight=False, emoji=False),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None, left="", what="")

        def show(state: Any) -> None:
            left = "" if state.eta is None else f"{duration(state.eta)} left"
            bar.update(task, total=state.total, completed=state.done, left=left, what=Text(plain(state.what, 50)).plain)

        yield show
