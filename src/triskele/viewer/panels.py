"""What all panels share: sentences for mistakes, work left aside, tables of numbers."""

import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

from viser import GuiButtonHandle, GuiCheckboxHandle, GuiMarkdownHandle, ViserServer

from triskele.errors import TriskeleError
from triskele.kinematics.mechanism import Coordinate
from triskele.units import display

_CELL = "padding:0.05em 0.8em 0.05em 0; white-space:nowrap; font-variant-numeric:tabular-nums"


def value_text(coordinate: Coordinate, value: float) -> str:
    """A coordinate such as 12.3 mm, without a negative zero."""
    factor, unit = display(coordinate.unit)
    return f"{round(factor * value, 2) + 0.0:.2f} {unit}"


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """A small table; numbers in columns."""
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}'>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table style='font-size:0.8em; margin:0 0 0.5em 1em'>{body}</table>"


class Messages:
    """One line for what went wrong, or is going on; and what is going on."""

    def __init__(self, server: ViserServer) -> None:
        """Empty, where the current container is."""
        self._line: GuiMarkdownHandle = server.gui.add_markdown("")
        self._aside: set[Callable[[], None]] = set()
        self._lock, self._ended = threading.Lock(), False

    def aside(self, work: Callable[[], None]) -> None:
        """Leave `work` to a thread of its own, for which nobody waits at the end."""

        def run() -> None:
            try:
                work()
            finally:
                self._aside.discard(run)

        self._aside.add(run)
        threading.Thread(target=run, daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether something left aside is still going on."""
        return bool(self._aside)

    def say(self, text: str) -> None:
        """Show `text`, until the next."""
        self._set(self._line, "content", text)

    def _set(self, handle: object, name: str, value: object) -> None:
        """Change what is shown, unless nobody looks any more."""
        with self._lock:
            if not self._ended:
                setattr(handle, name, value)

    def end(self) -> None:
        """Show nothing any more: what is still going on has nobody to tell."""
        with self._lock:
            self._ended = True

    def progress(self, what: str) -> Callable[[float], None]:
        """A function to report to how much of `what` is done, 0 to 1."""
        return lambda part: self.say(f"*{what} ... {100 * part:.0f} %*")

    @contextmanager
    def working(self, what: str, button: GuiButtonHandle | GuiCheckboxHandle) -> Iterator[None]:
        """Say `what` while it is done, and a sentence if it cannot be; once at a time."""
        self.say(f"*{what} ...*")
        self._set(button, "disabled", True)
        try:
            with self.caught():
                yield
                self.say("")
        finally:
            self._set(button, "disabled", False)

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Show what goes wrong; the viewer lives on."""
        try:
            yield
        except TriskeleError as error:
            self.say(f"**{error}**")
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.say(f"**A mistake of the program: {type(error).__name__}: {error}**")
