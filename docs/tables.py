"""Tables of the documentation that are made from the package itself, so that they cannot rot."""

import inspect
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from triskele.description import limbs, schema
from triskele.description.catalogue import names
from triskele.description.load import load
from triskele.description.provenance import Fact, quantity_of

SHAPES = {
    "number": "one",
    "limbs": "one, or one per limb",
    "each": "one, or one per limb",
    "drives": "one, or one per drive",
    "range": "least and greatest",
    "ranges": "least and greatest, or such a pair per joint",
    "vector": "x, y, z",
    "inertia": "xx, yy, zz; or these and xy, yz, xz",
}


def sections() -> dict[str, type[BaseModel]]:
    """Every table that a robot file can hold, by the name of its class."""
    found = {**dict(inspect.getmembers(schema)), **dict(inspect.getmembers(limbs))}
    return {
        model.__name__: model
        for model in found.values()
        if inspect.isclass(model)
        and issubclass(model, schema.Section)
        and model is not schema.Section
    }


def schema_table(name: str) -> str:
    """Keys of the section that the class `name` describes, as a Markdown table."""
    model = sections()[name]
    rows = ["| key | meaning | unit | numbers | if left out |", "|---|---|---|---|---|"]
    for key, field in model.model_fields.items():
        if key == "source":
            continue
        quantity, table = quantity_of(field), _table(field)
        meaning = _comment(name, key)
        if quantity:
            unit, shape = quantity.units if quantity.unit else "1", SHAPES[quantity.shape]
            meaning = re.sub(rf" ?\[{re.escape(unit)}\]", "", meaning) or quantity.name
        elif table:
            unit, shape = "", "a table"
            meaning = meaning or (table.__doc__ or "").split("\n")[0].rstrip(".")
        else:
            unit, shape = "", "text"
            meaning = meaning or " or ".join(get_args(field.annotation))
        rows.append(f"| `{key}` | {_cell(meaning)} | {unit} | {shape} | {_default(field)} |")
    return "\n".join(rows) + "\n"


def _table(field: FieldInfo) -> type[BaseModel] | None:
    """The class of a key that holds a table, or a table of tables."""
    parts = (field.annotation, *get_args(field.annotation))
    return next((part for part in parts if part in sections().values()), None)


def _comment(owner: str, key: str) -> str:
    """The `#:` comment beside a field or on the line after it, also of a base class."""
    for model in sections()[owner].__mro__:
        if key in inspect.get_annotations(model):
            pattern = rf"^    {key}: [^\n]*?(?:\n\s*)?#: (.*)$"
            found = re.search(pattern, inspect.getsource(model), re.MULTILINE)
            return found[1] if found else ""
    return ""


def _default(field: FieldInfo) -> str:
    default = field.default
    if default is PydanticUndefined:
        return "**required**"
    if default in (None, {}, "") or isinstance(default, BaseModel):
        return ""
    if isinstance(default, tuple):
        return ", ".join(
            f"{value:g}" if isinstance(value, float) else str(value) for value in default
        )
    return f"{default:g}" if isinstance(default, float) else f"`{default}`"


def frames() -> str:
    """Origin and axes of each body's frame, from the docstrings of the schemas."""
    lines = f"{schema.__doc__}{limbs.__doc__}".splitlines()
    return inspect.cleandoc("\n".join(line for line in lines if line.startswith("    ")))


#: What a file must have, and the commands that it then serves.
NEEDS = {
    "geometry": ("show", "ik", "fk", "workspace", "motion"),
    "bodies": ("torques", "reactions", "simulate", "excite", "identify"),
    "limits of acceleration, jerk or torque": ("plan", "rate"),
    "links that bend": ("modes", "vibrate"),
    "rods that bend, rigid arms": ("sense", "encoders"),
    "flexures": ("modes",),
    "rods that are springs": ("modes",),
    "motors and control": ("bandwidth",),
}


