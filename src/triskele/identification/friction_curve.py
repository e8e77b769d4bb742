"""The friction curve of each drive from moves at constant speed, and the law that fits it.

Over the speeds w of a drive (`constant_speed.py`), with friction f and its standard error s,

    min sum_w ((f - law(w)) / s)^2,     no coefficient negative                         (1)

for the shapes of `laws/friction.py`, each a part of

    law(w) = (C + S exp(-(w / w_S)^2)) tanh(w / w_0) + v w + A tanh(w / w_A)            (2)

They are linear but for w_S or w_A, which are searched. With k coefficients, P speeds and c >= 1 the
least chi^2 / (P - k) of all shapes, a shape with more coefficients is taken only if

    chi^2 / c + k ln P                                                                  (3)

falls by 6 at least: strong evidence (Schwarz's criterion, in the words of Kass and Raftery).
Intervals are of 95 %, by Student's t with the K - 1 of the bins behind the errors; those of a law
that misses its points by more than their errors are widened by what it misses them by.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.description.tables import Table
from triskele.dynamics.inverse import inverse_dynamics
from triskele.dynamics.robot import RigidRobot, rigid
from triskele.errors import InputError, TableError
from triskele.identification.constant_speed import (
    LEAST_STRETCH,
    DriveLog,
    SpeedPoint,
    Stretches,
    levels,
    speed_point,
    stretches,
)
from triskele.identification.regressor import smoothing_speeds
from triskele.identification.signals import joint_samples, samples
from triskele.kinematics.build import build
from triskele.kinematics.fit import friction_of
from triskele.kinematics.mechanism import AbstractMechanism, Coordinate
from triskele.laws.friction import FrictionLaw
from triskele.numerics import tabulate

Vector = Float[np.ndarray, " P"]
Matrix = Float[np.ndarray, "P k"]
_STRONG = 6.0  #: fall of (3) that more coefficients must bring
_DOUBT = 0.05  #: chance of a chi^2, below which a law misses its points
_GRID = 30  #: values of w_S or w_A that are tried
_SIGNIFICANT = 4.0  #: standard errors
_SMOOTHING = 0.01  #: w_0 of a robot without friction [rad/s, m/s]
_UNEVEN = 0.05  #: of the friction, that an even part has at least to be told


class Coefficient(NamedTuple):
    """A number of a law of friction, named as in a robot file."""

    name: str
    unit: str
    value: float
    half_interval: float | None  #: of 95 %; None where the speeds do not tell


class FrictionFit(NamedTuple):
    """A shape of (2) and how it fits."""

    shape: str
    coefficients: tuple[Coefficient, ...]
    chi_squared: float
    freedom: int  #: speeds less coefficients
    criterion: float  #: (3)
    law: FrictionLaw


class DriveFriction(NamedTuple):
    """The curve of one drive."""

    drive: int  #: from 1
    joint: str
    unit: str  #: of the effort
    speed_unit: str
    points: tuple[SpeedPoint, ...]
    fits: tuple[FrictionFit, ...]  #: all shapes tried, those with fewest coefficients first
    best: FrictionFit | None  #: None: too few speeds
    section: str  #: of the robot file that states this drive's friction
    notes: tuple[str, ...]


class FrictionCurve(NamedTuple):
    """Friction against speed, drive by drive."""

    robot: Robot
    modelled: bool  #: whether the model took the load away, besides both directions
    drives: tuple[DriveFriction, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(note for drive in self.drives for note in drive.notes)

    def to_table(self) -> Table:
        """Columns drive, speed, friction, error, deviation, forward, backward, fitted, samples.

        NaN never stands there: where a drive went one way alone, the other column has its negative.
        """
        units = {(drive.speed_unit, drive.unit) for drive in self.drives}
        if len(units) > 1:
            raise InputError("A table has one unit in a column: choose drives that are alike.")
        ((speed, effort),) = units
        rows = [(drive, point) for drive in self.drives for point in drive.points]
        both = [_ends(point) for _, point in rows]
        fitted = [
            p.friction if d.best is None else float(np.asarray(d.best.law.effort(p.speed)))
            for d, p in rows
        ]
        columns = {
            "drive": ("1", [float(d.drive) for d, _ in rows]),
            "speed": (speed, [p.speed for _, p in rows]),
            "friction": (effort, [p.friction for _, p in rows]),
            "error": (effort, [p.error for _, p in rows]),
            "deviation": (effort, [p.deviation for _, p in rows]),
            "forward": (effort, [ends[0] for ends in both]),
            "backward": (effort, [ends[1] for ends in both]),
            "fitted": (effort, fitted),
            "both": ("1", [float(p.both) for _, p in rows]),
            "samples": ("1", [float(p.samples) for _, p in rows]),
        }
        return Table({name: (unit, np.array(v)) for name, (unit, v) in columns.items()}, "friction")

    def to_dict(self) -> dict:
        """All of it, as JSON has it."""
        drives = [
            {
                "drive": d.drive,
                "joint": d.joint,
                "unit": d.unit,
                "speed_unit": d.speed_unit,
                "section": d.section,
                "shape": None if d.best is None else d.best.shape,
                "coefficients": []
                if d.best is None
                else [c._asdict() for c in d.best.coefficients],
                "points": [p._asdict() | {"both": p.both} for p in d.points],
                "shapes": [
                    {
                        "shape": f.shape,
                        "chi_squared": f.chi_squared,
                        "freedom": f.freedom,
                        "criterion": f.criterion,
                    }
                    for f in d.fits
                ],
                "notes": list(d.notes),
            }
            for d in self.drives
        ]
        return {"robot": self.robot.name, "modelled": self.modelled, "drives": drives}


def _ends(point: SpeedPoint) -> tuple[float, float]:
    """Efforts to and fro."""
    forward = point.friction if point.forward is None else point.forward
    backward = -point.friction if point.backward is None else point.backward
    return forward, backward


def friction_curve(
    robot: Robot,
    logs: Sequence[Table],
    *,
    payload: Payload | str | None = None,
    model: bool | None = None,
    drives: Sequence[int] = (),
    window: int | None = None,
    least: float = LEAST_STRETCH,
) -> FrictionCurve:
    """Friction against speed from `logs` in which drives move at constant speeds, to and fro.

    The `model` of the robot takes the load away; a robot without bodies, or `model=False`, leaves
    it to both directions alone. `drives` count from 1; usually all that move are taken. Stretches
    last `least` [s].
    """
    if not logs:
        raise InputError("A friction curve needs a log at least.")
    if not least > 0:
        raise InputError(f"Stretches of {least:g} s have no samples; give a positive time.")
    mechanism = build(robot)
    joints = mechanism.joint_coordinates
    wrong = [k for k in drives if not 1 <= k <= len(joints)]
    if wrong:
        raise InputError(f"There is no drive {wrong[0]}; {robot.name} has 1 to {len(joints)}.")
    modelled = robot.bodies is not None if model is None else model
    carrying = rigid(robot, payload, mechanism=mechanism) if modelled else None
    read = [_drive_logs(robot, mechanism, carrying, table, window) for table in logs]
    smoothing = np.full(len(joints), _SMOOTHING)
    if carrying is not None:
        smoothing = smoothing_speeds(carrying)
    found = []
    for k in sorted(set(drives)) or range(1, len(joints) + 1):
        own = [stretches(log[k - 1], least) for log in read]
        curve = _curve(robot, joints, k, own, float(smoothing[k - 1]), least, modelled=modelled)
        if curve.points or curve.notes or drives:
            found.append(curve)
    if not any(curve.points for curve in found):
        names = ", ".join(table.place for table in logs)
        reasons = " ".join(note for curve in found for note in curve.notes)
        raise TableError(
            f"{names}: no drive has moves at constant speed that tell its friction: record some, "
            f"to and fro over the same way, each of {least:g} s at least. {reasons}".rstrip()
        )
    return FrictionCurve(robot, modelled, tuple(found))


def _drive_logs(
    robot: Robot,
    mechanism: AbstractMechanism,
    model: RigidRobot | None,
    table: Table,
    window: int | None,
) -> list[DriveLog]:
    """A log as each drive has it, the load taken away if there is a model."""
    if model is None:
        seen = joint_samples(robot, mechanism, table, window=window)
        rest = seen.tau
    else:
        seen = samples(robot, model, table, window=window, trusted=True)
        nothing = (None,) * len(model.drive_friction)
        free = eqx.tree_at(
            lambda r: r.drive_friction, model, nothing, is_leaf=lambda leaf: leaf is None
        )
        load = tabulate(eqx.Partial(inverse_dynamics, free))(seen.x, seen.xd, seen.xdd)
        rest = seen.tau - np.stack(load, axis=-1)
    n = seen.q.shape[1]
    return [
        DriveLog(seen.t, seen.q[:, k], seen.qd[:, k], np.delete(seen.q, k, axis=1), rest[:, k])
        for k in range(n)
    ]


def _curve(
    robot: Robot,
    joints: Sequence[Coordinate],
    drive: int,
    seen: Sequence[Stretches],
    smoothing: float,
    least: float,
    *,
    modelled: bool,
) -> DriveFriction:
    """The curve of one drive."""
    joint = joints[drive - 1]
    effort = "N m" if joint.unit == "rad" else "N"
    unit, notes, points = f"{joint.unit}/s", list(_left_out(drive, seen, least, joint)), []
    for level in levels([stretch for part in seen for stretch in part.found]):
        point = speed_point(level, modelled=modelled)
        speed = float(np.mean([abs(s.speed) for s in level]))
        if isinstance(point, str):
            notes.append(f"Drive {drive}, {speed:.3g} {unit}, is left out: {point}.")
            continue
        points.append(point)
        if not point.both:
            notes.append(
                f"Drive {drive}, {speed:.3g} {unit}: one direction only; shown by the model alone, "
                "and not fitted."
            )
    fitted = [point for point in points if point.both]
    _check_sign(drive, fitted)
    notes += _uneven(drive, fitted, effort) if modelled else ()
    fits = fit_friction(fitted, smoothing, joint.unit) if len(fitted) > 1 else ()
    best = chosen(fits) if fits else None
    if points and best is None:
        notes.append(
            f"Drive {drive}: {len(fitted)} speed{'s' * (len(fitted) != 1)} to and fro do not tell "
            "a law of friction; record four at least."
        )
    elif best is not None and best.freedom == 0:
        notes.append(f"Drive {drive}: as many coefficients as speeds: nothing tests the law.")
    elif best is not None and _misses(best):
        notes.append(
            f"Drive {drive}: points scatter about the law more than their errors say (chi^2 "
            f"{best.chi_squared:.3g} for {best.freedom}); intervals are widened for it."
        )
    section = friction_of(robot.friction, joint)[0]
    return DriveFriction(
        *(drive, joint.name, effort, unit, tuple(points), fits, best, section), notes=tuple(notes)
    )


def _left_out(
    drive: int, seen: Sequence[Stretches], least: float, joint: Coordinate
) -> Iterator[str]:
    """Sentences on stretches that tell nothing."""
    short = sum(part.short for part in seen)
    drifting = [ends for part in seen for ends in part.drifting]
    if short:
        one = "stretch is" if short == 1 else "stretches are"
        yield f"Drive {drive}: {short} {one} shorter than {least:g} s, and left out."
    if drifting:
        first, last = max(drifting, key=lambda ends: abs(ends[1] - ends[0]))
        one = "stretch is" if len(drifting) == 1 else "stretches are"
        yield (
            f"Drive {drive}: {len(drifting)} {one} not of constant speed, and left out; the worst "
            f"goes from {first:.3g} to {last:.3g} {joint.unit}/s."
        )


def _check_sign(drive: int, points: Sequence[SpeedPoint]) -> None:
    below = [p for p in points if p.friction < -_SIGNIFICANT * p.error]
    if 2 * len(below) > len(points):
        raise TableError(
            f"Friction of drive {drive} would push it, by {-below[0].friction:.3g} at "
            f"{below[0].speed:.3g}: its efforts or its angles have the wrong sign."
        )


def _uneven(drive: int, points: Sequence[SpeedPoint], unit: str) -> Iterator[str]:
    """A sentence on what does not turn round with the direction."""
    even = [(sum(_ends(p)) / 2, p) for p in points]
    telling = [
        (value, p)
        for value, p in even
        if abs(value) > max(_SIGNIFICANT * p.error, _UNEVEN * abs(p.friction))
    ]
    if telling and len(telling) * 2 >= len(points):
        value, point = max(telling, key=lambda item: abs(item[0]))
        yield (
            f"Drive {drive}: {value:.3g} {unit} at {point.speed:.3g} do not turn round with the "
            "direction: weight that is not taken away, or friction that differs by direction. The "
            "curve is the part that turns round."
        )


# Fits


class _Shape(NamedTuple):
    """Columns of (2) that are linear, and the one whose speed is searched."""

    name: str
    linear: tuple[str, ...]
    bent: str = ""


_SHAPES = (
    _Shape("Coulomb and viscous", ("coulomb", "viscous")),
    _Shape("Coulomb and saturating", ("coulomb", "saturating"), "saturating_speed"),
    _Shape("Stribeck", ("coulomb", "viscous", "stribeck"), "stribeck_speed"),
    _Shape("saturating and viscous", ("coulomb", "viscous", "saturating"), "saturating_speed"),
)


def fit_friction(
    points: Sequence[SpeedPoint], smoothing: float, unit: str
) -> tuple[FrictionFit, ...]:
    """Each shape that has no more coefficients than there are speeds, by (1)."""
    w, f, s = (np.array([getattr(p, n) for p in points]) for n in ("speed", "friction", "error"))
    s = np.maximum(s, max(1e-9 * np.abs(f).max(), 1e-300))
    solved = []
    for shape in _SHAPES:
        count = len(shape.linear) + bool(shape.bent)
        if count <= len(w) - (1 if shape.bent else 0):
            solved.append((shape, count, *_solved(shape, w, f, s, smoothing)))
    free = [chi / (len(w) - count) for _, count, _, chi, _ in solved if len(w) > count]
    c = max(1.0, min(free, default=1.0))
    found = []
    for shape, count, values, chi, slope in solved:
        freedom = len(w) - count
        criterion = chi / c + count * float(np.log(len(w)))
        names = (*shape.linear, *([shape.bent] if shape.bent else []))
        halves = _half_intervals(slope, chi, freedom, min(p.bins for p in points) - 1)
        coefficients = tuple(
            Coefficient(n, _unit(n, unit), float(v), h)
            for n, v, h in zip(names, values, halves, strict=True)
        )
        law = _law(dict(zip(names, values, strict=True)), smoothing)
        found.append(FrictionFit(shape.name, coefficients, chi, freedom, criterion, law))
    return tuple(found)


def chosen(fits: Sequence[FrictionFit]) -> FrictionFit:
    """The fit that evidence asks for; fewest coefficients unless more are strongly needed."""
    best = fits[0]
    for fit in fits[1:]:
        more = len(fit.coefficients) > len(best.coefficients)
        if fit.criterion < best.criterion - (_STRONG if more else 0.0):
            best = fit
    return best


def _solved(
    shape: _Shape, w: Vector, f: Vector, s: Vector, smoothing: float
) -> tuple[Float[np.ndarray, " k"], float, Matrix]:
    """Coefficients, chi^2 and the weighted slopes of one shape."""
    from scipy.optimize import minimize_scalar, nnls

    def rows(z: float) -> Matrix:
        columns = [_column(name, w, z, smoothing) for name in shape.linear]
        return np.stack(columns, axis=1) / s[:, None]

    def left(z: float) -> float:
        return float(nnls(rows(z), f / s)[1] ** 2)

    z = 1.0
    if shape.bent:
        grid = np.geomspace(w.min() / 3, 3 * w.max(), _GRID)
        best = int(np.argmin([left(value) for value in grid]))
        ends = np.log(grid[max(best - 1, 0)]), np.log(grid[min(best + 1, _GRID - 1)])
        found = minimize_scalar(lambda u: left(float(np.exp(u))), bounds=ends, method="bounded")
        z = float(np.exp(found.x)) if found.fun < left(grid[best]) else float(grid[best])
    values, miss = nnls(rows(z), f / s)
    slope = rows(z)
    if shape.bent:
        size = values[shape.linear.index(shape.bent.removesuffix("_speed"))]
        h, name = 1e-5 * z, shape.bent.removesuffix("_speed")
        bend = (_column(name, w, z + h, smoothing) - _column(name, w, z - h, smoothing)) / (2 * h)
        slope = np.concatenate([slope, (size * bend / s)[:, None]], axis=1)
        values = np.append(values, z)
    return values, float(miss**2), slope


def _column(name: str, w: Vector, z: float, smoothing: float) -> Vector:
    """What the coefficient `name` of (2) is multiplied with."""
    dry = np.tanh(w / smoothing)
    if name == "coulomb":
        return dry
    if name == "viscous":
        return w
    return np.exp(-((w / z) ** 2)) * dry if name == "stribeck" else np.tanh(w / z)


def _half_intervals(slope: Matrix, chi: float, freedom: int, behind: int) -> list[float | None]:
    """Of 95 %, for errors of the points from so many bins; wider where the law misses them."""
    from scipy.stats import t

    lengths = np.linalg.norm(slope, axis=0)
    if freedom < 1 or not (lengths > 0).all():
        return [None] * slope.shape[1]
    scaled = slope / lengths
    gram = scaled.T @ scaled
    if np.linalg.cond(gram) > 1e10:
        return [None] * slope.shape[1]
    deviation = np.sqrt(np.diag(np.linalg.inv(gram))) / lengths
    factor = float(t.ppf(0.975, behind))
    if _chance(chi, freedom) < _DOUBT:
        factor = float(t.ppf(0.975, freedom)) * float(np.sqrt(chi / freedom))
    return (factor * deviation).tolist()


def _misses(fit: FrictionFit) -> bool:
    return fit.freedom > 0 and _chance(fit.chi_squared, fit.freedom) < _DOUBT


def _chance(chi: float, freedom: int) -> float:
    from scipy.stats import chi2

    return float(chi2.sf(chi, freedom))


def _unit(name: str, joint: str) -> str:
    """Of a coefficient, for a joint that turns [rad] or slides [m]."""
    effort = "N m" if joint == "rad" else "N"
    if name.endswith("_speed"):
        return f"{joint}/s"
    wet = "N m s/rad" if joint == "rad" else "N s/m"
    return wet if name == "viscous" else effort


def _law(values: dict[str, float], smoothing: float) -> FrictionLaw:
    terms = {name: np.asarray(value, float) for name, value in values.items()}
    zero = np.zeros(())
    terms = {"coulomb": zero, "viscous": zero} | terms
    return FrictionLaw(smoothing_speed=np.asarray(smoothing, float), **terms)
