"""The Delta with flexible links of Kuo (2016): frequencies, a circle, an inverted U.

Frequencies of the paper's Tables 2 and 3 stand beside those of the robot that it describes, by
`flexible`, and beside those of its own equations, read in three ways, by `kuo_assembly`. None gives
the tables. The response along the circle is the steady one with 5 % damping at 20 and 60 rad/s,
which the paper does not print; that along the inverted U is undamped, and starts at rest under the
robot's weight. Displacements of links at half length are those of the same response, in axes of the
rigid links.

Deviations are in the paper's frame, z down: (x, y, z) there is (x, -y, -z) here, and rotations
change as vectors do. A verdict follows from the paper's numbers as they are printed: ours is
reproduced if it differs by no more than half a unit of the last digit.

Reference: Y.-L. Kuo, Mathematical modeling and analysis of the Delta robot with flexible
links, 2016, section 5.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.axes3d import Axes3D

from triskele.description.load import load
from triskele.flexible.assembly import Damping
from triskele.flexible.modes import frequencies_at, modes, sag
from triskele.flexible.response import Response, steady, vibrate
from triskele.flexible.robot import FlexibleRobot, flexible
from triskele.kinematics.motion import Motion
from triskele.reports.figures import STYLE
from triskele.studies.kuo_assembly import Variant, frequencies
from triskele.studies.rigid_delta import ORDER, motions
from triskele.studies.study import Check, Exhibit, Finding, Progress, Study, Verdict

NAME = "flexible_delta"
_CAPTIONS = {
    "frequencies": (
        "Natural frequencies along the circle, as in the paper's figure 4; three limbs make them "
        "repeat every 120 deg."
    ),
    "circle": (
        "What the platform does beside its way along the circle, as in the paper's figures 6 and 7."
    ),
    "middles": (
        "Links at half length along the circle, as in the paper's figures 8 to 11: upper links "
        "drawn through, lower links dashed."
    ),
    "path": (
        "The inverted U as it is prescribed, as in the paper's figures 12 and 13; septic "
        "polynomials between 0, 0.2, 0.4, 0.6 and 0.8 s."
    ),
    "inverted_u": (
        "The same along the inverted U, as in the paper's figures 15 and 16; without damping the "
        "swing goes on."
    ),
}
PLACE = (0.1, 0.0, -0.5)  #: of Tables 2 and 3 [m]
CENTRE = (0.0, 0.0, -0.5)  #: of the circle [m]
DAMPING = Damping(1.5, 1.25e-3)  #: 5 % at 20 and 60 rad/s
READINGS: tuple[Variant, ...] = ("as printed", "as derived", "made consistent")
_RADIUS = 0.1  #: of the circle [m]
_STEP = 3  #: along it [deg]
_ALIKE = 1e-9  #: relative: frequencies closer than this are the same
_DOWN = np.array([[1.0, -1.0, -1.0]])  #: our axes in the paper's
_AXES = ("along x", "along y", "along z", "about x", "about y", "about z")
_UNITS = ("mm", "mm", "mm", "deg", "deg", "deg")
Series = Float[np.ndarray, " _"]


class Table(NamedTuple):
    """A row of Table 2 or 3, as it is printed."""

    number: int
    family: str
    elements: int
    unknowns: str
    frequencies: tuple[str, ...]  #: [rad/s]


def _table(number: int, family: str, elements: int, row: str) -> Table:
    unknowns, *values = row.split()
    return Table(number, family, elements, unknowns, tuple(values))


_LINEAR, _CUBIC = "linear/cubic", "cubic/quintic"
TABLES = (
    _table(2, _LINEAR, 1, "30 17.5268 22.6970 24.9179 45.5980 56.0472 59.3049 73.5428 74.5347"),
    _table(2, _LINEAR, 2, "66 17.5261 22.6893 24.9091 45.5159 55.9132 59.0846 73.2860 74.2730"),
    _table(2, _LINEAR, 3, "102 17.5260 22.6889 24.9086 45.5096 55.9047 59.0718 73.2643 74.2530"),
    _table(2, _LINEAR, 4, "138 17.5260 22.6888 24.9085 45.5084 55.9032 59.0696 73.2604 74.2494"),
    _table(2, _LINEAR, 5, "174 17.5260 22.6888 24.9085 45.5081 55.9028 59.0690 73.2594 74.2484"),
    _table(2, _LINEAR, 6, "210 17.5260 22.6888 24.9084 45.5080 55.9027 59.0687 73.2590 74.2481"),
    _table(2, _LINEAR, 7, "246 17.5260 22.6888 24.9084 45.5079 55.9026 59.0686 73.2588 74.2479"),
    _table(2, _LINEAR, 8, "282 17.5260 22.6888 24.9084 45.5079 55.9026 59.0686 73.2587 74.2479"),
    _table(3, _CUBIC, 1, "78 17.5260 22.6888 24.9084 45.5079 55.9025 59.0685 73.2586 74.2478"),
    _table(3, _CUBIC, 2, "138 17.5260 22.6888 24.9084 45.5079 55.9025 59.0685 73.2586 74.2477"),
    _table(3, _CUBIC, 3, "198 17.5260 22.6888 24.9084 45.5079 55.9025 59.0685 73.2586 74.2477"),
    _table(3, _CUBIC, 4, "258 17.5260 22.6888 24.9084 45.5079 55.9025 59.0685 73.2586 74.2477"),
)
# Section 6, "approximately": -+5 mm, 1.5 mm, -+0.5 and -+0.15 degrees.
_CIRCLE_LEAST = ("-5", "-5", None, "-0.5", "-0.5", "-0.15")
_CIRCLE_GREATEST = ("5", "5", "1.5", "0.5", "0.5", "0.15")
# Section 5.4
_U_LARGEST = ("-13.05", "3.520", "-8.691", "0.1479", "0.5075", "0.01672")
_U_FINAL = ("-1.228", "-0.1862", "1.197", "0.06473", "0.4491", "0.008246")

_WEIGHTLESS = "at the centre, links without weight"
_OTHER_MAP = (
    "the paper's equations for elbow and wrist are not kinematically consistent, and no reading of "
    "them gives its tables; modes 2 and 3 of the robot that it describes are within 1 % of them"
)
_SLAVED = (
    "the paper slaves all rotations of a wrist to the platform; a universal joint leaves the "
    "slopes of the rod free"
)
_NO_READING = "the paper's equations, read in this way, do not give its Table 2"
_ONLY_CURVES = "the paper shows it as a curve only (figure 4)"
_NOT_STATED = "the paper does not state it"
_ON_THE_CIRCLE = (
    "the paper's assembly is another one, see Table 2, and its damping is not printed; along z the "
    "weight of the platform alone lowers the robot ten times as much as the paper says"
)
_ON_THE_U = (
    "the paper's assembly is another one, see Table 2, and its damping is not printed; its numbers "
    "do not fit its own frequencies either: along z, even without swinging, a mass on a spring of "
    "the lowest one is deflected by three times as much as the paper says"
)


_TESTS = "tests/published/test_flexible_delta.py::"
_DRAWING = "drawing without data"
_CURVE = "the paper shows curves without values (figures 8 to 11)"
_TWISTED = (
    "the paper shows curves without values, and says that upper links turn more than lower ones; "
    "its rods are not twisted at the elbow, those of the robot are turned by their universal joints"
)
_GIVEN = "the motion is prescribed"
_MIDDLES = {
    "axial displacement": "mm",
    "torsional angle": "deg",
    "displacement along y": "mm",
    "displacement along z": "mm",
}  #: figures 8 to 11, and units
CHECKS = {
    "unknowns": Check("count", "exact", _TESTS + "test_frequencies_of_cubic_elements"),
    "frequencies": Check(
        "Exudyn",
        "0.5 %",
        "tests/oracles/test_flexible_exudyn.py::test_frequencies_of_the_flexible_delta",
    ),
    "readings": Check(
        "second program",
        "1e-4 rad/s",
        "tests/published/test_kuo_assembly.py::test_frequencies_with_one_element_per_link",
    ),
    "period": Check(
        "symmetry", "1e-9", _TESTS + "test_frequencies_repeat_every_third_of_the_circle"
    ),
    "sag": Check("second program", "1e-3 mm", _TESTS + "test_sag_under_its_own_weight"),
    "sag of the platform": Check(
        "second program", "0.01 mm", _TESTS + "test_sag_of_the_platform_alone"
    ),
    "circle": Check("second program", "1 %", _TESTS + "test_fifth_turn_of_the_circle"),
    "circle, about z": Check(
        "second program", "1e-3 deg", _TESTS + "test_fifth_turn_of_the_circle"
    ),
    "phase": Check("symmetry", "0.1 %", _TESTS + "test_limbs_do_the_same_a_third_of_a_turn_later"),
    "middles": Check(
        "Exudyn", "0.2 %", "tests/oracles/test_flexible_exudyn.py::test_links_at_half_length"
    ),
    "inverted U": Check("second program", "1 %", _TESTS + "test_deviations_along_the_inverted_u"),
    "spring": Check("closed form", "1e-3 mm", _TESTS + "test_peak_acceleration_by_hand"),
}
EXHIBITS = (
    Exhibit("Table 1", "parameters of the robot", why="data of the robot file flexible_delta"),
    Exhibit("Table 2", "frequencies, linear and cubic elements", ("Table 2",)),
    Exhibit("Table 3", "frequencies, cubic and quintic elements", ("Table 3",)),
    Exhibit("Figure 1", "the robot", why=_DRAWING),
    Exhibit("Figure 2", "one limb", why=_DRAWING),
    Exhibit("Figure 3", "a beam element", why=_DRAWING),
    Exhibit("Figure 4", "frequencies along the circle", ("circle: ",), "frequencies"),
    Exhibit("Figure 6", "position along the circle", ("circle: least",), "circle"),
    Exhibit("Figure 7", "attitude along the circle", ("circle: least",), "circle"),
    *(
        Exhibit(
            f"Figure {k}", f"{name} of the links, half length", (f"{name} ",), "middles", _CURVE
        )
        for k, name in zip((8, 9, 10, 11), _MIDDLES, strict=True)
    ),
    Exhibit("Figure 12", "position, speed and acceleration", figure="path", why=_GIVEN),
    Exhibit("Figure 13", "path of the inverted U", figure="path", why=_GIVEN),
    Exhibit("Figure 15", "position along the inverted U", ("inverted U: largest",), "inverted_u"),
    Exhibit("Figure 16", "attitude along the inverted U", ("inverted U: largest",), "inverted_u"),
)


class Computed(NamedTuple):
    """All that the study computes."""

    tables: Mapping[Table, tuple[int, Series]]  #: unknowns, and frequencies [rad/s]
    readings: Mapping[str, Series]  #: of the paper's equations, one element per link
    angles: Series  #: along the circle [deg]
    around: Float[np.ndarray, "N 8"]  #: frequencies there [rad/s]
    sags: Mapping[str, Float[np.ndarray, "6"]]  #: paper's frame [mm, deg]
    circle: Response
    inverted_u: Response


def computed(progress: Progress | None = None) -> Computed:
    """Frequencies, sags and responses of the robot of the paper."""
    report = progress or (lambda _: None)
    description = load("flexible_delta")
    tables = {}
    for k, row in enumerate(TABLES, 1):
        robot = flexible(description, elements=row.elements, family=row.family)
        tables[row] = robot.unknowns, np.asarray(modes(robot, PLACE).frequencies)
        report(0.6 * k / len(TABLES))
    robot = flexible(description)
    angles = np.arange(0.0, 360.0, _STEP)
    sags = {
        "at the centre of the circle": _sag(robot, CENTRE),
        "at (0.1, 0, 0.5) m": _sag(robot, PLACE),
        _WEIGHTLESS: _sag(_weightless(robot), CENTRE),
    }
    around = frequencies_at(robot, _on_circle(angles))
    report(0.7)
    given = motions()
    circle = steady(robot, given["circle"], damping=DAMPING)
    report(0.85)
    away = vibrate(robot, given["inverted U"])
    report(1.0)
    readings = {variant: frequencies(variant) for variant in READINGS}
    return Computed(tables, readings, angles, around, sags, circle, away)


def deviations(response: Response) -> Float[np.ndarray, "N 6"]:
    """Displacements [mm] and rotations [deg] of the platform, in the paper's frame."""
    return np.hstack([1e3 * response.position * _DOWN, np.degrees(response.rotation) * _DOWN])


