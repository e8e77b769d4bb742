"""Bodies that can exist: log-Cholesky coordinates of the pseudo-inertia, whole or reduced.

Every P > 0 is U U' with exactly one upper triangular U of positive diagonal,

    U = exp(al) [ exp(d1)  s12      s13      t1 ]
                [          exp(d2)  s23      t2 ]
                [                   exp(d3)  t3 ]
                [                            1  ]                                       (1)

so that any ten numbers phi = (al, d1, d2, d3, s12, s23, s13, t1, t2, t3) are a body of positive
density, and a fit in them needs no constraint. al tells its mass, t its centre, d and s how a
reference body is stretched and sheared. A reduced form moves along a few directions only,

    phi = phi_0 + E u                                                                   (2)

from a body phi_0 that is given:

    full          all ten
    symmetric_x   mass, stretch along x and across it, centre on x
    symmetric_z   the same about z
    planar_y      mass, one stretch, centre in the plane x, z
    scaled        mass alone: the body becomes denser, nothing else

The usual form of a body is the least that its motion shows and its file allows: `scaled` if it only
translates, or links two rods; `planar_y` if it turns about its own y axis on the base, as an arm
does; symmetric about its length if it is a rod or slides along another body, and if its file has it
so; else `full`.

Reference: C. Rucker, P. M. Wensing, IEEE Robotics and Automation Letters 7 (2022) 2597.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Float

from triskele.dynamics.robot import RigidRobot
from triskele.errors import InputError, UnknownName, did_you_mean
from triskele.identification.regressor import INERTIA, Regressor, first_bodies
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.numerics import Scalars, spread, tabulate
from triskele.spatial.inertia import infeasibility, second_moments

COORDINATES = ("al", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
_ENTRIES = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
_THIN = 1e-5  #: thickness [m] that is given to bodies without any
_ALIKE = 0.01  #: relative difference of moments that counts as none: of a bar of flat section
_STEP = 1e-3  #: of the platform, in sizes of the robot, by which bodies are seen to turn
_TURNED = 1e-9  #: of an axis that has turned
Ten = Float[np.ndarray, "10"]


class Form(NamedTuple):
    """Directions in which a body may change, and the names of what then changes."""

    name: str
    directions: tuple[tuple[str, ...], ...]  #: coordinates that move together
    moments: tuple[tuple[str, ...], ...]  #: of the ten, those that are one number

    @property
    def matrix(self) -> Float[np.ndarray, "10 k"]:
        """E of (2)."""
        return _columns(self.directions, COORDINATES)


def _columns(groups: tuple[tuple[str, ...], ...], names: tuple[str, ...]) -> np.ndarray:
    matrix = np.zeros((len(names), len(groups)))
    for k, group in enumerate(groups):
        for name in group:
            matrix[names.index(name), k] = 1.0
    return matrix


FORMS = {
    form.name: form
    for form in (
        Form("full", tuple((c,) for c in COORDINATES), tuple((name,) for name in INERTIA)),
        Form(
            "symmetric_x",
            (("al",), ("d1",), ("d2", "d3"), ("t1",)),
            (("m",), ("mc_x",), ("xx",), ("yy", "zz")),
        ),
        Form(
            "symmetric_z",
            (("al",), ("d3",), ("d1", "d2"), ("t3",)),
            (("m",), ("mc_z",), ("xx", "yy"), ("zz",)),
        ),
        Form(
            "planar_y",
            (("al",), ("d1", "d2", "d3"), ("t1",), ("t3",)),
            (("m",), ("mc_x",), ("mc_z",), ("yy",)),
        ),
        Form("scaled", (("al",),), (("m",),)),
    )
}


def forms_of(
    model: RigidRobot, parts: Sequence[str], wanted: Mapping[str, str] | None = None
) -> dict[str, Form]:
    """The form of each of `parts`: as `wanted`, or the usual one."""
    wanted, mechanism, found = wanted or {}, model.mechanism, {}
    for part in wanted:
        if part not in parts:
            raise UnknownName(f"There is no part '{part}'. {did_you_mean(part, parts)}")
    turning, first = _turning_bodies(mechanism), first_bodies(mechanism, parts)
    theta = np.asarray(model.theta)
    for part in parts:
        place = first[part]
        usual = _usual(mechanism, place, theta[place], turns=place in turning)
        name = wanted.get(part, usual)
        if name not in FORMS:
            raise UnknownName(f"No form is called '{name}'. {did_you_mean(name, FORMS)}")
        found[part] = FORMS[name]
    return found


def _usual(mechanism: AbstractMechanism, place: int, ten: Ten, *, turns: bool) -> str:
    """The name of the usual form of the body at `place`."""
    body, _, look = mechanism.parts[place]
    if look == "connector" or not turns:
        return "scaled"
    joints = mechanism.joints()
    if look == "arm" and any(j.driven and (j.parent, j.child) == ("base", body) for j in joints):
        return "planar_y"
    lengthwise = [j.axis for j in joints if j.kind == "prismatic" and body in (j.parent, j.child)]
    for axis, name in (((1.0, 0.0, 0.0), "symmetric_x"), ((0.0, 0.0, 1.0), "symmetric_z")):
        along = axis in lengthwise or (look == "rod" and name == "symmetric_x")
        if along and _symmetric(FORMS[name], ten):
            return name
    return "full"


def _symmetric(form: Form, ten: Ten) -> bool:
    """Whether the body has no more moments than the form, and equal ones where that has."""
    free = _columns(form.moments, INERTIA)
    nearest = free @ np.linalg.lstsq(free, ten, rcond=None)[0]
    size = np.array([ten[0], *[np.abs(ten[1:4]).max()] * 3, *[np.abs(ten[4:]).max()] * 6])
    return bool((np.abs(nearest - ten) <= _ALIKE * size).all())


def _turning_bodies(mechanism: AbstractMechanism) -> set[int]:
    """Places of the bodies that turn while the platform moves."""
    home = np.array([float(np.asarray(value)) for value in mechanism.home()])
    units = np.array([float(np.asarray(unit)) for unit in mechanism.scales().platform])
    steps = np.diag(_STEP * float(np.asarray(mechanism.size)) / units)
    poses = np.concatenate([home[None], home + steps, home - steps])
    axes = np.stack(tabulate(eqx.Partial(_axes, mechanism))(poses), axis=-1)
    moved = np.abs(axes - axes[0]).max(axis=0).reshape(len(mechanism.bodies), 9)
    return {int(place) for place in np.flatnonzero(moved.max(axis=1) > _TURNED)}


def _axes(mechanism: AbstractMechanism, x: Scalars) -> Scalars:
    """Nine components of the axes of each body; a kernel for `tabulate`."""
    frames = mechanism.body_poses(mechanism.inverse(x).components, x)
    return tuple(spread(entry, x[0]) for frame in frames for axis in frame[:3] for entry in axis)


def ten_of(phi: Float[np.ndarray, "10"]) -> Ten:
    """The ten parameters of the body at phi."""
    U = _triangle(phi)
    return _ten(U @ U.T)


def ten_and_slope(phi: Float[np.ndarray, "10"]) -> tuple[Ten, Float[np.ndarray, "10 10"]]:
    """The ten parameters, and their derivatives with respect to phi: dP = dU U' + U dU'."""
    U, slope = _triangle(phi), np.zeros((10, 10))
    slope[:, 0] = 2 * _ten(U @ U.T)
    for k, (i, j) in enumerate(_ENTRIES, 1):
        dU = np.zeros((4, 4))
        dU[i, j] = U[i, j] if i == j else U[3, 3]
        slope[:, k] = _ten(dU @ U.T + U @ dU.T)
    return _ten(U @ U.T), slope


def phi_of(ten: Ten, place: str = "the body") -> Float[np.ndarray, "10"]:
    """The coordinates of a body; one without thickness is given a hundredth of a millimetre.

    >>> phi_of(np.array([1.0, 0, 0, 0, 2, 2, 2, 0, 0, 0])).round(12)
    array([0., 0., 0., 0., 0., 0., 0., 0., 0., 0.])
    """
    reason = infeasibility(tuple(map(float, ten)))
    if reason is not None:
        raise InputError(f"{place} cannot exist: {reason}.")
    P = np.array(second_moments(tuple(map(float, ten))))
    m, c = P[3, 3], P[:3, 3] / P[3, 3]
    values, axes = np.linalg.eigh(P[:3, :3] / m - np.outer(c, c))
    central = axes @ np.diag(np.maximum(values, _THIN**2)) @ axes.T
    V = np.linalg.cholesky(central[::-1, ::-1])[::-1, ::-1]
    entries = [V[i, j] for i, j in _ENTRIES[3:6]]
    return np.array([np.log(m) / 2, *np.log(np.diag(V)), *entries, *c])


def start_of(form: Form, ten: Ten, place: str = "the body") -> Float[np.ndarray, "10"]:
    """phi_0 of (2): the given body, made as symmetric as its form is."""
    phi = phi_of(ten, place)
    if not form.name.startswith("symmetric"):
        return phi
    free = form.matrix.any(axis=1)
    phi = np.where(free, phi, 0.0)
    for group in form.directions:
        places = [COORDINATES.index(name) for name in group]
        phi[places] = (
            np.log(np.mean(np.exp(2 * phi[places]))) / 2 if len(group) > 1 else phi[places]
        )
    return phi


def linear_columns(form: Form, ten: Ten) -> Float[np.ndarray, "10 k"]:
    """What the ten change with each of `form.moments`, for a linear count of parameters."""
    if form.name == "scaled" and ten[0] > 0:
        return (ten / ten[0])[:, None]
    return _columns(form.moments, INERTIA)


def reduced(
    regressor: Regressor, bodies: Mapping[str, Ten], forms: Mapping[str, Form]
) -> Regressor:
    """Y with one column for each of the moments that `forms` leave to each of `bodies`.

    Bodies that are not named lose their columns; rotors and friction keep theirs.
    """
    columns, parameters, part = [], [], None
    for k, parameter in enumerate(regressor.parameters):
        if parameter.name not in INERTIA:
            columns.append(regressor.matrix[:, :, k : k + 1])
            parameters.append(parameter)
        elif parameter.part != part and parameter.part in bodies:
            part = parameter.part
            form = forms[part]
            block = regressor.matrix[:, :, k : k + 10]
            columns.append(block @ linear_columns(form, bodies[part]))
            ten = {p.name: p for p in regressor.parameters[k : k + 10]}
            parameters += [ten[group[0]] for group in form.moments]
    return regressor._replace(matrix=np.concatenate(columns, axis=2), parameters=tuple(parameters))


def _triangle(phi: np.ndarray) -> np.ndarray:
    U = np.eye(4)
    U[:3, :3] = np.diag(np.exp(phi[1:4]))
    for value, (i, j) in zip(phi[4:], _ENTRIES[3:], strict=True):
        U[i, j] = value
    return np.exp(phi[0]) * U


def _ten(P: np.ndarray) -> Ten:
    """The inverse of `second_moments`, which is linear."""
    S, trace = P[:3, :3], np.trace(P[:3, :3])
    moments = [trace - S[0, 0], trace - S[1, 1], trace - S[2, 2], -S[0, 1], -S[1, 2], -S[0, 2]]
    return np.array([P[3, 3], *P[:3, 3], *moments])
