"""Why a simulation cannot go on, in a sentence with the time, the joint or body, and what to do.

drives     beyond a dead centre no state meets the conditions. Just before it a state of
           stress appears, n with J' n = 0 (`redundancy.py`): drives in n are those that ask
           for too much, joints in n are those of the loop
singular   without drives J loses rank, and accelerations with it
stiff      a body accelerates so much that steps shrink to nothing: it is too light for the
           springs, friction or joints that act on it
"""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from triskele.errors import DescriptionError, InputError
from triskele.multibody.assembly import closed, misplaced
from triskele.multibody.primitives import Drive
from triskele.multibody.solve import accelerations, violation
from triskele.multibody.system import (
    DRIVE,
    State,
    System,
    conditions,
    jacobian,
    motion_of,
)

Driving = Callable[[Array], Drive | None]
_INSTANTS = 64  #: at which drives are tried before a simulation
_RESOLVED = 1e-7  #: time to which the end is found, as a part of the duration
_MOST_TRIES = 400
_SLIP = 1e-6  #: of the start, as a part of the fastest drive
_AT_REST = 1e-6  #: speed of a drive that counts as none [rad/s, m/s]
_AHEAD = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)  #: [s], where drives are tried beyond the end
_SINGULAR = 1e-4  #: singular value that is about to vanish, as a part of the largest
_REDUNDANT = 1e-9  #: and one that is zero everywhere
_PART = 0.2  #: share of a state of stress that is worth naming, of the largest
_WORN = 3  #: names that a sentence lists


def check_reach(system: System, drive: Driving, start: State, duration: float) -> None:
    """An error if drives that determine all positions leave what the joints can reach.

    Positions alone are followed, instant by instant, which takes next to no time. What happens
    between two instants is left to the integrator.
    """
    if not system.prescribed or _freedom(system, start, drive(jnp.zeros(()))):
        return
    longest = duration / _INSTANTS
    t, state, step = 0.0, start, longest
    for _ in range(_MOST_TRIES):
        if t >= duration:
            return
        goal = min(t + step, duration)
        after = _followed(system, drive, goal, state)
        if after is not None:
            t, state, step = goal, after, min(2 * step, longest)
        elif step > _RESOLVED * duration:
            step = step / 4
        else:
            raise InputError(f"{system.name}: {reason(system, drive, t, state)}.")


def check_speeds(system: System, start: State, drive: Drive | None) -> None:
    """An error if drives ask for speeds at the start that the joints do not allow."""
    if drive is None or not system.prescribed:
        return
    slip = float(violation(system, start, drive)[1])
    fastest = float(jnp.abs(drive.qd).max(initial=0.0))
    if slip <= _SLIP * max(fastest, _AT_REST) * max(1.0, float(system.size)):
        return
    joints, drives = _stressed(system, start, drive)
    names = drives or [axis.joint for axis in system.driven]
    where = f" at a dead centre of the loop through {_listed(joints)}, or" if joints else ""
    raise DescriptionError(
        f"{system.name}: at the start {_listed(names)} cannot move as fast as the drive says "
        f"(off by {slip:.3g} m/s): the loop is{where} driven more than once; begin elsewhere, or "
        "leave out a drive."
    )


def _followed(system: System, drive: Driving, t: float, state: State) -> State | None:
    """The state near `state` where the drives are at t; None if there is none."""
    now = drive(jnp.asarray(t))
    assert now is not None
    try:
        found = closed(system, state, now)
    except DescriptionError:
        return None
    return None if misplaced(system, found, now) else found


def _freedom(system: System, state: State, drive: Drive | None) -> int:
    """What drives and joints leave free."""
    J = np.asarray(_jacobian(system, state, drive))
    return J.shape[1] - int(np.linalg.matrix_rank(J, tol=1e-9 * np.abs(J).max(initial=1e-300)))


def reason(system: System, drive: Driving, t: float, state: State) -> str:
    """What stops the motion at t [s] and `state`, the last that was reached."""
    when = f"at t = {t:.6g} s"
    if not all(np.isfinite(np.asarray(part)).all() for part in state):
        return f"{when}: the state is not finite; check forces and efforts"
    now = drive(jnp.asarray(t))
    joints, drives = _stressed(system, state, now)
    if system.prescribed and not _goes_on(system, drive, t, state):
        names = drives or [axis.joint for axis in system.driven]
        loop = f" through {_listed(joints)}" if joints else ""
        return (
            f"{when}: drives ask for more than joints can reach, the loop{loop} cannot close any "
            f"further; shorten the travel of {_listed(names)}, end before, or change lengths"
        )
    if joints:
        return (
            f"{when}: the mechanism is at a singular position of the loop through "
            f"{_listed(joints)}, where its motion is not determined; start elsewhere, or keep "
            "its drives away from there"
        )
    body, size = _fastest(system, state, now)
    mass = float(system.mass[system.body(body)])
    return (
        f"{when}: steps have become too short, as the body '{body}' of {mass:.3g} kg accelerates "
        f"with {size:.3g} m/s^2; give it more inertia, or what acts on it less stiffness, or use "
        "the integrator alpha"
    )


def _goes_on(system: System, drive: Driving, t: float, state: State) -> bool:
    """Whether positions exist a little later."""
    ahead: State | None = state
    for later in _AHEAD:
        ahead = _followed(system, drive, t + later, ahead)
        if ahead is None:
            return False
    return True


def _stressed(system: System, state: State, drive: Drive | None) -> tuple[list[str], list[str]]:
    """Joints, and driven joints, in the state of stress that is about to appear, if one is."""
    J = np.asarray(_jacobian(system, state, drive))
    if not len(J):
        return [], []
    left, values, _ = np.linalg.svd(J, full_matrices=False)
    live = values > _REDUNDANT * values[0]
    least = int(live.sum()) - 1
    if values[least] > _SINGULAR * values[0]:
        return [], []
    n = np.abs(left[:, least])
    joints, drives = {}, {}
    for joint in system.joints:
        for row, label in zip(joint.rows, joint.labels, strict=True):
            into = drives if label == DRIVE else joints
            into[joint.name] = max(into.get(joint.name, 0.0), n[row])
    return _largest(joints), _largest(drives)


def _largest(shares: dict[str, float]) -> list[str]:
    """Names with the largest shares, largest first."""
    most = max(shares.values(), default=0.0)
    return sorted(
        (name for name, share in shares.items() if most > 0 and share > _PART * most),
        key=lambda name: -shares[name],
    )


def _listed(names: list[str]) -> str:
    shown = [f"'{name}'" for name in names[:_WORN]]
    more = [f"{len(names) - _WORN} more"] if len(names) > _WORN else []
    *first, last = shown + more
    return f"{', '.join(first)} and {last}" if first else last


def _fastest(system: System, state: State, drive: Drive | None) -> tuple[str, float]:
    """The body that accelerates most, turns counted at the size of the system [m/s^2]."""
    twist = np.asarray(_accelerations(system, state, drive))
    size = np.linalg.norm(twist[:, :3], axis=1)
    size = size + np.linalg.norm(twist[:, 3:], axis=1) * float(system.size)
    worst = int(np.nan_to_num(size, nan=np.inf).argmax())
    return system.bodies[worst], float(size[worst])


@eqx.filter_jit
def _jacobian(system: System, state: State, drive: Drive | None) -> Array:
    return jacobian(system, conditions(system, motion_of(system, state), drive))


@eqx.filter_jit
def _accelerations(system: System, state: State, drive: Drive | None) -> Array:
    return accelerations(system, state, jnp.zeros(len(system.motors)), drive).twist