def largest(values: Float[np.ndarray, "N k"]) -> Float[np.ndarray, " k"]:
    """Of each column the value farthest from zero, with its sign."""
    return values[np.abs(values).argmax(axis=0), np.arange(values.shape[1])]


def period(angles: Series, around: Float[np.ndarray, "N k"]) -> float:
    """After which angle [deg] all frequencies repeat; `angles` are evenly around the circle."""
    for k in range(1, len(angles)):
        if np.abs(np.roll(around, -k, axis=0) / around - 1).max() < _ALIKE:
            return float(angles[k] - angles[0])
    return 360.0


def run(progress: Progress | None = None) -> Study:
    """Every number that the paper prints of its flexible robot, and ours."""
    found = computed(progress)
    findings = (
        *_frequencies(found),
        *_around(found),
        *_sags(found),
        *_along_the_circle(found.circle),
        *_at_half_length(found.circle),
        *_along_the_u(found.inverted_u),
    )
    figures = {
        "frequencies": _frequency_figure(found),
        "circle": _deviation_figure(found.circle, "circle, steady, 5 % damping"),
        "middles": _middles_figure(found.circle),
        "inverted_u": _deviation_figure(found.inverted_u, "inverted U, undamped"),
        "path": _path_figure(found.inverted_u.motion),
    }
    return Study(NAME, findings, figures, _CAPTIONS, ("flexible_delta",), EXHIBITS)


