"""What can go wrong through no fault of ours, and the sentence that says so.

Every error names the place, the value, what was expected and what exists. Each class also
derives from the built-in it refines, so that `except ValueError` works as users expect.
Only `cli` catches these; the library raises them before tracing and never prints.
"""

import difflib
import re
from collections.abc import Iterable

_LONGEST = 400  #: characters of a word that a sentence repeats whole


class TriskeleError(Exception):
    """A mistake in what the user gave us; the message is one complete sentence or two."""

    def __str__(self) -> str:
        """The sentence itself, also where the built-in base would print its repr."""
        return short_words(" ".join(str(part) for part in self.args))


class DescriptionError(TriskeleError, ValueError):
    """A robot file that cannot be read, or says something impossible.

    `problems` holds one sentence per finding; the message is the first of them.
    """

    def __init__(self, *problems: str) -> None:
        """Keep all of `problems`; there is at least one."""
        more = len(problems) - 1
        hint = f" ({more} more: run `triskele check`)" if more else ""
        super().__init__(problems[0] + hint)
        self.problems = problems


class MissingFact(TriskeleError, ValueError):
    """A command needs a section or key that the robot file does not have."""


class UnknownName(TriskeleError, KeyError):
    """A robot, column, path or law that does not exist."""


class UnitError(TriskeleError, ValueError):
    """A unit that cannot be read, or one of the wrong dimension."""


class TableError(TriskeleError, ValueError):
    """A table (CSV, Parquet) that is broken; the message names row and column."""


class InputError(TriskeleError, ValueError):
    """A number or an argument that makes no sense: NaN, wrong count, negative duration."""


class OutOfReach(TriskeleError, RuntimeError):
    """A pose, or a part of a motion, that the mechanism cannot take.

    A RuntimeError, as what `PositionSolution.checked` raises under `jit`.
    """


class PrecisionError(TriskeleError, RuntimeError):
    """JAX was forced to 32 bit; nothing here is computed in single precision."""


def shortened(value: object, most: int = 80) -> str:
    """`value` as a sentence may quote it: of a long text its beginning, and how long it is.

    >>> shortened("x" * 100, 4)
    'xxxx... (100 characters)'
    """
    try:
        text = str(value)
    except RecursionError:
        return "a table nested too deep to show"
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def short_words(text: str) -> str:
    """`text` with the beginning alone of words without an end, such as a key or a path.

    >>> len(short_words("No column " + "x" * 5000))
    111
    """
    return re.sub(rf"\S{{{_LONGEST},}}", lambda word: shortened(word[0]), text)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint such as ` Did you mean 'arm_length'?`, or the list of what exists.

    >>> did_you_mean("arm_lenght", ["arm_length", "rod_length"])
    "Did you mean 'arm_length'?"
    """
    names = sorted(known)
    close = difflib.get_close_matches(word[:80], names, n=1, cutoff=0.6)
    if close:
        return f"Did you mean '{close[0]}'?"
    return f"Known: {', '.join(names)}." if names else "Nothing is known here."
