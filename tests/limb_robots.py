"""Sample robots of kind "limbs", one for each architecture, for other programs to judge.

Limbs differ where the architecture lets them, gravity is tilted, and each part of a robot is a
cloud of random point masses: no product of inertia vanishes.
"""

from functools import cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from triskele.description.limbs import LimbsRobot
from triskele.description.load import parse


class Sample(NamedTuple):
    """A robot in short: what stands in its file."""

    parts: str  #: under [bodies]
    platform: str
    limbs: tuple[str, ...]  #: one table each
    more: str = ""


SAMPLES = {
    "delta": Sample(
        "arm rod platform",
        'coordinates = ["x", "y", "z"]\nhome = "[0, 0, -600] mm"',
        (
            """around = "[0, 118, 243] deg"
            drive = "arm"
            base = "[200, 5, 3] mm"
            arm_length = "[300, 310, 295] mm"
            rod_length = "[700, 690, 710] mm"
            rod_spacing = "[80, 85, 90] mm"
            end = "[50, 2, 4] mm"
            """,
        ),
    ),
    "six_rod_delta": Sample(
        "arm rod platform",
        'coordinates = ["x", "y", "z"]\nhome = "[0, 0, -600] mm"',
        (
            """around = "[0, 118, 243] deg"
            drive = "arm"
            base = "[200, 5, 3] mm"
            arm_length = "[300, 310, 295] mm"
            rod_length = "[700, 690, 710] mm"
            rod_length_b = "[703, 688, 711] mm"
            rod_spacing = "[80, 85, 90] mm"
            end_spacing = "[82, 85, 89] mm"
            end = "[50, 2, 4] mm"
            """,
        ),
    ),
    "single_rod_delta": Sample(
        "arm rod platform",
        'coordinates = ["x", "y", "z"]\nhome = "[0, 0, -600] mm"',
        (
            """around = "[0, 118, 243] deg"
            drive = "arm"
            base = "[200, 0, 0] mm"
            arm_length = "[300, 310, 295] mm"
            rod_length = "700 mm"
            end = "[50, 0, 0] mm"
            """,
        ),
    ),
    "linear_delta": Sample(
        "carriage rod platform",
        'coordinates = ["x", "y", "z"]\nhome = "[0, 0, 100] mm"',
        (
            """around = "[0, 121, 238] deg"
            drive = "slide"
            base = "[180, 0, 0] mm"
            rail = "up"
            rod_length = "[280, 285, 290] mm"
            rod_spacing = "50 mm"
            end = "[40, 0, 0] mm"
            branch = -1
            """,
        ),
    ),
    "keops": Sample(
        "carriage rod platform",
        'coordinates = ["x", "y", "z"]\nhome = "[0, 0, -400] mm"',
        (
            """around = "[0, 120, 240] deg"
            drive = "slide"
            rail = "radial"
            rod_length = "[600, 605, 610] mm"
            rod_spacing = "80 mm"
            end = "[60, 0, 0] mm"
            branch = -1
            """,
        ),
    ),
    "orthoglide": Sample(
        "carriage rod platform",
        'coordinates = ["x", "y", "z"]',
        tuple(
            f"""drive = "slide"
            rail = {rail}
            across = {across}
            rod_length = "310 mm"
            rod_spacing = "60 mm"
            end = "{end} mm"
            """
            for rail, across, end in (
                ([1, 0, 0], [0, 1, 0], [-50, 0, 0]),
                ([0, 1, 0], [0, 0, 1], [0, -50, 0]),
                ([0, 0, 1], [1, 0, 0], [0, 0, -50]),
            )
        ),
    ),
    "five_bar": Sample(
        "arm rod platform",
        'coordinates = ["x", "y"]\nhome = "[0, 300, 0] mm"\ncarried_by = "rod_1"',
        tuple(
            f"""drive = "arm"
            base = "[{base}, 0, 0] mm"
            axis = "up"
            arm_length = "200 mm"
            rod_length = "{rod} mm"
            upper = "revolute"
            lower = "revolute"
            branch = {branch}
            """
            for base, rod, branch in ((-100, 250, -1), (100, 260, 1))
        ),
    ),
    "planar_3rrr": Sample(
        "arm rod platform",
        'coordinates = ["x", "y", "c"]\nhome_angles = "[0, 0, 5] deg"',
        (
            """around = "[90, 210, 330] deg"
            drive = "arm"
            base = "[300, 0, 0] mm"
            axis = "up"
            zero = "tangential"
            arm_length = "[180, 185, 190] mm"
            rod_length = "200 mm"
            upper = "revolute"
            lower = "revolute"
            end = "[80, 5, 10] mm"
            branch = -1
            """,
        ),
    ),
    "6ups": Sample(
        "cylinder piston platform",
        """coordinates = ["x", "y", "z", "a", "b", "c"]
        home = "[0, 0, 600] mm"
        home_angles = "[3, -4, 5] deg"
        """,
        (
            """around = "[-11.5, 11.5, 108.5, 131.5, 228.5, 251.5] deg"
            end_around = "[-48.5, 48.5, 71.5, 168.5, 191.5, 288.5] deg"
            drive = "strut"
            base = "[500, 0, 0] mm"
            end = "[300, 0, 20] mm"
            """,
        ),
    ),
    "6rus": Sample(
        "arm rod platform",
        'coordinates = ["x", "y", "z", "a", "b", "c"]\nhome = "[0, 0, -500] mm"',
        (
            """around = "[-15, 15, 105, 135, 225, 255] deg"
            end_around = "[-40, 40, 80, 160, 200, 280] deg"
            drive = "arm"
            base = "[300, 0, 0] mm"
            axis = [0.2, 1, 0.1]
            zero = [1, -0.2, 0]
            arm_length = "200 mm"
            rod_length = "[600, 605, 610, 615, 600, 595] mm"
            end = "[120, 0, 0] mm"
            """,
        ),
    ),
    "6pus": Sample(
        "carriage rod platform",
        'coordinates = ["x", "y", "z", "a", "b", "c"]\nhome = "[0, 0, -500] mm"',
        (
            """around = "[-15, 15, 105, 135, 225, 255] deg"
            end_around = "[-40, 40, 80, 160, 200, 280] deg"
            drive = "slide"
            base = "[300, 0, 0] mm"
            rail = [0.1, 0, -1]
            rod_length = "[600, 605, 610, 615, 600, 595] mm"
            end = "[120, 0, 0] mm"
            """,
        ),
    ),
    "par4": Sample(
        "arm rod platform link half",
        """coordinates = ["x", "y", "z", "c"]
        home = "[0, 0, -600] mm"
        half = "[0, 50, 0] mm"
        link = "[80, 0, 0] mm"
        """,
        (
            """around = "[45, 135, 225, 315] deg"
            part = ["half_a", "half_a", "half_b", "half_b"]
            drive = "arm"
            base = "[275, 0, 0] mm"
            arm_length = "[370, 375, 380, 365] mm"
            rod_length = "800 mm"
            rod_spacing = "80 mm"
            end = "[80, 0, 0] mm"
            """,
        ),
    ),
    "3rps": Sample(
        "cylinder piston platform",
        'coordinates = ["z", "psi", "theta"]\nhome = "[0, 0, 500] mm"',
        (
            """around = "[0, 118, 243] deg"
            drive = "strut"
            base = "[300, 0, 0] mm"
            upper = "revolute"
            end = "[150, 0, 0] mm"
            """,
        ),
    ),
    "3prs": Sample(
        "coupling bar platform",
        'coordinates = ["z", "psi", "theta"]\nhome = "[0, 0, 77] mm"',
        (
            """around = "[0, 120, 240] deg"
            drive = "slide"
            base = "[125.137, 0, 0] mm"
            rail = "inwards"
            across = [0, -1, 0]
            rod_length = "[109.215, 110, 112] mm"
            upper = "revolute"
            end = "[47.61, 0, 0] mm"
            bodies = ["coupling", "bar"]
            """,
        ),
    ),
    "3rrs": Sample(
        "arm rod platform",
        'coordinates = ["z", "psi", "theta"]\nhome = "[0, 0, 350] mm"',
        (
            """around = "[0, 120, 240] deg"
            drive = "arm"
            base = "[200, 0, 0] mm"
            axis = [0, -1, 0]
            arm_length = "[200, 205, 210] mm"
            rod_length = "250 mm"
            upper = "revolute"
            end = "[120, 0, 0] mm"
            """,
        ),
    ),
    "two_axis_linear_delta": Sample(
        "carriage rod platform",
        'coordinates = ["x", "z"]\nhome = "[0, 0, -400] mm"',
        (
            """around = "[0, 180] deg"
            drive = "slide"
            base = "[250, 0, 0] mm"
            rail = "up"
            rod_length = "[450, 460] mm"
            rod_spacing = "60 mm"
            pair = "up"
            end = "[40, 0, 0] mm"
            upper = "revolute"
            branch = -1
            """,
        ),
    ),
    "two_axis_delta": Sample(
        "arm link bracket rod platform",
        'coordinates = ["x", "z"]\nhome = "[0, 0, -400] mm"',
        (
            """around = "[0, 180] deg"
            drive = "arm"
            base = "[150, 0, 0] mm"
            arm_length = "[200, 210] mm"
            rod_length = "450 mm"
            rod_spacing = "60 mm"
            level = "[0, 0, 50] mm"
            pair = "radial"
            end = "[40, 0, 0] mm"
            upper = "revolute"
            """,
        ),
    ),
    "telescope_delta": Sample(
        "arm rod platform end_effector telescope_upper telescope_lower",
        'coordinates = ["x", "y", "z", "psi"]\nhome = "[0, 0, -600] mm"',
        (
            """around = "[0, 118, 243] deg"
            drive = "arm"
            base = "[200, 0, 0] mm"
            arm_length = "[300, 310, 295] mm"
            rod_length = "700 mm"
            rod_spacing = "80 mm"
            end = "[50, 0, 0] mm"
            """,
        ),
        """[geometry.telescope]
        upper_joint_height = "60 mm"
        lower_joint_height = "30 mm"
        """,
    ),
    "mixed_delta": Sample(
        "arm carriage rod platform",
        'coordinates = ["x", "y", "z"]\nhome = "[20, -10, -600] mm"',
        (
            """around = "10 deg"
            drive = "arm"
            base = "[200, 5, 3] mm"
            axis = [0.3, 1, 0.1]
            zero = [1, -0.3, 0]
            arm_length = "300 mm"
            rod_length = "700 mm"
            rod_spacing = "80 mm"
            end = "[50, 2, 4] mm"
            """,
            """around = "118 deg"
            drive = "slide"
            base = "[300, 0, 0] mm"
            rail = [0.5, 0, -1]
            rod_length = "700 mm"
            rod_spacing = "80 mm"
            end = "[50, 0, 0] mm"
            """,
            """around = "243 deg"
            drive = "slide"
            base = "[300, 0, 0] mm"
            rail = "up"
            across = [1, 1, 0]
            pair = [0.2, 1, 0]
            rod_length = "650 mm"
            rod_spacing = "60 mm"
            end = "[50, 0, 0] mm"
            branch = -1
            """,
        ),
    ),
    "mixed_tilt": Sample(
        "cylinder piston carriage rod arm platform",
        """coordinates = ["z", "psi", "theta"]
        home = "[0, 0, 500] mm"
        home_angles = "[4, -6, 0] deg"
        """,
        (
            """around = "0 deg"
            drive = "strut"
            base = "[300, 0, 0] mm"
            upper = "revolute"
            end = "[150, 0, 0] mm"
            """,
            """around = "110 deg"
            drive = "slide"
            base = "[300, 0, 0] mm"
            rail = [-0.3, 0, 1]
            rod_length = "450 mm"
            upper = "revolute"
            end = "[140, 0, 0] mm"
            """,
            """around = "250 deg"
            drive = "arm"
            base = "[200, 0, 0] mm"
            axis = [0, -1, 0]
            arm_length = "260 mm"
            rod_length = "400 mm"
            upper = "revolute"
            end = "[120, 0, 0] mm"
            """,
        ),
    ),
}


