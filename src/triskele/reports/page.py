"""Pages of HTML that need no other file: headings, tables and figures in one look.

Each function returns a piece of a page; `page` puts pieces together. Text is escaped here, so that
callers pass it as it is.
"""

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure

from triskele.description.provenance import Fact
from triskele.reports.figures import STYLE

_LARGEST_SVG = 300_000  #: bytes; a figure that needs more is drawn in pixels
_SHORT = 17  #: letters of a cell that is kept on one line
_DPI = 130
_LOOK = """
:root { color-scheme: light }
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; background: #fff;
  max-width: 68em; margin: 2em auto; padding: 0 1.2em 4em }
h1 { font-size: 1.7em; line-height: 1.25; margin: 0 0 0.3em }
h2 { font-size: 1.3em; margin: 2.2em 0 0.4em; padding-top: 0.6em; border-top: 2px solid #e5e7eb }
h3 { font-size: 1.05em; margin: 1.6em 0 0.3em }
p { margin: 0.5em 0; max-width: 52em } ul, ol { margin: 0.4em 0; padding-left: 1.6em }
li { max-width: 52em } a { color: #1d4ed8 }
.wide { overflow-x: auto }
table { border-collapse: collapse; margin: 0.8em 0; font-size: 0.93em }
td, th { padding: 0.22em 0.8em; text-align: left; vertical-align: top;
  border-bottom: 1px solid #e5e7eb }
th { border-bottom: 2px solid #9ca3af; white-space: nowrap }
.number { text-align: right; font-variant-numeric: tabular-nums }
.number, .short { white-space: nowrap }
tr.total td { font-weight: 600; border-top: 2px solid #9ca3af }
figure { margin: 1.2em 0 } figure img { max-width: 100%; height: auto }
figcaption, .quiet { color: #6b7280; font-size: 0.9em }
summary { cursor: pointer; color: #1d4ed8 }
.good { color: #15803d } .bad { color: #b91c1c } .odd { color: #b45309 } .dull { color: #6b7280 }
"""


class Marked(NamedTuple):
    """Text in a colour: good, odd, bad or dull."""

    text: str
    mood: str


Text = str | Marked


def page(title: str, *parts: str) -> str:
    """A whole page; its title is the first heading."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f"<html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>",
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<style>{_LOOK}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *(part for part in parts if part),
            "</body></html>",
            "",
        ]
    )


def heading(text: str, level: int = 2, anchor: str = "") -> str:
    """A heading; others link to its `anchor`."""
    place = f" id='{escape(anchor)}'" if anchor else ""
    return f"<h{level}{place}>{escape(text)}</h{level}>"


def paragraph(text: str, mood: str = "") -> str:
    """A paragraph, in the colour of a mood."""
    return f"<p class='{mood}'>{escape(text)}</p>" if mood else f"<p>{escape(text)}</p>"


def listing(items: Sequence[str], *, numbered: bool = False) -> str:
    """A list, or nothing for no items."""
    kind = "ol" if numbered else "ul"
    points = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<{kind}>{points}</{kind}>" if items else ""


def links(items: Sequence[tuple[str, str]]) -> str:
    """Links to anchors of the page: text and anchor of each."""
    return (
        "<p>"
        + " &middot; ".join(f"<a href='#{escape(to)}'>{escape(text)}</a>" for text, to in items)
        + "</p>"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[Text]], *, total: bool = False) -> str:
    """A table, numbers to the right; the last row is a sum if `total`."""
    numeric = [
        any(_is_number(row[k]) for row in rows) and all(_may_be_number(row[k]) for row in rows)
        for k in range(len(header))
    ]
    head = "".join(
        f"<th{_class('number' if right else '')}>{escape(cell)}</th>"
        for cell, right in zip(header, numeric, strict=True)
    )
    body = []
    for k, row in enumerate(rows):
        cells = "".join(_cell(cell, right) for cell, right in zip(row, numeric, strict=True))
        kind = _class("total" if total and k == len(rows) - 1 else "")
        body.append(f"<tr{kind}>{cells}</tr>")
    whole = f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
    return f"<div class='wide'><table>{whole}</table></div>"


def image(figure: Figure, caption: str = "") -> str:
    """A figure inside the page, as curves if they are few, else in pixels."""
    with mpl.rc_context(STYLE):
        kind, data = "svg+xml", _drawn(figure, "svg", metadata={"Date": None})
        if len(data) > _LARGEST_SVG:
            kind, data = "png", _drawn(figure, "png", dpi=_DPI)
    text = base64.b64encode(data).decode()
    told = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    shown = f"<img alt='{escape(caption or 'figure')}' src='data:image/{kind};base64,{text}'>"
    return f"<figure>{shown}{told}</figure>"


def folded(title: str, *parts: str) -> str:
    """Parts that show when the title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


def assumption_table(facts: Sequence[Fact]) -> str:
    """Assumed numbers: key, value, and why."""
    rows = [
        (fact.key, fact.text, fact.reason.removeprefix("assumed:").strip() or "no source given")
        for fact in facts
    ]
    return table(("assumed", "value", "why"), rows)


def _drawn(figure: Figure, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, **options)  # pyright: ignore[reportArgumentType]
    return stream.getvalue()


def _cell(cell: Text, right: bool) -> str:
    mood, text = cell.mood if isinstance(cell, Marked) else "", _plain(cell)
    kind = "number" if right else "short" if " " in text and len(text) < _SHORT else ""
    return f"<td{_class(kind, mood)}>{escape(text)}</td>"


def _class(*names: str) -> str:
    kept = " ".join(name for name in names if name)
    return f" class='{kept}'" if kept else ""


def _plain(cell: Text) -> str:
    return cell.text if isinstance(cell, Marked) else cell


def _is_number(cell: Text) -> bool:
    try:
        float(_plain(cell).split(" ")[0])
    except ValueError:
        return False
    return True


def _may_be_number(cell: Text) -> bool:
    return _is_number(cell) or _plain(cell) in ("", "-")
