"""What the rods of a Delta feel, from its motors alone: the rigid part of every sensor.

Letters are those of `kinematics/delta.py`. In its limb plane a rod stands at the angle

    phi = atan2(-e_k, e_u)                                                             (1)

of a hinge along v: 0 pointing outwards, positive downwards, as q. It leaves that plane by its
tilt, sin alpha = e.v. A hinge that turns by dphi bends the rod by dphi cos alpha, in the
direction of n, and twists it by dphi sin alpha. Without friction in its joints a rod is loaded
across by its own inertia and weight alone, linearly from elbow to wrist,

    p(x) = -mu (a - g).n,     a = b + (xdd - b) x / d                                  (2)

with b the acceleration of the elbow. Its tension is what keeps all that the wrists carry moving:

    -sum_i S_i e_i = m_P (xdd - g) + sum_i F_i,     F_i = mu d ((b - g)/6 + (xdd - g)/3) across e_i

at the wrists, and on the average over a rod, N = S - mu d ((b - g)/6 + (xdd - g)/3).e.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Float

from triskele.description.schema import Payload, Robot
from triskele.errors import InputError
from triskele.flexible.robot import FlexibleRobot, flexible
from triskele.kinematics.delta import Delta
from triskele.kinematics.velocity import platform_motion
from triskele.numerics import (
    AnyArray,
    Components,
    Scalar,
    Scalars,
    as_scalars,
    atan2,
    safe_norm,
    sincos,
    solve,
    transpose,
)
from triskele.spatial.vectors import Triple, add, combine, dot, scale, subtract

USUAL_DAMPING = 0.01  #: ratio of a bare metal rod, where its material says nothing


class SoftRods(eqx.Module):
    """Rods that bend between rigid arms and a rigid platform."""

    mechanism: Delta
    mass: Scalar  #: mu, of a rod [kg/m]
    bending: Scalar  #: E I against w [N m^2]
    torsion: Scalar  #: G J [N m^2]; 0 where balls let a rod spin
    axial: Scalar  #: E A [N]
    platform: Scalar  #: m_P, all that hangs on the wrists [kg]
    gravity: Float[AnyArray, "3"]  #: [m/s^2]
    damping: float  #: ratio of the first mode of a rod
    per_limb: int = eqx.field(static=True)  #: rods of a limb

    @property
    def gradient(self) -> Float[AnyArray, "3"]:
        """k_G = mu d^4 / (720 E I) of each limb [s^2]: deflection by a gradient of acceleration."""
        return self.mass * self.mechanism.rod_length**4 / (720 * self.bending)

    @property
    def frequency(self) -> Float[AnyArray, "3"]:
        """First of a rod with pins at both ends [rad/s]."""
        return (jnp.pi / self.mechanism.rod_length) ** 2 * jnp.sqrt(self.bending / self.mass)


class RodState(NamedTuple):
    """Limb by limb, with the platform at `x`."""

    x: Scalars  #: rigid, from the motors
    angle: Scalars  #: phi of (1) [rad]
    cosine: Scalars  #: of the tilt
    elbow: Scalars  #: (b - g).n [m/s^2]
    wrist: Scalars  #: (xdd - g).n [m/s^2]
    tension: Scalars  #: N, of one rod [N]

    @property
    def gradient(self) -> Scalars:
        """How much more a wrist is accelerated across its rod than its elbow [m/s^2]."""
        return tuple(w - e for w, e in zip(self.wrist, self.elbow, strict=True))


def soft_rods(robot: Robot, payload: Payload | str | None = None) -> SoftRods:
    """The rods of a robot file with [sections.rod], carrying a `payload`."""
    model = flexible(robot, payload)
    if model.arm_beam is not None:
        raise InputError(
            f"{robot.name} has arms that bend (sections.arm): encoders at the motors do not know "
            "where its elbows are. Sensors of deflection need rigid arms."
        )
    return soft_rods_of(model, _damping_ratio(robot))


def soft_rods_of(model: FlexibleRobot, damping: float) -> SoftRods:
    """The same of a flexible robot."""
    beam, count = model.rod_beam, len(model.shifts)
    held = model.platform[0] + model.carried[0] + 3 * count * model.rod_lumps[1]
    return SoftRods(
        mechanism=model.mechanism,
        mass=beam.mass,
        bending=beam.bending_y,
        torsion=beam.torsion if count == 1 else jnp.zeros(()),
        axial=beam.axial,
        platform=held,
        gravity=model.gravity,
        damping=damping,
        per_limb=count,
    )


def rod_state(rods: SoftRods, q: Components, qd: Components, qdd: Components) -> RodState:
    """What the rods feel when the motors move with `q`, `qd`, `qdd`."""
    delta, (q, qd, qdd) = rods.mechanism, (as_scalars(part) for part in (q, qd, qdd))
    x = delta.forward(q).components
    _, xdd, _ = platform_motion(delta, q, x, qd, qdd)
    g: Triple = (rods.gravity[0], rods.gravity[1], rods.gravity[2])
    at_wrist = subtract((xdd[0], xdd[1], xdd[2]), g)
    limbs = [_limb(delta, i, q[i], qd[i], qdd[i], x, g) for i in range(3)]
    shares, force = [], scale(rods.platform, at_wrist)
    for i, limb in enumerate(limbs):
        mean = combine((1 / 6, limb.at_elbow), (1 / 3, at_wrist))
        share = scale(rods.per_limb * rods.mass * delta.rod_length[i], mean)
        along = dot(share, limb.e)
        shares.append(along)
        force = add(force, subtract(share, scale(along, limb.e)))
    rows = transpose(tuple(limb.e for limb in limbs))
    pulls = solve(rows, scale(-1.0, force))
    return RodState(
        x=x,
        angle=tuple(limb.angle for limb in limbs),
        cosine=tuple(limb.cosine for limb in limbs),
        elbow=tuple(dot(limb.at_elbow, limb.n) for limb in limbs),
        wrist=tuple(dot(at_wrist, limb.n) for limb in limbs),
        tension=tuple(
            (pull - share) / rods.per_limb for pull, share in zip(pulls, shares, strict=True)
        ),
    )


def rod_angles(delta: Delta, q: Components) -> tuple[Scalars, Scalars]:
    """phi of (1) [rad] and the cosine of the tilt of each limb."""
    return angles_at(delta, q, delta.forward(q).components)


def angles_at(delta: Delta, q: Components, x: Components) -> tuple[Scalars, Scalars]:
    """The same with the platform at `x` [m], wherever that is."""
    rods = [_rod(delta, i, sincos(q[i]), tuple(x)) for i in range(3)]
    return tuple(rod.angle for rod in rods), tuple(rod.cosine for rod in rods)


class _Rod(NamedTuple):
    u: Triple
    e: Triple
    n: Triple
    angle: Scalar
    cosine: Scalar


class _Limb(NamedTuple):
    e: Triple
    n: Triple
    angle: Scalar
    cosine: Scalar
    at_elbow: Triple  #: b - g


def _limb(delta: Delta, i: int, q: Scalar, qd: Scalar, qdd: Scalar, x: Scalars, g: Triple) -> _Limb:
    s, c = sincos(q)
    L, rod = delta.arm_length[i], _rod(delta, i, (s, c), x)
    out, up = -L * (s * qdd + c * qd * qd), L * (s * qd * qd - c * qdd)
    b = add(scale(out, rod.u), (0.0, 0.0, up))
    return _Limb(rod.e, rod.n, rod.angle, rod.cosine, subtract(b, g))


def _rod(delta: Delta, i: int, turned: tuple[Scalar, Scalar], x: Scalars) -> _Rod:
    s, c = turned
    sin, cos = jnp.sin(delta.azimuth[i]), jnp.cos(delta.azimuth[i])
    L = delta.arm_length[i]
    reach = delta.platform_radius[i] - delta.base_radius[i] - L * c
    u: Triple = (cos, sin, 0.0)
    span = (x[0] + reach * cos, x[1] + reach * sin, x[2] + L * s)
    e = scale(1 / delta.rod_length[i], span)
    e_u, e_k = dot(e, u), e[2]
    cosine = safe_norm(e_u * e_u + e_k * e_k)
    n = combine((e_u / cosine, (0.0, 0.0, 1.0)), (-e_k / cosine, u))
    return _Rod(u, e, n, atan2(-e_k, e_u), cosine)


def _damping_ratio(robot: Robot) -> float:
    section = getattr(robot.sections, "rod", None)
    given = None if section is None else robot.materials[section.material].damping_ratio
    return USUAL_DAMPING if given is None else given
