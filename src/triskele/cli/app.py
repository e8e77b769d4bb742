"""The commands and the one boundary where errors become a sentence and an exit code.

Exit codes: 0 success, 2 a mistake in what was given (one sentence on stderr), 130 stopped
by the user. Anything else is our mistake and shows its traceback.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from typer.exceptions import Abort, Exit, TyperException

from triskele.cli import describe, move
from triskele.errors import TriskeleError

app = typer.Typer(
    name="triskele",
    help="Parallel robots from one file: kinematics, workspace and motions.",
    epilog="Robots are named as in `triskele robots`, or given as a path to your own .toml.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_NUMBERS = {"ignore_unknown_options": True}  # -0.3 is a number, not an option

app.command("robots")(describe.robots)
app.command("show")(describe.show)
app.command("init")(describe.init)
app.command("check")(describe.check)
app.command("schema")(describe.schema)
app.command("ik", context_settings=_NUMBERS)(move.ik)
app.command("fk", context_settings=_NUMBERS)(move.fk)
app.command("workspace")(move.workspace)
app.command("motion")(move.motion)


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"triskele {installed('triskele')}")
        raise Exit(0)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise Exit(0)


def keep_compiled() -> None:
    """Let JAX keep compiled code between runs, under the user's cache directory.

    Only where the user has not set a cache himself, and where the directory can be made.
    """
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "triskele" / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.02")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; print a sentence on stderr and return 2 if something is wrong."""
    keep_compiled()
    try:
        given = list(sys.argv[1:] if arguments is None else arguments)
        return int(app(given, prog_name="triskele", standalone_mode=False) or 0)
    except TriskeleError as error:
        return _complain(str(error))
    except TyperException as error:
        return _complain(error.format_message())
    except (Abort, KeyboardInterrupt):
        sys.stderr.write("triskele: stopped; nothing was written.\n")
        return 130
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")
        return 0


def _complain(message: str) -> int:
    sentence = " ".join(message.split())
    sys.stderr.write(f"triskele: {sentence}\n")
    return 2
