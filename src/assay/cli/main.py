"""The command group: commands arrive when they are called, and every error leaves as one sentence and an exit code.

Exit codes: 0 ok, 1 findings, 2 usage, 3 bad data, 4 model or package refused, 5 some learners failed, 70 a defect in
Assay, 130 interrupted. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from .. import __version__
from ..base.errors import AssayError, plain
from ..base.redaction import HIDDEN, like_an_address, redact

COMMANDS = {
    "audit": "Look for trouble in a table.",
    "cluster": "Find clusters in a table, how many, how stable, and what tells them apart.",
    "compare": "Compare learners on a table and report what can be defended.",
    "demo": "Run a comparison on a bundled table, from data to report.",
    "describe": "Say what is in a table: columns, distributions, associations.",
    "explain": "Say what a model goes by, or why it says what it says of one row.",
    "methods": "List and search the methods of the catalogue.",
    "predict": "Predict every row of a table, whatever its size, with a saved model.",
    "report": "Write the report of a finished run again: page, Markdown or model card.",
    "rules": "Find rules between the items of baskets, with their measures and tests.",
    "run": "Run a plan that was kept in a file.",
    "runs": "List, show, compare, export, open and prune the runs that were made.",
    "serve": "Serve the predictions of a saved model over HTTP, with checks, limits and counters.",
    "tune": "Choose the parameters of learners inside the training rows, and say what that is worth.",
}

OK, FINDINGS, SOME_FAILED, DEFECT, INTERRUPTED = 0, 1, 5, 70, 130

Command = TypeVar("Command", bound=Callable[..., Any])


def debugging() -> bool:
    """True if --debug was given anywhere on this command line."""
    context = click.get_current_context(silent=True)
    return bool(context is not None and context.find_root().meta.get("assay.debug"))


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().meta["assay.debug"] = True


debug_option = click.option(
    "--debug", is_flag=True, expose_value=False, callback=_set_debug, help="Show tracebacks of errors."
)


def common_options(command: Command) -> Command:
    """--json, --quiet and --debug, which every command has."""
    for option in (
        debug_option,
        click.option("--quiet", "-q", is_flag=True, help="No progress and no messages on stderr."),
        click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout."),
    ):
        command = option(command)
    return command


read_option = click.option(
    "--read", "reading", multiple=True, metavar="HOW=VALUE",
    help="How to read, e.g. encoding=cp1252, delimiter=';', header=no, duplicates=rename, sheet=May, table=orders.",
)  # fmt: skip


class LazyGroup(click.Group):
    """A group whose commands are imported when called, so that `assay --help` loads nothing heavy."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"assay.cli.{cmd_name}")
        return getattr(module, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        near = difflib.get_close_matches(args[0], COMMANDS, n=1) if args[0] not in COMMANDS else []
        if near and not args[0].startswith("-"):
            raise click.UsageError(f"No such command '{plain(args[0])}'. Did you mean '{near[0]}'?", ctx)
        return super().resolve_command(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.ClickException as error:
            setattr(error, "message", _keep_secrets(error.message))  # noqa: B010
            raise

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
            # Flushed here, so that a reader that went away is noticed while it can still be handled.
            with contextlib.suppress(ValueError):
                sys.stdout.flush()
        except click.ClickException as error:
            setattr(error, "message", _keep_secrets(error.message))  # noqa: B010
            raise
        except (click.exceptions.Exit, click.exceptions.Abort):
            raise
        except BrokenPipeError:
            _give_up_stdout()
            code = OK
        except KeyboardInterrupt as error:
            if debugging():
                raise
            # A run says what it saved; other commands save nothing on the way.
            say(f"assay: interrupted{'; ' if str(error) else ''}{plain(error, 500)}.")
            _leave_now(INTERRUPTED)
            code = INTERRUPTED
        except AssayError as error:
            if debugging():
                raise
            say(f"assay: {spoken(plain(error, 2000)).removeprefix('assay: ')}")
            code = error.exit_code
        except Exception as error:
            if debugging():
                raise
            say(
                f"assay: unexpected {type(error).__name__}: {plain(error, 400)}; "
                "this is a defect in Assay; run again with --debug to see where."
            )
            code = DEFECT
        ctx.exit(code if isinstance(code, int) else OK)


def _keep_secrets(text: str) -> str:
    """A text without the words of the command line that look like addresses, which may hold a password anywhere."""
    for word in sys.argv[1:]:
        for part in (word, word.partition("=")[2]):
            if part and like_an_address(part) is not None:
                for form in (part, repr(part)[1:-1], plain(part, 1000), part.strip()):
                    text = text.replace(form, HIDDEN)
    return redact(text)


def say(text: str) -> None:
    """One line on stderr; a closed stderr is not an error."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(_keep_secrets(text), err=True)


def spoken(text: str) -> str:
    """A sentence about parameters of Python in the words of the command line.

    >>> spoken("pass encoding='cp1252' to read every byte so")
    'pass --read encoding=cp1252 to read every byte so'
    >>> spoken("name one with table= or send a query=: 'a', 'b'")
    "name one with --read table=... or send a --read query=...: 'a', 'b'"
    """
    for pattern, words in _SPOKEN:
        text = pattern.sub(words, text)
    return text


_READ = "delimiter|encoding|header|duplicates|sheet|table|query"
_SPOKEN = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\bwith assay\.data\.Batches, go through it in batches with assay\.data\.scan_table, or ",
         "in Python with assay.data.Batches, or "),
        (r"\bassay\.config\.set\((\w+)=\.\.\.\)", lambda m: f"the environment variable ASSAY_{m[1].upper()}"),
        (rf"\b({_READ})=(?:'([^']*)'|(True|False|\.\.\.)|)(?=\W|$)",
         lambda m: f"--read {m[1]}={m[2] or {'True': 'yes', 'False': 'no'}.get(m[3] or '', '...')}"),
        (r"\btask='(\w+)'", r"--task \1"),
        (r"\bparameter '(design|task|alpha|jobs|target|prepare)'", r"option '--\1'"),
        (r"\bparameter 'random_state'", "option '--seed'"),
        (r"\bparameter '(time|memory)_limit'", r"option '--\1-limit'"),
        (r"\bparameter '(race|holdout|margin|budget|drop)'", r"option '--\1'"),
        (r"\bparameter 'learners'", "option '--models'"),
        (r"\bparameter 'metrics'", "option '--metric'"),
        (r"\bgive it: \{'(.*)': \('ordinal', \['low', \.\.\., 'high'\]\)\}",
         r"give it: --role '\1=ordinal:low<...<high'"),
    )
]  # fmt: skip


def _give_up_stdout() -> None:
    """The reader closed the pipe: send what is left nowhere, so that the interpreter's last flush stays silent."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave_now(code: int) -> None:
    """End the process without waiting for a kernel that is still running in a working thread."""
    workers = [thread for thread in threading.enumerate() if thread.name.startswith("assay-")]
    deadline = time.monotonic() + 0.5
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
    if any(worker.is_alive() for worker in workers):
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='Shell completion: eval "$(_ASSAY_COMPLETE=bash_source assay)"  (or zsh_source, fish_source).',
)
@click.version_option(__version__, prog_name="assay")
@debug_option
def assay() -> None:
    """Machine learning you can prove.

    Results go to stdout, progress and messages to stderr. Exit codes: 0 ok, 1 findings, 2 usage, 3 bad data, 4 model
    refused, 5 some learners failed, 130 interrupted.
    """


def main() -> None:
    """Entry point of the command `assay`."""
    assay(prog_name="assay")
