"""The commands and the one boundary where errors become a sentence and an exit code.

Exit codes: 0 success, 1 a published experiment that could not be computed, 2 a mistake in what was
given (one sentence on stderr), 130 stopped by the user. Anything else is our mistake and shows its
traceback.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import typer
from typer.exceptions import Abort, Exit, TyperException

from triskele.cli import (
    control,
    describe,
    dynamics,
    export,
    flexible,
    identification,
    motion,
    move,
    multibody,
    planning,
    reproduce,
    sensing,
    view,
)
from triskele.cli.poses import PoseCommand
from triskele.cli.workers import QUICK_XLA
from triskele.errors import DescriptionError, TriskeleError, short_words
from triskele.programs.store import keep_in

app = typer.Typer(
    name="triskele",
    help="Parallel robots from one file: kinematics, motions, torques and joint loads.",
    epilog="Robots are named as in `triskele robots`, or given as a path to your own .toml.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_NUMBERS = {"ignore_unknown_options": True}  # -0.3 is a number, not an option
_STOPPED = 130
_KINDS = "TRISKELE_KINDS"  #: modules of the user, with commas between
_KNOWN_XLA = ("0.10.",)  #: versions of jaxlib

app.command("robots")(describe.robots)
app.command("show")(describe.show)
app.command("init")(describe.init)
app.command("check")(describe.check)
app.command("schema")(describe.schema)
app.command("view")(view.view)
app.command("ik", context_settings=_NUMBERS)(move.ik)
app.command("fk", context_settings=_NUMBERS)(move.fk)
app.command("workspace")(move.workspace)
app.command("motion")(motion.motion)
app.command("torques")(dynamics.torques)
app.command("reactions")(multibody.reactions)
app.command("simulate")(dynamics.simulate)
app.command("plan")(planning.plan)
app.command("rate")(planning.rate)
app.command("modes", cls=PoseCommand)(flexible.modes)
app.command("vibrate")(flexible.vibrate)
app.command("sense")(sensing.sense)
app.command("encoders")(sensing.encoders)
app.command("excite")(identification.excite)
app.command("identify")(identification.identify)
app.command("friction")(identification.friction)
app.command("bandwidth", cls=PoseCommand)(control.bandwidth)
app.command("export")(export.export)
app.command("reproduce")(reproduce.reproduce)


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


def shorten_waiting() -> None:
    """Compile in half the time, and one thread for LAPACK, unless the user has settings of his own.

    Our matrices are small: a second thread is waited for, 16 ms a call. XLA's older emitters take
    half the time of those that replaced them, for code that is as fast; a version of XLA
    that does not know the flag would stop the process, so that it is given to known ones only.
    """
    from importlib.metadata import version

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if "XLA_FLAGS" not in os.environ and version("jaxlib").startswith(_KNOWN_XLA):
        os.environ["XLA_FLAGS"] = QUICK_XLA


def keep_compiled() -> None:
    """Keep programs and code compiled by JAX between runs, under the user's cache directory.

    JAX's only where the user has not set a cache himself, and where the directory can be made.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triskele"
    keep_in(base / "programs")
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = base / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.02")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def import_kinds(modules: str) -> None:
    """Import the user's modules, which add kinds of robots by `triskele.register`."""
    for name in filter(None, (part.strip() for part in modules.split(","))):
        try:
            import_module(name)
        except Exception as error:
            raise DescriptionError(
                f"{_KINDS}: the module '{name}' cannot be imported: "
                f"{type(error).__name__}: {error}. Is its folder in PYTHONPATH?"
            ) from error


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; print a sentence on stderr and return 2 if something is wrong."""
    shorten_waiting()
    keep_compiled()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        import_kinds(os.environ.get(_KINDS, ""))
        code = int(app(given, prog_name="triskele", standalone_mode=False) or 0)
    except TriskeleError as error:
        return _complain(str(error))
    except TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f" See `{context.command_path} --help`." if context else ""
        return _complain(_sentence(error.format_message()) + hint)
    except OSError as error:  # a full disk, a name that is too long
        return _complain(f"{error.filename or 'the output'}: {error.strerror or error}.")
    except SystemExit:  # typer's way out when nobody reads the pipe any more
        return 0
    except (Abort, KeyboardInterrupt):
        code = _STOPPED
    if code == _STOPPED:
        sys.stderr.write("triskele: stopped; no file was left half written.\n")
    return code


def _complain(message: str) -> int:
    sys.stderr.write(f"triskele: {_sentence(message)}\n")
    return 2


def _sentence(message: str) -> str:
    """`message` on one line, with a full stop."""
    line = " ".join(short_words(message).split())
    return line if line.endswith((".", "?")) else f"{line}."
