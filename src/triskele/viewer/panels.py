"""What all panels share: sentences for mistakes, tables of numbers, units as people read them."""

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

from viser import GuiButtonHandle, GuiMarkdownHandle, ViserServer

from triskele.errors import TriskeleError
from triskele.kinematics.mechanism import Coordinate

_SHOWN = {"m": (1e3, "mm"), "rad": (57.29577951308232, "deg")}
_CELL = "padding:0.05em 0.8em 0.05em 0; white-space:nowrap; font-variant-numeric:tabular-nums"


def shown(unit: str) -> tuple[float, str]:
    """Factor and name of the unit in which people read `unit`."""
    return _SHOWN.get(unit, (1.0, unit))


def value_text(coordinate: Coordinate, value: float) -> str:
    """A coordinate such as 12.3 mm, without a negative zero."""
    factor, unit = shown(coordinate.unit)
    return f"{round(factor * value, 2) + 0.0:.2f} {unit}"


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """A small table; numbers in columns."""
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}'>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table style='font-size:0.8em; margin:0 0 0.5em 1em'>{body}</table>"


class Messages:
    """One line for what went wrong, or is going on."""

    def __init__(self, server: ViserServer) -> None:
        """Empty, where the current container is."""
        self._line: GuiMarkdownHandle = server.gui.add_markdown("")

    def say(self, text: str) -> None:
        """Show `text`, until the next."""
        self._line.content = text

    def progress(self, what: str) -> Callable[[float], None]:
        """A function to report to how much of `what` is done, 0 to 1."""
        return lambda part: self.say(f"*{what} ... {100 * part:.0f} %*")

    @contextmanager
    def working(self, what: str, button: GuiButtonHandle | None = None) -> Iterator[None]:
        """Say `what` while it is done, and a sentence if it cannot be."""
        self.say(f"*{what} ...*")
        if button is not None:
            button.disabled = True
        try:
            with self.caught():
                yield
                self.say("")
        finally:
            if button is not None:
                button.disabled = False

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
