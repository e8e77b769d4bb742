"""Sample robots of every architecture with motors, friction, payload and a base that weighs."""

from functools import cache

import numpy as np
from limb_robots import described

from triskele.description.schema import (
    Body,
    Friction,
    JointFriction,
    Motor,
    Motors,
    Payload,
    Robot,
    SlideFriction,
)
from triskele.kinematics.build import build
from triskele.numerics import stacked
from triskele.testing.laws import random_poses

CARRIED = Payload(mass=0.7, centre_of_mass=(0.02, -0.01, -0.03), inertia=(0.003, 0.004, 0.005))
RUBBING = JointFriction(coulomb=(2.0,), viscous=(3.0,), smoothing_speed=0.5)
BALLS = JointFriction(
    coulomb=(0.1,), viscous=(0.3,), stribeck=0.2, stribeck_speed=0.5, smoothing_speed=0.05
)
SLIDING = SlideFriction(coulomb=5.0, viscous=10.0, smoothing_speed=0.5)
BASE = Body(mass=20.0, centre_of_mass=(0.1, 0.0, 0.2), inertia=(1.0, 1.1, 1.2))


@cache
def equipped(name: str) -> Robot:
    """The sample robot `name`; its joints rub wherever the format knows them to."""
    bare = described(name)
    mechanism = build(bare)
    groups = {joint.drive for joint in mechanism.joint_coordinates}
    rubbing = {joint.friction for joint in mechanism.joints()}
    friction: dict[str, object] = dict.fromkeys(groups, RUBBING)
    friction |= {"balls": BALLS} if "balls" in rubbing else {}
    friction |= {"telescope": SLIDING} if "telescope" in rubbing else {}
    motors = {group: Motor(reflected_inertia=0.2) for group in groups}
    bodies = {**(bare.bodies or {}), "base": BASE}
    changes = {"motors": Motors(**motors), "friction": Friction(**friction), "bodies": bodies}
    return bare.model_copy(update=changes)


def states(name: str, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, xd and xdd near home, (count, n) each; up to a loop length a second and ten a second^2."""
    mechanism = build(described(name))
    scales, home = mechanism.scales(), np.asarray(stacked(mechanism.home()))
    unit = float(np.asarray(scales.loops[0])) / np.array(scales.platform, float)
    box = np.stack([home - 0.1 * unit, home + 0.1 * unit], axis=1)
    x = random_poses(mechanism, box, count, margin=0.05)
    xd, xdd = np.random.default_rng(0).uniform(-1, 1, (2, *x.shape)) * unit
    return x, xd, 10 * xdd
