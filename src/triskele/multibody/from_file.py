"""The system of a mechanism file (`description.mechanism`), assembled."""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from triskele.description.mechanism import (
    Mechanism,
    MechanismJoint,
    SlidingDrive,
    SlidingSpring,
    TurningDrive,
    TurningSpring,
)
from triskele.errors import DescriptionError
from triskele.laws.friction import FrictionLaw, friction_law
from triskele.laws.springs import Spring
from triskele.multibody.assembly import assembled, check_inertia
from triskele.multibody.integrate import Actuation, Constant
from triskele.multibody.joints import Body, Joint, Load, Tether, frame_about, system
from triskele.multibody.system import State, System
from triskele.numerics import require_double_precision
from triskele.spatial.euler_parameters import rotation_matrix, turned
from triskele.spatial.inertia import infeasibility


class Harmonics(eqx.Module):
    """q(t) = start + speed t + amplitude sin(2 pi frequency t + phase), motor by motor."""

    start: Float[Array, " motors"]
    speed: Float[Array, " motors"]
    amplitude: Float[Array, " motors"]
    frequency: Float[Array, " motors"]  #: [Hz]
    phase: Float[Array, " motors"]  #: [rad]

    def __call__(self, t: Array) -> Float[Array, " motors"]:
        """The prescribed angles and lengths [rad, m]."""
        turn = 2 * jnp.pi * self.frequency * t + self.phase
        return self.start + self.speed * t + self.amplitude * jnp.sin(turn)


class MechanismSystem(NamedTuple):
    """A mechanism in absolute coordinates, where it starts, and what its motors do."""

    system: System
    start: State
    actuation: Actuation


def from_file(mechanism: Mechanism) -> MechanismSystem:
    """Bodies and joints of `mechanism`, assembled at t = 0; an error names what does not fit."""
    require_double_precision()
    joints = [_joint(name, item) for name, item in mechanism.joints.items()]
    motors = [item for item in mechanism.joints.values() if item.driven]
    prescribed = any(item.prescribed for item in motors)
    built, guess = system(
        mechanism.name,
        [_body(mechanism, name) for name in mechanism.bodies],
        joints,
        gravity=mechanism.gravity,
        tethers=[
            Tether(
                name,
                item.parent,
                item.child,
                item.point,
                item.child_point,
                item.stiffness,
                item.length,
                item.damping,
            )
            for name, item in mechanism.springs.items()
        ],
        loads=[
            Load(name, item.body, item.point, item.force, item.moment)
            for name, item in mechanism.loads.items()
        ],
        prescribed=prescribed,
    )
    efforts = Constant(jnp.asarray([item.torque or item.force or 0.0 for item in motors], float))
    actuation = Actuation(None, _signal(motors)) if prescribed else Actuation(efforts, None)
    start = assembled(built, guess, actuation.drive(jnp.zeros(())))
    check_inertia(built, start)
    return MechanismSystem(built, start, actuation)


def _body(mechanism: Mechanism, name: str) -> Body:
    item = mechanism.bodies[name]
    reason = infeasibility(item.ten_parameters)
    if reason is not None:
        raise DescriptionError(f"{mechanism.name}, bodies.{name}: no such body exists, {reason}.")
    p = turned(jnp.array([1.0, 0.0, 0.0, 0.0]), jnp.asarray(item.orientation, float))
    R = np.asarray(rotation_matrix(p))
    return Body(name, item.ten_parameters, np.column_stack([R, item.position]))


def _joint(name: str, item: MechanismJoint) -> Joint:
    spring, friction = _laws(item)
    axis = item.axis or (0.0, 0.0, 1.0)
    child_axis = item.child_axis or axis
    return Joint(
        name,
        item.kind,
        item.parent,
        item.child,
        item.point,
        item.child_point,
        frame_about(axis, item.zero),
        frame_about(child_axis, item.child_zero or item.zero),
        length=item.length,
        motor=item.driven,
        rotor=item.rotor_inertia or 0.0,
        spring=spring,
        friction=friction,
    )


def _laws(item: MechanismJoint) -> tuple[Spring | None, FrictionLaw | None]:
    """The spring of a joint's axis, and its friction, in which a spring's damping is viscous."""
    elastic: TurningSpring | SlidingSpring | None = item.spring or item.slide_spring
    section = item.friction or item.slide_friction
    law = None if section is None else friction_law(section)
    if elastic is None:
        return None, law
    spring = Spring(jnp.asarray(elastic.stiffness, float), jnp.asarray(elastic.rest, float))
    if elastic.damping:
        zero = jnp.zeros(())
        law = law or FrictionLaw(coulomb=zero, viscous=zero, smoothing_speed=zero + 1)
        law = eqx.tree_at(lambda law: law.viscous, law, law.viscous + elastic.damping)
    return spring, law


def _signal(motors: list[MechanismJoint]) -> Harmonics:
    drives = [item.drive or item.slide_drive for item in motors]

    def of(key: str) -> Array:
        assert all(isinstance(drive, (TurningDrive, SlidingDrive)) for drive in drives)
        return jnp.asarray([getattr(drive, key) for drive in drives], float)

    return Harmonics(of("start"), of("speed"), of("amplitude"), of("frequency"), of("phase"))
