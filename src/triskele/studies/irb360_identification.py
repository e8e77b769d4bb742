"""Identification of the IRB 360-6/1600 on synthetic logs: no measured ones are public."""

from triskele.description.load import load
from triskele.description.schema import Body, DeltaRobot, Friction, JointFriction, SlideFriction

ROBOT = "abb_irb360_6_1600"


def prior() -> DeltaRobot:
    """The robot before identification: what a scale, simple shapes and the arms alone tell."""
    robot = load(ROBOT)
    assert isinstance(robot, DeltaRobot) and robot.bodies is not None
    apart = robot.disassembled
    assert apart is not None
    mean = [
        sum(values) / 3 for values in (apart.arm_moment_x, apart.arm_moment_z, apart.arm_inertia)
    ]
    rod = Body(
        mass=0.150,
        first_moment=(0.150 * 0.553, 0.0, 0.0),
        inertia_at_origin=(1.7e-5, 0.0612, 0.0612),
    )
    bodies = robot.bodies.model_copy(
        update={
            "arm": Body(
                mass=1.0,
                first_moment=(mean[0], 0.0, mean[1]),
                inertia_at_origin=(0.002, mean[2], mean[2]),
            ),
            "rod": rod,
            "platform": robot.bodies.platform.model_copy(update={"mass": 1.12}),
            "telescope_upper": Body(
                mass=0.684,
                first_moment=(0.0, 0.0, -0.260),
                inertia_at_origin=(0.132, 0.132, 2.5e-5),
            ),
            "telescope_lower": Body(
                mass=0.456,
                first_moment=(0.0, 0.0, 0.182),
                inertia_at_origin=(0.097, 0.097, 6.7e-5),
            ),
        }
    )
    friction = Friction(
        drives=JointFriction(coulomb=apart.coulomb[:3], viscous=apart.viscous[:3]),
        axis4=JointFriction(coulomb=(0.387,), saturating=0.3, saturating_speed=5.0),
        telescope=SlideFriction(coulomb=1.0, viscous=1.0),
    )
    return robot.model_copy(update={"bodies": bodies, "friction": friction})
