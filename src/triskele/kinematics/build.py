"""From a robot file to its mechanism."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from triskele.description.kinds import add_kind
from triskele.description.limbs import LimbsRobot
from triskele.description.schema import (
    AbstractRobot,
    DeltaGeometry,
    DeltaRobot,
    PrsGeometry,
    PrsRobot,
    Robot,
)
from triskele.errors import DescriptionError
from triskele.kinematics.assemble import limbs_of
from triskele.kinematics.delta import Delta
from triskele.kinematics.fit import check_fit
from triskele.kinematics.mechanism import AbstractMechanism
from triskele.kinematics.mobility import check_mobility
from triskele.kinematics.prs import Prs
from triskele.kinematics.searched import CLOSED
from triskele.numerics import require_double_precision, stacked

_MOST_DRIVES = 6
RobotT = TypeVar("RobotT", bound=AbstractRobot)


def build(robot: Robot) -> AbstractMechanism:
    """The mechanism of `robot`, in its built working and assembly mode.

    An error if the loops cannot be closed at home, and if the file describes joints that are not
    there, or in another unit.
    """
    require_double_precision()
    make, why_not = _BUILDERS[type(robot)]
    mechanism = make(robot)
    if type(robot) in _ADDED:
        _check_contract(robot.place, mechanism)
    if not _closes(mechanism):
        raise DescriptionError(f"{robot.place}, geometry: {why_not}")
    check_fit(robot, mechanism)
    return mechanism


def register(file_format: type[RobotT], make: Callable[[RobotT], AbstractMechanism]) -> None:
    """Add an architecture: robot files of `file_format`, and what makes its mechanism of one.

    The format derives from `AbstractRobot`, and its `kind` is a Literal of one word. From then on
    files of that kind are robots like any other. A package names the module that calls this under
    the entry points "triskele.kinds".
    """
    add_kind(file_format)
    _BUILDERS[file_format] = (make, "the loops do not close at home.")
    _ADDED.add(file_format)


def _check_contract(name: str, mechanism: AbstractMechanism) -> None:
    """What `testing.check_mechanism` finds, as far as it can be told at home."""
    if not isinstance(mechanism, AbstractMechanism):
        raise DescriptionError(
            f"{name}: the function registered for its kind returns {type(mechanism).__name__}; "
            "an AbstractMechanism was expected."
        )
    n, m = len(mechanism.joint_coordinates), len(mechanism.platform_coordinates)
    if n != m or n > _MOST_DRIVES:
        raise DescriptionError(
            f"{name}: {n} joint coordinates for {m} platform coordinates; there must be as many, "
            f"and at most {_MOST_DRIVES}."
        )
    if _closes(mechanism):
        check_mobility(name, mechanism)


def _closes(mechanism: AbstractMechanism) -> bool:
    """Whether the loops close at home to rounding."""
    home = mechanism.home()
    gaps = stacked(mechanism.closure(mechanism.inverse(home).components, home))
    loops = stacked(mechanism.scales().loops)
    return bool((np.abs(gaps) <= CLOSED * loops**2).all())


def _delta(robot: DeltaRobot) -> Delta:
    return delta_of(robot.geometry)


def delta_of(geometry: DeltaGeometry) -> Delta:
    """The Delta of these lengths."""
    bar = geometry.telescope
    heights = None if bar is None else (bar.upper_joint_height, bar.lower_joint_height)
    return Delta(
        azimuth=np.asarray(geometry.azimuth),
        base_radius=np.asarray(geometry.base_radius),
        platform_radius=np.asarray(geometry.platform_radius),
        arm_length=np.asarray(geometry.arm_length),
        rod_length=np.asarray(geometry.rod_length),
        rod_spacing=_optional(geometry.rod_spacing),
        connector_offset=_optional(geometry.connector_offset),
        telescope=_optional(heights),
    )


def _optional(value: float | tuple[float, ...] | None) -> np.ndarray | None:
    return None if value is None else np.asarray(value, float)


def _prs(robot: PrsRobot) -> Prs:
    geometry: PrsGeometry = robot.geometry
    return Prs(
        azimuth=np.asarray(geometry.azimuth),
        base_radius=np.asarray(geometry.base_radius),
        platform_radius=np.asarray(geometry.platform_radius),
        bar_length=np.asarray(geometry.bar_length),
        rest_angle=np.asarray(geometry.rest_angle, float),
    )


def _limbs(robot: LimbsRobot) -> AbstractMechanism:
    return limbs_of(robot.place, robot.geometry, flexures=robot.flexures is not None)


_ADDED: set[type[AbstractRobot]] = set()
Builder = Callable[[Any], AbstractMechanism]
_BUILDERS: dict[type[AbstractRobot], tuple[Builder, str]] = {
    DeltaRobot: (
        _delta,
        "the robot cannot be assembled, its legs do not reach the platform anywhere on the axis. "
        "Compare the lengths: arm and rod together must span the difference of base_radius and "
        "platform_radius.",
    ),
    PrsRobot: (_prs, "the bars do not reach the platform at rest_angle."),
    LimbsRobot: (_limbs, "the loops do not close at home."),
}
