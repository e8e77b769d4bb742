"""A Delta whose numbers are known by hand.

With R = r, L = 3, d = 5 each limb is a 3-4-5 triangle: arms level, platform 4 m below. It then
sinks by 3 m for each radian that all arms turn down.
"""

import jax.numpy as jnp
import numpy as np
from random_motions import ten_of_point

from triskele.dynamics.robot import RigidRobot
from triskele.kinematics.delta import Delta

BELOW = np.array([[0.0, 0.0, -4.0]])
EVEN = Delta.symmetric(
    base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0, rod_spacing=0.4
)


def triangle(*, arm=0.0, rod=0.0, platform=0.0, rotors=0.0, gravity=(0.0, 0.0, -9.81), pairs=False):
    """Arms that weigh at their elbows alone, thin uniform rods; `rod` [kg] is of a limb."""
    mechanism = (
        EVEN
        if pairs
        else Delta.symmetric(base_radius=1.0, platform_radius=1.0, arm_length=3.0, rod_length=5.0)
    )
    share = rod / 2 if pairs else rod
    ten = {
        "arm": ten_of_point(arm, (3.0, 0.0, 0.0)),
        "rod": np.array([share, 2.5 * share, 0, 0, 0, share * 25 / 3, share * 25 / 3, 0, 0, 0]),
        "platform": ten_of_point(platform, (0.0, 0.0, 0.0)),
    }
    return RigidRobot(
        mechanism=mechanism,
        theta=jnp.asarray([ten[name.split("_")[0]] for name in mechanism.bodies]),
        payload=jnp.zeros(10),
        gravity=jnp.asarray(gravity),
        rotors=jnp.full(3, rotors),
        drive_friction=(None,) * 3,
        passive_friction=(None,) * 3,
        springs=(None,) * 3,
        ball_friction=None,
        flange_height=jnp.zeros(()),
    )
