"""Sphinx configuration. Nothing is fetched, neither when building nor when reading."""

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import triskele.numerics  # noqa: F401  double precision, before anything else imports JAX

sys.path.insert(0, str(Path(__file__).parent))
import tables

project = "triskele"
author = "The triskele developers"
copyright = "the triskele developers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
highlight_language = "text"
html_theme = "furo"
html_title = "triskele"
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
python_maximum_signature_line_length = 88
suppress_warnings = ["ref.python"]  # a joint of a robot and one of a mechanism are both a Joint


class Schema(SphinxDirective):
    """The table of one section of a robot file."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(tables.schema_table(self.arguments[0]))


class Frames(SphinxDirective):
    """The frames of the bodies, as the schema's docstring has them."""

    def run(self) -> list[nodes.Node]:
        text = tables.frames()
        return [nodes.literal_block(text, text, language="text")]


class Robots(SphinxDirective):
    """The shipped robots: what they are, what can be asked of them, then a section each."""

    def run(self) -> list[nodes.Node]:
        found = self.parse_text_to_nodes(tables.robots_table())
        found += self.parse_text_to_nodes(tables.commands_table())
        for name, text in tables.robot_pages():
            anchor = name.replace("_", "-")
            section = nodes.section(ids=[anchor], names=[anchor])
            self.state.document.note_explicit_target(section)
            section += nodes.title(name, name)
            section += self.parse_text_to_nodes(text)
            found.append(section)
        return found


# Docstrings are plain text, meant for an editor: what is indented stays as it is, and a name in
# single backticks is code. reStructuredText would read `|` and `_` in equations as markup.


LITERAL, DOCTEST = "::", ".. code-block:: pycon"


def plain_docstring(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Turn a plain-text docstring into reStructuredText, in place."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()  # a field of a NamedTuple that needs no comment
    text: list[str] = []
    block = ""
    for line in lines:
        if not line.strip():
            text.append("")
            block = "" if block == DOCTEST else block
            continue
        if block != DOCTEST:
            begins = DOCTEST if line.startswith(">>>") else LITERAL if line[:4] == "    " else ""
            text += ["", begins, ""] if begins != block else []
            block = begins
        text.append(f"    {line}" if block == DOCTEST else line if block else prose(line))
    lines[:] = text


def prose(line: str) -> str:
    """A line of text with its `names` as code and everything else as it stands."""
    parts = re.split(r"`([^`]+)`", line)
    for k, part in enumerate(parts):
        parts[k] = f"``{part}``" if k % 2 else re.sub(r"([*|_\\])", r"\\\1", part)
    return "".join(parts)


# Signatures as the sources write them, with the names of aliases. Python itself would spell out
# what `Components` stands for, in every line.


def source_signature(
    app: Sphinx,
    what: str,
    name: str,
    thing: object,
    options: object,
    signature: str | None,
    result: str | None,
) -> tuple[str | None, str | None] | None:
    ours = str(getattr(thing, "__module__", "")).startswith("triskele")
    if what not in ("function", "method") or not ours:
        return None
    source = inspect.getsource(inspect.unwrap(thing))
    node = ast.parse(textwrap.dedent(source)).body[0]
    parameters = node.args.posonlyargs or node.args.args
    if parameters and parameters[0].arg in ("self", "cls"):
        del parameters[0]
    return f"({ast.unparse(node.args)})", ast.unparse(node.returns).strip("'")


# Equations as MathML, which browsers draw themselves.


def mathml(tex: str, *, block: bool) -> str:
    r"""MathML of `tex`; the converter needs braces where TeX does not: \frac{1}{2}, not \frac12."""
    bare = re.search(r"\\([td]?frac|sqrt)(?![{\[])|[\^_]\d\d", tex)
    if bare:
        raise ValueError(f"write braces around the arguments of '{bare[0]}' in: {tex}")
    return tex2mathml(tex, as_block=block)


def inline_math(translator: nodes.NodeVisitor, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext(), block=False))
    raise nodes.SkipNode


def display_math(translator: nodes.NodeVisitor, node: nodes.math_block) -> None:
    number = node.get("number")
    label = f'<span class="eqno">({number})</span>' if number else ""
    formula = mathml(node.astext(), block=True)
    translator.body.append(f'<div class="math">{label}{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_directive("schema", Schema)
    app.add_directive("frames", Frames)
    app.add_directive("robots", Robots)
    app.add_html_math_renderer("mathml", (inline_math, None), (display_math, None))
    app.connect("autodoc-process-docstring", plain_docstring)
    app.connect("autodoc-process-signature", source_signature)
