"""Pieces of pages: text is escaped, numbers stand to the right, figures lie inside."""

import base64
import re

import numpy as np
from matplotlib.figure import Figure

from triskele.description.provenance import Fact
from triskele.reports.page import (
    Marked,
    assumption_table,
    folded,
    heading,
    image,
    links,
    listing,
    page,
    paragraph,
    table,
)


def figure(points: int) -> Figure:
    """Points, none of which can be left out."""
    drawn = Figure(figsize=(4, 3))
    drawn.subplots().plot(np.random.default_rng(0).normal(size=points), ".")
    return drawn


def data(text: str) -> tuple[str, bytes]:
    """Kind and content of the image in a piece of a page."""
    (kind, content) = re.findall(r"src='data:image/([\w+]+);base64,([^']+)'", text)[0]
    return kind, base64.b64decode(content)


def test_a_page_is_one_document_and_leaves_empty_parts_out():
    text = page("A < B", heading("One", anchor="one"), "", links([("to one", "one")]))
    assert text.startswith("<!DOCTYPE html>\n<html lang='en'>")
    assert text.endswith("</body></html>\n")
    assert "<title>A &lt; B</title>" in text
    assert "<h1>A &lt; B</h1>\n<h2 id='one'>One</h2>\n<p><a href='#one'>to one</a></p>\n" in text
    assert "http" not in text


def test_text_is_escaped_everywhere():
    evil = "<script>&"
    pieces = (
        heading(evil),
        paragraph(evil, "bad"),
        listing([evil], numbered=True),
        table((evil,), [(evil,), (Marked(evil, "odd"),)]),
        folded(evil, paragraph(evil)),
        assumption_table([Fact(evil, evil, f"assumed: {evil}")]),
        image(figure(3), evil),
    )
    for piece in pieces:
        assert "<script" not in piece
        assert "&lt;script&gt;&amp;" in piece


def test_columns_of_numbers_stand_to_the_right_and_the_sum_is_marked():
    rows = [("a", "1", "x"), ("b", "-", "2"), ("all", "1.5 %", "")]
    text = table(("name", "value", "mixed"), rows, total=True)
    assert "<th>name</th><th class='number'>value</th><th>mixed</th>" in text
    assert "<td>b</td><td class='number'>-</td><td>2</td>" in text
    assert "<tr class='total'><td>all</td><td class='number'>1.5 %</td>" in text
    assert listing([]) == ""


def test_few_points_are_drawn_as_such_and_many_in_pixels():
    kind, content = data(image(figure(20)))
    assert kind == "svg+xml"
    assert b"<svg" in content
    assert data(image(figure(20))) == (kind, content)  # the same text for the same figure
    kind, content = data(image(figure(20_000)))
    assert kind == "png"
    assert content.startswith(b"\x89PNG")


def test_assumptions_say_why_without_the_word():
    text = assumption_table([Fact("a.b", "1 mm", "assumed: a guess"), Fact("c", "2", None)])
    assert "<td>a.b</td><td class='number'>1 mm</td><td class='short'>a guess</td>" in text
    assert "<td class='short'>no source given</td>" in text
