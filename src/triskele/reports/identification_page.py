"""The verdict of an identification as one page of HTML, its figures inside."""

import base64
import io
from collections.abc import Sequence
from html import escape

import matplotlib as mpl
from matplotlib.figure import Figure

from triskele.identification.identify import Identified
from triskele.reports.figures import STYLE
from triskele.reports.identification_figures import efforts_figure, parameters_figure

_LOOK = """
body { font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 1em 0 } img { max-width: 100% }
td, th { padding: 0.15em 0.8em; text-align: right; border-bottom: 1px solid #e5e7eb }
td:first-child, th:first-child { text-align: left }
.good { color: #15803d } .bad { color: #b91c1c }
"""


def identification_page(found: Identified) -> str:
    """The page; it needs no other file."""
    verdict = found.verdict
    first, *others = verdict.recommendation
    mood = "good" if verdict.usable else "bad"
    names = ", ".join(escape(log.name) for log in found.logs)
    held = ", ".join(escape(log.name) for log in found.held_out) or "none"
    parts = [
        f"<!DOCTYPE html><html lang='en'><meta charset='utf-8'><title>{escape(found.robot.title)}: "
        f"identification</title><style>{_LOOK}</style>",
        f"<h1>{escape(found.robot.title)}: identification</h1>",
        f"<p class='{mood}'><b>{escape(first)}</b></p>",
        "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in others) + "</ul>",
        f"<p>Fitted: {names}. Held out: {held}. Condition number {verdict.condition:.0f}, "
        f"{verdict.rank} base parameters, gap {verdict.gap:.1e}.</p>",
        "<h2>Errors</h2>",
        _errors(found),
        _image(efforts_figure(found)),
        "<h2>Parameters</h2>",
        _table(
            ("base parameter", "value", "+- 95 %", "file", "unit"),
            [
                (p.formula, f"{p.value:.5g}", f"{p.half_interval:.2g}", f"{p.file:.5g}", p.unit)
                for p in verdict.parameters
            ],
        ),
        _image(parameters_figure(found)),
        f"<p>Not told by these logs: {escape(', '.join(verdict.prior_only) or 'none')}.</p>",
        "<p>Least scaled eigenvalue of the mass matrix over the workspace: "
        f"{verdict.least_inertia:.3g}; of base parameters alone: "
        f"{verdict.least_inertia_base:.3g}.</p>",
    ]
    return "\n".join(parts) + "\n"


def _errors(found: Identified) -> str:
    verdict = found.verdict
    header = ["drive", "effort", "fit", "base fit", "noise"]
    columns = [verdict.effort, verdict.fitted.consistent, verdict.fitted.base, verdict.noise]
    if verdict.held_out is not None:
        header += ["held out", "base held out"]
        columns += [verdict.held_out.consistent, verdict.held_out.base]
    if verdict.at_rest is not None:
        header.append("at rest")
        columns.append(verdict.at_rest)
    rows = [
        (str(k + 1), *(f"{column[k]:.4g}" for column in columns), f"{100 * white:.0f}")
        for k, white in enumerate(verdict.whiteness)
    ]
    return _table((*header, "white %"), rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _image(figure: Figure) -> str:
    stream = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(stream, format="png", dpi=110, metadata=None)
    text = base64.b64encode(stream.getvalue()).decode()
    return f"<img alt='figure' src='data:image/png;base64,{text}'>"
