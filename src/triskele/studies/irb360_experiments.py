"""Three experiments of Gnad et al. on the IRB 360, on logs of the robot of the file.

* Friction of axis 4 from constant speeds (section 6.3.1): to and fro at eleven speeds up to 3000
  deg/s, with the published law and white noise of the published error of that axis; the paper does
  not print its speeds.
* Forces of the rods without load along a verification motion (section 6.4): the one that
  `irb360_identification` holds out; that of the paper is not public.
* A rod with a force sensor (section 6.5), straight up and down with 5 kg: the paper prints neither
  stroke nor speed; 0.2 m at 2 Hz is assumed.
"""

from typing import NamedTuple

import equinox as eqx
import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from triskele.description.load import load
from triskele.description.tables import Table
from triskele.dynamics.robot import rigid
from triskele.dynamics.rod_loads import rod_loads
from triskele.identification.friction_curve import FrictionCurve, friction_curve
from triskele.identification.measured_rods import MeasuredRods, measured_rods, with_sensors
from triskele.identification.synthetic import synthetic_log
from triskele.kinematics.build import build
from triskele.kinematics.cycles import joint_motion_along, joint_strokes
from triskele.kinematics.motion import Motion, sine
from triskele.numerics import tabulate
from triskele.reports.figures import STYLE, legend_outside
from triskele.studies.reduced_loads import reduced_loads

ROBOT = "abb_irb360_6_1600"
RODS = ("1a", "1b", "2a", "2b", "3a", "3b")
_NOISE = (1.5, 1.5, 1.6, 0.17)  #: [N m], the published errors
_SPEEDS = np.radians([50, 100, 200, 400, 600, 800, 1067, 1500, 2000, 2500, 3000])
_STROKE = 30.0  #: [rad]
_SENSOR = "rod_1a"
Series = Float[np.ndarray, "N 6"]


def axis_4_log() -> Table:
    """What axis 4 would log to and fro at each speed, without noise."""
    robot = load(ROBOT)
    motion = joint_strokes(
        build(robot), 3, _SPEEDS.tolist(), stroke=_STROKE, acceleration=200.0, rate=250.0
    )
    return synthetic_log(robot, motion)


def axis_4_friction(clean: Table, seed: int = 0) -> FrictionCurve:
    """The curve of axis 4 and the law that fits it, with noise on the log `clean`."""
    random = np.random.default_rng(seed)
    columns = {name: (clean[name].unit, clean[name].values) for name in clean.names}
    for k, size in enumerate(_NOISE, 1):
        unit, tau = columns[f"tau{k}"]
        columns[f"tau{k}"] = (unit, tau + size * random.normal(size=len(tau)))
    return friction_curve(load(ROBOT), [Table(columns, "axis 4")], drives=[4])


def unloaded_rods(motion: Motion) -> Series:
    """Tension of each rod at the platform along `motion`, nothing on the flange [N]."""
    found = tabulate(eqx.Partial(rod_loads, rigid(load(ROBOT))))(*_states(motion))
    return np.stack(found.lower, axis=-1)


class Lift(NamedTuple):
    """Straight up and down with a sensor in one rod."""

    compared: MeasuredRods  #: measured: by the closed form; computed: by the balance of all bodies
    light: Float[np.ndarray, " N"]  #: the same force, if the rod with the sensor weighed the usual
    reduced: float  #: largest error of the paper's load model in any rod [N]


def lift() -> Lift:
    """The force at the upper end of the first rod, with 5 kg."""
    robot, load_name = load(ROBOT), "heavy_plate"
    mechanism, plain = build(robot), rigid(robot, load_name)
    assert robot.weighed is not None
    assert robot.weighed.measuring_rod is not None
    heavy = with_sensors(plain, {_SENSOR}, robot.weighed.measuring_rod)
    motion = sine(
        *([0.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.1, 0.0]),
        frequency=2.0,
        duration=1.5,
        rate=2000.0,
        coordinates=mechanism.platform_coordinates,
    )
    states = _states(motion)
    measured, usual = (
        tabulate(eqx.Partial(rod_loads, model))(*states).upper[0] for model in (heavy, plain)
    )
    still = rigid(robot, load_name, friction=False)
    models = [tabulate(eqx.Partial(law, still))(*states) for law in (rod_loads, reduced_loads)]
    exact, short = (np.stack((*each.lower, *each.upper)) for each in models)
    q = np.asarray(joint_motion_along(mechanism, motion).q)
    columns = {"t": ("s", np.asarray(motion.t))}
    columns |= {f"q{k + 1}": ("rad", q[:, k]) for k in range(4)}
    columns[f"{_SENSOR}_upper"] = ("N", np.asarray(measured))
    found = measured_rods(robot, Table(columns, "lift"), payload=load_name)
    inside = np.isin(np.asarray(motion.t), found.t)
    return Lift(found, np.asarray(usual)[inside], float(np.abs(exact - short).max()))


def _states(motion: Motion) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(part) for part in (motion.x, motion.xd, motion.xdd))


def rods_figure(motion: Motion, unloaded: Series, lifted: Lift) -> Figure:
    """Forces of the rods without load, and in the rod with a sensor: Figures 11 and 13."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 6), layout="constrained")
        above, below = figure.subplots(2, 1)
        for name, force in zip(RODS, unloaded.T, strict=True):
            above.plot(np.asarray(motion.t), force, lw=0.9, label=f"rod {name}")
        above.set(xlabel="t [s]", ylabel="tension at the platform,\nwithout load [N]")
        (rod,) = lifted.compared.rods
        t = lifted.compared.t
        below.plot(t, rod.computed, color="#1d4ed8", label="with the sensor, 340 g")
        below.plot(t, lifted.light, color="#ea580c", ls="--", label="a rod as the others")
        below.set(xlabel="t [s]", ylabel="tension of rod 1a at\nits upper end, 5 kg [N]")
        for place in (above, below):
            legend_outside(place)
    return figure
