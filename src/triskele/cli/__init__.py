"""The command line: the only place that prints, catches and exits."""

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `triskele` with `arguments` (those of the shell if None); the exit code."""
    from triskele.cli.app import run

    return run(arguments)
