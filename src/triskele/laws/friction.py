"""Friction of a joint as a smooth function of its speed.

    f(w) = (C + S exp(-(w / w_S)^2)) tanh(w / w_0) + v w + A tanh(w / w_A)             (1)

with Coulomb friction C, Stribeck's additional friction S at low speed, viscous friction v,
and a saturating term A, which is viscous at first and constant later. tanh replaces the
jump of Coulomb friction at rest; w_0 is small. f opposes the motion, so a drive must
supply +f: the power f(w) w is what the joint turns into heat, never negative.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from triskele.description.schema import Friction, JointFriction, Motor, SlideFriction
from triskele.laws.motors import ratio, reflected_damping
from triskele.numerics import Scalar


class FrictionLaw(eqx.Module):
    """The constants of (1), for a turning [N m, rad/s] or a sliding [N, m/s] joint."""

    coulomb: Float[Array, ""]  #: C
    viscous: Float[Array, ""]  #: v
    smoothing_speed: Float[Array, ""]  #: w_0
    stribeck: Float[Array, ""] | None = None  #: S
    stribeck_speed: Float[Array, ""] | None = None  #: w_S
    saturating: Float[Array, ""] | None = None  #: A
    saturating_speed: Float[Array, ""] | None = None  #: w_A

    def effort(self, speed: Scalar) -> Scalar:
        """f of (1) [N m or N], along the speed."""
        dry = self.coulomb
        if self.stribeck is not None and self.stribeck_speed is not None:
            ratio = speed / self.stribeck_speed
            dry = dry + self.stribeck * jnp.exp(-ratio * ratio)
        effort = dry * jnp.tanh(speed / self.smoothing_speed) + self.viscous * speed
        if self.saturating is not None and self.saturating_speed is not None:
            effort = effort + self.saturating * jnp.tanh(speed / self.saturating_speed)
        return effort


def friction_law(section: JointFriction | SlideFriction, drive: int = 0) -> FrictionLaw:
    """The law that a section of a robot file states for its drive number `drive`, from 0."""

    def of_drive(values: tuple[float, ...] | float) -> Array:
        many = values if isinstance(values, tuple) else (values,)
        return jnp.asarray(many[drive if len(many) > 1 else 0], float)

    terms = {}
    for term in ("stribeck", "saturating"):
        if getattr(section, term, 0.0):
            terms[term] = jnp.asarray(getattr(section, term), float)
            terms[f"{term}_speed"] = jnp.asarray(getattr(section, f"{term}_speed"), float)
    return FrictionLaw(
        coulomb=of_drive(section.coulomb),
        viscous=of_drive(section.viscous),
        smoothing_speed=jnp.asarray(section.smoothing_speed, float),
        **terms,
    )


def drive_friction(
    laws: Friction, joint: int, motor: Motor | None, friction: bool
) -> FrictionLaw | None:
    """Friction of a drive at its joint, with that of the motor's bearings."""
    section = laws.axis4 if joint == 3 else laws.slides or laws.drives
    law = None if section is None else friction_law(section, joint if joint < 3 else 0)
    if motor is None or not friction or not (motor.damping or motor.coulomb):
        return law
    i = ratio(motor) or 0.0
    if law is None:
        zero = jnp.zeros(())
        speed = zero + (motor.coulomb_speed / i if motor.coulomb and i else 1.0)
        law = FrictionLaw(coulomb=zero, viscous=zero, smoothing_speed=speed)
    more = law.viscous + reflected_damping(motor), law.coulomb + i * motor.coulomb
    return eqx.tree_at(lambda law: (law.viscous, law.coulomb), law, more)