def text(name: str) -> str:
    """The file of a sample robot."""
    sample, random = SAMPLES[name], np.random.default_rng(crc32(name.encode()))
    tables = (
        f'kind = "limbs"\nname = "{name}"\ntitle = "{name}"\ngravity = "[1, -2, -9] m/s^2"',
        f"[geometry.platform]\n{sample.platform}",
        *(f"[[geometry.limbs]]\n{limb}" for limb in sample.limbs),
        sample.more,
        *(f"[bodies.{part}]\n{_cloud(random)}" for part in sample.parts.split()),
    )
    return "\n".join(tables) + "\n"


@cache
def described(name: str) -> LimbsRobot:
    """The description of a sample robot."""
    robot = parse(text(name), name)
    assert isinstance(robot, LimbsRobot)
    return robot


def _cloud(random: np.random.Generator) -> str:
    """Mass, centre and inertia of five point masses within 0.1 m."""
    m, points = random.uniform(0.1, 0.5, 5), random.uniform(-0.1, 0.1, (5, 3))
    c = m @ points / m.sum()
    second = np.einsum("k,ki,kj->ij", m, points - c, points - c)
    inertia = np.trace(second) * np.eye(3) - second
    six = inertia[(0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)]
    return (
        f'mass = "{m.sum()} kg"\ncentre_of_mass = "{c.tolist()} m"\n'
        f'inertia = "{six.tolist()} kg m^2"'
    )