# Findings


def verdict(paper: str | None, ours: float) -> Verdict:
    """Whether `ours` is what is printed, within half a unit of its last digit.

    >>> verdict("3.520", 3.5204), verdict("3.520", 3.5206), verdict(None, 3.52)
    ('reproduced', 'differs', 'not comparable')
    """
    if paper is None:
        return "not comparable"
    last = int(Decimal(paper).as_tuple().exponent)
    agrees = abs(ours - float(paper)) <= 0.5 * 10.0**last * (1 + 1e-9)
    return "reproduced" if agrees else "differs"


def _finding(
    quantity: str, unit: str, paper: str | None, ours: float, check: Check, reason: str
) -> Finding:
    found = verdict(paper, ours)
    given = {"reproduced": "", "differs": reason, "not comparable": reason or _NOT_STATED}[found]
    value = None if paper is None else float(paper)
    return Finding(NAME, quantity, unit, value, float(ours), found, check, given)


def _frequencies(found: Computed) -> list[Finding]:
    """Tables 2 and 3."""
    rows = []
    for table, (unknowns, w) in found.tables.items():
        place = f"Table {table.number}, n = {table.elements}"
        what = f"{place}: degrees of freedom"
        rows.append(_finding(what, "", table.unknowns, unknowns, CHECKS["unknowns"], _SLAVED))
        rows += _spectrum(place, table, w, CHECKS["frequencies"], _OTHER_MAP)
    for variant, w in found.readings.items():
        place = f"Table 2, n = 1, equations {variant}"
        rows += _spectrum(place, TABLES[0], w, CHECKS["readings"], _NO_READING)
    return rows