def has(robot: schema.Robot) -> list[str]:
    """Which of NEEDS the file of a robot meets."""
    limits, drives = robot.limits, getattr(robot.motors, "drives", None)
    rod, arm = (getattr(robot.sections, part, None) for part in ("rod", "arm"))
    met = {
        "geometry": True,
        "bodies": robot.bodies is not None,
        "limits of acceleration, jerk or torque": robot.bodies is not None
        and any(
            (
                limits.joint_acceleration,
                limits.joint_jerk,
                limits.torque_rate,
                getattr(drives, "peak_torque", None),
            )
        ),
        "links that bend": rod is not None,
        "rods that bend, rigid arms": rod is not None and arm is None,
        "flexures": robot.flexures is not None,
        "rods that are springs": getattr(robot.sections, "rod_stiffness", None) is not None,
        "motors and control": robot.motors is not None and robot.control is not None,
    }
    return [need for need in NEEDS if met[need]]


def commands(robot: schema.Robot) -> list[str]:
    """The commands that work with a robot, in the order of NEEDS."""
    return list(dict.fromkeys(command for need in has(robot) for command in NEEDS[need]))


def studies(name: str) -> list[str]:
    """The published experiments that use a robot."""
    folder = files("triskele.studies")
    modules = [path for path in folder.iterdir() if path.name.endswith(".py")]
    sources = [path.read_text(encoding="utf-8") for path in modules]
    used = [source for source in sources if f'"{name}"' in source]
    found = (re.search(r'^NAME = "(\w+)"$', source, re.MULTILINE) for source in used)
    return sorted(match[1] for match in found if match)


def robots_table() -> str:
    """What each shipped robot is, in one line."""
    rows = ["| robot | kind | what it is | numbers | of these assumed |", "|---|---|---|---|---|"]
    for name in names():
        robot = load(name)
        count, assumed = len(robot.facts), len(robot.assumptions())
        link = f"[{name}](#{name.replace('_', '-')})"
        rows.append(f"| {link} | {robot.kind} | {_cell(robot.summary)} | {count} | {assumed} |")
    return "\n".join(rows) + "\n"


def commands_table() -> str:
    """What can be asked of each shipped robot, beyond positions, workspace and motions."""
    columns = {
        "torques": "torques, loads",
        "plan": "plans",
        "modes": "modes",
        "vibrate": "vibration",
        "sense": "sensors",
        "bandwidth": "closed loop",
    }
    rows = [f"| robot | {' | '.join(columns.values())} |", "|---" * (1 + len(columns)) + "|"]
    for name in names():
        taken = commands(load(name))
        cells = ("yes" if command in taken else "" for command in columns)
        rows.append(f"| {_cell(name)} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def robot_pages() -> Iterator[tuple[str, str]]:
    """Name, and in Markdown the numbers, sources and assumptions, of each shipped robot."""
    for name in names():
        robot = load(name)
        lines = [f"**{robot.title}.** {_cell(robot.summary)}", "", *_uses(name), "", "Sources:", ""]
        lines += [f"* {_cell(source)}" for source in _sources(robot.facts)]
        lines += ["", "| assumed | value | why |", "|---|---|---|"]
        for fact in robot.assumptions():
            reason = fact.reason.removeprefix("assumed:").strip()
            lines.append(f"| `{fact.key}` | {_cell(fact.text)} | {_cell(reason)} |")
        yield name, "\n".join(lines) + "\n"


def _uses(name: str) -> list[str]:
    """What the file of a robot has, which commands take it, and which studies use it."""
    robot = load(name)
    tables = dict.fromkeys(fact.key.split(".")[0] for fact in robot.facts)
    lines = [
        f"* In the file: {', '.join(tables)}.",
        f"* Commands: {', '.join(f'`{command}`' for command in commands(robot))}.",
    ]
    if robot.payloads:
        lines.append(f"* Payloads: {', '.join(f'`{payload}`' for payload in robot.payloads)}.")
    runs = [f"`triskele reproduce {study}`" for study in studies(name)]
    return [*lines, f"* Published experiments: {', '.join(runs) or 'none'}."]


def _sources(facts: tuple[Fact, ...]) -> list[str]:
    """What vouches for the numbers, each once, in the order of the file."""
    return list(dict.fromkeys(str(fact.source) for fact in facts if not fact.assumed))


def _cell(text: str) -> str:
    """`text` without what Markdown would take for markup."""
    for mark in "\\|*_[]<>":
        text = text.replace(mark, f"\\{mark}")
    return text
