"""From a robot file to its mechanism."""

import jax.numpy as jnp
from jaxtyping import Array

from triskele.description.schema import DeltaGeometry, DeltaRobot, PrsGeometry, Robot
from triskele.errors import DescriptionError
from triskele.kinematics.delta import Delta
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.prs import Prs
from triskele.numerics import require_double_precision, stacked


def build(robot: Robot) -> AbstractMechanism:
    """The mechanism of `robot`, in its built working and assembly mode.

    An error if the loops cannot be closed at home: then no pose is near.
    """
    require_double_precision()
    mechanism: AbstractMechanism = (
        _delta(robot.geometry) if isinstance(robot, DeltaRobot) else _prs(robot.geometry)
    )
    if not _closes(mechanism):
        raise DescriptionError(
            f"{robot.name}, geometry: the robot cannot be assembled, its legs do not reach the "
            "platform anywhere on the axis. Compare the lengths: arm and rod together must span "
            "the difference of base_radius and platform_radius."
            if isinstance(robot, DeltaRobot)
            else f"{robot.name}, geometry: the bars do not reach the platform at rest_angle."
        )
    return mechanism


def _closes(mechanism: AbstractMechanism) -> bool:
    """Whether the loops close at home to rounding."""
    home = mechanism.home()
    gaps = stacked(mechanism.closure(mechanism.inverse(home).components, home))
    loops = stacked(mechanism.scales().loops)
    return bool((jnp.abs(gaps) <= 1e-12 * loops**2).all())


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