def _spectrum(place: str, table: Table, w: Series, check: Check, reason: str) -> list[Finding]:
    pairs = zip(table.frequencies, w, strict=True)
    return [
        _finding(f"{place}: frequency {k}", "rad/s", paper, ours, check, reason)
        for k, (paper, ours) in enumerate(pairs, 1)
    ]


def _around(found: Computed) -> list[Finding]:
    """Figure 4."""
    w1 = found.around[:, 0]
    least, greatest = float(w1.min()), float(w1.max())
    repeats = period(found.angles, found.around)
    ends, angle = CHECKS["frequencies"], "circle: angle after which all frequencies repeat"
    return [
        _finding("circle: least frequency 1", "rad/s", None, least, ends, _ONLY_CURVES),
        _finding("circle: greatest frequency 1", "rad/s", None, greatest, ends, _ONLY_CURVES),
        _finding(angle, "deg", "120", repeats, CHECKS["period"], ""),
    ]


def _sags(found: Computed) -> list[Finding]:
    check = {_WEIGHTLESS: CHECKS["sag of the platform"]}
    return [
        _finding(
            f"sag {place}: {_AXES[k]}",
            _UNITS[k],
            None,
            value[k],
            check.get(place, CHECKS["sag"]),
            "",
        )
        for place, value in found.sags.items()
        for k in (0, 2, 4)
        if abs(value[k]) > 1e-9
    ]


