"""From a robot file to its mechanism."""

import jax.numpy as jnp
from jaxtyping import Array

from triskele.description.schema import DeltaGeometry, DeltaRobot, PrsGeometry, Robot
from triskele.errors import DescriptionError
from triskele.kinematics.delta import Delta
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.prs import Prs
from triskele.numerics import require_double_precision


def build(robot: Robot) -> AbstractMechanism:
    """The mechanism of `robot`, in its built working and assembly mode.

    An error if the loops cannot be closed at home: then no pose is near.
    """
    require_double_precision()
    mechanism: AbstractMechanism = (
        _delta(robot.geometry) if isinstance(robot, DeltaRobot) else _prs(robot.geometry)
    )
    if not mechanism.inverse(mechanism.home()).margin >= 0:
        raise DescriptionError(
            f"{robot.name}, geometry: the robot cannot be assembled, its legs do not reach the "
            "platform neither with level nor with lowered arms. Compare the lengths: the rod "
            "must span base_radius + arm_length - platform_radius."
            if isinstance(robot, DeltaRobot)
            else f"{robot.name}, geometry: the bars do not reach the platform at rest_angle."
        )
    return mechanism


def _delta(geometry: DeltaGeometry) -> Delta:
    bar = geometry.telescope
    heights = None if bar is None else (bar.upper_joint_height, bar.lower_joint_height)
    return Delta(
        azimuth=jnp.asarray(geometry.azimuth),
        base_radius=jnp.asarray(geometry.base_radius),
        platform_radius=jnp.asarray(geometry.platform_radius),
        arm_length=jnp.asarray(geometry.arm_length),
        rod_length=jnp.asarray(geometry.rod_length),
        rod_spacing=_optional(geometry.rod_spacing),
        connector_offset=_optional(geometry.connector_offset),
        telescope=_optional(heights),
    )


def _optional(value: float | tuple[float, ...] | None) -> Array | None:
    return None if value is None else jnp.asarray(value, float)


def _prs(geometry: PrsGeometry) -> Prs:
    return Prs(
        azimuth=jnp.asarray(geometry.azimuth),
        base_radius=jnp.asarray(geometry.base_radius),
        platform_radius=jnp.asarray(geometry.platform_radius),
        bar_length=jnp.asarray(geometry.bar_length),
        rest_angle=jnp.asarray(geometry.rest_angle, float),
    )
