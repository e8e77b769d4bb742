"""Robots with friction wherever the model knows it, and uneven limbs."""

import dataclasses

import jax
import jax.numpy as jnp
from random_motions import frictionless, uneven

from triskele.description.load import load
from triskele.description.schema import JointFriction
from triskele.dynamics.robot import rigid
from triskele.laws.friction import FrictionLaw, friction_law
from triskele.laws.springs import Spring

BALLS = JointFriction(
    coulomb=(0.1,), viscous=(0.3,), stribeck=0.2, stribeck_speed=0.5, smoothing_speed=0.05
)


def irb_with_friction():
    """The shipped IRB 360 with a plate, and friction of drives, telescope and balls."""
    shipped = load("abb_irb360_6_1600")
    friction = shipped.friction.model_copy(update={"balls": BALLS})
    return rigid(shipped.model_copy(update={"friction": friction}), "plate")


def without_friction(robot):
    """The same laws, all their terms zero."""

    def silenced(law):
        terms = [
            name for name in ("coulomb", "viscous", "stribeck", "saturating") if getattr(law, name)
        ]
        return dataclasses.replace(law, **{name: jnp.zeros(()) for name in terms})

    return jax.tree.map(
        lambda part: silenced(part) if isinstance(part, FrictionLaw) else part,
        robot,
        is_leaf=lambda part: isinstance(part, FrictionLaw),
    )


def sprung_delta(*, friction=True):
    """A small Delta with springs against the tilt of its rods."""
    robot = uneven(frictionless("omron_mini_delta_platens"))
    robot = dataclasses.replace(
        robot, springs=tuple(Spring(jnp.array(k), jnp.array(0.1)) for k in (2.0, 3.0, 4.0))
    )
    if not friction:
        return robot
    drives = JointFriction(coulomb=(0.1, 0.2, 0.3), viscous=(0.4, 0.5, 0.6), smoothing_speed=0.1)
    return dataclasses.replace(
        robot,
        ball_friction=friction_law(BALLS),
        drive_friction=tuple(friction_law(drives, k) for k in range(3)),
    )