def _along_the_circle(response: Response) -> list[Finding]:
    """Section 5.3."""
    moved = deviations(response)
    ends = {"least": _CIRCLE_LEAST, "greatest": _CIRCLE_GREATEST}
    values = {"least": moved.min(axis=0), "greatest": moved.max(axis=0)}
    return _six("circle", ends, values, _ON_THE_CIRCLE)


def sections(response: Response) -> Float[np.ndarray, "4 N links"]:
    """Displacements [mm] and angles [deg] at half length, in the order of the paper's figures.

    Turned about x, our frame is the paper's: y and z of the links change their signs, x does not.
    """
    half = response.middles()
    u, v, w = 1e3 * np.moveaxis(half.displacement, 2, 0)
    return np.stack([u, np.degrees(half.twist), -v, -w])


def _at_half_length(response: Response) -> list[Finding]:
    """Figures 8 to 11: largest values, and the shift from limb to limb."""
    found = sections(response)
    rows = [
        _finding(
            f"{name} at half length, {links} links: largest",
            unit,
            None,
            np.abs(values[:, part]).max(),
            CHECKS["middles"],
            _TWISTED if name.startswith("torsional") else _CURVE,
        )
        for (name, unit), values in zip(_MIDDLES.items(), found, strict=True)
        for links, part in (("upper", slice(0, 3)), ("lower", slice(3, 6)))
    ]
    return [*rows, _shift(found)]


def _shift(found: Float[np.ndarray, "4 N links"]) -> Finding:
    """By which angle of the circle the upper links follow one another: figure 11."""
    first, second = found[3, :-1, 0], found[3, :-1, 1]
    gaps = [np.abs(np.roll(first, k) - second).max() for k in range(len(first))]
    k = int(np.argmin(gaps))
    angle = 360.0 * min(k, len(first) - k) / len(first)
    what = "displacement along z: angle between the responses of two limbs"
    return _finding(what, "deg", "120", angle, CHECKS["phase"], "")


def _along_the_u(response: Response) -> list[Finding]:
    """Section 5.4."""
    moved = deviations(response)
    ends = {"largest": _U_LARGEST, "final": _U_FINAL}
    rows = _six("inverted U", ends, {"largest": largest(moved), "final": moved[-1]}, _ON_THE_U)
    acceleration = float(np.abs(np.asarray(response.motion.xdd)[:, 2]).max())
    spring = 1e3 * acceleration / float(TABLES[-1].frequencies[0]) ** 2
    what = "inverted U: peak acceleration along z over the square of the paper's frequency 1"
    return [*rows, _finding(what, "mm", None, spring, CHECKS["spring"], "")]


def _six(
    name: str,
    papers: Mapping[str, Sequence[str | None]],
    ours: Mapping[str, Series],
    reason: str,
) -> list[Finding]:
    return [
        _finding(
            f"{name}: {end} deviation {axis}",
            unit,
            paper,
            value,
            CHECKS.get(f"{name}, {axis}", CHECKS[name]),
            reason if paper else "",
        )
        for end, printed in papers.items()
        for axis, unit, paper, value in zip(_AXES, _UNITS, printed, ours[end], strict=True)
    ]


def _on_circle(angles: Series) -> Float[np.ndarray, "N 3"]:
    """Our poses [m] at angles of the paper."""
    turned = np.radians(angles)
    outwards = np.stack([np.cos(turned), -np.sin(turned), 0 * turned], axis=1)
    return np.array([CENTRE]) + _RADIUS * outwards


