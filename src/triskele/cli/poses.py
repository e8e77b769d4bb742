"""Poses as an option: as many numbers as the robot has coordinates, apart or between commas."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer.core import TyperCommand

from triskele.cli.inputs import vector
from triskele.cli.shapes import option

if TYPE_CHECKING:
    from triskele.description.schema import Robot
    from triskele.kinematics.mechanism import AbstractMechanism
    from triskele.numerics import AnyArray

_AT = "--at"
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?[A-Za-z]*")
At = Annotated[str | None, option("Pose, as 0.1 0 -0.5 or 0.1,0,-0.5.", "home")]


class PoseCommand(TyperCommand):
    """A command whose option --at takes all numbers that follow it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401
        """Join the numbers by commas, then go on as usual."""
        return super().parse_args(ctx, _joined(args))


def _joined(args: Sequence[str]) -> list[str]:
    if _AT not in args:
        return list(args)
    first = list(args).index(_AT) + 1
    last = first
    while last < len(args) and _NUMBER.fullmatch(args[last]):
        last += 1
    pose = [",".join(args[first:last])] if last > first else []
    return [*args[:first], *pose, *args[last:]]


def pose_at(robot: "Robot", mechanism: "AbstractMechanism", at: str | None) -> "AnyArray | None":
    """The pose that --at says, within reach; None if it is not given."""
    if at is None:
        return None
    from triskele.kinematics.reach import check_reach

    what = f"a pose of {robot.name}"
    x = vector(at.split(","), mechanism.platform_coordinates, what, _AT)
    check_reach(mechanism, robot.limits, x, _AT)
    return x
