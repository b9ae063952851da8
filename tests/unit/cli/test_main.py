"""Claims about the command group: exit codes, one sentence per error, nothing heavy for help."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from assay.base.errors import CostError, DataError, ParameterError
from assay.cli import main as module_main
from assay.cli.main import COMMANDS, assay


def call(*arguments: str, **kwargs):
    return CliRunner().invoke(assay, list(arguments), **kwargs)


@pytest.fixture
def command(monkeypatch):
    """Puts a command that does what the test wants in the place of `methods`."""

    def install(action):
        made = click.command("methods")(action)
        monkeypatch.setattr("assay.cli.methods.methods", made)

    return install


def test_help_lists_every_command_and_how_to_complete():
    result = call("--help")
    assert result.exit_code == 0
    for name, text in COMMANDS.items():
        assert name in result.output and text.split()[0] in result.output
    assert "_ASSAY_COMPLETE=bash_source" in result.output and "130" in result.output


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_json_quiet_and_debug(name):
    result = call(name, "--help")
    assert result.exit_code == 0
    command = assay.get_command(click.Context(assay), name)
    told = [result.output]
    if isinstance(command, click.Group):
        told = [call(name, part, "--help").output for part in command.list_commands(click.Context(command))]
    for option in ("--json", "--quiet", "--debug"):
        assert told and all(option in text for text in told)


def test_help_loads_neither_numpy_nor_scikit_learn_nor_polars():
    heavy = ["numpy", "scipy", "sklearn", "polars", "pandas", "rich", "jinja2", "torch", "dask", "optuna", "matplotlib"]
    code = (
        "import sys\nfrom assay.cli import main\nsys.argv = ['assay', '--help']\n"
        f"try:\n    main()\nexcept SystemExit:\n    pass\nprint([m for m in {heavy} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip().endswith("[]")


def test_version_is_printed():
    import assay as package

    assert package.__version__ in call("--version").output


def test_the_command_is_a_function_however_often_the_package_is_imported():
    from assay.cli import main

    assert callable(main) and main is module_main


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DataError("read_table", "file 'x'", "is empty"), 3),
        (ParameterError("Plan", "parameter 'k'", "must be an integer"), 2),
        (CostError("CART", "this fit", "is too large"), 3),
    ],
)
def test_an_error_of_assay_is_one_sentence_on_stderr_and_its_exit_code(command, error, code):
    def action():
        raise error

    command(action)
    result = call("methods")
    assert result.exit_code == code
    assert result.stdout == "" and result.stderr == f"assay: {error}\n"


def test_an_unexpected_error_points_to_debug(command):
    def action():
        raise ZeroDivisionError("by\nzero")

    command(action)
    result = call("methods")
    assert result.exit_code == 70
    assert result.stderr.count("\n") == 1 and "--debug" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize("error", [ZeroDivisionError, DataError("a", "b", "c")])
def test_debug_shows_the_traceback(command, error):
    def action():
        raise error

    command(action)
    result = call("--debug", "methods")
    assert result.exit_code == 1 and isinstance(result.exception, (ZeroDivisionError, DataError))


def test_an_interrupt_is_130(command):
    def action():
        raise KeyboardInterrupt

    command(action)
    result = call("methods")
    assert result.exit_code == 130 and result.stderr == "assay: interrupted.\n"


def test_an_interrupted_run_says_what_it_saved(command):
    def action():
        raise KeyboardInterrupt("3 of 9 units of work are saved")

    command(action)
    result = call("methods")
    assert result.exit_code == 130 and result.stderr == "assay: interrupted; 3 of 9 units of work are saved.\n"


def test_the_return_value_is_the_exit_code(command):
    command(lambda: 5)
    assert call("methods").exit_code == 5


def test_a_wrong_command_is_a_usage_error_with_a_hint():
    result = call("comprae")
    assert result.exit_code == 2 and "Did you mean 'compare'?" in result.stderr
    assert call("xyzzy").exit_code == 2
    assert call("compare").exit_code == 2
    assert call("methods", "--task", "guess").exit_code == 2


def test_text_from_data_cannot_reach_the_terminal_as_control_codes(command):
    def action():
        raise DataError("read_table", "column '\x1b[31mred\x1b]0;title\x07'", "is odd")

    command(action)
    assert "\x1b" not in call("methods").stderr


def test_a_reader_that_goes_away_is_no_error():
    code = (
        "import subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-m', 'assay', 'methods', '--json'], stdout=subprocess.PIPE, "
        "stderr=subprocess.PIPE)\n"
        "p.stdout.close()\n"
        "err = p.stderr.read().decode()\n"
        "print(p.wait(), repr(err))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "0 ''"


def test_python_dash_m_is_the_command():
    out = subprocess.run([sys.executable, "-m", "assay", "--version"], capture_output=True, text=True, check=True)
    assert out.stdout.startswith("assay")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion_is_offered(shell):
    code = "from assay.cli import main; main()"
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), "_ASSAY_COMPLETE": f"{shell}_source"},
    )
    assert "_ASSAY_COMPLETE" in out.stdout