def _sag(robot: FlexibleRobot, x: tuple[float, float, float]) -> Float[np.ndarray, "6"]:
    found = sag(robot, x)
    position, rotation = np.asarray(found.position), np.asarray(found.rotation)
    return np.concatenate([1e3 * position * _DOWN[0], np.degrees(rotation) * _DOWN[0]])


def _weightless(robot: FlexibleRobot) -> FlexibleRobot:
    """The robot with links that weigh nothing, for its sag."""
    return eqx.tree_at(
        lambda r: (r.arm_beam.mass, r.rod_beam.mass), robot, (jnp.zeros(()), jnp.zeros(()))
    )


# Figures


def _frequency_figure(found: Computed) -> Figure:
    """Figure 4 of the paper."""
    angles = np.append(found.angles, 360.0)
    w = np.vstack([found.around, found.around[:1]])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 5), layout="constrained")
        panels = figure.subplots(2, 4, sharex=True)
        for k, axes in enumerate(panels.flat):
            axes.plot(angles, w[:, k], color="C0")
            axes.set(title=f"mode {k + 1}", xticks=np.arange(0, 361, 120))
            axes.ticklabel_format(axis="y", useOffset=False)
        for axes in panels[:, 0]:
            axes.set_ylabel("natural frequency [rad/s]")
        for axes in panels[1]:
            axes.set_xlabel("angle on the circle [deg]")
    return figure


def _deviation_figure(response: Response, title: str) -> Figure:
    """Figures 6 and 7, or 15 and 16, of the paper."""
    moved = deviations(response)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4), layout="constrained")
        figure.suptitle(f"{title}; z down", fontsize=11)
        labels = ("deviation of the platform [mm]", "its rotation [deg]")
        for half, (axes, label) in enumerate(zip(figure.subplots(1, 2), labels, strict=True)):
            for k in range(3 * half, 3 * half + 3):
                axes.plot(response.t, moved[:, k], color=f"C{k % 3}", label=_AXES[k])
            axes.set(xlabel="t [s]", ylabel=label)
            axes.legend(fontsize=8)
    return figure


def _middles_figure(response: Response) -> Figure:
    """Figures 8 to 11 of the paper."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 6.5), layout="constrained")
        figure.suptitle("links at half length, circle, steady, 5 % damping", fontsize=11)
        panels = figure.subplots(2, 2, sharex=True)
        for axes, (name, unit), values in zip(
            panels.flat, _MIDDLES.items(), sections(response), strict=True
        ):
            for k, limb in enumerate(ORDER):
                axes.plot(response.t, values[:, limb], color=f"C{k}", label=f"upper {k + 1}")
                axes.plot(
                    response.t, values[:, 3 + limb], "--", color=f"C{k}", label=f"lower {k + 1}"
                )
            axes.set(ylabel=f"{name} [{unit}]")
        for axes in panels[1]:
            axes.set_xlabel("t [s]")
        panels[0, 1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _path_figure(motion: Motion) -> Figure:
    """Figures 12 and 13 of the paper."""
    orders = {
        "position [m]": motion.x,
        "velocity [m/s]": motion.xd,
        "acceleration [m/s$^2$]": motion.xdd,
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 6.5), layout="constrained")
        figure.suptitle("inverted U; z down", fontsize=11)
        grid = figure.add_gridspec(3, 2, width_ratios=(1.3, 1))
        for row, (label, values) in enumerate(orders.items()):
            axes = figure.add_subplot(grid[row, 0])
            for k, axis in enumerate("xyz"):
                axes.plot(motion.t, (np.asarray(values) * _DOWN)[:, k], color=f"C{k}", label=axis)
            axes.set(xlabel="t [s]", ylabel=label)
            axes.legend(fontsize=8, ncols=3)
        space = figure.add_subplot(grid[:, 1], projection="3d")
        assert isinstance(space, Axes3D)
        space.plot(*(np.asarray(motion.x) * _DOWN).T)
        space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
        space.invert_zaxis()
        space.locator_params(nbins=4)
        space.set_box_aspect(None, zoom=0.85)  # pyright: ignore[reportArgumentType]
    return figure
