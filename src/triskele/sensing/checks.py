"""Logs that cannot be: joints where no robot is, rods that buckle, hinges far from their rods."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from triskele.errors import InputError, TableError
from triskele.kinematics.log import Log
from triskele.numerics import Scalars, tabulate
from triskele.sensing.reading import Series, columns
from triskele.sensing.rods import RodState, SoftRods

_MOST_BENT = 0.1  #: of its length, where beams stop being linear
_FAR = 0.2  #: a hinge that differs by more from where its rod stands was read wrongly [rad]


def check_reach(rods: SoftRods, log: Log) -> None:
    """Raise the sentence if loops cannot be closed."""
    if np.abs(log.q[:, :3]).max() > np.pi:
        row, limb = np.unravel_index(np.abs(log.q[:, :3]).argmax(), (len(log.t), 3))
        raise TableError(
            f"{log.table.place}, row {row + 1}, column 'q{limb + 1}': {log.q[row, limb]:.4g} rad "
            "is more than half a turn, where no arm can stand. Are these degrees?"
        )
    margin = np.asarray(tabulate(eqx.Partial(_margin, rods))(log.q))
    if (margin < 0).any():
        row = int(np.argmax(margin < 0))
        q = ", ".join(f"{value:.4g}" for value in log.q[row])
        raise TableError(
            f"{log.table.place}, row {row + 1}, columns 'q1' to 'q3': with motors at {q} rad the "
            "rods do not reach the platform. Are units, signs and zeros right?"
        )


def check_buckling(rods: SoftRods, log: Log, tension: Series) -> None:
    """Raise the sentence if a rod is pushed by more than Euler's load, or cannot swing at all."""
    if rods.damping >= 1:
        raise InputError(
            f"The damping ratio of the rods is {rods.damping:g}: they would not swing at all. It "
            "is below 1, for metal about 0.01."
        )
    d = np.asarray(rods.mechanism.rod_length)
    most = np.pi**2 * float(rods.bending) / d**2 * (1 - rods.damping**2)
    used = -tension / most
    if not np.isfinite(used).all() or used.max() >= 1:
        row, limb = np.unravel_index(np.nan_to_num(used, nan=np.inf).argmax(), used.shape)
        raise InputError(
            f"{log.table.place}, row {row + 1}: the rod of limb {limb + 1} is pushed by "
            f"{-tension[row, limb]:.4g} N and buckles at {most[limb]:.4g} N. Are payload, units, "
            "section and accelerations right?"
        )


def check_bending(rods: SoftRods, log: Log, delta: Series) -> None:
    """Raise the sentence if a rod would bend by more than beams do."""
    d = np.asarray(rods.mechanism.rod_length)
    part = np.abs(delta) / d
    if not (part < _MOST_BENT).all():
        row, limb = np.unravel_index(np.nan_to_num(part, nan=np.inf).argmax(), part.shape)
        raise TableError(
            f"{log.table.place}, row {row + 1}: the rod of limb {limb + 1} would bend by "
            f"{delta[row, limb]:.4g} m and is {d[limb]:.4g} m long. Are angles, accelerations and "
            "units right?"
        )


def _margin(rods: SoftRods, q: Scalars) -> Array:
    return jnp.asarray(rods.mechanism.forward(q).margin)


def checked_hinges(log: Log, state: RodState) -> dict[str, Series]:
    """Columns of passive encoders, if they are near to where their rods stand."""
    found = {}
    for name, to in (("elbow", "its arm"), ("wrist", "the platform")):
        read = log.columns(name, 3, "rad")
        if read is None:
            continue
        expected = columns(state.angle) - (log.q[:, :3] if name == "elbow" else 0.0)
        gap = np.abs(read - expected)
        if gap.max() > _FAR:
            row, limb = np.unravel_index(gap.argmax(), gap.shape)
            raise TableError(
                f"{log.table.place}, row {row + 1}, column '{name}{limb + 1}': "
                f"{read[row, limb]:.4g} rad, where the rod stands at {expected[row, limb]:.4g} rad "
                f"to {to}: no rod bends by that much. Are unit, sign and zero right?"
            )
        found[name] = read
    return found
